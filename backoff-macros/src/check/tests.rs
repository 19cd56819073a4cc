//! Contradictions, one by one.

use super::signature::signature;
use super::*;
use quote::quote;

fn messages(args: TokenStream, function: TokenStream) -> Vec<String> {
    let mut errors = Errors::default();
    let args = crate::args::parse(args, &mut errors);
    arguments(&args, &mut errors);
    signature(&syn::parse2(function).unwrap(), &args, &mut errors);
    errors.messages()
}

fn on_async(args: TokenStream) -> Vec<String> {
    messages(
        args,
        quote!(
            async fn f() -> Result<(), E> {}
        ),
    )
}

#[test]
fn sensible_arguments_pass() {
    let good = [
        quote!(),
        quote!(base = "1s", max_backoff = "1s", deadline = "1s"),
        quote!(base = "2s", policy = P, max_attempts = 1, factor = 1),
        quote!(factor = 1.5, max_attempts = LIMIT),
        quote!(factor = FACTOR, attempt_timeout = TIMEOUT),
        quote!(on = [408, 429, 500..=504, Codes::ABORTED, MINE]),
        quote!(when = Error::is_busy, policy = P),
        quote!(jitter = equal),
    ];
    for args in good {
        let shown = args.to_string();
        assert_eq!(on_async(args), [""; 0], "{shown}");
    }
}

#[test]
fn contradictions_are_refused_with_what_to_write() {
    let cases = [
        (quote!(max_attempts = 0), "write 1 for one call"),
        (quote!(max_attempts = -1), "a whole number"),
        (quote!(max_attempts = 5s), "a whole number"),
        (quote!(max_attempts = "5"), "a whole number"),
        (quote!(max_attempts = 4294967296), "a whole number"),
        (quote!(factor = 0.5), "write 1 or more"),
        (quote!(factor = -2), "write 1 or more"),
        (quote!(factor = f64::NAN), "a number of 1 or more"),
        (quote!(factor = "2"), "a number of 1 or more"),
        (quote!(factor = 2s), "a number of 1 or more"),
        (
            quote!(base = 2m, max_backoff = "64s"),
            "a `base` of at most 64s",
        ),
        (quote!(base = 2s, deadline = "1s"), "a `deadline` above 2s"),
        (quote!(attempt_timeout = 0s), "such as `10s`"),
        (quote!(policy = "iam"), "write `policy = iam::REQUEST`"),
        (quote!(when = "is_busy"), "write `when = |error|"),
        (quote!(until = "done"), "write `until = |operation|"),
        (
            quote!(consecutive = 3),
            "write `until = |value| ..` too, or remove `consecutive`",
        ),
        (quote!(until = f, consecutive = 0), "a number from 1"),
        (quote!(until = f, consecutive = -1), "a whole number from 1"),
        (
            quote!(until = f, consecutive = "3"),
            "a whole number from 1",
        ),
        (
            quote!(until = f, consecutive = 6),
            "5 attempts by default never give 6 values in a row: write `max_attempts = 6` or \
             more, or a `deadline`",
        ),
        (
            quote!(
                until = f,
                consecutive = 3,
                max_attempts = 2,
                deadline = "1m"
            ),
            "2 attempts never give 3 values in a row: write `max_attempts = 3` or more, or a \
             smaller `consecutive`",
        ),
        (
            quote!(when = f, on = [429]),
            "remove `on`, or remove `when`",
        ),
        (quote!(stop_on = 5), "write `stop_on = token.cancelled()`"),
        (quote!(cut_on = 5), "write `cut_on = token.cancelled()`"),
        (
            quote!(stop_on = f(), cut_on = g()),
            "`cut_on` ends the waits, too: remove `stop_on`",
        ),
        (quote!(on = []), "an empty `on`"),
        (quote!(on = [504..=500]), "write `500..=504`"),
        (quote!(on = [500..505]), "write `500..=504`"),
        (quote!(on = [500..]), "both its ends"),
        (quote!(on = [A..=B]), "the ends of a range are numbers"),
        (quote!(on = [_]), "leave out `on`"),
        (quote!(on = [200]), "200 is not the status of a failure"),
        (
            quote!(on = [302..=599]),
            "302 is not the status of a failure",
        ),
        (quote!(on = [14]), "`Codes::ABORTED`"),
        (quote!(on = [600]), "codes from 400 to 599"),
        (quote!(on = [-429]), "codes from 400 to 599"),
        (quote!(on = [429, 429]), "`429` stands here twice"),
        (
            quote!(on = [500..=504, 503]),
            "`503` is in `500..=504` already",
        ),
        (
            quote!(on = [500..=504, 502..=509]),
            "write `500..=509` for both",
        ),
    ];
    for (args, part) in cases {
        let shown = args.to_string();
        let messages = on_async(args);
        assert_eq!(messages.len(), 1, "{shown}: {messages:?}");
        assert!(messages[0].contains(part), "{shown}: {messages:?}");
    }
}

#[test]
fn what_the_function_cannot_do_is_refused() {
    let sync = messages(
        quote!(attempt_timeout = "1s"),
        quote!(
            fn f() -> Result<(), E> {}
        ),
    );
    assert!(sync[0].contains("make the function `async`"), "{sync:?}");
    for key in [
        quote!(stop_on = token.cancelled()),
        quote!(cut_on = token.cancelled()),
    ] {
        let stopped = messages(
            key,
            quote!(
                fn f() -> Result<(), E> {}
            ),
        );
        assert!(stopped[0].contains(".stop_on(&stop)"), "{stopped:?}");
    }
    let constant = messages(
        quote!(),
        quote!(
            const fn f() -> Result<(), E> {}
        ),
    );
    assert!(constant[0].contains("remove `const`"), "{constant:?}");
}

#[test]
fn what_is_no_function_is_told_where_to_go() {
    let cases = [
        (
            quote!(
                struct A {
                    a: u8,
                }
            ),
            "put it on a `fn`",
        ),
        (quote!(impl A { fn f() {} }), "each function inside"),
        (
            quote!(
                async fn f(&self) -> Result<(), E>;
            ),
            "no body to repeat",
        ),
        (quote!(fn f), "expected"),
    ];
    for (item, part) in cases {
        let message = function(item).err().unwrap().to_string();
        assert!(message.contains(part), "{message}");
    }
    assert!(
        function(quote!(
            pub(crate) async fn f() {}
        ))
        .is_ok()
    );
}

#[test]
fn what_decides_what_is_written_is_true_or_false() {
    for value in [quote!(true), quote!(false)] {
        assert_eq!(on_async(quote!(attempt_spans = #value)), [""; 0]);
    }
    let said = on_async(quote!(attempt_spans = TRACED));
    let expected = "`attempt_spans` decides what is written here, so it is `true` or `false`";
    assert_eq!(said, [expected]);
}
