//! The rules of one retry: a constant, copied freely.

#[macro_use]
mod table;
// First, so that the page of `Policy` begins with the constructors.
mod build;
mod calls;
#[cfg(feature = "serde")]
pub(crate) mod config;
mod explain;
pub(crate) mod log_level;
pub mod schedule;

#[cfg(feature = "breaker")]
use crate::breaker::Breaker;
#[cfg(feature = "rate")]
use crate::rate::Rate;
use crate::{
    budget::Budget,
    codes,
    delay::{
        Delay,
        growth::Growth,
        jitter::{Jitter, Spread},
    },
    facts::{
        codes::Codes,
        fault::{Fault, FaultKind},
    },
    rate::{NO_TOKENS, Tokens},
    runtime::nanos,
};
use core::{fmt, time::Duration};
use log_level::LogLevel;

/// Means "no limit" in a field that keeps a limit in nanoseconds.
pub(crate) const NEVER: u64 = u64::MAX;

/// Defines [`Policy`], its defaults and the setters of the rows in `table.rs`.
macro_rules! policy {
    ($(
        $(#[$meta:meta])*
        $rule:ident($argument:ident: $given:ty): $kept:ty = $default:expr => $value:expr $(, key $read:ident $values:literal)?;
    )*) => {
        /// What is retried, how long to wait, and when to give up: every rule in one constant.
        ///
        /// A setter panics if a value makes no sense; in a constant, the panic is a compile error. If two rules disagree,
        /// the stricter one applies: `max_backoff` limits `base`, and a deadline before the end of the first wait means
        /// no retry. [Waits and limits](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/waits_and_limits/)
        /// explains the rules.
        ///
        /// | rule | default |
        /// |---|---|
        /// | [`base`](Self::base): the first wait | 1 s |
        /// | [`throttled_base`](Self::throttled_base): after throttling | as `base` |
        /// | [`factor`](Self::factor): growth | 2 |
        /// | [`max_backoff`](Self::max_backoff): the longest wait | 64 s |
        /// | [`jitter`](Self::jitter): the random part | [`Jitter::Full`](crate::Jitter::Full) |
        /// | [`max_attempts`](Self::max_attempts) | 5; [no limit](Self::UNLIMITED) once a deadline is set and no base is zero |
        /// | [`deadline`](Self::deadline) | none |
        /// | [`on`](Self::on): codes | 429, 500, 502, 503, 504, and their gRPC codes |
        /// | [`throttled_if`](Self::throttled_if) | none |
        /// | [`retry_conflicts`](Self::retry_conflicts) | no |
        /// | [`max_retry_after`](Self::max_retry_after): the longest hint | the deadline or the [timeout](crate::Retrying::timeout), else 5 min |
        /// | [`retry_after_slack`](Self::retry_after_slack) | no limit |
        /// | [`spread_retry_after`](Self::spread_retry_after), [`retry_after_alone`](Self::retry_after_alone) | no: the longer one of hint and backoff |
        /// | [`budget`](Self::budget), `rate`, `breaker` | none |
        /// | [`idempotent`](Self::idempotent) | yes |
        /// | [`log_waits`](Self::log_waits) | `INFO` |
        /// | [`name`](Self::name) | none |
        ///
        /// ```
        /// use backoff_core::{codes, Policy};
        /// use std::time::Duration;
        ///
        /// const POLICY: Policy = Policy::exponential()
        ///     .deadline(Duration::from_secs(300))
        ///     .on(codes![429, 500..=504]);
        /// # // The third retry waits 4 s at most. The greatest random number gives the longest wait.
        /// # assert_eq!(POLICY.backoff(2, Duration::ZERO, u64::MAX), Duration::from_secs(4));
        /// ```
        #[derive(Clone, Copy)]
        #[must_use = "a policy does nothing until it is given an operation"]
        pub struct Policy {
            $(pub(crate) $rule: $kept,)*
            pub(crate) growth: Growth,
            pub(crate) codes: Codes,
            #[cfg(feature = "rate")]
            pub(super) rate: Option<&'static Rate>,
            /// How many tokens of a quota an attempt uses: by the key `tokens`.
            pub(crate) tokens: Tokens,
            #[cfg(feature = "breaker")]
            pub(super) breaker: Option<&'static Breaker>,
            /// Computed from `max_attempts`, `deadline` and `waits`: the highest number of attempts.
            attempts: u32,
            /// Computed from all rules about waits: whether the waits from each base can be longer than zero.
            waits: bool,
            pub(crate) idempotent: bool,
            /// Whether method and headers of an HTTP request decide, where the request is seen. They do so for an
            /// idempotent policy too.
            pub(crate) by_method: bool,
        }

        const EXPONENTIAL: Policy = Policy {
            $($rule: $default,)*
            growth: Growth::Exponential(2.0),
            codes: codes![429, 500, 502..=504],
            #[cfg(feature = "rate")]
            rate: None,
            tokens: NO_TOKENS,
            #[cfg(feature = "breaker")]
            breaker: None,
            attempts: DEFAULT_ATTEMPTS,
            waits: true,
            idempotent: true,
            by_method: true,
        };

        impl Policy {
            $(
                $(#[$meta])*
                pub const fn $rule(mut self, $argument: $given) -> Self {
                    self.$rule = $value;
                    self.settled()
                }
            )*
        }
    };
}

rules!(policy);

/// The highest number of attempts that is counted. A higher limit is reduced to this number, but for
/// [`Policy::UNLIMITED`].
pub(crate) const MOST_ATTEMPTS: u32 = 262_143;

/// The message for a policy that would never call the operation.
pub(crate) const NO_ATTEMPTS: &str = "`max_attempts` counts the first call too: write 1 to never retry; for no limit write \
     `Policy::UNLIMITED`, in a configuration \"unlimited\"";

/// The limit of a policy without `max_attempts` and deadline, and of a policy that does not always wait.
const DEFAULT_ATTEMPTS: u32 = 5;

/// The longest deadline: a year. A longer deadline is reduced to a year.
pub(crate) const MOST_DEADLINE: u64 = 365 * 86_400 * 1_000_000_000;

/// A time for a call that is longer than any deadline, and short enough for a `RetryState`.
pub(crate) const LONGEST: Duration = Duration::from_nanos(MOST_DEADLINE + 1);

/// The longest hint for a policy without `max_retry_after` and deadline: 5 minutes.
const DEFAULT_MAX_RETRY_AFTER: u64 = 300_000_000_000;

/// Keeps a limit below `NEVER`, so that the value stays a limit (584 years at most).
const fn limited(nanos: u64) -> u64 {
    if nanos == NEVER { NEVER - 1 } else { nanos }
}

const fn within_a_year(deadline: u64) -> u64 {
    if deadline > MOST_DEADLINE {
        MOST_DEADLINE
    } else {
        deadline
    }
}

#[track_caller]
const fn checked_attempts(max_attempts: u32) -> u32 {
    assert!(max_attempts > 0, "{}", NO_ATTEMPTS);
    if max_attempts > MOST_ATTEMPTS && max_attempts != Policy::UNLIMITED {
        MOST_ATTEMPTS
    } else {
        max_attempts
    }
}

impl Policy {
    /// The policy for one request that is sent again as it is: without conflicts, if it retries them, and without
    /// conflicts in its codes. A policy that retries conflicts is for a whole read-modify-write: the same request would
    /// fail for ever. The codes of any other policy are the caller's choice, and stay.
    #[doc(hidden)]
    pub const fn without_conflicts(mut self) -> Self {
        if self.retry_conflicts {
            self.retry_conflicts = false;
            self.codes = self.codes.without(codes![409, 412]);
        }
        self
    }
}

/// An iterator over the policy's waits. It ends after the policy's last attempt.
impl Delay for Policy {
    #[inline]
    fn delay(&self, retry: u32, previous: Duration, random: u64) -> Option<Duration> {
        self.delay_after(FaultKind::Transient, retry, previous, random)
    }

    #[inline]
    fn delay_after(
        &self,
        kind: FaultKind,
        retry: u32,
        previous: Duration,
        random: u64,
    ) -> Option<Duration> {
        (self.attempts() == Self::UNLIMITED || retry < self.attempts() - 1).then(|| {
            let previous = || nanos(previous);
            Duration::from_nanos(self.backoff_nanos(kind, retry, previous, || random))
        })
    }
}

/// An iterator over the waits of a borrowed policy.
impl Delay for &Policy {
    #[inline]
    fn delay(&self, retry: u32, previous: Duration, random: u64) -> Option<Duration> {
        (**self).delay(retry, previous, random)
    }

    #[inline]
    fn delay_after(
        &self,
        kind: FaultKind,
        retry: u32,
        previous: Duration,
        random: u64,
    ) -> Option<Duration> {
        (**self).delay_after(kind, retry, previous, random)
    }
}

/// Compares all rules except [`log_waits`](Policy::log_waits) and [`name`](Policy::name). Budget, rate, breaker and
/// functions must be the same.
impl PartialEq for Policy {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let times = |p: &Policy| {
            let waits = [p.base, p.throttled_base, p.max_backoff, p.deadline];
            (waits, p.max_retry_after, p.retry_after_slack)
        };
        let rules = |p: &Policy| {
            (
                (p.growth, p.jitter, p.max_attempts),
                (p.codes, p.throttled_if.map(|rule| rule as usize)),
                (p.retry_conflicts, p.idempotent, p.by_method),
                (p.spread_retry_after, p.retry_after_alone),
                p.budget.map(core::ptr::from_ref),
                p.shared_rate().map(core::ptr::from_ref),
                p.shared_breaker().map(core::ptr::from_ref),
            )
        };
        times(self) == times(other) && rules(self) == rules(other)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::exponential()
    }
}

/// As [`Policy::explain`], with `log_waits` and `name`.
impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, name) = (self.log_waits, self.name);
        write!(f, "Policy({self}; log_waits {level:?}, name {name:?})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    pub(super) fn any_duration() -> impl Strategy<Value = Duration> {
        prop_oneof![
            Just(Duration::ZERO),
            Just(Duration::MAX),
            (any::<u64>(), 0u32..1_000_000_000).prop_map(|(s, n)| Duration::new(s, n)),
            any::<u64>().prop_map(Duration::from_nanos),
            (0u64..100_000).prop_map(Duration::from_millis),
        ]
    }

    fn any_jitter() -> impl Strategy<Value = Jitter> {
        prop_oneof![
            Just(Jitter::None),
            Just(Jitter::Full),
            Just(Jitter::Equal),
            Just(Jitter::Decorrelated),
            Just(Jitter::Slots),
            Just(Jitter::WholeSeconds),
            any_duration().prop_map(Jitter::Additive),
            any_duration().prop_map(Jitter::AdditiveWithin),
            prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64].prop_map(Jitter::Proportional),
        ]
    }

    fn squares(n: u32) -> Duration {
        Duration::from_millis(u64::from(n).pow(2))
    }

    fn any_growth() -> impl Strategy<Value = Policy> {
        prop_oneof![
            prop_oneof![Just(2.0), Just(1.0), Just(f64::MAX), 1.0..100.0f64]
                .prop_map(|factor| Policy::exponential().factor(factor)),
            any_duration().prop_map(Policy::constant),
            (any_duration(), any_duration()).prop_map(|(a, b)| Policy::linear(a, b)),
            any_duration().prop_map(Policy::fibonacci),
            any_duration().prop_map(Policy::slots),
            any::<u32>().prop_map(Policy::celery),
            Just(Policy::connect_retry()),
            Just(Policy::custom(squares)),
        ]
    }

    prop_compose! {
        pub(super) fn any_policy()(
            policy in any_growth(),
            base in any_duration(),
            max_backoff in any_duration(),
            jitter in any_jitter(),
            by in prop_oneof![Just(1.0), Just(f64::MIN_POSITIVE), Just(f64::MAX), 0.001..1e3f64],
        ) -> Policy {
            policy.base(base).max_backoff(max_backoff).jitter(jitter).scaled(by)
        }
    }

    /// The bounds of the wait without jitter and of the random part around it.
    fn bounds(policy: &Policy, retry: u32, previous: Duration) -> (Duration, Duration) {
        let at = |jitter| policy.jitter(jitter).backoff(retry, previous, 0);
        let plain = at(Jitter::None);
        let cap = Duration::from_nanos(policy.max_backoff);
        let base = Duration::from_nanos(policy.base).min(cap);
        let time = Duration::from_nanos;
        match policy.jitter {
            Spread::None => (plain, plain),
            Spread::Full | Spread::Slots => (Duration::ZERO, plain),
            Spread::Equal => (plain / 2, plain),
            Spread::Decorrelated => (base, previous.max(base).saturating_mul(3).min(cap)),
            Spread::Additive(most) => (plain, plain.saturating_add(time(most)).min(cap)),
            Spread::AdditiveWithin(most) => (
                plain.min(cap.saturating_sub(time(most))),
                plain.saturating_add(time(most)).min(cap),
            ),
            // The cap leaves room for the random part, so it lowers the shortest wait too.
            Spread::Proportional(share) if share > 0.0 => (Duration::ZERO, cap),
            Spread::Proportional(_) => (plain, plain),
            Spread::WholeSeconds(_) => (Duration::ZERO, cap),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn waits_never_leave_their_bounds(
            policy in any_policy(),
            retry in prop_oneof![0u32..200, any::<u32>(), Just(u32::MAX)],
            previous in any_duration(),
            random in prop_oneof![Just(0), Just(u64::MAX), any::<u64>()],
        ) {
            let wait = policy.backoff(retry, previous, random);
            let (least, most) = bounds(&policy, retry, previous);
            prop_assert!(wait <= Duration::from_nanos(policy.max_backoff), "{wait:?} {policy:?}");
            prop_assert!(least <= wait && wait <= most, "{least:?} {wait:?} {most:?} {policy:?}");
        }

        #[test]
        fn one_is_no_scale_at_all(policy in any_policy()) {
            prop_assert_eq!(policy.scaled(1.0), policy);
        }
    }

    #[test]
    fn a_deadline_replaces_the_default_number_of_attempts() {
        let plain = Policy::exponential();
        let timed = plain.deadline(SECOND);
        let never_waits = timed.base(Duration::ZERO);
        for (policy, attempts) in [
            (plain, 5),
            (timed, u32::MAX),
            (never_waits, 5),
            (never_waits.max_attempts(9), 9),
            (never_waits.base(SECOND), u32::MAX),
            // It does not wait after all failures.
            (never_waits.throttled_base(SECOND), 5),
            (timed.throttled_base(Duration::ZERO), 5),
            (timed.max_attempts(3), 3),
            (plain.max_attempts(Policy::UNLIMITED), u32::MAX),
            (plain.max_attempts(u32::MAX - 1), MOST_ATTEMPTS),
            (never_waits.max_attempts(Policy::UNLIMITED), 5),
            (
                plain
                    .max_attempts(Policy::UNLIMITED)
                    .throttled_base(Duration::ZERO),
                5,
            ),
            (plain.max_attempts(3).deadline(SECOND), 3),
        ] {
            assert_eq!(policy.attempts(), attempts, "{policy:?}");
        }
    }

    #[test]
    fn scaling_reaches_every_time_and_no_number() {
        let policy = Policy::exponential()
            .jitter(Jitter::Additive(SECOND))
            .deadline(300 * SECOND)
            .max_retry_after(30 * SECOND)
            .max_attempts(7)
            .scaled(0.01);
        let expected = Policy::exponential()
            .base(Duration::from_millis(10))
            .max_backoff(Duration::from_millis(640))
            .jitter(Jitter::Additive(Duration::from_millis(10)))
            .deadline(3 * SECOND)
            .max_retry_after(Duration::from_millis(300))
            .max_attempts(7);
        assert_eq!(policy, expected);
        assert_eq!(Policy::exponential().scaled(1e-9).deadline, NEVER);
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write_instead() {
        fn refusal<T>(make: impl FnOnce() -> T + std::panic::UnwindSafe) -> String {
            let panic = std::panic::catch_unwind(make).err().expect("refused");
            let formatted = panic.downcast_ref::<String>().map(String::as_str);
            let said = formatted.or_else(|| panic.downcast_ref::<&str>().copied());
            said.expect("a message").to_owned()
        }
        assert!(refusal(|| Policy::exponential().max_attempts(0)).contains("write 1"));
        for factor in [f64::NAN, 0.0, 0.999, -2.0, f64::INFINITY, f64::NEG_INFINITY] {
            let said = refusal(move || Policy::exponential().factor(factor));
            assert!(said.contains("at least 1"), "{factor}: {said}");
        }
        for by in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let said = refusal(move || Policy::exponential().scaled(by));
            assert!(said.contains("above 0"), "{by}: {said}");
        }
    }

    /// A borrowed policy is an iterator's source too, and knows the kind of a failure.
    #[test]
    fn a_borrowed_policy_waits_as_the_policy_does() {
        let policy = Policy::exponential().throttled_base(7 * SECOND);
        for (kind, most) in [(FaultKind::Transient, 2), (FaultKind::Throttled, 14)] {
            let borrowed = Delay::delay_after(&&policy, kind, 1, SECOND, u64::MAX);
            assert_eq!(borrowed, Some(most * SECOND), "{kind:?}");
        }
    }

    #[test]
    fn a_policy_shows_its_rules() {
        let shown = format!("{:?}", Policy::exponential().deadline(SECOND));
        for part in ["Policy(waits 1s", "429", "after 1s"] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }

    #[test]
    fn policies_that_differ_in_one_rule_are_not_equal() {
        static BUDGET: Budget = Budget::aws();
        let policy = Policy::exponential();
        let others = [
            policy.base(SECOND / 2),
            policy.throttled_base(SECOND),
            policy.max_backoff(SECOND),
            policy.factor(3.0),
            policy.jitter(Jitter::None),
            policy.max_attempts(6),
            policy.deadline(SECOND),
            policy.on(codes![503]),
            policy.throttled_if(|_| true),
            policy.retry_conflicts(true),
            policy.idempotent(false),
            policy.idempotent_by_method(),
            policy.max_retry_after(SECOND),
            policy.retry_after_slack(SECOND),
            policy.spread_retry_after(true),
            policy.retry_after_alone(true),
            policy.budget(&BUDGET),
        ];
        for (index, one) in others.iter().enumerate() {
            assert_ne!(*one, policy);
            for other in &others[index + 1..] {
                assert_ne!(one, other);
            }
        }
        #[cfg(feature = "tracing")]
        let policy = policy.log_waits(LogLevel::Off);
        assert_eq!(policy.name("a"), Policy::exponential());
    }

    #[test]
    fn only_a_policy_that_retries_conflicts_loses_them() {
        const BUSY: Policy = Policy::exponential().on(codes![429, 503]);
        for conflicts in [
            codes![412],
            codes![409],
            codes![Codes::ABORTED],
            codes![Codes::FAILED_PRECONDITION],
            codes![409, 412],
        ] {
            let by_codes = BUSY.also_on(conflicts);
            assert_eq!(by_codes.without_conflicts(), by_codes);
            let anew = by_codes.retry_conflicts(true);
            assert_eq!(anew.without_conflicts(), BUSY);
        }
        assert_eq!(BUSY.without_conflicts(), BUSY);
    }
}
