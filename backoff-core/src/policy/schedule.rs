//! The waits of a policy, known before the first call.

use crate::{
    facts::fault::FaultKind,
    policy::{NEVER, Policy},
};
use core::{fmt, time::Duration};

/// One retry of a [`Schedule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedWait {
    /// The number of the retry, from 1.
    pub retry: u32,
    /// The shortest possible wait before this retry.
    pub least: Duration,
    /// The longest possible wait before this retry.
    pub greatest: Duration,
    /// Whether the retry begins before the deadline, if attempts take no time.
    pub fits: Fits,
}

/// Whether a retry begins before the deadline, if attempts take no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fits {
    /// For all random waits.
    Always,
    /// Only if the random waits are short.
    Perhaps,
    /// For no random wait.
    Never,
}

impl Policy {
    /// The shortest and the longest possible wait before each retry after transient failures, up to the last attempt or the
    /// first retry that never begins before the deadline. An unlimited policy has no last retry: take the first ones by
    /// `.take(20)`.
    ///
    /// ```
    /// # use backoff_core::{Policy, schedule::Fits};
    /// # use std::time::Duration;
    /// # let policy = Policy::exponential().deadline(Duration::from_secs(10));
    /// let third = policy.schedule().nth(2).unwrap();
    /// assert_eq!(third.greatest, Duration::from_secs(4));
    /// # assert_eq!(third.least, Duration::ZERO);
    /// # assert_eq!(third.fits, Fits::Always); // 1 + 2 + 4 at the most
    /// # assert_eq!(policy.schedule().nth(3).unwrap().fits, Fits::Perhaps);
    /// ```
    #[doc(alias("print", "preview", "simulate", "dry run"))]
    pub fn schedule(&self) -> Schedule {
        Schedule {
            policy: *self,
            retry: 0,
            greatest: 0,
            sums: [0; 2],
        }
    }
}

/// The possible waits of a policy. Made by [`Policy::schedule`].
///
/// Printed, it is a table of the first twelve retries. *mean* is the wait on average, and *begins* is when the retry
/// begins on average, if attempts take no time. With decorrelated jitter and a `max_backoff`, the means are a little
/// too long.
///
/// ```
/// use backoff_core::Policy;
/// use std::time::Duration;
///
/// let policy = Policy::exponential().deadline(Duration::from_secs(5)).max_attempts(4);
/// let table = policy.schedule().to_string();
/// assert_eq!(table.lines().collect::<Vec<_>>(), [
///     "retry     least      mean  greatest    begins  fits",
///     "    1        0s   500.0ms      1.0s   500.0ms  always",
///     "    2        0s      1.0s      2.0s      1.5s  always",
///     "    3        0s      2.0s      4.0s      3.5s  perhaps",
/// ]);
/// ```
///
/// `{:#}` prints the same on one line, for a log: of each retry the wait, and when the retry begins. So a service says at
/// its start what its configuration means, by `PolicySettings::over`:
///
/// ```
/// # #[cfg(feature = "serde")] {
/// use backoff_core::{Policy, PolicySettings};
///
/// const REQUEST: Policy = Policy::exponential().max_attempts(3);
///
/// let settings: PolicySettings = toml::from_str("deadline = '2s'").unwrap();
/// let policy = settings.over(REQUEST).unwrap();
/// let line = format!("{:#}", policy.schedule());
/// assert_eq!(line, "1: 0s to 1.0s, begins at 500.0ms; 2: 0s to 2.0s, begins at 1.5s, fits perhaps");
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    policy: Policy,
    retry: u32,
    /// The longest possible wait so far, from which decorrelated jitter grows.
    greatest: u64,
    /// The sums of the shortest and of the longest waits so far, in nanoseconds.
    sums: [u64; 2],
}

impl Iterator for Schedule {
    type Item = PlannedWait;

    #[inline]
    fn next(&mut self) -> Option<PlannedWait> {
        let Schedule {
            policy,
            retry,
            greatest,
            sums,
        } = self;
        if *retry >= policy.attempts() - 1 {
            return None;
        }
        let at = |previous, random| {
            policy.backoff_nanos(FaultKind::Transient, *retry, || previous, || random)
        };
        let least = at(0, 0);
        *greatest = at(*greatest, u64::MAX);
        sums[0] = sums[0].saturating_add(least);
        sums[1] = sums[1].saturating_add(*greatest);
        let within = |sum: u64| policy.deadline == NEVER || sum <= policy.deadline;
        let fits = match (within(sums[0]), within(sums[1])) {
            (_, true) => Fits::Always,
            (true, false) => Fits::Perhaps,
            (false, false) => Fits::Never,
        };
        let number = *retry + 1;
        // One retry that never fits is enough; the schedule ends after it.
        *retry = if fits == Fits::Never {
            u32::MAX
        } else {
            number
        };
        Some(PlannedWait {
            retry: number,
            least: Duration::from_nanos(least),
            greatest: Duration::from_nanos(*greatest),
            fits,
        })
    }
}

/// How many retries a printed schedule shows at most.
const SHOWN: usize = 12;

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_line = f.alternate();
        if !is_line {
            let [least, mean, greatest, begins] = ["least", "mean", "greatest", "begins"];
            write!(
                f,
                "retry {least:>9} {mean:>9} {greatest:>9} {begins:>9}  fits"
            )?;
        }
        let (mut mean, mut begins) = (0, Duration::ZERO);
        for planned in self.clone().take(SHOWN) {
            mean = self.mean(planned.retry - 1, mean);
            begins += Duration::from_nanos(mean);
            let fits = match planned.fits {
                Fits::Always => "always",
                Fits::Perhaps => "perhaps",
                Fits::Never => "never",
            };
            let PlannedWait { retry, .. } = planned;
            let shown = [
                planned.least,
                Duration::from_nanos(mean),
                planned.greatest,
                begins,
            ];
            let [least, mean, greatest, at] = shown.map(Short);
            if !is_line {
                write!(
                    f,
                    "\n{retry:>5} {least:>9} {mean:>9} {greatest:>9} {at:>9}  {fits}"
                )?;
                continue;
            }
            let separator = if retry == 1 { "" } else { "; " };
            write!(
                f,
                "{separator}{retry}: {least} to {greatest}, begins at {at}"
            )?;
            if planned.fits != Fits::Always {
                write!(f, ", fits {fits}")?;
            }
        }
        Ok(())
    }
}

/// A time with one digit after the point; zero without one.
struct Short(Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.is_zero(), f.width().unwrap_or_default()) {
            (true, width) => write!(f, "{:>width$}", "0s"),
            (false, width) => write!(f, "{:>width$.1?}", self.0),
        }
    }
}

impl Schedule {
    /// The average of a wait, in nanoseconds, over random numbers that are equally far apart.
    fn mean(&self, retry: u32, previous: u64) -> u64 {
        const DRAWS: u64 = 256;
        let apart = u64::MAX / DRAWS + 1;
        let wait = |draw: u64| {
            let random = draw * apart + apart / 2;
            self.policy
                .backoff_nanos(FaultKind::Transient, retry, || previous, || random)
        };
        let sum: u128 = (0..DRAWS).map(wait).map(u128::from).sum();
        // Each wait is rounded down.
        sum.div_ceil(DRAWS.into()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::jitter::Jitter;

    const SECOND: Duration = Duration::from_secs(1);

    fn each<T>(policy: Policy, of: impl FnMut(PlannedWait) -> T) -> Vec<T> {
        policy.schedule().map(of).collect()
    }

    #[test]
    fn the_documented_formula_of_google() {
        let policy = Policy::exponential()
            .jitter(Jitter::Additive(SECOND))
            .deadline(300 * SECOND);
        let least = each(policy, |planned| planned.least.as_secs());
        assert_eq!(least, [1, 2, 4, 8, 16, 32, 64, 64, 64, 64]);
        let greatest = each(policy, |planned| planned.greatest.as_secs());
        assert_eq!(greatest[..7], [2, 3, 5, 9, 17, 33, 64]);
        // 63 s of growing waits and 3 waits of 64 s fit into 300 s, with or without six seconds of
        // jitter; a fourth wait of 64 s does not fit.
        let fits = each(policy, |planned| planned.fits);
        assert_eq!(fits[..9], [Fits::Always; 9]);
        assert_eq!(fits[9..], [Fits::Never]);
    }

    #[test]
    fn the_schedule_ends_with_the_attempts() {
        let plain = Policy::exponential();
        let counts = [plain, plain.max_attempts(1), Policy::slots(SECOND)];
        assert_eq!(counts.map(|policy| policy.schedule().count()), [4, 0, 15]);
        // Decorrelated waits grow from their greatest.
        let policy = plain.jitter(Jitter::Decorrelated).max_attempts(6);
        let greatest = each(policy, |planned| planned.greatest.as_secs());
        assert_eq!(greatest, [3, 9, 27, 64, 64]);
    }

    #[test]
    fn chance_may_let_one_more_fit() {
        use Fits::{Always, Never, Perhaps};
        let policy = Policy::exponential()
            .jitter(Jitter::Equal)
            .deadline(5 * SECOND);
        // 1 + 2 always; up to 4 more, at least 2, perhaps; at least 4 more never.
        let fits = each(policy, |planned| planned.fits);
        assert_eq!(fits, [Always, Always, Perhaps, Never]);
    }

    #[test]
    fn a_printed_schedule_is_a_table_of_twelve_retries() {
        let constant = Policy::constant(SECOND)
            .jitter(Jitter::None)
            .max_attempts(99);
        let table = std::format!("{}", constant.schedule());
        assert_eq!(table.lines().count(), 1 + SHOWN);
        let last = table.lines().last().unwrap();
        assert_eq!(
            last,
            "   12      1.0s      1.0s      1.0s     12.0s  always"
        );
        // Decorrelated: the mean of 1 to 3 s, and then of 1 s to three times 2 s.
        let grows = Policy::exponential().jitter(Jitter::Decorrelated);
        let table = std::format!("{}", grows.schedule());
        let means: Vec<_> = table
            .lines()
            .filter_map(|line| line.split_whitespace().nth(2))
            .take(3)
            .collect();
        assert_eq!(means, ["mean", "2.0s", "3.5s"]);
        let ended = Policy::exponential().max_attempts(1).schedule();
        assert_eq!(std::format!("{ended}").lines().count(), 1);
        assert_eq!(std::format!("{ended:#}"), "");
    }
}
