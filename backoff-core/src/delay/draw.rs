//! A number drawn from a range.

/// A whole number in `0..=most`, uniform as `random` is over all of `u64`: 0 gives 0, `u64::MAX`
/// gives `most`. Lemire's multiplication without its rejection: the bias is below 2⁻⁶⁴ · `most`.
#[inline]
pub(crate) fn uniform(most: u64, random: u64) -> u64 {
    (((most as u128 + 1) * random as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_draw_stays_within_its_ends(most: u64, random: u64) {
            prop_assert!(uniform(most, random) <= most);
        }
    }
}
