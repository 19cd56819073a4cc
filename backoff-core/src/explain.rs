//! A policy in words.

use crate::{
    Policy,
    delay::{Growth, jitter::Spread},
    policy::NEVER,
};
use core::{fmt, time::Duration};

/// A policy in words, as `explain` and [`Display`](fmt::Display) of a [`Policy`] give it.
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'p>(&'p Policy);

impl Policy {
    /// The policy in words, on one line:
    ///
    /// ```
    /// use backoff_core::Policy;
    /// use std::time::Duration;
    ///
    /// let policy = Policy::exponential().deadline(Duration::from_secs(300));
    /// assert_eq!(
    ///     policy.explain().to_string(),
    ///     "waits 1s, doubling up to 64s, each drawn from zero up to that; retries {429, 500, \
    ///      502..=504, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL, UNAVAILABLE} and \
    ///      failures of the connection; gives up when the next wait would end after 300s",
    /// );
    /// ```
    pub const fn explain(&self) -> Explanation<'_> {
        Explanation(self)
    }
}

/// As [`Policy::explain`].
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain().fmt(f)
    }
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        waits(self.0, f)?;
        retries(self.0, f)?;
        limits(self.0, f)
    }
}

fn shown(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

fn waits(policy: &Policy, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (base, cap) = (shown(policy.base), shown(policy.max_backoff));
    if policy.jitter == Spread::Decorrelated {
        write!(
            f,
            "waits up to {:?} at first, each wait drawn between {base:?} and three times the \
                   one before, up to {cap:?}",
            3 * base
        )?;
    } else {
        match policy.growth {
            Growth::Constant => write!(f, "waits {:?}", base.min(cap))?,
            Growth::Linear(step) => {
                write!(
                    f,
                    "waits {base:?}, then {:?} longer each time up to {cap:?}",
                    shown(step)
                )?;
            }
            Growth::Exponential(2.0) => write!(f, "waits {base:?}, doubling up to {cap:?}")?,
            Growth::Exponential(factor) => {
                write!(
                    f,
                    "waits {base:?}, growing by a factor of {factor} up to {cap:?}"
                )?;
            }
            Growth::Fibonacci => {
                write!(
                    f,
                    "waits {base:?}, growing as Fibonacci's numbers up to {cap:?}"
                )?;
            }
            Growth::Slots => {
                write!(
                    f,
                    "waits a number of slots of {base:?} that doubles 10 times, up to {cap:?}"
                )?;
            }
            Growth::Custom(_) => write!(f, "waits what a function says, up to {cap:?}")?,
        }
    }
    match policy.jitter {
        Spread::None | Spread::Decorrelated => {}
        Spread::Full => f.write_str(", each drawn from zero up to that")?,
        Spread::Equal => f.write_str(", each drawn from its upper half")?,
        Spread::Additive(most) => write!(f, ", and up to {:?} more below that", shown(most))?,
        Spread::AdditiveWithin(most) => {
            write!(f, ", of which up to {:?} is drawn", shown(most))?;
        }
        Spread::Proportional(share) => write!(f, ", each {} % shorter or longer", share * 100.0)?,
        Spread::Slots => f.write_str(", each drawn from zero up to that")?,
        Spread::WholeSeconds => {
            f.write_str(", each drawn in whole seconds from zero up to that")?
        }
    }
    if policy.spread_retry_after {
        f.write_str(", on top of what the server asks for")?;
    }
    if policy.throttled_base != NEVER {
        write!(
            f,
            ", beginning with {:?} after throttling",
            shown(policy.throttled_base)
        )?;
    }
    Ok(())
}

fn retries(policy: &Policy, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "; retries {:?}", policy.codes)?;
    if policy.conflicts {
        f.write_str(", conflicts")?;
    }
    f.write_str(if policy.idempotent {
        " and failures of the connection"
    } else {
        " and requests that were surely not sent"
    })
}

fn limits(policy: &Policy, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("; gives up ")?;
    let attempts = policy.attempts();
    if attempts != u32::MAX {
        let s = if attempts == 1 { "" } else { "s" };
        write!(f, "after {attempts} attempt{s}")?;
    }
    if policy.deadline != NEVER {
        let or = if attempts == u32::MAX { "" } else { ", or " };
        let deadline = shown(policy.deadline);
        write!(f, "{or}when the next wait would end after {deadline:?}")?;
    }
    if policy.max_retry_after != NEVER {
        let longest = shown(policy.max_retry_after);
        write!(f, ", or when the server asks for more than {longest:?}")?;
    }
    if let Some(budget) = policy.budget {
        write!(
            f,
            ", or when a budget of {} tokens is spent",
            budget.capacity()
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Jitter, codes};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn every_rule_is_said() {
        static BUDGET: Budget = Budget::aws();
        let policy = Policy::exponential()
            .factor(1.5)
            .jitter(Jitter::Additive(SECOND))
            .throttled_base(2 * SECOND)
            .on(codes![409])
            .retry_conflicts(true)
            .idempotent(false)
            .max_attempts(8)
            .deadline(300 * SECOND)
            .max_retry_after(30 * SECOND)
            .budget(&BUDGET);
        assert_eq!(
            policy.to_string(),
            "waits 1s, growing by a factor of 1.5 up to 64s, and up to 1s more below that, \
             beginning with 2s after throttling; retries {409, ABORTED}, conflicts and requests \
             that were surely not sent; gives up after 8 attempts, or when the next wait would end \
             after 300s, or when the server asks for more than 30s, or when a budget of 500 tokens \
             is spent"
        );
    }

    #[test]
    fn every_growth_and_jitter_has_words() {
        let words = |policy: Policy| {
            let all = policy.explain().to_string();
            all.split(';').next().unwrap_or_default().to_owned()
        };
        assert_eq!(
            words(Policy::constant(SECOND).jitter(Jitter::None)),
            "waits 1s"
        );
        assert_eq!(
            words(Policy::linear(SECOND, SECOND / 2).jitter(Jitter::Equal)),
            "waits 1s, then 500ms longer each time up to 64s, each drawn from its upper half"
        );
        assert_eq!(
            words(Policy::fibonacci(SECOND).jitter(Jitter::Proportional(0.2))),
            "waits 1s, growing as Fibonacci's numbers up to 64s, each 20 % shorter or longer"
        );
        assert_eq!(
            words(Policy::exponential().jitter(Jitter::Decorrelated)),
            "waits up to 3s at first, each wait drawn between 1s and three times the one before, \
             up to 64s"
        );
        assert_eq!(
            words(Policy::celery(3)),
            "waits 3s, doubling up to 600s, each drawn in whole seconds from zero up to that"
        );
    }
}
