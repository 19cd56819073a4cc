//! `min(cap, base · factorⁿ)`.

use super::Delay;
use crate::runtime::nanos;
use core::time::Duration;

/// Each wait is the previous wait times a factor: `base · factorⁿ`, at most the cap.
///
/// The factors 1 and 2 are exact at every `n`. With any other factor, a wait is rounded by a nanosecond
/// or by one part in 10¹³, whichever is more.
///
/// ```
/// use backoff_core::delay::{Delay, Exponential};
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let waits = Exponential::new(ms(100)).factor(1.5).max(ms(300)).waits();
/// let waits: Vec<_> = waits.take(5).collect();
/// assert_eq!(waits, [ms(100), ms(150), ms(225), ms(300), ms(300)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    base: u64,
    factor: f64,
    cap: u64,
}

impl Exponential {
    /// Begins with `base` and doubles, without a cap.
    pub const fn new(base: Duration) -> Self {
        Exponential {
            base: nanos(base),
            factor: 2.0,
            cap: u64::MAX,
        }
    }

    /// Sets the factor, at least 1.
    ///
    /// # Panics
    /// Panics if `factor` is below 1, infinite or NaN. In a constant, the panic is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn factor(self, factor: f64) -> Self {
        Exponential {
            factor: checked(factor),
            ..self
        }
    }

    /// Sets the longest wait. If the base is above this cap, the cap applies.
    #[must_use]
    pub const fn max(self, cap: Duration) -> Self {
        Exponential {
            cap: nanos(cap),
            ..self
        }
    }
}

impl Delay for Exponential {
    fn delay(&self, retry: u32, _previous: Duration, _random: u64) -> Option<Duration> {
        Some(Duration::from_nanos(delay(
            self.base,
            self.factor,
            self.cap,
            retry,
        )))
    }
}

/// The message for an invalid factor.
pub(crate) const FACTOR: &str =
    "`factor` must be finite and at least 1: write 2.0 to double each wait, 1.0 to keep it";

pub(crate) const fn is_factor(factor: f64) -> bool {
    factor >= 1.0 && factor.is_finite()
}

/// Checks the factor.
#[track_caller]
pub(crate) const fn checked(factor: f64) -> f64 {
    assert!(is_factor(factor), "{}", FACTOR);
    factor
}

/// The wait before retry `n` (from 0) without jitter, in nanoseconds: `min(cap, base · factorⁿ)`.
///
/// The factors 1 and 2 are exact at every `n`. Any other factor is computed in `f64` with
/// multiplications only, so the result is the same on every machine. `factor` is finite and at least 1;
/// `Policy` ensures this.
pub(crate) fn delay(base: u64, factor: f64, cap: u64, n: u32) -> u64 {
    if factor == 2.0 {
        return doubled(base, cap, n);
    }
    if factor == 1.0 {
        return base.min(cap);
    }
    let exact = base as f64 * power(factor, n);
    // Not `>=`: 0 · ∞ is NaN, and a base of zero stays zero.
    if exact < cap as f64 {
        // A number of more than 53 bits is rounded.
        ((exact + 0.5) as u64).max(base).min(cap)
    } else {
        capped(base, cap)
    }
}

/// Like [`delay`] with a factor of 2.
#[inline(always)]
pub(crate) fn doubled(base: u64, cap: u64, n: u32) -> u64 {
    // `base << n` exceeds the cap, or 64 bits, exactly when `base > cap >> n`.
    if n < 64 && base <= cap >> n {
        base << n
    } else {
        capped(base, cap)
    }
}

/// The cap; a base of zero stays zero for every factor.
#[inline]
fn capped(base: u64, cap: u64) -> u64 {
    if base == 0 { 0 } else { cap }
}

/// `factorⁿ` by squaring; `f64::powi` is neither in `core` nor the same on every machine.
pub(crate) const fn power(factor: f64, mut n: u32) -> f64 {
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
    fn doubles_until_the_cap_and_other_factors_are_exact_where_the_factor_is() {
        let doubled: Vec<_> = (0..9).map(|n| delay(1, 2.0, 64, n)).collect();
        assert_eq!(doubled, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        let grown = |n| delay(1_000_000_000, 1.5, u64::MAX, n) as f64 / 1e9;
        let expected = [1.0, 1.5, 2.25, 3.375, 5.0625, 7.593_75];
        assert_eq!([0, 1, 2, 3, 4, 5].map(grown), expected);
        // A base of more than 53 bits.
        let base = 48_824_812_207_909_513;
        assert_eq!(delay(base, 1.5, u64::MAX, 0), base);
    }

    proptest! {
        #[test]
        fn never_past_the_cap_and_never_shrinking(
            base in prop_oneof![Just(0), any::<u64>()],
            factor in prop_oneof![1.0..1e6f64, Just(1e300)],
            cap: u64,
            n in prop_oneof![0..100u32, any::<u32>()],
        ) {
            let now = delay(base, factor, cap, n);
            prop_assert!(base.min(cap) <= now && now <= cap);
            prop_assert!(base > 0 || now == 0);
            prop_assert!(delay(base, factor, cap, n.saturating_add(1)) >= now);
        }

        #[test]
        fn doubling_agrees_with_wide_integers(base: u64, cap: u64, n in 0u32..64) {
            let expected = ((base as u128) << n).min(cap as u128);
            prop_assert_eq!(delay(base, 2.0, cap, n) as u128, expected);
        }
    }
}
