//! `min(cap, base · factorⁿ)`.

/// The wait before retry `n` (from 0) without jitter, in nanoseconds: `min(cap, base · factorⁿ)`.
///
/// A factor of 2 is exact at every `n`. Any other is computed in `f64` with multiplications only,
/// so it is the same on every machine, and exact to the nanosecond below 2⁵³ ns (104 days) for
/// factors that `f64` holds exactly. `factor` is finite and at least 1; `Policy` sees to that.
#[inline]
pub(crate) fn delay(base: u64, factor: f64, cap: u64, n: u32) -> u64 {
    if factor == 2.0 {
        // `base << n` passes the cap, or 64 bits, exactly when `base > cap >> n`.
        return if n < 64 && base <= cap >> n {
            base << n
        } else {
            capped(base, cap)
        };
    }
    let exact = base as f64 * power(factor, n);
    // Not `>=`: 0 · ∞ is NaN, and zero stays zero.
    if exact < cap as f64 {
        ((exact + 0.5) as u64).min(cap)
    } else {
        capped(base, cap)
    }
}

/// The cap; zero, whatever it is multiplied with, stays zero.
#[inline]
fn capped(base: u64, cap: u64) -> u64 {
    if base == 0 { 0 } else { cap }
}

/// `factorⁿ` by squaring; `f64::powi` is neither in `core` nor the same on every machine.
fn power(factor: f64, mut n: u32) -> f64 {
    let (mut result, mut square) = (1.0, factor);
    while n > 0 {
        if n & 1 == 1 {
            result *= square;
        }
        square *= square;
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn doubles_until_the_cap() {
        let waits: Vec<_> = (0..9).map(|n| delay(1_000, 2.0, 64_000, n)).collect();
        assert_eq!(
            waits,
            [
                1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 64_000, 64_000
            ]
        );
    }

    #[test]
    fn other_factors_are_exact_where_the_factor_is() {
        let waits: Vec<_> = (0..6)
            .map(|n| delay(1_000_000_000, 1.5, u64::MAX, n))
            .collect();
        assert_eq!(
            waits,
            [
                1_000_000_000,
                1_500_000_000,
                2_250_000_000,
                3_375_000_000,
                5_062_500_000,
                7_593_750_000
            ]
        );
    }

    #[test]
    fn a_base_of_zero_stays_zero() {
        for factor in [1.0, 1.5, 2.0, 1e300] {
            for n in [0, 1, 63, 64, 2_000, u32::MAX] {
                assert_eq!(delay(0, factor, 1_000, n), 0, "{factor} {n}");
            }
        }
    }

    #[test]
    fn the_cap_wins_over_the_base() {
        assert_eq!(delay(5_000, 2.0, 1_000, 0), 1_000);
        assert_eq!(delay(5_000, 1.5, 1_000, 0), 1_000);
    }

    proptest! {
        #[test]
        fn never_past_the_cap_and_never_shrinking(
            base: u64, factor in 1.0..1e6f64, cap: u64, n: u32,
        ) {
            let now = delay(base, factor, cap, n);
            prop_assert!(now <= cap);
            prop_assert!(delay(base, factor, cap, n.saturating_add(1)) >= now);
        }

        #[test]
        fn doubling_agrees_with_wide_integers(base: u64, cap: u64, n in 0u32..64) {
            let expected = ((base as u128) << n).min(cap as u128);
            prop_assert_eq!(delay(base, 2.0, cap, n) as u128, expected);
        }
    }
}
