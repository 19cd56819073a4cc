//! A policy read from configuration: every rule that a constant has but functions and budgets.

mod duration;
mod value;

use crate::{
    delay::{growth::Growth, jitter::Jitter},
    facts::{codes::Codes, fault::FaultKind},
    policy::Policy,
    runtime::nanos,
};
use core::{fmt, time::Duration};
use serde_core::de::{self, Deserialize, Deserializer, MapAccess};
use value::{Grows, Value, attempts, codes, factor, growth, jitter, time, yes_or_no};

/// The rules of a policy that configuration names, to be laid [over](Self::over) a preset. What is
/// not named stays as the preset has it.
///
/// Anything that serde reads serves: TOML, JSON, YAML, environment variables. Each value may also
/// be text, as an environment has nothing else; a null says nothing.
///
/// | rule | values |
/// |---|---|
/// | `base`, `throttled_base`, `max_backoff`, `deadline`, `max_retry_after`, `retry_after_slack` | a time with its unit: `"250ms"`, `"64s"`, `"1m 30s"` |
/// | `growth` | `"exponential"`, `"constant"`, `"linear(500ms)"` with its step, `"fibonacci"`, `"slots"` |
/// | `factor` | a number of at least 1, for exponential growth |
/// | `jitter` | `"full"`, `"equal"`, `"decorrelated"`, `"none"`, `"slots"`, `"whole_seconds"`, `"additive(1s)"`, `"additive_within(1s)"`, `"proportional(0.2)"` |
/// | `max_attempts` | a whole number from 1, the first call included |
/// | `on`, `also_on` | statuses, ranges of them and gRPC codes: `[429, "500..=504", "ABORTED"]`, or as one text: `"429, 500..=504, ABORTED"` |
/// | `retry_conflicts`, `idempotent`, `spread_retry_after` | `true`, `false` |
///
/// Times are written as in `#[retry]`, whose documentation has the units under "Durations".
///
/// Each means what the [setter](Policy) of that name means. As in [`codes!`](crate::codes), a status
/// in `on` brings along the gRPC codes that stand for it.
///
/// A rule that there is not, one that is named twice, and a value that makes no sense are errors
/// that name the rule and say what to write instead. So are rules that would call without a pause
/// until the deadline.
///
/// ```
/// use backoff_core::{Jitter, Policy, PolicySettings, codes};
/// use std::time::Duration;
///
/// // Of a preset, or of your own.
/// const REQUEST: Policy = Policy::exponential().jitter(Jitter::Equal).on(codes![503]);
///
/// let settings: PolicySettings = toml::from_str(r#"
///     max_backoff = "30s"
///     deadline = "1m 30s"
///     on = [429, "500..=504", "ABORTED"]
/// "#)?;
/// let policy = settings.over(REQUEST)?;
///
/// let by_hand = REQUEST
///     .max_backoff(Duration::from_secs(30))
///     .deadline(Duration::from_secs(90))
///     .on(codes![429, 500..=504, backoff_core::Codes::ABORTED]);
/// assert_eq!(policy, by_hand);
///
/// let error = toml::from_str::<PolicySettings>("max_attempts = 0").unwrap_err();
/// assert!(error.to_string().contains("`max_attempts` counts the first call too: write 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A [`Policy`] can be read itself, as a field of a program's configuration for instance; what is not
/// named is then as in [`Policy::exponential`]:
///
/// ```
/// use backoff_core::Policy;
///
/// #[derive(serde::Deserialize)]
/// struct Config {
///     url: String,
///     #[serde(default)]
///     retry: Policy,
/// }
///
/// let config: Config = serde_json::from_str(
///     r#"{ "url": "https://example.com", "retry": { "max_attempts": 3, "jitter": "equal" } }"#,
/// )?;
/// # let _ = config.url;
/// let by_hand = Policy::exponential().max_attempts(3).jitter(backoff_core::Jitter::Equal);
/// assert_eq!(config.retry, by_hand);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PolicySettings {
    base: Option<Duration>,
    throttled_base: Option<Duration>,
    growth: Option<Grows>,
    factor: Option<f64>,
    max_backoff: Option<Duration>,
    jitter: Option<Jitter>,
    max_attempts: Option<u32>,
    deadline: Option<Duration>,
    on: Option<Codes>,
    also_on: Option<Codes>,
    retry_conflicts: Option<bool>,
    idempotent: Option<bool>,
    max_retry_after: Option<Duration>,
    retry_after_slack: Option<Duration>,
    spread_retry_after: Option<bool>,
}

/// How a rule takes its value; an error says what to write instead.
type Take = fn(&mut PolicySettings, &Value) -> Result<(), String>;

/// All rules that there are, by name.
const RULES: [(&str, Take); 15] = [
    ("base", |s, v| put(&mut s.base, time(v))),
    ("throttled_base", |s, v| put(&mut s.throttled_base, time(v))),
    ("growth", |s, v| put(&mut s.growth, growth(v))),
    ("factor", |s, v| put(&mut s.factor, factor(v))),
    ("max_backoff", |s, v| put(&mut s.max_backoff, time(v))),
    ("jitter", |s, v| put(&mut s.jitter, jitter(v))),
    ("max_attempts", |s, v| put(&mut s.max_attempts, attempts(v))),
    ("deadline", |s, v| put(&mut s.deadline, time(v))),
    ("on", |s, v| put(&mut s.on, codes(v))),
    ("also_on", |s, v| put(&mut s.also_on, codes(v))),
    ("retry_conflicts", |s, v| {
        put(&mut s.retry_conflicts, yes_or_no(v))
    }),
    ("idempotent", |s, v| put(&mut s.idempotent, yes_or_no(v))),
    ("max_retry_after", |s, v| {
        put(&mut s.max_retry_after, time(v))
    }),
    ("retry_after_slack", |s, v| {
        put(&mut s.retry_after_slack, time(v))
    }),
    ("spread_retry_after", |s, v| {
        put(&mut s.spread_retry_after, yes_or_no(v))
    }),
];

fn put<T>(rule: &mut Option<T>, value: Result<T, String>) -> Result<(), String> {
    *rule = Some(value?);
    Ok(())
}

/// Rules that do not go with each other, or with the policy that they are laid over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicySettingsError(&'static str);

impl fmt::Display for PolicySettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for PolicySettingsError {}

impl PolicySettings {
    /// The policy with these rules in place of its own. Its budget stays, and so does its function,
    /// unless `growth` is named.
    ///
    /// # Errors
    /// When `factor` is named and the waits do not grow by one; when no wait of the policy that comes
    /// of it is ever above zero and only its deadline limits the attempts.
    pub fn over(self, policy: Policy) -> Result<Policy, PolicySettingsError> {
        let set =
            |policy: Policy, time: Option<Duration>, setter: fn(Policy, Duration) -> Policy| {
                time.map_or(policy, |time| setter(policy, time))
            };
        let mut policy = set(policy, self.base, Policy::base);
        policy = set(policy, self.throttled_base, Policy::throttled_base);
        policy = set(policy, self.max_backoff, Policy::max_backoff);
        policy = set(policy, self.deadline, Policy::deadline);
        policy = set(policy, self.max_retry_after, Policy::max_retry_after);
        policy = set(policy, self.retry_after_slack, Policy::retry_after_slack);
        let growth = match (self.growth, policy.growth) {
            (None, growth) | (Some(Grows::Exponential), growth @ Growth::Exponential(_)) => growth,
            (Some(Grows::Exponential), _) => Growth::Exponential(2.0),
            (Some(Grows::Constant), _) => Growth::Constant,
            (Some(Grows::Linear(step)), _) => Growth::Linear(nanos(step)),
            (Some(Grows::Fibonacci), _) => Growth::Fibonacci,
            (Some(Grows::Slots), _) => Growth::Slots,
        };
        policy = policy.growth(growth);

        if let Some(factor) = self.factor {
            if !matches!(policy.growth, Growth::Exponential(_)) {
                return Err(PolicySettingsError(
                    "`factor` belongs to exponential backoff: leave it out, or write \
                     \"exponential\" as `growth`",
                ));
            }
            policy = policy.factor(factor);
        }
        policy = self.jitter.map_or(policy, |jitter| policy.jitter(jitter));
        policy = self
            .max_attempts
            .map_or(policy, |most| policy.max_attempts(most));
        policy = self.on.map_or(policy, |codes| policy.on(codes));
        policy = self.also_on.map_or(policy, |codes| policy.also_on(codes));
        policy.conflicts = self.retry_conflicts.unwrap_or(policy.conflicts);
        policy.idempotent = self.idempotent.unwrap_or(policy.idempotent);
        policy.spread_retry_after = self.spread_retry_after.unwrap_or(policy.spread_retry_after);
        match without_pause(&policy) {
            Some(instead) => Err(PolicySettingsError(instead)),
            None => Ok(policy),
        }
    }
}

/// What to write instead, where only the deadline limits the attempts and no wait is ever above
/// zero.
fn without_pause(policy: &Policy) -> Option<&'static str> {
    if policy.attempts() != u32::MAX {
        return None;
    }
    if policy.max_backoff == 0 {
        return Some(
            "`max_backoff` of zero calls without a pause until the deadline: write a longer one as \
             \"64s\", or name `max_attempts`",
        );
    }
    // What a function of the caller's says of late retries is not to be asked here.
    if matches!(policy.growth, Growth::Custom(_)) {
        return None;
    }
    // No wait shrinks from retry to retry.
    let never_waits = |kind| policy.backoff_nanos(kind, u32::MAX, || 0, || u64::MAX) == 0;
    if never_waits(FaultKind::Transient) {
        return Some(
            "`base` is so short that every wait is zero, without a pause until the deadline: write \
             a longer one as \"1s\", or name `max_attempts`",
        );
    }
    never_waits(FaultKind::Throttled).then_some(
        "`throttled_base` is so short that every wait after throttling is zero, without a pause \
         until the deadline: write a longer one as \"1s\", or name `max_attempts`",
    )
}

/// The rules of [`PolicySettings`], over [`Policy::exponential`].
impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = PolicySettings::deserialize(deserializer)?;
        settings
            .over(Policy::exponential())
            .map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for PolicySettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfRules)
    }
}

struct OfRules;

impl<'de> de::Visitor<'de> for OfRules {
    type Value = PolicySettings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rules of a policy, by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PolicySettings, A::Error> {
        let mut settings = PolicySettings::default();
        let mut seen = [false; RULES.len()];
        while let Some(name) = map.next_key::<String>()? {
            let Some(rule) = RULES.iter().position(|(rule, _)| *rule == name) else {
                return Err(de::Error::custom(NoRule(&name)));
            };
            let (name, take) = RULES[rule];
            let value = map
                .next_value::<Value>()
                .map_err(|error| about(name, &error))?;
            if core::mem::replace(&mut seen[rule], true) {
                return Err(about(name, &"it is named twice: leave one out"));
            }
            if !matches!(value, Value::Nothing) {
                take(&mut settings, &value).map_err(|instead| about(name, &instead))?;
            }
        }
        Ok(settings)
    }
}

struct NoRule<'n>(&'n str);

impl fmt::Display for NoRule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no rule of a policy: write one of",
            self.0.escape_debug()
        )?;
        for (i, (name, _)) in RULES.iter().enumerate() {
            write!(f, "{} `{name}`", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// An error that names the rule, unless its text already does.
fn about<E: de::Error>(name: &str, said: &dyn fmt::Display) -> E {
    let said = said.to_string();
    if said.starts_with(&format!("`{name}`")) {
        E::custom(said)
    } else {
        E::custom(format_args!("`{name}`: {said}"))
    }
}
