//! What the keys take and refuse, alone and together, and what is written about a mistake.

use super::signature::signature;
use super::*;
use crate::shape::Function;

fn messages(keys: &str) -> Vec<String> {
    let mut errors = Errors::default();
    let args = crate::args::parse(keys.parse().unwrap(), &mut errors);
    arguments(&args, &mut errors);
    let function = syn::parse_str("async fn f() -> Result<(), E> {}").unwrap();
    signature(&mut Function::of(function), &args, &mut errors);
    errors.messages()
}

#[test]
fn sensible_arguments_pass() {
    let rows = [
        "",
        r#"base = "1s", max_backoff = "1s", deadline = "1s""#,
        r#"base = "2s", policy = P, max_attempts = 1, factor = 1"#,
        "factor = 1.5, max_attempts = LIMIT",
        "factor = FACTOR, attempt_timeout = TIMEOUT",
        "on = [408, 429, 500..=504, Codes::ABORTED, MINE]",
        "when = Error::is_busy, policy = P",
        "when = |e: &Error<A, B>| e.x == 1",
        "when = judge::<A, B>, max_attempts = 2",
        "jitter = equal",
        "attempt_spans = true",
        "attempt_spans = false",
        "until = f, consecutive = 5",
    ];
    for keys in rows {
        assert_eq!(messages(keys), [""; 0], "{keys}");
    }
}

#[test]
fn each_mistake_is_told_once_with_what_to_write() {
    let rows = [
        (r#"base == "1s""#, "write `base = \"1s\"`"),
        ("base = -1s", "write `1s`"),
        ("base = true", "such as `30s`"),
        ("base = 1 +", "write it like `base = \"1s\"`"),
        ("iam::REQUEST", "write `policy = iam::REQUEST`"),
        ("|e| e.is_busy()", "write `when = |"),
        ("|| f()", "put a key before `||"),
        ("log_waits = debgu", "write `log_waits = debug`"),
        ("log_waits = DEBUG", "write `log_waits = debug`"),
        (r#"log_waits = "Debug""#, "write `log_waits = debug`"),
        ("log_waits = false", "write `log_waits = off`"),
        ("log_waits = 3", "takes a level"),
        ("jitter = Full", "write `jitter = full`"),
        (r#"jitter = "full""#, "write `jitter = full`"),
        (r#"jitter = "1""#, "write `1ms` or `1s`"),
        (r#"on = "429, 500..=504""#, "write `on = [429, 500..=504]`"),
        (r#"on = "busy""#, "write `on = [429, 500..=504]`"),
        (r#"also_on = "408""#, "write `also_on = [408]`"),
        ("until", "write `until = |operation| operation.done`"),
        ("crate = 1", "write `crate = backoff_core`"),
        ("on = [429] idempotent", "a comma is missing"),
        ("policy = P clone(a)", "a comma must be between"),
        ("idempotent base = 1s", "a comma must be between"),
        ("keep = a", "write `keep(seen)`"),
        ("clone[a]", "write `clone(body)`"),
        ("on[429]", "write `on = [429]`"),
        ("idempotent = 3", "write `idempotent = false`"),
        (
            r#"policy = P, throttled_base = "2m", max_backoff = "1m""#,
            "a longer `max_backoff`",
        ),
        ("sleep = a, runtime = b", "`runtime` includes `sleep`"),
        ("clone(a.b)", "write it like `clone(body)`"),
        ("faults()", "write `faults(ApiError)`"),
        ("on = [_ if x]", "write `when = |error| x`"),
        ("on = [e if e.busy()]", "write `when = |e| e"),
        ("on = [=> 3]", "neither a code nor a pattern"),
        ("on = [A::B { .. } C]", "a comma is missing"),
        (r#"base = "1s",,"#, "this comma"),
        (",", "this comma"),
        (
            "max_attempts = -1",
            "write 1 to never retry; for no limit write `max_attempts = unlimited`",
        ),
        (
            r#"deadline = "0s""#,
            "`deadline` is zero, so nothing is retried",
        ),
        ("max_attempts = 5s", "a whole number"),
        (r#"max_attempts = "5""#, "a whole number"),
        ("max_attempts = 4294967296", "a whole number"),
        ("factor = -2", "a number of 1 or more"),
        ("factor = f64::NAN", "a number of 1 or more"),
        (r#"factor = "2""#, "a number of 1 or more"),
        ("factor = 2s", "a number of 1 or more"),
        (r#"policy = "iam""#, "write `policy = iam::REQUEST`"),
        (r#"when = "is_busy""#, "write `when = |error|"),
        (r#"until = "done""#, "write `until = |operation|"),
        ("until = f, consecutive = -1", "a whole number from 1"),
        (
            r#"until = f, consecutive = 3, max_attempts = 2, deadline = "1m""#,
            "or a smaller `consecutive`",
        ),
        ("when = || f()", "write `when = |error| f()`"),
        ("on = []", "an empty `on`"),
        ("on = [500..]", "at each end"),
        ("on = [A..=B]", "at each end"),
        ("on = [302..=599]", "302 is not the status of a failure"),
        ("on = [-429]", "codes from 400 to 599"),
        ("on = [UNAVAILABLE]", "write `Codes::UNAVAILABLE`"),
        (
            "budget = Budget::aws()",
            "write `static SHARED: Budget = Budget::aws();`",
        ),
        ("max_attempts = none", "write `max_attempts = unlimited`"),
        (r#"max_attempts = "unlimited""#, "or `unlimited`"),
        ("attempt_spans = TRACED", "a literal `true` or `false`"),
    ];
    for (keys, part) in rows {
        let messages = messages(keys);
        assert_eq!(messages.len(), 1, "{keys}: {messages:?}");
        assert!(messages[0].contains(part), "{keys}: {messages:?}");
    }
}

#[test]
fn what_cannot_be_read_as_a_function_is_refused() {
    let refused = function(quote::quote!(fn f)).err().unwrap();
    assert!(refused.to_string().contains("expected"), "{refused}");
    assert!(
        function(quote::quote!(
            pub(crate) async fn f() {}
        ))
        .is_ok()
    );
}
