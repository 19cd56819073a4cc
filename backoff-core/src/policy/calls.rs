//! The number of calls of a policy: whether it waits after each failure, and how many calls fit into its deadline.

use super::{
    MOST_ATTEMPTS, NEVER, Policy,
    schedule::{Fits, PlannedWait},
};
use crate::delay::{exponential, growth::Growth, jitter::Spread};

impl Policy {
    /// Whether the waits from each base can be longer than zero. The waits of a custom function are unknown and
    /// count as longer than zero.
    pub(super) const fn always_waits(&self) -> bool {
        self.may_wait(self.base)
            && (self.throttled_base == NEVER || self.may_wait(self.throttled_base))
    }

    /// Whether a wait from this base can be longer than zero.
    pub(super) const fn may_wait(&self, base: u64) -> bool {
        let cap = self.max_backoff;
        // Like `Growth::delay` for the last counted retry: no wait is shorter than the wait before it.
        let grows = match self.growth {
            Growth::Linear(step) => base > 0 || step > 0,
            Growth::Constant | Growth::Exponential(_) | Growth::Fibonacci | Growth::Slots => {
                base > 0
            }
            Growth::Custom(_) => true,
        };
        // Like `Spread::apply`.
        cap > 0
            && match self.jitter {
                Spread::None | Spread::Full | Spread::Equal => grows,
                Spread::Decorrelated => base > 0,
                Spread::Additive(most) | Spread::AdditiveWithin(most) => grows || most > 0,
                Spread::Proportional(_) => grows && self.jitter.limit(cap) > 0,
                Spread::Slots => base > 0 && base <= cap,
                Spread::WholeSeconds(unit) => self.longest_plain(base) >= unit,
            }
    }

    /// The longest wait without jitter and without a cap.
    const fn longest_plain(&self, base: u64) -> u64 {
        let last = MOST_ATTEMPTS as u64;
        match self.growth {
            Growth::Constant | Growth::Exponential(1.0) => base,
            Growth::Linear(step) => base.saturating_add(step.saturating_mul(last)),
            Growth::Exponential(factor) => {
                let power = exponential::power(factor, MOST_ATTEMPTS);
                if base == 0 {
                    0
                } else {
                    (base as f64 * power + 0.5) as u64
                }
            }
            Growth::Fibonacci if base == 0 => 0,
            Growth::Fibonacci | Growth::Custom(_) => u64::MAX,
            Growth::Slots => base.saturating_mul(1_023),
        }
    }

    /// How many calls fit into the deadline if each call fails at once, the first call included. `None` if
    /// the waits are drawn at random or come from a custom function, if there is no deadline, if the number
    /// of attempts is limited, or if more than a thousand calls fit.
    pub(super) fn calls_in_time(&self) -> Option<usize> {
        let is_drawn = !matches!(self.jitter, Spread::None);
        let is_custom = matches!(self.growth, Growth::Custom(_));
        if is_drawn || is_custom || self.deadline == NEVER || self.attempts() != u32::MAX {
            return None;
        }
        let fits = |wait: &PlannedWait| wait.fits == Fits::Always;
        let retries = self.schedule().take(1_000).take_while(fits).count();
        (retries < 1_000).then_some(1 + retries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        delay::jitter::Jitter,
        facts::fault::FaultKind,
        judge::Verdict,
        policy::tests::{any_duration, any_policy},
        state::{Decision, RetryState},
    };
    use core::{cell::Cell, time::Duration};
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);
    const PLAIN: Policy = Policy::exponential().jitter(Jitter::None);

    /// The number of calls if each call fails at once with this kind, up to `most`.
    fn played(policy: &Policy, kind: FaultKind, most: u64, mut random: impl FnMut() -> u64) -> u64 {
        let retry_after = None;
        let failed = Verdict::Retry { kind, retry_after };
        let now = Cell::new(Duration::ZERO);
        let mut retry = RetryState::start(policy, || now.get());
        for calls in 1..most {
            match retry.failed(policy, failed, || now.get(), &mut random) {
                Decision::Wait(wait) => now.set(now.get() + wait.delay),
                Decision::Stop(_) => return calls,
            }
        }
        most
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn only_where_the_waits_from_a_base_are_zero_the_attempts_are_limited_beside_a_deadline(
            policy in any_policy(),
            throttled in prop_oneof![Just(None), any_duration().prop_map(Some)],
            zero in any::<[bool; 3]>(),
            deadline in any_duration(),
            set in prop_oneof![Just(None), (1u32..100).prop_map(Some)],
        ) {
            let mut policy = policy;
            if zero[0] {
                policy = policy.base(Duration::ZERO);
            }
            if let Some(base) = throttled {
                policy = policy.throttled_base(if zero[1] { Duration::ZERO } else { base });
            }
            // Sometimes the deadline is set first, so the test shows that each setter keeps the limit.
            let mut policy = if zero[2] {
                let base = Duration::from_nanos(policy.base);
                policy.base(SECOND).deadline(deadline).base(base)
            } else {
                policy.deadline(deadline)
            };
            if let Some(set) = set {
                policy = policy.max_attempts(set);
            }
            // With the greatest random number, no wait is longer than the last wait, except for a
            // custom function.
            let longest = |kind| policy.backoff_nanos(kind, MOST_ATTEMPTS, || 0, || u64::MAX);
            let waits = longest(FaultKind::Transient) > 0 && longest(FaultKind::Throttled) > 0;
            let is_custom = matches!(policy.growth, Growth::Custom(_));
            prop_assert!(policy.waits == waits || is_custom && policy.waits, "{policy:?}");
            // The policies of slots, Celery and APUE set a number of attempts themselves.
            let expected = match policy.max_attempts {
                0 if policy.waits => u32::MAX,
                0 => 5,
                set => set,
            };
            prop_assert_eq!(policy.attempts(), expected, "{:?}", policy);
            prop_assert_eq!(policy.attempts_in_time(), expected, "{:?}", policy);
            for kind in [FaultKind::Transient, FaultKind::Throttled] {
                if !policy.waits && longest(kind) == 0 {
                    let made = played(&policy, kind, 1_000, || u64::MAX);
                    prop_assert_eq!(made, u64::from(expected));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_number_of_calls_is_that_of_a_call_in_virtual_time(
            base in 1u64..2_000,
            cap in 1u64..20_000,
            deadline in 1u64..100_000,
            growth in 0..5,
            factor in 1.0..3.0f64,
        ) {
            let base = Duration::from_millis(base);
            let policy = match growth {
                0 => Policy::constant(base),
                1 => Policy::linear(base, base / 3),
                2 => Policy::fibonacci(base),
                _ => Policy::exponential().base(base).factor(factor),
            };
            let policy = policy
                .max_backoff(Duration::from_millis(cap))
                .jitter(Jitter::None)
                .deadline(Duration::from_millis(deadline));
            let made = played(&policy, FaultKind::Transient, 1_001, || 0);
            prop_assert_eq!(policy.calls_in_time(), (made <= 1_000).then_some(made as usize));
        }
    }

    /// A slow growth reaches a whole second just so.
    #[test]
    fn waits_of_whole_seconds_may_wait_if_one_ever_reaches_a_second() {
        let slow = PLAIN.factor(1.000_000_01).jitter(Jitter::WholeSeconds);
        for (base, may_wait) in [(SECOND, true), (SECOND / 2, false)] {
            let policy = slow.base(base);
            assert_eq!(policy.may_wait(policy.base), may_wait, "{base:?}");
        }
    }

    /// The function overflows at the 64th retry.
    #[test]
    fn a_function_is_asked_for_no_number() {
        let doubled = Policy::custom(|n| Duration::from_secs(1 << n));
        let hour = doubled.deadline(3_600 * SECOND);
        let said = hour.to_string();
        let end = "gives up when the next wait would end after 3600s";
        assert!(said.ends_with(end), "{said}");
        assert_eq!(hour.explain().to_string(), said);
    }
}
