//! Arguments as users write them, rightly and wrongly.

use super::*;
use proc_macro2::{Delimiter, Group, Literal, Punct, Span};
use proptest::prelude::*;
use quote::quote;

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
    assert_eq!(args.on.unwrap().value.len(), 2);
    assert!(matches!(
        args.jitter.unwrap().value,
        Jitter::Named(_, "Full")
    ));
    assert!(args.policy.is_some() && args.factor.is_some() && args.max_attempts.is_some());
    assert!(args.when.is_some() && args.attempt_timeout.is_some());
    assert_eq!(args.krate.to_token_stream().to_string(), "renamed :: core");
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
        (quote!(dedline = "1s"), "write `deadline`;"),
        (quote!(max_retries = 3), "write `max_attempts`;"),
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
        (quote!("1s"), "put a key before `\"1s\"`"),
        (quote!(jitter = ful), "write `jitter = full`"),
        (quote!(jitter = Full), "write `jitter = full`"),
        (quote!(jitter = "full"), "write `jitter = full`"),
        (quote!(jitter = "1"), "write `1s`"),
        (quote!(on = 500..=504), "write `on = [500..=504]`"),
        (quote!(crate = "renamed"), "write `crate = renamed`"),
        (quote!(crate = 1), "write `crate = backoff_core`"),
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

fn token() -> impl Strategy<Value = TokenStream> {
    let keys = proptest::sample::select(KEYS.map(|(name, _)| name).to_vec());
    let puncts = proptest::sample::select("=,,|<>.:-&+!?@#".chars().collect::<Vec<_>>());
    let leaf = prop_oneof![
        keys.prop_map(|key| Ident::new(key, Span::call_site()).into_token_stream()),
        "[a-z_]{1,8}"
            .prop_filter("`_` alone is no identifier", |word| word != "_")
            .prop_map(
                |word| Ident::new(&format!("{word}x"), Span::call_site()).into_token_stream()
            ),
        (puncts, any::<bool>()).prop_map(|(char, joint)| {
            let spacing = if joint {
                Spacing::Joint
            } else {
                Spacing::Alone
            };
            Punct::new(char, spacing).into_token_stream()
        }),
        any::<u64>().prop_map(|number| Literal::u64_unsuffixed(number).into_token_stream()),
        "[0-9a-z .-]{0,12}".prop_map(|text| Literal::string(&text).into_token_stream()),
        proptest::sample::select(vec![
            "64s",
            "1.5s",
            "0x1fs",
            "1e3",
            "500..=504",
            "'a",
            "'c'"
        ])
        .prop_map(|text| text.parse().unwrap()),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let delimiter = proptest::sample::select(vec![
            Delimiter::Parenthesis,
            Delimiter::Brace,
            Delimiter::Bracket,
            Delimiter::None,
        ]);
        (delimiter, proptest::collection::vec(inner, 0..6)).prop_map(|(delimiter, inner)| {
            Group::new(delimiter, inner.into_iter().collect()).into_token_stream()
        })
    })
}

proptest! {
    #[test]
    fn any_tokens_are_read_without_panic(tokens in proptest::collection::vec(token(), 0..24)) {
        let (args, _) = read(tokens.into_iter().collect());
        crate::check::arguments(&args, &mut Errors::default());
    }
}
