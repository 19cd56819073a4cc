//! Durations in text: `64s`, `1.5s`, `1m 30s`. The grammar is in `retry.md`, under "Durations".
//!
//! One grammar for literals and for configuration: this file is compiled into backoff-core too,
//! where `src/policy/config/duration.rs` is a link to it.

use std::time::Duration;

const SECOND: u128 = 1_000_000_000;
/// The units that a message lists when a unit is missing or unknown.
const UNITS: &str = "the units are ns, us, ms, s, m, h and d";

/// Reads one or more numbers with their units. The error is a whole sentence.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(
            "an empty text is not a duration: write a number and a unit, such as `30s`".into(),
        );
    }
    if let Some(positive) = rest.strip_prefix('-') {
        return Err(format!(
            "a duration cannot be negative: write `{}`",
            positive.trim()
        ));
    }
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let (number, tail) = split(rest, |c| c.is_ascii_digit() || c == '.' || c == '_');
        let (unit, tail) = split(tail.trim_start(), char::is_alphabetic);
        if !number.contains(|c: char| c.is_ascii_digit()) {
            return Err(format!(
                "`{text}` is not a duration: write a number and a unit, such as `30s`"
            ));
        }
        if unit.is_empty() {
            return Err(format!(
                "`{number}` has no unit: write `{number}ms` or `{number}s`; {UNITS}"
            ));
        }
        let Some(scale) = nanos_of(unit) else {
            let hint = likely(unit).map(|unit| format!(": write `{number}{unit}`"));
            return Err(format!(
                "`{unit}` is not a unit of time{}; {UNITS}",
                hint.unwrap_or_default()
            ));
        };
        nanos = nanos
            .checked_add(scaled(number, unit, scale)?)
            .ok_or_else(|| too_long(text))?;
        rest = tail.trim_start();
    }
    let seconds = u64::try_from(nanos / SECOND).map_err(|_| too_long(text))?;
    // The remainder is below 10⁹.
    Ok(Duration::new(seconds, (nanos % SECOND) as u32))
}

fn split(text: &str, inside: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !inside(c)).unwrap_or(text.len()))
}

fn nanos_of(unit: &str) -> Option<u128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" | "min" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        "d" => 86_400 * SECOND,
        _ => return None,
    })
}

/// The unit that a longer spelling, or one in capitals, means.
fn likely(unit: &str) -> Option<&'static str> {
    let unit = unit.to_lowercase();
    let spellings = [
        ("nan", "ns"),
        ("mic", "us"),
        ("mil", "ms"),
        ("mse", "ms"),
        ("sec", "s"),
        ("min", "m"),
        ("h", "h"),
        ("d", "d"),
    ];
    spellings
        .into_iter()
        .find(|(start, _)| unit.starts_with(start))
        .map(|(_, unit)| unit)
        .or_else(|| (unit == "s").then_some("s"))
        .or_else(|| (unit == "ms").then_some("ms"))
}

/// `number` × `scale` without rounding.
fn scaled(number: &str, unit: &str, scale: u128) -> Result<u128, String> {
    let digits = number.replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if fraction.contains('.') {
        return Err(format!(
            "`{number}` is not a number: write it with one decimal point"
        ));
    }
    let fraction = fraction.trim_end_matches('0');
    let fine = || format!("`{number}{unit}` is finer than a nanosecond: write fewer decimals");
    let parts = if fraction.is_empty() {
        0
    } else {
        let numerator = fraction.parse::<u128>().map_err(|_| fine())?;
        let places = u32::try_from(fraction.len()).map_err(|_| fine())?;
        let denominator = 10_u128.checked_pow(places).ok_or_else(fine)?;
        let product = numerator.checked_mul(scale).ok_or_else(fine)?;
        if product % denominator != 0 {
            return Err(fine());
        }
        product / denominator
    };
    let whole = if whole.is_empty() { "0" } else { whole };
    whole
        .parse::<u128>()
        .ok()
        .and_then(|whole| whole.checked_mul(scale)?.checked_add(parts))
        .ok_or_else(|| too_long(&format!("{number}{unit}")))
}

fn too_long(text: &str) -> String {
    format!("`{text}` is longer than a `Duration` can hold: write a shorter time")
}
