//! Values that have several forms, and keys of other libraries. What else is refused stands in the tests of `check`.

use super::*;
use crate::groups::needless;
use quote::ToTokens;

fn read(keys: TokenStream) -> Args {
    let mut errors = Errors::default();
    let args = parse(needless(keys), &mut errors);
    assert_eq!(errors.messages(), [""; 0]);
    args
}

fn shown(value: impl ToTokens) -> String {
    value.to_token_stream().to_string()
}

#[test]
fn jitter_is_a_name_a_duration_or_an_expression() {
    const ADDED: &str = "__backoff::Jitter::Additive(__backoff::Duration::new(1u64,0u32))";
    let rows = [
        ("full", "__backoff::Jitter::Full"),
        ("none", "__backoff::Jitter::None"),
        ("\"1s\"", ADDED),
        ("1s", ADDED),
        ("Jitter::Full", "Jitter::Full"),
        ("MINE", "MINE"),
    ];
    for (written, expected) in rows {
        let found = match read(format!("jitter = {written}").parse().unwrap()).jitter {
            Some(jitter) => shown(jitter.value).replace(' ', ""),
            None => panic!("{written} is not read"),
        };
        assert_eq!(found, expected, "{written}");
    }
}

#[test]
fn on_tells_codes_from_patterns() {
    let codes = "429, 500..=504, Codes::ABORTED, MINE, mine::CODES, codes![408]";
    let patterns = "Error::Busy, Error::Io(_), Busy { .. }, Error::A | Error::B, (1, _), &Error::A,
        e @ Error::A, 503, Error::Api { code, .. } if *code == 3 && other(code, 4)";
    for (list, expected) in [(codes, (6, 0)), (patterns, (1, 8))] {
        let on = read(format!("on = [{list}]").parse().unwrap())
            .on
            .unwrap()
            .value;
        assert_eq!((on.codes.len(), on.patterns.len()), expected, "{list}");
        let last = on.patterns.last();
        assert_eq!(
            last.is_some_and(|last| last.guard.is_some()),
            list == patterns
        );
    }
}

fn refused(keys: &str) -> String {
    let mut errors = Errors::default();
    parse(keys.parse().unwrap(), &mut errors);
    errors.messages().join("; ")
}

/// The keys of other libraries.
#[test]
fn a_value_is_pasted_after_the_key_that_takes_it() {
    let rows = [
        ("retry_on", "[429]", "write `on = [429]`"),
        ("retry_on", "500..=504", "write `on = [500..=504]`"),
        ("retry_on", "429 | 503", "write `on = [429, 503]`"),
        ("retry_on", "5xx", "write `on = [500..=599]`"),
        ("retry_on", "\"429\"", "write `on = [429]`"),
        ("retry_on", "E::Busy", "write `on = [E::Busy]`"),
        ("retry_on", "is_busy", "write `when = is_busy`"),
        ("retry_on", "r#type", "write `when = r#type`"),
        ("retry_on", "|e| e.busy()", "write `when = |e| e.busy()`"),
        ("retry_if", "any_of(A)", "write `when = any_of(A)`"),
        ("retry_if", "503", "`when` takes a function or a closure"),
        ("timeout_ms", "1_500", "write `timeout = \"1_500ms\"`"),
        ("delay_secs", "1.5", "write `base = \"1.5s\"`"),
        ("delay", "\"3s\"", "write `base = \"3s\"`"),
        ("delay", "DELAY", "write `base = DELAY`"),
        ("delay", "100", "the key is `base`, and `100` has no unit"),
        ("delay", "true", "`true` is not a duration"),
        ("randomization_factor", "0.3", "Jitter::Proportional(0.3)`"),
        ("max_jitter", "\"1s\"", "write `jitter = \"1s\"`"),
        ("exponent", "2", "write `factor = 2`"),
        ("retries", "3u32", "`max_attempts = 4`, which counts"),
        ("MaxRetryAttempts", "N", "`max_attempts = N + 1`, which"),
        ("retries", "-1", "`max_attempts = ..`"),
        ("retries", "\"3\"", "`max_attempts = ..`"),
    ];
    for (word, value, part) in rows {
        let said = refused(&format!("{word} = {value}"));
        assert!(said.contains(part), "{word} = {value}: {said}");
    }
    for word in ["colour", "colour_ms", "jitter_ms", "on_ms"] {
        let said = refused(&format!("{word} = 3"));
        assert!(!said.contains("= 3"), "{word}: {said}");
    }
    for (keys, part) in [
        ("tries", "write it like `max_attempts = 5`"),
        ("forever", "write `max_attempts = unlimited`"),
        ("\"5s\"", "write `deadline = \"5s\"`"),
        (
            "on = [tonic::Code::Unavailable]",
            "write `Codes::UNAVAILABLE`",
        ),
    ] {
        let said = refused(keys);
        assert!(said.contains(part), "{keys}: {said}");
    }
}
