//! The values of a configuration: reads times, codes and names from text and numbers, and writes them.

use super::{duration, names::snake};
use crate::{
    Codes, GrpcCode, Jitter, LogLevel,
    delay::{exponential::FACTOR, jitter::SHARE},
    facts::codes::{REVERSED, not_a_failure},
    policy::{MOST_ATTEMPTS, Policy},
};
use core::{fmt, time::Duration};
use serde_core::{
    Serialize, Serializer,
    de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess},
};

/// The growth of the waits, in [`PolicySettings`](crate::PolicySettings). The factor of exponential growth is a
/// setting of its own. The constructors of [`Policy`](crate::Policy) have the formulas.
///
/// ```
/// use backoff_core::{Growth, Policy, PolicySettings};
/// use std::time::Duration;
///
/// let mut settings = PolicySettings::default();
/// settings.growth = Some(Growth::Linear(Duration::from_secs(2)));
/// let second = Duration::from_secs(1);
/// let linear = Policy::linear(second, 2 * second);
/// assert_eq!(settings.over(Policy::exponential()), Ok(linear));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Growth {
    /// `"exponential"`: [`Policy::exponential`](crate::Policy::exponential).
    Exponential,
    /// `"constant"`: [`Policy::constant`](crate::Policy::constant).
    Constant,
    /// `"linear(500ms)"`: [`Policy::linear`](crate::Policy::linear), with the step.
    Linear(Duration),
    /// `"fibonacci"`: [`Policy::fibonacci`](crate::Policy::fibonacci).
    Fibonacci,
    /// `"slots"`: [`Policy::slots`](crate::Policy::slots), without its jitter and its number of attempts.
    Slots,
}

/// How the value of a rule is written, so that its reader reads the same value: a name and its argument as text. A
/// factor is text too, because a number of JSON may be read with its last digit rounded.
pub(super) trait Written: fmt::Debug {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let shown = format!("{self:?}");
        let (name, argument) = shown.split_at(shown.find('(').unwrap_or(shown.len()));
        to.serialize_str(&(snake(name) + argument))
    }
}

impl Written for f64 {}
impl Written for Duration {}
impl Written for Jitter {}
impl Written for Growth {}
impl Written for LogLevel {}

impl Written for u32 {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match *self {
            Policy::UNLIMITED => to.serialize_str("unlimited"),
            attempts => to.serialize_u32(attempts),
        }
    }
}

impl Written for bool {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(*self)
    }
}

impl Written for Codes {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let shown = format!("{self:?}");
        to.collect_seq(shown.trim_matches(['{', '}']).split_terminator(", "))
    }
}

/// The value of a rule in its written form.
pub(super) struct AsWritten<'a, T>(pub(super) &'a T);

impl<T: Written> Serialize for AsWritten<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.write(to)
    }
}

/// A value of a configuration, in any format.
pub(super) enum Value {
    Nothing,
    Bool(bool),
    Whole(i128),
    Real(f64),
    Text(String),
    List(Vec<Value>),
    Other(&'static str),
}

/// The value as errors show it.
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

pub(super) fn time(value: &Value) -> Result<Duration, String> {
    match value {
        Value::Text(text) => duration::parse(text),
        other => Err(format!(
            "{other} is not a time: write text with the unit, as \"64s\", \"250ms\" or \"1m 30s\""
        )),
    }
}

/// The first wait. A number may be meant as the growth: `object_store` calls the factor `base`.
pub(super) fn first_wait(value: &Value) -> Result<Duration, String> {
    time(value).map_err(|mistake| match value {
        Value::Whole(_) | Value::Real(_) => {
            format!("{mistake}; the growth of the waits is `factor`")
        }
        _ => mistake,
    })
}

pub(super) fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Whole(number) => Some(*number),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

pub(super) fn attempts(value: &Value) -> Result<u32, String> {
    match whole(value) {
        // A number above the limit counts as the limit, and one below zero as zero, which `mistake` refuses.
        Some(number) => Ok(number.clamp(0, MOST_ATTEMPTS.into()) as u32),
        None if matches!(value, Value::Text(text) if text.trim() == "unlimited") => {
            Ok(Policy::UNLIMITED)
        }
        None => Err(format!(
            "{value} is not a number of attempts: write a whole number from 1, or \"unlimited\""
        )),
    }
}

fn real(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

pub(super) fn factor(value: &Value) -> Result<f64, String> {
    let factor = match value {
        Value::Whole(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        Value::Text(text) => real(text),
        _ => None,
    };
    factor.ok_or_else(|| FACTOR.to_owned())
}

pub(super) fn yes_or_no(value: &Value) -> Result<bool, String> {
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

pub(super) fn growth(value: &Value) -> Result<Growth, String> {
    match call(value) {
        Some(("exponential", None)) => Ok(Growth::Exponential),
        Some(("constant", None)) => Ok(Growth::Constant),
        Some(("linear", Some(step))) => Ok(Growth::Linear(duration::parse(step)?)),
        Some(("fibonacci", None)) => Ok(Growth::Fibonacci),
        Some(("slots", None)) => Ok(Growth::Slots),
        _ => Err(format!(
            "{value} is not a growth: write \"exponential\", \"constant\", \"linear(1s)\" with the \
             step, \"fibonacci\" or \"slots\""
        )),
    }
}

pub(super) fn jitter(value: &Value) -> Result<Jitter, String> {
    match call(value) {
        Some(("none", None)) => Ok(Jitter::None),
        Some(("full", None)) => Ok(Jitter::Full),
        Some(("equal", None)) => Ok(Jitter::Equal),
        Some(("decorrelated", None)) => Ok(Jitter::Decorrelated),
        Some(("slots", None)) => Ok(Jitter::Slots),
        Some(("whole_seconds", None)) => Ok(Jitter::WholeSeconds),
        Some(("additive", Some(most))) => Ok(Jitter::Additive(duration::parse(most)?)),
        Some(("additive_within", Some(most))) => Ok(Jitter::AdditiveWithin(duration::parse(most)?)),
        Some(("proportional", Some(share))) => real(share)
            .map(Jitter::Proportional)
            .ok_or_else(|| SHARE.to_owned()),
        _ => Err(format!(
            "{value} is not a jitter: write \"full\", \"equal\", \"decorrelated\", \"none\", \
             \"slots\", \"whole_seconds\", \"additive(1s)\", \"additive_within(1s)\" or \
             \"proportional(0.2)\""
        )),
    }
}

pub(super) fn level(value: &Value) -> Result<LogLevel, String> {
    match call(value) {
        Some(("off", None)) => Ok(LogLevel::Off),
        Some(("error", None)) => Ok(LogLevel::Error),
        Some(("warn", None)) => Ok(LogLevel::Warn),
        Some(("info", None)) => Ok(LogLevel::Info),
        Some(("debug", None)) => Ok(LogLevel::Debug),
        Some(("trace", None)) => Ok(LogLevel::Trace),
        _ => Err(format!(
            "{value} is not a level: write \"off\", \"error\", \"warn\", \"info\", \"debug\" or \
             \"trace\""
        )),
    }
}

pub(super) fn codes(value: &Value) -> Result<Codes, String> {
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
        "{value} is not a code: write a status as 429, a range as \"500..=504\" or a gRPC code as \
         \"ABORTED\""
    )
}

/// Adds one text to the set: a status, a range, or a gRPC code.
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
        // A number that does not fit is not a status either.
        let status = u16::try_from(number).unwrap_or(u16::MAX);
        match not_a_failure(status) {
            Some(instead) => Err(format!(
                "{number} is not the status of a failure: {instead}"
            )),
            None => Ok(status),
        }
    };
    let (first, last) = (status(first)?, status(last)?);
    if first > last {
        return Err(format!("{first}..={last} is not a range: {REVERSED}"));
    }
    Ok(set.with_statuses(first, last))
}
