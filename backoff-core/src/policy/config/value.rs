//! Parses the values of a configuration: times, codes and names, from text and numbers.

use super::duration;
use crate::{
    Codes, GrpcCode, Jitter, LogLevel,
    delay::{
        exponential::{FACTOR, is_factor},
        jitter::{SHARE, is_share},
    },
    facts::codes::{REVERSED, not_a_failure},
    policy::{MOST_ATTEMPTS, NO_ATTEMPTS, Policy},
};
use core::{fmt, time::Duration};
use serde_core::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess};

/// The growth of the waits. The factor is a separate rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Grows {
    Exponential,
    Constant,
    Linear(Duration),
    Fibonacci,
    Slots,
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

pub(super) fn deadline(value: &Value) -> Result<Duration, String> {
    const ZERO: &str = "a deadline of zero retries nothing: write a longer one as \"5m\", or leave it out for the \
                        default of 5 attempts";
    let time = time(value)?;
    (!time.is_zero()).then_some(time).ok_or(ZERO.to_owned())
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
        Some(number) if number < 1 => Err(NO_ATTEMPTS.to_owned()),
        // A number above the limit counts as the limit.
        Some(number) => Ok(number.min(MOST_ATTEMPTS.into()) as u32),
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
    factor
        .filter(|factor| is_factor(*factor))
        .ok_or_else(|| FACTOR.to_owned())
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

pub(super) fn growth(value: &Value) -> Result<Grows, String> {
    match call(value) {
        Some(("exponential", None)) => Ok(Grows::Exponential),
        Some(("constant", None)) => Ok(Grows::Constant),
        Some(("linear", Some(step))) => Ok(Grows::Linear(duration::parse(step)?)),
        Some(("fibonacci", None)) => Ok(Grows::Fibonacci),
        Some(("slots", None)) => Ok(Grows::Slots),
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
        Some(("proportional", Some(share))) => match real(share) {
            Some(share) if is_share(share) => Ok(Jitter::Proportional(share)),
            _ => Err(SHARE.to_owned()),
        },
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
