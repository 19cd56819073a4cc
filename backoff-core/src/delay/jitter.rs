//! The random part of a wait.

use super::{decorrelated::decorrelated, draw::uniform};
use crate::runtime::nanos;
use core::time::Duration;

/// The random part of a wait, so that clients that failed together do not come back together.
///
/// `x` is the wait without jitter: `min(max_backoff, base · factorⁿ)`, or the wait of another
/// algorithm. `cap` is `max_backoff`, and `U(a, b)` is a number drawn uniformly from `a..=b`. With
/// every jitter, the wait stays in `0..=cap`.
///
/// Which jitter needs the fewest calls depends on the crowd. The table shows the writes of *N* clients
/// that write one row at the same time and repeat after each conflict, in AWS' model of contention:
///
/// | *N* | at least | full | equal | decorrelated | no backoff, in lock step |
/// |---|---|---|---|---|---|
/// | 10 | 10 | 39.0 | 42.6 | 37.7 | 55 |
/// | 100 | 100 | 796 | 813 | 1,002 | 5,050 |
/// | 200 | 200 | 1,890 | 1,872 | 2,612 | 20,100 |
///
/// (Means of 1,000 seeds: `cargo run --release -p examples --example simulation -- contention`. Each
/// standard error is less than 0.3 %.) So decorrelated jitter needs the fewest calls in a small crowd,
/// and equal jitter in a very large one. Full jitter is never far from the best, and it finishes sooner
/// than equal jitter: after 0.46 s, 4.9 s and 7.7 s in place of 0.73 s, 6.7 s and 9.7 s. The last
/// column is the count of AWS' article, (*N* + 1) · *N* / 2: where nobody waits and all clients move
/// together, each round has one success. The model's clients without backoff fall out of step, and make
/// 51, 2,422 and 8,814 writes.
///
/// Sources: AWS Architecture Blog, "Exponential Backoff And Jitter" (full, equal, decorrelated);
/// Google Cloud IAM and Memorystore for Redis, "Exponential backoff" (additive); gRPC, proposal A6
/// as revised in 2024 (proportional, with 0.2); IEEE 802.3 (slots); Celery (whole seconds).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Jitter {
    /// `x`. Clients that fail together come back together. Use this for tests, or for a single client.
    None,
    /// `U(0, x)`. The default: few calls under contention, for any number of clients.
    Full,
    /// `x/2 + U(0, x/2)`. Never returns at once. Slower than full jitter under contention; with 200
    /// clients the calls are a little fewer.
    Equal,
    /// `min(cap, U(base, 3 · previous wait))`, where the first "previous" is `base`. `factor` is not
    /// used: the 3 is that of AWS' article. With up to 100 clients under contention, decorrelated jitter finishes sooner than full
    /// jitter: with fewer calls among 10 clients, and with more calls among 50 or more.
    Decorrelated,
    /// `min(cap, base · factorⁿ + U(0, most))`: Google's documented formula, with a `most` of one
    /// second. The sum is capped, so at the cap there is no jitter left, and all clients wait equally
    /// long; prefer [`Jitter::Full`] under contention, or [`Jitter::AdditiveWithin`].
    Additive(Duration),
    /// `min(x, cap − most) + U(0, most)`: like `Additive`, but the wait without jitter is limited to
    /// leave room for the random part, so there is jitter at the cap too. A `most` above the cap counts
    /// as the cap.
    AdditiveWithin(Duration),
    /// `min(x, cap/(1 + share)) · U(1 − share, 1 + share)`, with a share from 0 to 1: a wait of 10 s
    /// and a share of 0.2 give 8 to 12 s. The wait without jitter is limited to leave room for the
    /// random part.
    Proportional(f64),
    /// `base · U{0, 1, …, ⌊x/base⌋}`: a whole number of slots of the length of `base`, as on
    /// Ethernet.
    Slots,
    /// `min(cap, U{0, 1, …, ⌊base · factorⁿ⌋} s)`: a whole number of seconds, drawn before the cap is
    /// applied, as in earlier versions of Celery.
    WholeSeconds,
}

/// [`Jitter`] with its times in nanoseconds, for the policy.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Spread {
    None,
    Full,
    Equal,
    Decorrelated,
    Additive(u64),
    AdditiveWithin(u64),
    Proportional(f64),
    Slots,
    /// The length of a second. `scaled` changes this value.
    WholeSeconds(u64),
}

const SECOND: u64 = 1_000_000_000;

/// The message for an invalid share.
pub(crate) const SHARE: &str =
    "a proportional jitter takes a share from 0 to 1: write 0.2 for 80 to 120 %";

pub(crate) const fn is_share(share: f64) -> bool {
    share >= 0.0 && share <= 1.0
}

impl Spread {
    #[track_caller]
    pub(crate) const fn new(jitter: Jitter) -> Self {
        match jitter {
            Jitter::None => Spread::None,
            Jitter::Full => Spread::Full,
            Jitter::Equal => Spread::Equal,
            Jitter::Decorrelated => Spread::Decorrelated,
            Jitter::Additive(most) => Spread::Additive(nanos(most)),
            Jitter::AdditiveWithin(most) => Spread::AdditiveWithin(nanos(most)),
            Jitter::Proportional(share) => {
                assert!(is_share(share), "{}", SHARE);
                Spread::Proportional(share)
            }
            Jitter::Slots => Spread::Slots,
            Jitter::WholeSeconds => Spread::WholeSeconds(SECOND),
        }
    }

    /// The wait with jitter. `plain` returns the wait without jitter, limited by the cap that it gets.
    pub(crate) fn apply(
        self,
        plain: impl FnOnce(u64) -> u64,
        base: u64,
        cap: u64,
        previous: u64,
        random: u64,
    ) -> u64 {
        let plain = plain(self.limit(cap));
        match self {
            Spread::None => plain,
            Spread::Full => uniform(plain, random),
            Spread::Equal => plain - plain / 2 + uniform(plain / 2, random),
            Spread::Decorrelated => decorrelated(base, cap, previous, random),
            Spread::Additive(most) => plain.saturating_add(uniform(most, random)).min(cap),
            Spread::AdditiveWithin(most) => plain + uniform(most.min(cap), random),
            Spread::Proportional(share) => {
                let part = ((plain as f64 * share) as u64).min(plain).min(cap - plain);
                plain - part + uniform(part.saturating_mul(2), random)
            }
            Spread::Slots => match plain.checked_div(base) {
                Some(slots) => base * uniform(slots, random),
                None => 0,
            },
            Spread::WholeSeconds(unit) => {
                uniform(plain / unit, random).saturating_mul(unit).min(cap)
            }
        }
    }

    /// The cap for the wait without jitter, which may leave room for the random part.
    pub(crate) const fn limit(self, cap: u64) -> u64 {
        match self {
            Spread::AdditiveWithin(most) => cap.saturating_sub(most),
            // Rounded up, so that the sum is not above the cap.
            Spread::Proportional(share) => {
                cap.saturating_sub((cap as f64 * (share / (1.0 + share)) + 0.999) as u64)
            }
            Spread::WholeSeconds(_) => u64::MAX,
            _ => cap,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: u64 = 6_400;

    fn ends(spread: Spread, plain: u64) -> (u64, u64) {
        let at = |random| spread.apply(|cap| plain.min(cap), 100, CAP, 0, random);
        (at(0), at(u64::MAX))
    }

    #[test]
    fn each_reaches_exactly_its_ends() {
        assert_eq!(ends(Spread::None, 400), (400, 400));
        assert_eq!(ends(Spread::Full, 400), (0, 400));
        assert_eq!(ends(Spread::Equal, 400), (200, 400));
        assert_eq!(ends(Spread::Equal, 401), (201, 401));
        assert_eq!(ends(Spread::Additive(1_000), 400), (400, 1_400));
        assert_eq!(ends(Spread::AdditiveWithin(1_000), 400), (400, 1_400));
        assert_eq!(ends(Spread::Proportional(0.25), 400), (300, 500));
        assert_eq!(ends(Spread::Proportional(1.0), 400), (0, 800));
        assert_eq!(ends(Spread::Slots, 450), (0, 400));
    }

    #[test]
    fn at_the_cap_some_have_no_jitter_left_and_some_make_room() {
        assert_eq!(ends(Spread::Additive(1_000), 6_000), (6_000, 6_400));
        assert_eq!(ends(Spread::Additive(1_000), CAP), (6_400, 6_400));
        let within = ends(Spread::AdditiveWithin(1_000), u64::MAX);
        assert_eq!(within, (5_400, 6_400));
        assert_eq!(ends(Spread::AdditiveWithin(u64::MAX), 400), (0, 6_400));
        assert_eq!(ends(Spread::Proportional(0.25), u64::MAX), (3_840, 6_400));
        assert_eq!(ends(Spread::Proportional(0.0), u64::MAX), (6_400, 6_400));
    }

    #[test]
    fn a_share_that_is_none_is_refused() {
        for share in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            let refused = std::panic::catch_unwind(|| Spread::new(Jitter::Proportional(share)));
            assert!(refused.is_err(), "{share}");
        }
    }
}
