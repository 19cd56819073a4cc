//! A policy read from configuration: every rule that a constant has but functions and budgets.

use crate::{
    Codes, GrpcCode, Jitter, Policy,
    codes::{TURNED_ROUND, not_a_failure},
    delay::{
        Growth,
        exponential::{FACTOR, is_factor},
        jitter::{SHARE, is_share},
    },
    policy::NO_ATTEMPTS,
    time::nanos,
};
use core::{fmt, time::Duration};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess};

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
/// Each means what the [setter](Policy) of that name means. As in [`codes!`](crate::codes), a status
/// in `on` brings along the gRPC codes that stand for it.
///
/// A rule that there is not, one that is named twice, and a value that makes no sense are errors
/// that name the rule and say what to write instead.
///
/// ```
/// use backoff_core::{Jitter, Policy, Settings, codes};
/// use std::time::Duration;
///
/// // Of a preset, or of your own.
/// const REQUEST: Policy = Policy::exponential().jitter(Jitter::Equal).on(codes![503]);
///
/// let settings: Settings = toml::from_str(r#"
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
/// let error = toml::from_str::<Settings>("max_attempts = 0").unwrap_err();
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
pub struct Settings {
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

/// How the waits grow; the factor is a rule of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Grows {
    Exponential,
    Constant,
    Linear(Duration),
    Fibonacci,
    Slots,
}

/// How a rule takes its value; an error says what to write instead.
type Take = fn(&mut Settings, &Value) -> Result<(), String>;

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
pub struct SettingsError(&'static str);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for SettingsError {}

impl Settings {
    /// The policy with these rules in place of its own. Its function and its budget stay.
    ///
    /// # Errors
    /// When `factor` is named and the waits do not grow by one.
    pub fn over(self, policy: Policy) -> Result<Policy, SettingsError> {
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
        policy.growth = match (self.growth, policy.growth) {
            (None, growth) | (Some(Grows::Exponential), growth @ Growth::Exponential(_)) => growth,
            (Some(Grows::Exponential), _) => Growth::Exponential(2.0),
            (Some(Grows::Constant), _) => Growth::Constant,
            (Some(Grows::Linear(step)), _) => Growth::Linear(nanos(step)),
            (Some(Grows::Fibonacci), _) => Growth::Fibonacci,
            (Some(Grows::Slots), _) => Growth::Slots,
        };
        if let Some(factor) = self.factor {
            if !matches!(policy.growth, Growth::Exponential(_)) {
                return Err(SettingsError(
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
        Ok(policy)
    }
}

/// The rules of [`Settings`], over [`Policy::exponential`].
impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = Settings::deserialize(deserializer)?;
        settings
            .over(Policy::exponential())
            .map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfRules)
    }
}

struct OfRules;

impl<'de> de::Visitor<'de> for OfRules {
    type Value = Settings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rules of a policy, by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
        let mut settings = Settings::default();
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

/// What configuration can hold, of whatever format.
enum Value {
    Nothing,
    Bool(bool),
    Whole(i128),
    Real(f64),
    Text(String),
    List(Vec<Value>),
    Other(&'static str),
}

/// As errors show it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nothing => f.write_str("nothing"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Whole(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value:?}"),
            Value::Text(value) => write!(f, "{value:?}"),
            Value::List(_) => f.write_str("a list"),
            Value::Other(kind) => f.write_str(kind),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfValue)
    }
}

struct OfValue;

impl<'de> de::Visitor<'de> for OfValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false, or a list of these")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, inside: D) -> Result<Value, D::Error> {
        Value::deserialize(inside)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inside: D) -> Result<Value, D::Error> {
        Value::deserialize(inside)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Whole(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Real(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other("a table"))
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text.trim()).map_err(|error| {
        format!("{text:?} is no time ({error}): write \"64s\", \"250ms\" or \"1m 30s\"")
    })
}

fn time(value: &Value) -> Result<Duration, String> {
    match value {
        Value::Text(text) => duration(text),
        other => Err(format!(
            "{other} is no time: write text with the unit, as \"64s\", \"250ms\" or \"1m 30s\""
        )),
    }
}

fn attempts(value: &Value) -> Result<u32, String> {
    let number = match value {
        Value::Whole(number) => Some(*number),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    match number {
        Some(number) if number < 1 => Err(NO_ATTEMPTS.to_owned()),
        // More than a policy counts counts as that many.
        Some(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
        None => Err(format!(
            "{value} is no number of attempts: write a whole number from 1"
        )),
    }
}

fn real(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

fn factor(value: &Value) -> Result<f64, String> {
    let factor = match value {
        Value::Whole(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        Value::Text(text) => real(text),
        _ => None,
    };
    factor
        .filter(|factor| is_factor(*factor))
        .ok_or_else(|| FACTOR.to_owned())
}

fn yes_or_no(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(value) => Ok(*value),
        Value::Text(text) if text.trim() == "true" => Ok(true),
        Value::Text(text) if text.trim() == "false" => Ok(false),
        other => Err(format!(
            "{other} is neither yes nor no: write true or false"
        )),
    }
}

/// `name`, or `name(argument)`.
fn call(value: &Value) -> Option<(&str, Option<&str>)> {
    let Value::Text(text) = value else {
        return None;
    };
    let text = text.trim();
    match text.strip_suffix(')') {
        Some(call) => call
            .split_once('(')
            .map(|(name, argument)| (name.trim(), Some(argument))),
        None => Some((text, None)),
    }
}

fn growth(value: &Value) -> Result<Grows, String> {
    match call(value) {
        Some(("exponential", None)) => Ok(Grows::Exponential),
        Some(("constant", None)) => Ok(Grows::Constant),
        Some(("linear", Some(step))) => Ok(Grows::Linear(duration(step)?)),
        Some(("fibonacci", None)) => Ok(Grows::Fibonacci),
        Some(("slots", None)) => Ok(Grows::Slots),
        _ => Err(format!(
            "{value} is no growth: write \"exponential\", \"constant\", \"linear(1s)\" with the \
             step, \"fibonacci\" or \"slots\""
        )),
    }
}

fn jitter(value: &Value) -> Result<Jitter, String> {
    match call(value) {
        Some(("none", None)) => Ok(Jitter::None),
        Some(("full", None)) => Ok(Jitter::Full),
        Some(("equal", None)) => Ok(Jitter::Equal),
        Some(("decorrelated", None)) => Ok(Jitter::Decorrelated),
        Some(("slots", None)) => Ok(Jitter::Slots),
        Some(("whole_seconds", None)) => Ok(Jitter::WholeSeconds),
        Some(("additive", Some(most))) => Ok(Jitter::Additive(duration(most)?)),
        Some(("additive_within", Some(most))) => Ok(Jitter::AdditiveWithin(duration(most)?)),
        Some(("proportional", Some(share))) => match real(share) {
            Some(share) if is_share(share) => Ok(Jitter::Proportional(share)),
            _ => Err(SHARE.to_owned()),
        },
        _ => Err(format!(
            "{value} is no jitter: write \"full\", \"equal\", \"decorrelated\", \"none\", \
             \"slots\", \"whole_seconds\", \"additive(1s)\", \"additive_within(1s)\" or \
             \"proportional(0.2)\""
        )),
    }
}

fn codes(value: &Value) -> Result<Codes, String> {
    match value {
        Value::Whole(number) => status(Codes::NONE, *number),
        Value::Text(text) => text.split(',').try_fold(Codes::NONE, code),
        Value::List(values) => values
            .iter()
            .try_fold(Codes::NONE, |set, value| match value {
                Value::Whole(number) => status(set, *number),
                Value::Text(text) => code(set, text),
                other => Err(no_code(other)),
            }),
        other => Err(no_code(other)),
    }
}

fn no_code(value: &dyn fmt::Display) -> String {
    format!(
        "{value} is no code: write a status as 429, a range as \"500..=504\" or a gRPC code as \
         \"ABORTED\""
    )
}

/// The set and what one text names: a status, a range, a gRPC code.
fn code(set: Codes, text: &str) -> Result<Codes, String> {
    let text = text.trim();
    if let Some((first, last)) = text.split_once("..=") {
        return match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) => statuses(set, first, last),
            _ => Err(no_code(&format_args!("{text:?}"))),
        };
    }
    match (text.parse(), GrpcCode::from_name(text)) {
        (Ok(number), _) => status(set, number),
        (_, Some(code)) => Ok(set.with_grpc(code)),
        _ => Err(no_code(&format_args!("{text:?}"))),
    }
}

fn status(set: Codes, status: i128) -> Result<Codes, String> {
    statuses(set, status, status)
}

fn statuses(set: Codes, first: i128, last: i128) -> Result<Codes, String> {
    let status = |number: i128| {
        // What does not fit is no status either.
        let status = u16::try_from(number).unwrap_or(u16::MAX);
        match not_a_failure(status) {
            Some(instead) => Err(format!("{number} is no status of a failure: {instead}")),
            None => Ok(status),
        }
    };
    let (first, last) = (status(first)?, status(last)?);
    if first > last {
        return Err(format!("{first}..={last} is no range: {TURNED_ROUND}"));
    }
    Ok(set.with_statuses(first, last))
}
