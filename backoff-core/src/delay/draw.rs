//! A number drawn from a range.

/// A whole number in `0..=most`, uniform if `random` is uniform over all of `u64`: 0 gives 0,
/// `u64::MAX` gives `most`. Lemire's multiplication without its rejection: the bias is below 2⁻⁶⁴ ·
/// `most`.
#[inline]
pub(crate) fn uniform(most: u64, random: u64) -> u64 {
    // `(most + 1) * random >> 64` without a sum of more than 64 bits.
    let product = u128::from(most) * u128::from(random);
    let (high, low) = ((product >> 64) as u64, product as u64);
    high + u64::from(low.overflowing_add(random).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_draw_stays_within_its_ends(most: u64, random: u64) {
            let wide = ((u128::from(most) + 1) * u128::from(random)) >> 64;
            prop_assert_eq!(u128::from(uniform(most, random)), wide);
            prop_assert!(uniform(most, random) <= most);
        }
    }
}
