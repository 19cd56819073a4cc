//! The settings that a policy has.

use super::{Growth, PolicySettings, PolicySettingsError};
use crate::{
    delay::{
        growth::Growth as Kept,
        jitter::{Jitter, Spread},
    },
    policy::{EXPONENTIAL, NEVER, Policy},
};
use core::time::Duration;

/// What the setter of a rule was given, or `None` for a limit that is not set.
trait Given<T> {
    fn given(self, default: Self) -> Option<T>;
}

impl<T> Given<T> for T {
    fn given(self, _: Self) -> Option<T> {
        Some(self)
    }
}

impl Given<Duration> for u64 {
    /// `NEVER` is a time, unless it is the default.
    fn given(self, default: Self) -> Option<Duration> {
        ([self, default] != [NEVER; 2]).then(|| Duration::from_nanos(self))
    }
}

impl Given<Jitter> for Spread {
    fn given(self, _: Self) -> Option<Jitter> {
        Some(match self {
            Spread::None => Jitter::None,
            Spread::Full => Jitter::Full,
            Spread::Equal => Jitter::Equal,
            Spread::Decorrelated => Jitter::Decorrelated,
            Spread::Additive(most) => Jitter::Additive(Duration::from_nanos(most)),
            Spread::AdditiveWithin(most) => Jitter::AdditiveWithin(Duration::from_nanos(most)),
            Spread::Proportional(share) => Jitter::Proportional(share),
            Spread::Slots => Jitter::Slots,
            Spread::WholeSeconds(_) => Jitter::WholeSeconds,
        })
    }
}

/// Defines the reader of all rules: the rows of `table.rs` that have a key, and five more rules.
macro_rules! read_back {
    ($(
        $(#[$meta:meta])*
        $rule:ident($argument:ident: $given:ty): $kept:ty = $default:expr => $value:expr $(, key $read:ident $values:literal)?;
    )*) => {
        read_back! { @ $($($rule = $read,)?)* }
    };
    (@ $($rule:ident = $read:ident,)*) => {
        fn read_back(policy: &Policy) -> PolicySettings {
            let (growth, factor) = match policy.growth {
                Kept::Exponential(factor) => (Some(Growth::Exponential), Some(factor)),
                Kept::Constant => (Some(Growth::Constant), None),
                Kept::Linear(step) => (Some(Growth::Linear(Duration::from_nanos(step))), None),
                Kept::Fibonacci => (Some(Growth::Fibonacci), None),
                Kept::Slots => (Some(Growth::Slots), None),
                Kept::Custom(_) => (None, None),
            };
            let settings = PolicySettings {
                $($rule: policy.$rule.given(EXPONENTIAL.$rule),)*
                growth,
                factor,
                on: Some(policy.codes),
                also_on: None,
                idempotent: Some(policy.idempotent),
            };
            // 0 in a policy is no limit.
            let max_attempts = settings.max_attempts.filter(|attempts| *attempts > 0);
            PolicySettings { max_attempts, ..settings }
        }
    };
}

rules!(read_back);

impl Policy {
    /// The rules of this policy as settings: to show them, or to write them to a file.
    /// [`over`](PolicySettings::over) puts them on [`Policy::exponential`] and gives an equal policy. A limit that
    /// is not set is `None`. The [name](Self::name) is no setting.
    ///
    /// ```
    /// use backoff_core::{Budget, Policy, PolicySettings};
    /// use std::time::Duration;
    ///
    /// static BUDGET: Budget = Budget::aws().name("payments");
    /// const POLICY: Policy = Policy::exponential().deadline(Duration::from_secs(90)).budget(&BUDGET);
    ///
    /// // A budget is no text: it stays in the code.
    /// let error = POLICY.settings().unwrap_err();
    /// assert!(error.to_string().contains("payments"));
    ///
    /// let settings = POLICY.without_budget().settings()?;
    /// assert_eq!(settings.deadline, Some(Duration::from_secs(90)));
    /// let text = serde_json::to_string(&settings)?;
    /// assert!(text.contains(r#""deadline":"90s""#));
    ///
    /// let settings: PolicySettings = serde_json::from_str(&text)?;
    /// assert_eq!(settings.over(Policy::exponential())?.budget(&BUDGET), POLICY);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the policy has a part that only the code can have: a budget, a rate, a breaker, a function
    /// or [`idempotent_by_method`](Self::idempotent_by_method). The error says which one, with its name, and what to
    /// write. Also returns an error for rules that a configuration may not name together, such as a `base` that is longer than
    /// `max_backoff` or `deadline`, and for [`Jitter::WholeSeconds`] after [`scaled`](Self::scaled).
    pub fn settings(&self) -> Result<PolicySettings, PolicySettingsError> {
        if let Some(part) = in_code(self) {
            return Err(PolicySettingsError {
                instead: "take the settings of the policy without it, and keep it in the code",
                part: Some(part),
            });
        }
        let settings = read_back(self);
        // So no rule is left out.
        match settings.over(Policy::exponential())? == *self {
            true => Ok(settings),
            false => Err(PolicySettingsError {
                instead: "`Jitter::WholeSeconds` after `scaled` cannot be written: take the settings before `.scaled(..)`",
                part: None,
            }),
        }
    }
}

/// A part of the policy that no configuration can say, and its name.
fn in_code(policy: &Policy) -> Option<(&'static str, Option<&'static str>)> {
    let is_custom = matches!(policy.growth, Kept::Custom(_));
    let by_method = policy.by_method && !policy.idempotent;
    let parts = [
        policy.budget.map(|it| ("budget", it.label())),
        policy.shared_rate().map(|it| ("rate", it.label())),
        policy.shared_breaker().map(|it| ("breaker", it.label())),
        policy.throttled_if.map(|_| ("throttled_if", None)),
        by_method.then_some(("idempotent_by_method", None)),
        is_custom.then_some(("Policy::custom", None)),
    ];
    parts.into_iter().flatten().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        budget::Budget,
        facts::{codes::Codes, grpc::GrpcCode},
        policy::tests::{any_duration, any_policy},
    };
    use proptest::{collection::vec, option, prelude::*, sample::select};

    const SECOND: Duration = Duration::from_secs(1);

    /// The same settings after they were written and read: as JSON, and its lines as TOML.
    fn written_and_read(settings: PolicySettings) -> [PolicySettings; 2] {
        let json = serde_json::to_value(settings).unwrap();
        let lines = json.as_object().unwrap().iter();
        let lines = lines.map(|(rule, value)| format!("{rule} = {value}\n"));
        [
            serde_json::from_str(&json.to_string()).unwrap(),
            toml::from_str(&lines.collect::<String>()).unwrap(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn settings_that_are_written_and_read_give_an_equal_policy(
            policy in any_policy(),
            attempts in option::of(prop_oneof![1_u32.., Just(Policy::UNLIMITED)]),
            times in proptest::array::uniform4(option::of(any_duration())),
            codes in vec(400_u16..600, 0..5),
            grpc in vec(select(GrpcCode::ALL.to_vec()), 0..3),
            flags in any::<[bool; 4]>(),
        ) {
            let codes = codes.into_iter().fold(Codes::NONE, Codes::with_status);
            let mut policy = policy
                .base(Duration::from_nanos(policy.base.min(policy.max_backoff)))
                .on(grpc.into_iter().fold(codes, Codes::with_grpc))
                .retry_conflicts(flags[0])
                .idempotent(flags[1])
                .spread_retry_after(flags[2])
                .retry_after_alone(flags[3]);
            if let Some(attempts) = attempts {
                policy = policy.max_attempts(attempts);
            }
            let setters: [fn(Policy, Duration) -> Policy; 4] = [
                Policy::deadline,
                Policy::throttled_base,
                Policy::max_retry_after,
                Policy::retry_after_slack,
            ];
            for (set, time) in setters.into_iter().zip(times) {
                policy = time.map_or(policy, |time| set(policy, time));
            }
            match policy.settings() {
                Ok(settings) => for read in written_and_read(settings) {
                    prop_assert_eq!(read, settings);
                    prop_assert_eq!(read.over(Policy::exponential()), Ok(policy));
                },
                Err(error) => {
                    let refused = read_back(&policy).over(Policy::exponential());
                    let is_scaled = matches!(policy.jitter, Spread::WholeSeconds(unit) if unit != 1_000_000_000);
                    let is_custom = in_code(&policy).is_some();
                    prop_assert!(refused == Err(error) || is_scaled || is_custom, "{error} {policy:?}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        static BUDGET: Budget = Budget::aws().name("payments");
        let policy = Policy::exponential();
        #[rustfmt::skip]
        let refused = [
            (policy.budget(&BUDGET), "`budget` \"payments\" cannot be written: take the settings of the policy without it"),
            (policy.throttled_if(|_| true), "`throttled_if` cannot be written"),
            (policy.idempotent_by_method(), "`idempotent_by_method` cannot be written"),
            (Policy::custom(|_| SECOND), "`Policy::custom` cannot be written"),
            (Policy::celery(1).scaled(0.5), "take the settings before `.scaled(..)`"),
            (Policy::constant(65 * SECOND), "`base` is longer than `max_backoff`"),
            (policy.deadline(Duration::ZERO).base(Duration::ZERO), "a deadline of zero"),
        ];
        for (policy, said) in refused {
            let error = policy.settings().expect_err(said).to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[cfg(all(feature = "rate", feature = "breaker"))]
    #[test]
    fn a_rate_and_a_breaker_are_named() {
        static RATE: crate::Rate = crate::Rate::new().name("mail");
        static BREAKER: crate::Breaker = crate::Breaker::new().name("db");
        for (policy, said) in [
            (Policy::exponential().rate(&RATE), "`rate` \"mail\" cannot"),
            (
                Policy::exponential().breaker(&BREAKER),
                "`breaker` \"db\" cannot",
            ),
        ] {
            let error = policy.settings().unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn each_value_is_written_as_a_person_writes_it() {
        let policy = Policy::celery(3).max_backoff(90 * SECOND).on(Codes::NONE);
        let policy = policy.jitter(Jitter::AdditiveWithin(SECOND / 4));
        let settings = policy.settings().unwrap();
        let json = serde_json::json!({
            "base": "3s", "max_backoff": "90s", "jitter": "additive_within(250ms)", "max_attempts": 4,
            "retry_conflicts": false, "spread_retry_after": false, "retry_after_alone": false, "log_waits": "info",
            "growth": "exponential", "factor": "2.0", "on": [], "idempotent": true,
        });
        assert_eq!(serde_json::to_value(settings).unwrap(), json);
        let on = PolicySettings {
            on: Some(crate::codes![429, 502..=503]),
            ..Default::default()
        };
        let json =
            serde_json::json!({ "on": ["429", "502..=503", "RESOURCE_EXHAUSTED", "UNAVAILABLE"] });
        assert_eq!(serde_json::to_value(on).unwrap(), json);
    }
}
