//! A description of a policy in words.

use crate::{
    delay::{growth::Growth, jitter::Spread},
    facts::codes::Codes,
    policy::{NEVER, Policy},
    text::Rounded,
};
use core::{fmt, time::Duration};

/// A description of a policy in words. Made by [`Policy::explain`].
#[derive(Clone, Copy)]
struct Explanation<'p>(&'p Policy);

impl Policy {
    /// Describes the policy on one line. If only the deadline limits the calls and no wait is random, the line may have the
    /// number of calls.
    ///
    /// ```
    /// # use backoff_core::Policy;
    /// # use std::time::Duration;
    /// # const POLICY: Policy = Policy::constant(Duration::from_secs(1));
    /// assert!(POLICY.explain().to_string().starts_with("waits 1s, "));
    /// ```
    pub fn explain(&self) -> impl fmt::Display + '_ {
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
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        waits(self.0, f)?;
        retries(self.0, f)?;
        limits(self.0, f)
    }
}

fn shown(nanos: u64) -> Rounded {
    Rounded(Duration::from_nanos(nanos))
}

#[inline]
fn waits(policy: &Policy, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let cap = shown(policy.max_backoff);
    let base = shown(policy.base).min(cap);
    if policy.jitter == Spread::Decorrelated {
        write!(
            f,
            "waits between {base} and three times the wait before, {base} at first, "
        )?;
        write!(f, "up to {cap}")?;
    } else {
        match policy.growth {
            Growth::Constant => write!(f, "waits {base}")?,
            Growth::Linear(step) => {
                write!(
                    f,
                    "waits {base}, then {} longer each time up to {cap}",
                    shown(step)
                )?;
            }
            Growth::Exponential(2.0) => write!(f, "waits {base}, doubling up to {cap}")?,
            Growth::Exponential(factor) => {
                write!(
                    f,
                    "waits {base}, growing by a factor of {factor} up to {cap}"
                )?;
            }
            Growth::Fibonacci => {
                write!(
                    f,
                    "waits {base}, growing like the Fibonacci numbers up to {cap}"
                )?;
            }
            Growth::Slots => {
                write!(
                    f,
                    "waits 1, 3, 7, … up to 1023 slots of {base}, up to {cap}"
                )?;
            }
            Growth::Custom(_) => write!(f, "waits as a custom function says, up to {cap}")?,
        }
    }
    match policy.jitter {
        Spread::None | Spread::Decorrelated => {}
        Spread::Full => f.write_str(", each drawn from zero up to that")?,
        Spread::Equal => f.write_str(", each drawn between half and all of that")?,
        Spread::Additive(most) => write!(f, ", and up to {} more, at most {cap}", shown(most))?,
        Spread::AdditiveWithin(most) => {
            write!(f, ", and up to {} more, within the maximum", shown(most))?;
        }
        Spread::Proportional(share) => {
            // To a thousandth of a percent, without the digits that `f64` adds.
            let percent = (share * 1e5 + 0.5) as u64 as f64 / 1e3;
            write!(f, ", each up to {percent} % shorter or longer")?;
        }
        Spread::Slots => {
            write!(
                f,
                ", each drawn from zero up to that in whole slots of {base}"
            )?;
        }
        Spread::WholeSeconds(unit) => {
            let unit = shown(unit);
            write!(
                f,
                ", each drawn from zero up to that in whole units of {unit}"
            )?;
        }
    }
    let has_rate = policy.shared_rate().is_some();
    if !has_rate && policy.throttled_base != NEVER && !matches!(policy.growth, Growth::Custom(_)) {
        let base = shown(policy.throttled_base).min(cap);
        write!(f, ", beginning with {base} after throttling")?;
    }
    if policy.spread_retry_after {
        f.write_str(", added to the wait that the server asks for")?;
    }
    if policy.retry_after_alone {
        f.write_str(
            ", but after throttling only as long as the server asks, if it names a time, and at least the first \
             wait after other failures",
        )?;
    }
    if policy.retry_after_slack != NEVER {
        let slack = shown(policy.retry_after_slack);
        write!(f, ", and at most {slack} longer if the server asks for it")?;
    }
    if has_rate {
        f.write_str(
            ", but after throttling, while other calls wait, only as long as the server asks; and then until its turn at \
             the rate of its calls",
        )?;
    }
    Ok(())
}

#[inline]
fn retries(policy: &Policy, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("; retries ")?;
    match (policy.codes != Codes::NONE, policy.retry_conflicts) {
        (true, true) => write!(f, "{:?}, conflicts and ", policy.codes)?,
        (true, false) => write!(f, "{:?} and ", policy.codes)?,
        (false, true) => f.write_str("conflicts and ")?,
        (false, false) => {}
    }
    if policy.throttled_if.is_some() {
        f.write_str("what its rule calls throttled and ")?;
    }
    f.write_str("failures of the connection")?;
    f.write_str(match (policy.idempotent, policy.by_method) {
        (true, _) => "",
        (false, false) => ", but repeats no request that may have been applied",
        (false, true) => {
            ", but repeats a request that may have been applied only if its HTTP method or headers allow that"
        }
    })
}

#[inline]
fn limits(policy: &Policy, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("; gives up ")?;
    let attempts = policy.attempts();
    let longest = policy.longest_hint(policy.deadline);
    if policy.never_ends(policy.deadline) {
        f.write_str("after a failure that is not retried")?;
    }
    if attempts != Policy::UNLIMITED {
        let s = if attempts == 1 { "" } else { "s" };
        write!(f, "after {attempts} attempt{s}")?;
        if policy.has_no_number() {
            f.write_str(", because it does not always wait")?;
        }
    }
    if policy.deadline != NEVER {
        let or = if attempts == Policy::UNLIMITED {
            ""
        } else {
            ", or "
        };
        let deadline = shown(policy.deadline);
        write!(f, "{or}when the next wait would end after {deadline}")?;
        if let Some(calls) = policy.calls_in_time() {
            let s = if calls == 1 { "" } else { "s" };
            write!(f, " ({calls} call{s}, if each fails at once)")?;
        }
    }
    if longest != NEVER && attempts > 1 && !policy.never_ends(policy.deadline) {
        let longest = shown(longest);
        write!(f, ", or when the server asks for more than {longest}")?;
    }
    if let Some(budget) = policy.budget {
        write!(
            f,
            ", or when its budget of {} tokens allows no more",
            budget.capacity()
        )?;
    }
    if policy.shared_breaker().is_some() {
        f.write_str(", or while its breaker is open")?;
    }
    if policy.shared_rate().is_some() && policy.deadline != NEVER {
        f.write_str(", or when the turn of a retry would come after the deadline")?;
    }
    if policy.never_ends(policy.deadline) {
        let longest = shown(longest);
        write!(f, "; waits at most {longest} if the server asks for more")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{budget::Budget, codes, delay::jitter::Jitter};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn every_rule_is_said() {
        static BUDGET: Budget = Budget::aws();
        let policy = Policy::exponential()
            .factor(1.5)
            .jitter(Jitter::Additive(SECOND))
            .throttled_base(2 * SECOND)
            .spread_retry_after(true)
            .retry_after_slack(5 * SECOND)
            .on(codes![409])
            .retry_conflicts(true)
            .idempotent(false)
            .max_attempts(8)
            .deadline(300 * SECOND)
            .max_retry_after(30 * SECOND)
            .budget(&BUDGET);
        assert_eq!(
            policy.to_string(),
            "waits 1s, growing by a factor of 1.5 up to 64s, and up to 1s more, at most 64s, \
             beginning with 2s after throttling, added to the wait that the server asks for, and at most 5s \
             longer if the server asks for it; retries {409, ABORTED}, conflicts and failures \
             of the connection, but repeats no request that may have been applied; gives up after 8 attempts, or when the next wait would end \
             after 300s, or when the server asks for more than 30s, or when its budget of 500 \
             tokens allows no more"
        );
    }

    #[cfg(feature = "rate")]
    #[test]
    fn a_rate_has_its_words() {
        static RATE: crate::rate::Rate = crate::rate::Rate::new();
        let policy = Policy::constant(SECOND)
            .jitter(Jitter::None)
            .on(Codes::NONE);
        let policy = policy.throttled_base(2 * SECOND).rate(&RATE);
        let waits = "waits 1s, but after throttling, while other calls wait, only as long as the server asks; and then \
             until its turn at the rate of its calls; retries failures of the connection; gives up after 3 attempts, or when the server \
             asks for more than 300s";
        assert_eq!(policy.max_attempts(3).to_string(), waits);
        let ends = ", or when the turn of a retry would come after the deadline";
        assert!(policy.deadline(SECOND).to_string().ends_with(ends));
    }

    /// Checks one of the three parts of the texts of these policies.
    #[track_caller]
    fn says<const N: usize>(part: usize, policies: [Policy; N], words: [&str; N]) {
        for (policy, words) in policies.iter().zip(words) {
            let all = policy.explain().to_string();
            assert_eq!(all.split("; ").nth(part), Some(words), "{all}");
        }
    }

    #[test]
    fn every_rule_that_holds_has_its_words_and_no_other() {
        let plain = Policy::exponential();
        let exact = plain.jitter(Jitter::None);
        let waits = [
            Policy::constant(SECOND).jitter(Jitter::None),
            Policy::linear(SECOND, SECOND / 2).jitter(Jitter::Equal),
            Policy::fibonacci(SECOND).jitter(Jitter::Proportional(0.07)),
            plain.jitter(Jitter::Decorrelated),
            exact.base(100 * SECOND),
            Policy::slots(SECOND / 1_000),
            plain.jitter(Jitter::AdditiveWithin(SECOND)),
            Policy::celery(3),
            exact.retry_after_alone(true),
        ];
        let words = [
            "waits 1s",
            "waits 1s, then 500ms longer each time up to 64s, each drawn between half and all of that",
            "waits 1s, growing like the Fibonacci numbers up to 64s, each up to 7 % shorter or longer",
            "waits between 1s and three times the wait before, 1s at first, up to 64s",
            "waits 64s, doubling up to 64s",
            "waits 1, 3, 7, … up to 1023 slots of 1ms, up to 64s, each drawn from zero up to that in whole slots of 1ms",
            "waits 1s, doubling up to 64s, and up to 1s more, within the maximum",
            "waits 3s, doubling up to 600s, each drawn from zero up to that in whole units of 1s",
            "waits 1s, doubling up to 64s, but after throttling only as long as the server asks, if it names a time, and at least the first wait after other failures",
        ];
        says(0, waits, words);
        let none = plain.on(Codes::NONE);
        let retries = [
            none.throttled_if(|_| false),
            none,
            none.idempotent(false),
            none.idempotent_by_method(),
            none.idempotent_by_method().idempotent(true),
            none.retry_conflicts(true),
        ];
        let words = [
            "retries what its rule calls throttled and failures of the connection",
            "retries failures of the connection",
            "retries failures of the connection, but repeats no request that may have been applied",
            "retries failures of the connection, but repeats a request that may have been applied only if its HTTP method or headers allow that",
            "retries failures of the connection",
            "retries conflicts and failures of the connection",
        ];
        says(1, retries, words);
        let ends = [
            plain,
            plain.max_attempts(1),
            // The deadline limits the longest hint.
            plain.max_attempts(3).deadline(SECOND),
            Policy::constant(Duration::ZERO).deadline(SECOND),
            plain.throttled_base(Duration::ZERO).deadline(SECOND),
            exact.deadline(SECOND / 2),
            plain.max_attempts(Policy::UNLIMITED),
            plain
                .max_attempts(Policy::UNLIMITED)
                .throttled_base(Duration::ZERO),
        ];
        let words = [
            "gives up after 5 attempts, or when the server asks for more than 300s",
            "gives up after 1 attempt",
            "gives up after 3 attempts, or when the next wait would end after 1s",
            "gives up after 5 attempts, because it does not always wait, or when the next wait would end after 1s",
            "gives up after 5 attempts, because it does not always wait, or when the next wait would end after 1s",
            "gives up when the next wait would end after 500ms (1 call, if each fails at once)",
            "gives up after a failure that is not retried",
            "gives up after 5 attempts, because it does not always wait, or when the server asks for more than 300s",
        ];
        says(2, ends, words);
    }
}
