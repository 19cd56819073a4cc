//! Correct and wrong arguments, as users write them.

use super::given::Jitter;
use super::*;
use proc_macro2::{Delimiter, Group};
use quote::{ToTokens, quote};
use std::time::Duration;

fn read(tokens: TokenStream) -> (Args, Vec<String>) {
    let mut errors = Errors::default();
    let args = parse(tokens, &mut errors);
    (args, errors.messages())
}

fn one_message(tokens: TokenStream) -> String {
    let shown = tokens.to_string();
    let (_, messages) = read(tokens);
    assert_eq!(messages.len(), 1, "{shown}: {messages:?}");
    messages.into_iter().next().unwrap()
}

#[test]
fn reads_every_key_in_any_order() {
    let (args, messages) = read(quote! {
        when = |e: &E| e.busy(), on = [429, 500..=504], attempt_timeout = 10s, factor = 2,
        deadline = LIMIT, max_attempts = 8, jitter = full, max_backoff = "1m 4s", base = 1.5s,
        policy = iam::REQUEST, crate = renamed::core,
    });
    assert_eq!(messages, [""; 0]);
    assert_eq!(
        args.base.unwrap().value.literal,
        Some(Duration::from_millis(1500))
    );
    assert_eq!(
        args.max_backoff.unwrap().value.literal,
        Some(Duration::from_secs(64))
    );
    assert_eq!(args.deadline.unwrap().value.literal, None);
    assert_eq!(args.on.unwrap().value.codes.len(), 2);
    assert!(matches!(
        args.jitter.unwrap().value,
        Jitter::Named(_, "Full")
    ));
    assert!(args.policy.is_some() && args.factor.is_some() && args.max_attempts.is_some());
    assert!(args.when.is_some() && args.attempt_timeout.is_some());
    assert_eq!(
        args.krate.unwrap().value.to_token_stream().to_string(),
        "renamed :: core"
    );
    assert_eq!(read(TokenStream::new()).1, [""; 0]);
}

#[test]
fn jitter_is_a_name_a_duration_or_an_expression() {
    let kind = |tokens| read(tokens).0.jitter.unwrap().value;
    assert!(matches!(
        kind(quote!(jitter = none)),
        Jitter::Named(_, "None")
    ));
    assert!(matches!(kind(quote!(jitter = "1s")), Jitter::Additive(_)));
    assert!(matches!(kind(quote!(jitter = 1s)), Jitter::Additive(_)));
    assert!(matches!(
        kind(quote!(jitter = Jitter::Full)),
        Jitter::Expr(_)
    ));
    assert!(matches!(kind(quote!(jitter = MINE)), Jitter::Expr(_)));
}

#[test]
fn commas_inside_generics_and_closures_do_not_separate() {
    let (args, messages) = read(quote!(when = judge::<A, B>, base = "1s"));
    assert_eq!(messages, [""; 0]);
    assert_eq!(
        args.when.unwrap().value.to_token_stream().to_string(),
        "judge :: < A , B >"
    );
    assert!(args.base.is_some());
    assert_eq!(read(quote!(when = |e: &Error<A, B>| e.x == 1)).1, [""; 0]);
    assert_eq!(read(quote!(when = |a, b| a, max_attempts = 2)).1, [""; 0]);
}

#[test]
fn every_mistake_is_reported() {
    let (args, messages) = read(quote! {
        bse = "1s", max_backoff = "64", 5, factor =, jitter: full, deadline, deadline = "1s",
        on = 429, max_attempts = 3
    });
    assert_eq!(messages.len(), 7, "{messages:?}");
    assert!(args.max_attempts.is_some() && args.deadline.is_some());
}

#[test]
fn each_message_says_what_to_write() {
    let cases = [
        (quote!(dedline = "1s"), "write `deadline`"),
        (quote!(max_retries = 3), "write `max_attempts = 4`"),
        (
            quote!(colour = 3),
            "unknown key `colour`: the keys are `policy`",
        ),
        (quote!(colour), "unknown key `colour`"),
        (quote!(base = "1s", base = "2s"), "`base` is given twice"),
        (quote!(base), "write `base = \"1s\"`"),
        (quote!(base =), "write `base = \"1s\"`"),
        (quote!(base: "1s"), "write `base = \"1s\"`"),
        (quote!(base("1s")), "write `base = \"1s\"`"),
        (quote!(base == "1s"), "write `base = \"1s\"`"),
        (quote!(base = -1s), "write `1s`"),
        (quote!(base = true), "such as `30s`"),
        (quote!(base = 64), "write `64s`"),
        (quote!(base = 1 +), "write it like `base = \"1s\"`"),
        (quote!(5), "write `max_attempts = 5`"),
        (quote!(iam::REQUEST), "write `policy = iam::REQUEST`"),
        (quote!([429]), "write `on = [429]`"),
        (quote!(|e| e.is_busy()), "write `when = |"),
        (quote!(|| f()), "put a key before `||"),
        (quote!("1s"), "put a key before `\"1s\"`"),
        (quote!(log_waits = debgu), "write `log_waits = debug`"),
        (quote!(log_waits = DEBUG), "write `log_waits = debug`"),
        (quote!(log_waits = "Debug"), "write `log_waits = debug`"),
        (quote!(log_waits = false), "write `log_waits = off`"),
        (quote!(log_waits = 3), "takes a level"),
        (quote!(jitter = ful), "write `jitter = full`"),
        (quote!(jitter = Full), "write `jitter = full`"),
        (quote!(jitter = "full"), "write `jitter = full`"),
        (quote!(jitter = "1"), "write `1s`"),
        (quote!(on = 500..=504), "write `on = [500..=504]`"),
        (quote!(on = "503"), "write `on = [503]`"),
        (
            quote!(on = "429, 500..=504"),
            "write `on = [429, 500..=504]`",
        ),
        (quote!(on = "busy"), "write `on = [429, 500..=504]`"),
        (quote!(also_on = "408"), "write `also_on = [408]`"),
        (quote!(until), "write `until = |operation| operation.done`"),
        (quote!(crate = "renamed"), "write `crate = renamed`"),
        (quote!(crate = 1), "write `crate = backoff_core`"),
        (quote!(base = "1s" factor = 2), "write `, factor`"),
        (quote!(on = [429] idempotent), "write `, idempotent`"),
        (quote!(policy = P clone(a)), "write `, clone`"),
        (quote!(idempotent base = 1s), "write `, base`"),
        (quote!(base = "1s"; factor = 2), "`,` instead of `;`"),
        (quote!(clone), "write `clone(body)`"),
        (quote!(keep = a), "write `keep(seen)`"),
        (quote!(clone(a.b)), "write it like `clone(body)`"),
        (quote!(faults()), "write `faults(ApiError)`"),
        (quote!(attempt = 3), "write `attempt = n`"),
        (quote!(on = [_ if x]), "write `when = |error| x`"),
        (quote!(on = [e if e.busy()]), "write `when = |e| e"),
        (quote!(on = [503 if x]), "a code has no condition"),
        (quote!(on = [=> 3]), "neither a code nor a pattern"),
        (quote!(on = [A::B { .. } C]), "put a comma before it"),
        (quote!(base = "1s",,), "this comma"),
        (quote!(,), "this comma"),
    ];
    for (tokens, part) in cases {
        let shown = tokens.to_string();
        let message = one_message(tokens);
        assert!(message.contains(part), "{shown}: {message}");
    }
}

#[test]
fn literals_from_macro_rules_are_seen_through_their_group() {
    let group = Group::new(Delimiter::None, quote!("64s"));
    let (args, messages) = read(quote!(base = #group));
    assert_eq!(messages, [""; 0]);
    assert_eq!(
        args.base.unwrap().value.literal,
        Some(Duration::from_secs(64))
    );
}

#[test]
fn on_tells_codes_from_patterns() {
    let on = |tokens| read(tokens).0.on.unwrap().value;
    let codes = on(quote!(
        on = [
            429,
            500..=504,
            Codes::ABORTED,
            MINE,
            mine::CODES,
            codes![408]
        ]
    ));
    assert_eq!((codes.codes.len(), codes.patterns.len()), (6, 0));
    let patterns = on(quote!(
        on = [
            Error::Busy,
            Error::Io(_),
            Busy { .. },
            Error::A | Error::B,
            (1, _),
            &Error::A,
            e @ Error::A,
            Error::Api { code, .. } if *code == 3 && other(code, 4),
            503
        ]
    ));
    assert_eq!((patterns.codes.len(), patterns.patterns.len()), (1, 8));
    assert!(patterns.patterns[7].guard.is_some());
}

#[test]
fn flags_names_and_types() {
    let (args, messages) = read(quote! {
        idempotent, retry_conflicts = false, clone(a, r#type), keep(self,), faults(A<B, C>, D),
        also_on = [408], throttled_base = 2s, max_retry_after = "1m", budget = B, attempt = n,
        notify = |event| log(event), sleep = timer, name = "a.b"
    });
    assert_eq!(messages, [""; 0]);
    assert!(args.idempotent.unwrap().value.is_none());
    assert!(args.retry_conflicts.unwrap().value.is_some());
    assert_eq!(args.clone.unwrap().value.names.len(), 2);
    assert_eq!(args.keep.unwrap().value.names.len(), 1);
    assert_eq!(args.faults.unwrap().value.len(), 2);
    assert!(args.sleep.is_some() && args.notify.is_some() && args.name.is_some());
}
