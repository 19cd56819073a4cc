//! The written code, as a reader would see it.

use super::*;
use expect_test::expect;

fn read(text: &str) -> TokenStream {
    text.parse().unwrap()
}

pub(crate) fn attribute(keys: &str, function: &str) -> TokenStream {
    crate::retry_in("backoff_core", read(keys), read(function))
}

fn block(keys: &str, block: &str) -> TokenStream {
    let written = crate::retry_block_in(read(&format!("(::backoff_core) {keys}, {block}")));
    quote!(fn f() { #written })
}

/// The code as a reader would see it. `p` stands for `__backoff`.
pub(crate) fn shown(written: &TokenStream) -> String {
    let written = written.to_string().replace("__backoff ::", "p ::");
    let file = prettyplease::unparse(&syn::parse2(read(&written)).unwrap());
    let lines: Vec<&str> = file.lines().collect();
    let mut rest = &lines[..];
    let mut text = String::new();
    while let [first, ..] = rest {
        let (count, line) = in_one_line(rest).unwrap_or((1, (*first).to_owned()));
        text += &line;
        text.push('\n');
        rest = &rest[count..];
    }
    text
}

/// A value with the call behind it, or a list, where 120 columns are enough.
fn in_one_line(lines: &[&str]) -> Option<(usize, String)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (first, rest) = lines.split_first()?;
    if let Some(call) = rest.first().filter(|next| next.trim().starts_with('.')) {
        return Some((2, format!("{first}{}", call.trim())));
    }
    let items = rest.iter().take_while(|line| indent(line) > indent(first));
    let items: Vec<&str> = items.map(|line| line.trim()).collect();
    let last = rest.get(items.len())?.trim();
    let list = format!("{first}{}{last}", items.join(" ").trim_end_matches(','));
    let is_list = first.ends_with(['(', '[', '<']) || first.ends_with("Context {");
    (is_list && list.trim().len() <= 120).then_some((items.len() + 2, list))
}

#[test]
fn the_written_code_of_both_forms() {
    let rows = [
        (
            attribute(
                r#"policy = iam::REQUEST, base = 1.5s, max_backoff = "1m 4s", attempt_timeout = LIMIT,
                cut_on = token.cancelled(), clone(body), attempt = n, notify = hear, sleep = timer,
                operation = "put", on = [429, 500..=504, Codes::ABORTED, E::Busy, E::Io(k) if k.passes()]"#,
                "/// Writes one.
                pub async fn put(token: &Token, mut body: Vec<u8>) -> Result<(), E> {
                    #![allow(dead_code)]
                    body.push(n.number());
                    send(body).await
                }",
            ),
            expect![[r#"
                /// Writes one.
                pub async fn put(token: &Token, body: Vec<u8>) -> Result<(), E> {
                    #![allow(dead_code)]
                    use ::backoff_core::__private as __backoff;
                    let __timer = p::sleep_by(timer);
                    let mut __stop = p::pin!(p::SignalOf::of(token.cancelled()).__backoff_signal());
                    const __BACKOFF: &p::Context<'static> = &p::Context {
                        policy: &p::Policy::on(
                            p::Policy::max_backoff(
                                p::Policy::base(iam::REQUEST, p::Duration::new(1u64, 500000000u32)),
                                p::Duration::new(64u64, 0u32),
                            ),
                            p::codes![@ p::Codes::NONE; 429, 500..= 504, Codes::ABORTED],
                        ),
                        limits: p::Option::Some(p::Limits(p::Option::None)),
                        operation: "put",
                    };
                    let mut __guard = p::begin_known(|| __BACKOFF, &__timer, true);
                    let mut __info = p::call_info(&__timer);
                    loop {
                        let __late = if p::has_first_turn(p::known(&__guard), &__guard.state) {
                            let __admission = p::admission(p::known(&__guard), &__timer, &mut __guard.state, p::Option::Some(p::Duration::MAX));
                            p::first_turn(__admission, __stop.as_mut()).await
                        } else {
                            p::Option::None
                        };
                        let n = p::attempt(p::known(&__guard), &__timer, &__guard.state, &__info);
                        let mut __cut = p::Option::None;
                        let (__done, __unless_done) = if let p::Option::Some(__late) = __late {
                            (p::Result::Err(__late), p::Ending::Queued)
                        } else if p::is_late(p::known(&__guard), &__timer, &__guard.state) {
                            (p::expired(), p::Ending::Late)
                        } else {
                            p::begins(&mut __guard);
                            (
                                {
                                    let __copy_of_body = ::core::clone::Clone::clone(&body);
                                    let __attempted = p::cut(
                                            LIMIT,
                                            |__limit| {
                                                let __guard = &__guard;
                                                p::timer(p::known(&__guard), &__timer, &__guard.state, __limit)
                                            },
                                            p::cut_on(
                                                __stop.as_mut(),
                                                &__guard.state,
                                                &mut __cut,
                                                p::inside(
                                                    &__guard,
                                                    async {
                                                        if let ::core::option::Option::Some(__returns) = ::core::option::Option::<Result<(), E>>::None {
                                                            return __returns;
                                                        }
                                                        let mut body @ (_) = __copy_of_body;
                                                        {
                                                            body.push(n.number());
                                                            send(body).await
                                                        }
                                                    },
                                                ),
                                            ),
                                        ).await;
                                    __attempted
                                },
                                p::Ending::Clock,
                            )
                        };
                        let (__outcome, __ending): (Result<(), E>, _) = p::settle(p::by_key(), __done, __unless_done);
                        let mut __judge = (
                            p::notified(
                                &__outcome,
                                p::or(&__outcome, |__error| match __error { E::Busy => true, E::Io(k) if k.passes() => true, _ => false, }),
                                hear,
                            ),
                            &mut __info,
                        );
                        if p::is_cut(p::known(&__guard), &__timer, &mut __guard.state, __cut, &__outcome, &mut __judge) {
                            break __outcome;
                        }
                        let __wait = match p::step(
                            p::known(&__guard),
                            &__timer,
                            &mut __guard.state,
                            __ending,
                            &__outcome,
                            p::Outcomes::of(&__outcome).__backoff_value(),
                            &mut __judge,
                        ) {
                            p::Option::None => break __outcome,
                            p::Option::Some(__wait) => __wait,
                        };
                        let __end = p::pause_or_stop(
                                p::known(&__guard),
                                &__timer,
                                &mut __guard.state,
                                __wait,
                                p::Option::Some(p::Duration::MAX),
                                __stop.as_mut(),
                            ).await;
                        if let p::Option::Some(__end) = __end {
                            p::ended(
                                p::known(&__guard),
                                &__timer,
                                &mut __guard.state,
                                &__outcome,
                                p::Outcomes::of(&__outcome).__backoff_value(),
                                &mut __judge,
                                __end,
                            );
                            break __outcome;
                        }
                    }
                }
            "#]],
        ),
        (
            attribute(
                r#"max_attempts = limit, jitter = "1s", when = |e| e.is_busy(), crate = my::lib"#,
                "fn r#type<T>(limit: u32) -> Result<impl Iterator<Item = T>, E> { g() }",
            ),
            expect![[r#"
                fn r#type<T>(limit: u32) -> Result<impl Iterator<Item = T>, E> {
                    use my::lib::__private as __backoff;
                    let __policy: p::Policy = p::Policy::max_attempts(
                        p::Policy::jitter(p::Policy::exponential(), p::Jitter::Additive(p::Duration::new(1u64, 0u32))),
                        limit,
                    );
                    let mut __guard = p::Guard::new(__policy);
                    p::start(
                        &p::Context {
                            policy: &__guard.plan,
                            limits: p::Option::None,
                            operation: ::core::concat!(::core::module_path!(), "::type"),
                        },
                        &p::BLOCKING,
                        &mut __guard.state,
                        false,
                    );
                    loop {
                        let __outcome: Result<_, E> = {
                            let __runs = p::Guard::runs(&__guard);
                            (|| -> Result<_, E> { g() })()
                        };
                        let mut __judge = p::when(p::error_of(&__outcome), |e| e.is_busy(), || p::Outcomes::of(&__outcome).__backoff_find());
                        match p::step(
                            &p::Context {
                                policy: &__guard.plan,
                                limits: p::Option::None,
                                operation: ::core::concat!(::core::module_path!(), "::type"),
                            },
                            &p::BLOCKING,
                            &mut __guard.state,
                            p::Ending::Returned,
                            &__outcome,
                            p::Option::None,
                            &mut __judge,
                        ) {
                            p::Option::None => break __outcome,
                            p::Option::Some(__wait) => {
                                if p::pause(
                                    &p::Context {
                                        policy: &__guard.plan,
                                        limits: p::Option::None,
                                        operation: ::core::concat!(::core::module_path!(), "::type"),
                                    },
                                    &p::BLOCKING,
                                    &mut __guard.state,
                                    __wait,
                                    p::Option::None,
                                    &__outcome,
                                    p::Option::None,
                                    &mut __judge,
                                ) {
                                    break __outcome;
                                }
                            }
                        }
                        p::begins(&mut __guard);
                    }
                }
            "#]],
        ),
        (
            attribute(
                "rate = RATE, tokens = 500",
                "async fn ask() -> Result<(), E> { get().await }",
            ),
            expect![[r#"
                async fn ask() -> Result<(), E> {
                    use ::backoff_core::__private as __backoff;
                    const __BACKOFF: &p::Context<'static> = &p::Context {
                        policy: &p::Policy::tokens(p::Policy::rate(p::Policy::exponential(), &RATE), 500),
                        limits: p::Option::None,
                        operation: ::core::concat!(::core::module_path!(), "::ask"),
                    };
                    let mut __guard = p::begin_known(|| __BACKOFF, &p::ASYNC, false);
                    loop {
                        let __wait = {
                            let __late = if p::has_rate(p::known(&__guard)) {
                                let __admission = p::admission(p::known(&__guard), &p::ASYNC, &mut __guard.state, p::Option::Some(p::Duration::MAX));
                                p::turn(__admission).await
                            } else {
                                p::Option::None
                            };
                            let (__outcome, __ending): (Result<(), E>, _) = match __late {
                                p::Option::None => {
                                    p::begins(&mut __guard);
                                    (
                                        p::inside(
                                                &__guard,
                                                async {
                                                    if let ::core::option::Option::Some(__returns) = ::core::option::Option::<Result<(), E>>::None {
                                                        return __returns;
                                                    }
                                                    get().await
                                                },
                                            ).await,
                                        p::Ending::Returned,
                                    )
                                }
                                p::Option::Some(__late) => {
                                    p::refused(p::by_key(), __late, p::Ending::Queued)
                                }
                            };
                            let mut __judge = p::every(&__outcome, p::Outcomes::of(&__outcome).__backoff_find());
                            match p::step(p::known(&__guard), &p::ASYNC, &mut __guard.state, __ending, &__outcome, p::Option::None, &mut __judge) {
                                p::Option::None => break __outcome,
                                p::Option::Some(__wait) => __wait,
                            }
                        };
                        p::wait(&p::ASYNC, __wait).await;
                    }
                }
            "#]],
        ),
        (
            block("rate = RATE, tokens = tokens", "{ get() }"),
            expect![[r#"
                fn f() {
                    {
                        use ::backoff_core::__private as __backoff;
                        let __policy: p::Policy = p::Policy::tokens(p::Policy::rate(p::Policy::exponential(), &RATE), tokens);
                        let mut __guard = p::Guard::new(__policy);
                        p::start(
                            &p::Context {
                                policy: &__guard.plan,
                                limits: p::Option::None,
                                operation: ::core::concat!(::core::module_path!(), ":", ::core::line!()),
                            },
                            &p::BLOCKING,
                            &mut __guard.state,
                            false,
                        );
                        loop {
                            let __late = p::admit_blocking(
                                &p::Context {
                                    policy: &__guard.plan,
                                    limits: p::Option::None,
                                    operation: ::core::concat!(::core::module_path!(), ":", ::core::line!()),
                                },
                                &p::BLOCKING,
                                &mut __guard.state,
                                p::Option::Some(p::Duration::MAX),
                            );
                            let (__outcome, __ending): (_, _) = match __late {
                                p::Option::None => {
                                    p::begins(&mut __guard);
                                    ({ let __runs = p::Guard::runs(&__guard); (|| { get() })() }, p::Ending::Returned)
                                }
                                p::Option::Some(__late) => {
                                    p::refused(p::by_key(), __late, p::Ending::Queued)
                                }
                            };
                            if false {
                                break __outcome;
                            }
                            let mut __judge = p::every(&__outcome, p::Outcomes::of(&__outcome).__backoff_find());
                            match p::step(
                                &p::Context {
                                    policy: &__guard.plan,
                                    limits: p::Option::None,
                                    operation: ::core::concat!(::core::module_path!(), ":", ::core::line!()),
                                },
                                &p::BLOCKING,
                                &mut __guard.state,
                                __ending,
                                &__outcome,
                                p::Option::None,
                                &mut __judge,
                            ) {
                                p::Option::None => break __outcome,
                                p::Option::Some(__wait) => {
                                    if p::pause(
                                        &p::Context {
                                            policy: &__guard.plan,
                                            limits: p::Option::None,
                                            operation: ::core::concat!(::core::module_path!(), ":", ::core::line!()),
                                        },
                                        &p::BLOCKING,
                                        &mut __guard.state,
                                        __wait,
                                        p::Option::Some(p::Duration::MAX),
                                        &__outcome,
                                        p::Option::None,
                                        &mut __judge,
                                    ) {
                                        break __outcome;
                                    }
                                }
                            }
                        }
                    }
                }
            "#]],
        ),
    ];
    for (written, expected) in rows {
        expected.assert_eq(&shown(&written));
    }
}

#[test]
fn a_broken_body_survives() {
    let written = attribute("", "async fn f() -> Result<(), E> { let a = ; a. }").to_string();
    assert!(written.starts_with("async fn f"), "{written}");
    for begun in [
        "{ let a = client. }",
        "async { client. }",
        "async move { client.get(,) }",
    ] {
        let written = block("max_attempts = 3", begun).to_string();
        assert!(written.contains("client"), "{written}");
    }
    let written = block("max_attempts = 3", "call(1)").to_string();
    assert!(!written.contains("let _ = call"), "{written}");
}

#[test]
fn impl_trait_becomes_a_hole() {
    let same = "Result<Box<dyn Fn(u8) -> u8>, E>";
    let rows = [
        (
            "Result<impl Iterator<Item = Vec<u8>> + 'a, E>",
            "Result<_, E>",
        ),
        (
            "Result<(u8, impl Fn(u8) -> Vec<u8>), E>",
            "Result<(u8, _), E>",
        ),
        (
            "Result<Vec<impl Into<A> + Send>, impl Error>",
            "Result<Vec<_>, _>",
        ),
        ("impl Outcome", "_"),
        ("Result<[impl Fn(u8) -> u8; 2], E>", "Result<[_; 2], E>"),
        (same, same),
    ];
    let close = |tokens: TokenStream| tokens.to_string().replace(' ', "");
    for (ty, expected) in rows {
        assert_eq!(close(without_impl(read(ty))), close(read(expected)), "{ty}");
    }
}

#[test]
fn the_door_or_a_key_decides_the_path() {
    let rows = [
        ("", "use :: backoff_cloud :: __private as __backoff"),
        ("crate = my::lib", "use my :: lib :: __private as __backoff"),
    ];
    for (keys, path) in rows {
        let function = read("fn f() -> Result<(), E> { g() }");
        let written = crate::retry_in("backoff_cloud", read(keys), function).to_string();
        assert!(written.contains(path), "{written}");
        assert!(!written.contains("backoff_core"), "{written}");
    }
}
