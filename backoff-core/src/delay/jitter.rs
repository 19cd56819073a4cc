//! The random part of a wait.

use crate::time::nanos;
use core::time::Duration;

/// How chance enters a wait, so that clients who failed together do not come back together.
///
/// `x` stands for the wait without jitter, `min(max_backoff, base · factorⁿ)`, and `U(a, b)` for a
/// number drawn uniformly from `a..=b`. No jitter ever leaves `0..=max_backoff`.
///
/// Sources: AWS Architecture Blog, "Exponential Backoff And Jitter" (full, equal, decorrelated);
/// Google Cloud IAM and Memorystore for Redis, "Exponential backoff" (additive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Jitter {
    /// `x`. Clients that fail together come back together: for tests, or a client that is alone.
    None,
    /// `U(0, x)`. The fewest calls under contention, and the default.
    Full,
    /// `x/2 + U(0, x/2)`. Never returns at once; slower than full jitter under contention.
    Equal,
    /// `min(max_backoff, U(base, 3 · previous wait))`, where the first "previous" is `base`.
    /// `factor` has no part in it. Finishes soonest under moderate contention, with more calls.
    Decorrelated,
    /// `min(max_backoff, base · factorⁿ + U(0, most))`: Google's documented formula, with a
    /// `most` of one second. The sum is capped, so at the cap there is no jitter left and all
    /// clients wait alike; under contention prefer [`Jitter::Full`].
    Additive(Duration),
}

/// [`Jitter`] with its time in nanoseconds, as the policy keeps it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    None,
    Full,
    Equal,
    Decorrelated,
    Additive(u64),
}

impl Spread {
    pub(crate) const fn new(jitter: Jitter) -> Self {
        match jitter {
            Jitter::None => Spread::None,
            Jitter::Full => Spread::Full,
            Jitter::Equal => Spread::Equal,
            Jitter::Decorrelated => Spread::Decorrelated,
            Jitter::Additive(most) => Spread::Additive(nanos(most)),
        }
    }

    pub(crate) const fn jitter(self) -> Jitter {
        match self {
            Spread::None => Jitter::None,
            Spread::Full => Jitter::Full,
            Spread::Equal => Jitter::Equal,
            Spread::Decorrelated => Jitter::Decorrelated,
            Spread::Additive(most) => Jitter::Additive(Duration::from_nanos(most)),
        }
    }

    /// The wait with jitter. `plain` is the capped wait without; `random` is drawn at most once,
    /// and not at all where chance has no part.
    #[inline]
    pub(crate) fn apply(
        self,
        plain: impl FnOnce() -> u64,
        base: u64,
        cap: u64,
        previous: u64,
        random: impl FnOnce() -> u64,
    ) -> u64 {
        match self {
            Spread::None => plain(),
            Spread::Full => uniform(plain(), random()),
            Spread::Equal => {
                let plain = plain();
                plain - plain / 2 + uniform(plain / 2, random())
            }
            Spread::Decorrelated => {
                let least = base.min(cap);
                let most = previous.max(least).saturating_mul(3);
                (least + uniform(most - least, random())).min(cap)
            }
            Spread::Additive(most) => plain().saturating_add(uniform(most, random())).min(cap),
        }
    }
}

/// A whole number in `0..=most`, uniform as `random` is over all of `u64`: 0 gives 0, `u64::MAX`
/// gives `most`. Lemire's multiplication without its rejection: the bias is below 2⁻⁶⁴ · `most`.
#[inline]
fn uniform(most: u64, random: u64) -> u64 {
    (((most as u128 + 1) * random as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(spread: Spread, plain: u64, previous: u64) -> (u64, u64) {
        let at = |random| spread.apply(|| plain, 100, 6_400, previous, || random);
        (at(0), at(u64::MAX))
    }

    #[test]
    fn each_reaches_exactly_its_ends() {
        assert_eq!(ends(Spread::None, 400, 0), (400, 400));
        assert_eq!(ends(Spread::Full, 400, 0), (0, 400));
        assert_eq!(ends(Spread::Equal, 400, 0), (200, 400));
        assert_eq!(ends(Spread::Equal, 401, 0), (201, 401));
        assert_eq!(ends(Spread::Additive(1_000), 400, 0), (400, 1_400));
    }

    #[test]
    fn decorrelated_starts_from_the_base_and_never_draws_below_it() {
        assert_eq!(ends(Spread::Decorrelated, 0, 0), (100, 300));
        assert_eq!(ends(Spread::Decorrelated, 0, 100), (100, 300));
        assert_eq!(ends(Spread::Decorrelated, 0, 1_000), (100, 3_000));
        assert_eq!(ends(Spread::Decorrelated, 0, 6_000), (100, 6_400));
    }

    #[test]
    fn additive_is_drawn_before_the_cap() {
        assert_eq!(ends(Spread::Additive(1_000), 6_000, 0), (6_000, 6_400));
        assert_eq!(ends(Spread::Additive(1_000), 6_400, 0), (6_400, 6_400));
    }

    #[test]
    fn no_jitter_asks_no_random_number() {
        let wait = Spread::None.apply(|| 7, 1, 9, 0, || unreachable!("nothing to draw"));
        assert_eq!(wait, 7);
    }

    proptest! {
        #[test]
        fn a_draw_stays_within_its_ends(most: u64, random: u64) {
            prop_assert!(uniform(most, random) <= most);
        }

        #[test]
        fn a_jitter_survives_the_round_through_nanoseconds(most in 0u64..) {
            let jitter = Jitter::Additive(Duration::from_nanos(most));
            prop_assert_eq!(Spread::new(jitter).jitter(), jitter);
        }
    }
}
