//! The written code, as a reader would see it.

use super::*;
use expect_test::{Expect, expect};

fn expansion(args: TokenStream, item: TokenStream) -> TokenStream {
    crate::retry_in("backoff_core", args, item)
}

fn snapshot(args: TokenStream, item: TokenStream, expected: Expect) {
    snapshot_of(expansion(args, item), expected);
}

fn snapshot_of(tokens: TokenStream, expected: Expect) {
    let file = syn::parse2(tokens).unwrap();
    expected.assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn bare_attribute() {
    snapshot(
        quote!(),
        quote! {
            /// Reads one.
            pub async fn read(id: u64) -> Result<Item, Error> {
                #![allow(dead_code)]
                let raw = fetch(id).await?;
                raw.parse()
            }
        },
        expect![[r#"
            /// Reads one.
            pub async fn read(id: u64) -> Result<Item, Error> {
                #![allow(dead_code)]
                const __BACKOFF: &::backoff_core::__private::Context<'static> = &::backoff_core::__private::Context {
                    policy: &::backoff_core::Policy::exponential(),
                    overrides: ::backoff_core::__private::Option::None,
                    name: ::core::concat!(::core::module_path!(), "::read"),
                };
                let mut __guard = ::backoff_core::__private::begin(
                    __BACKOFF,
                    &::backoff_core::__private::ASYNC,
                    false,
                );
                loop {
                    let __wait = {
                        let __outcome: Result<Item, Error> = async {
                            if let ::core::option::Option::Some(__returns) = ::core::option::Option::<
                                Result<Item, Error>,
                            >::None {
                                return __returns;
                            }
                            {
                                let raw = fetch(id).await?;
                                raw.parse()
                            }
                        }
                            .await;
                        let mut __judge = ::backoff_core::__private::every(
                            &__outcome,
                            ::backoff_core::__private::Outcomes::of(&__outcome).__backoff_find(),
                        );
                        match ::backoff_core::__private::step(
                            __BACKOFF,
                            &::backoff_core::__private::ASYNC,
                            &mut __guard.state,
                            ::backoff_core::__private::Stage::Whole,
                            &__outcome,
                            ::backoff_core::__private::Option::None,
                            &mut __judge,
                        ) {
                            ::backoff_core::__private::Option::None => break __outcome,
                            ::backoff_core::__private::Option::Some(__wait) => __wait,
                        }
                    };
                    ::backoff_core::__private::sleep(&::backoff_core::__private::ASYNC, __wait)
                        .await;
                }
            }
        "#]],
    );
}

#[test]
fn a_wait_that_a_signal_ends() {
    snapshot(
        quote!(stop_on = token.cancelled()),
        quote! { async fn f(token: &Token) -> Result<(), Error> { g().await } },
        expect![[r#"
            async fn f(token: &Token) -> Result<(), Error> {
                let mut __stop = ::backoff_core::__private::pin!(
                    ::backoff_core::__private::Signal::of(token.cancelled()).__backoff_signal()
                );
                const __BACKOFF: &::backoff_core::__private::Context<'static> = &::backoff_core::__private::Context {
                    policy: &::backoff_core::Policy::exponential(),
                    overrides: ::backoff_core::__private::Option::None,
                    name: ::core::concat!(::core::module_path!(), "::f"),
                };
                let mut __guard = ::backoff_core::__private::begin(
                    __BACKOFF,
                    &::backoff_core::__private::ASYNC,
                    false,
                );
                loop {
                    let __outcome: Result<(), Error> = async {
                        if let ::core::option::Option::Some(__returns) = ::core::option::Option::<
                            Result<(), Error>,
                        >::None {
                            return __returns;
                        }
                        g().await
                    }
                        .await;
                    let mut __judge = ::backoff_core::__private::every(
                        &__outcome,
                        ::backoff_core::__private::Outcomes::of(&__outcome).__backoff_find(),
                    );
                    let __wait = match ::backoff_core::__private::step(
                        __BACKOFF,
                        &::backoff_core::__private::ASYNC,
                        &mut __guard.state,
                        ::backoff_core::__private::Stage::Whole,
                        &__outcome,
                        ::backoff_core::__private::Option::None,
                        &mut __judge,
                    ) {
                        ::backoff_core::__private::Option::None => break __outcome,
                        ::backoff_core::__private::Option::Some(__wait) => __wait,
                    };
                    if ::backoff_core::__private::sleep_or_stop(
                            &::backoff_core::__private::ASYNC,
                            __wait,
                            __stop.as_mut(),
                        )
                        .await
                    {
                        ::backoff_core::__private::stopped(
                            __BACKOFF,
                            &::backoff_core::__private::ASYNC,
                            &mut __guard.state,
                            &__outcome,
                            ::backoff_core::__private::Option::None,
                            &mut __judge,
                        );
                        break __outcome;
                    }
                }
            }
        "#]],
    );
}

#[test]
fn an_attempt_that_a_signal_cuts() {
    snapshot(
        quote!(cut_on = token.cancelled(), attempt_timeout = "10s"),
        quote! { async fn f(token: &Token) -> Result<(), Error> { g().await } },
        expect![[r#"
            async fn f(token: &Token) -> Result<(), Error> {
                let mut __stop = ::backoff_core::__private::pin!(
                    ::backoff_core::__private::Signal::of(token.cancelled()).__backoff_signal()
                );
                const __BACKOFF: &::backoff_core::__private::Context<'static> = &::backoff_core::__private::Context {
                    policy: &::backoff_core::Policy::exponential(),
                    overrides: ::backoff_core::__private::cut_at(
                        ::backoff_core::__private::Option::None,
                    ),
                    name: ::core::concat!(::core::module_path!(), "::f"),
                };
                let mut __guard = ::backoff_core::__private::begin(
                    __BACKOFF,
                    &::backoff_core::__private::ASYNC,
                    false,
                );
                loop {
                    let mut __cut = ::backoff_core::__private::Option::None;
                    let (__done, __is_late) = if ::backoff_core::__private::is_late(
                        __BACKOFF,
                        &::backoff_core::__private::ASYNC,
                        &__guard.state,
                    ) {
                        (::backoff_core::__private::expired(), true)
                    } else {
                        ::backoff_core::__private::begins(&mut __guard);
                        (
                            ::backoff_core::__private::limited_cut_on(
                                    __stop.as_mut(),
                                    &__guard.state,
                                    &mut __cut,
                                    ::backoff_core::__private::cut(
                                        __BACKOFF,
                                        &::backoff_core::__private::ASYNC,
                                        &__guard.state,
                                        ::backoff_core::__private::Duration::new(10u64, 0u32),
                                        async {
                                            if let ::core::option::Option::Some(__returns) = ::core::option::Option::<
                                                Result<(), Error>,
                                            >::None {
                                                return __returns;
                                            }
                                            g().await
                                        },
                                    ),
                                )
                                .await,
                            false,
                        )
                    };
                    let (__outcome, __stage): (Result<(), Error>, _) = ::backoff_core::__private::settle(
                        __done,
                        __is_late,
                    );
                    let mut __judge = ::backoff_core::__private::every(
                        &__outcome,
                        ::backoff_core::__private::Outcomes::of(&__outcome).__backoff_find(),
                    );
                    if ::backoff_core::__private::is_cut(
                        __BACKOFF,
                        &::backoff_core::__private::ASYNC,
                        &mut __guard.state,
                        __cut,
                        &__outcome,
                        &mut __judge,
                    ) {
                        break __outcome;
                    }
                    let __wait = match ::backoff_core::__private::step(
                        __BACKOFF,
                        &::backoff_core::__private::ASYNC,
                        &mut __guard.state,
                        __stage,
                        &__outcome,
                        ::backoff_core::__private::Option::None,
                        &mut __judge,
                    ) {
                        ::backoff_core::__private::Option::None => break __outcome,
                        ::backoff_core::__private::Option::Some(__wait) => __wait,
                    };
                    if ::backoff_core::__private::sleep_or_stop(
                            &::backoff_core::__private::ASYNC,
                            __wait,
                            __stop.as_mut(),
                        )
                        .await
                    {
                        ::backoff_core::__private::stopped(
                            __BACKOFF,
                            &::backoff_core::__private::ASYNC,
                            &mut __guard.state,
                            &__outcome,
                            ::backoff_core::__private::Option::None,
                            &mut __judge,
                        );
                        break __outcome;
                    }
                }
            }
        "#]],
    );
}

#[test]
fn every_key_of_a_policy() {
    snapshot(
        quote! {
            policy = iam::REQUEST, base = 1.5s, factor = 2, max_backoff = "1m 4s", jitter = full,
            max_attempts = 8, deadline = LIMIT, attempt_timeout = "10s",
            on = [429, 500..=504, Codes::ABORTED]
        },
        quote! { async fn f(&self) -> Result<(), Error> { self.g().await } },
        expect![[r#"
            async fn f(&self) -> Result<(), Error> {
                const __BACKOFF: &::backoff_core::__private::Context<'static> = &::backoff_core::__private::Context {
                    policy: &::backoff_core::Policy::on(
                        ::backoff_core::Policy::deadline(
                            ::backoff_core::Policy::max_attempts(
                                ::backoff_core::Policy::jitter(
                                    ::backoff_core::Policy::max_backoff(
                                        ::backoff_core::Policy::factor(
                                            ::backoff_core::Policy::base(
                                                iam::REQUEST,
                                                ::backoff_core::__private::Duration::new(1u64, 500000000u32),
                                            ),
                                            2f64,
                                        ),
                                        ::backoff_core::__private::Duration::new(64u64, 0u32),
                                    ),
                                    ::backoff_core::Jitter::Full,
                                ),
                                8,
                            ),
                            LIMIT,
                        ),
                        ::backoff_core::codes![
                            @ ::backoff_core::Codes::NONE; 429, 500..= 504, Codes::ABORTED
                        ],
                    ),
                    overrides: ::backoff_core::__private::cut_at(
                        ::backoff_core::__private::Option::None,
                    ),
                    name: ::core::concat!(::core::module_path!(), "::f"),
                };
                let mut __guard = ::backoff_core::__private::begin_known(
                    || __BACKOFF,
                    &::backoff_core::__private::ASYNC,
                    false,
                );
                loop {
                    let __wait = {
                        let (__done, __is_late) = if ::backoff_core::__private::is_late(
                            ::backoff_core::__private::known(&__guard),
                            &::backoff_core::__private::ASYNC,
                            &__guard.state,
                        ) {
                            (::backoff_core::__private::expired(), true)
                        } else {
                            ::backoff_core::__private::begins(&mut __guard);
                            (
                                ::backoff_core::__private::cut(
                                        ::backoff_core::__private::known(&__guard),
                                        &::backoff_core::__private::ASYNC,
                                        &__guard.state,
                                        ::backoff_core::__private::Duration::new(10u64, 0u32),
                                        async {
                                            if let ::core::option::Option::Some(__returns) = ::core::option::Option::<
                                                Result<(), Error>,
                                            >::None {
                                                return __returns;
                                            }
                                            self.g().await
                                        },
                                    )
                                    .await,
                                false,
                            )
                        };
                        let (__outcome, __stage): (Result<(), Error>, _) = ::backoff_core::__private::settle(
                            __done,
                            __is_late,
                        );
                        let mut __judge = ::backoff_core::__private::BY_CODES;
                        match ::backoff_core::__private::step_known(
                            &mut __guard,
                            &::backoff_core::__private::ASYNC,
                            __stage,
                            &__outcome,
                            ::backoff_core::__private::Outcomes::of(&__outcome).__backoff_value(),
                            &mut __judge,
                        ) {
                            ::backoff_core::__private::Option::None => break __outcome,
                            ::backoff_core::__private::Option::Some(__wait) => __wait,
                        }
                    };
                    ::backoff_core::__private::sleep(&::backoff_core::__private::ASYNC, __wait)
                        .await;
                }
            }
        "#]],
    );
}

#[test]
fn sync_function_with_a_judge_and_a_policy_of_an_argument() {
    snapshot(
        quote!(
            max_attempts = limit,
            jitter = "1s",
            when = |e| e.is_busy(),
            crate = my::renamed
        ),
        quote! { fn r#type<T>(limit: u32) -> Result<impl Iterator<Item = T>, E> { g() } },
        expect![[r#"
            fn r#type<T>(limit: u32) -> Result<impl Iterator<Item = T>, E> {
                let __policy: my::renamed::Policy = my::renamed::Policy::max_attempts(
                    my::renamed::Policy::jitter(
                        my::renamed::Policy::exponential(),
                        my::renamed::Jitter::Additive(
                            my::renamed::__private::Duration::new(1u64, 0u32),
                        ),
                    ),
                    limit,
                );
                let mut __guard = my::renamed::__private::Guard::new(__policy);
                my::renamed::__private::start(
                    &my::renamed::__private::Context {
                        policy: &__guard.plan,
                        overrides: my::renamed::__private::Option::None,
                        name: ::core::concat!(::core::module_path!(), "::type"),
                    },
                    &my::renamed::__private::BLOCKING,
                    &mut __guard.state,
                    false,
                );
                loop {
                    let __outcome: Result<_, E> = (|| -> Result<_, E> { g() })();
                    let mut __judge = my::renamed::__private::when(
                        &__outcome,
                        |e| e.is_busy(),
                        my::renamed::__private::Outcomes::of(&__outcome).__backoff_find(),
                    );
                    match my::renamed::__private::step(
                        &my::renamed::__private::Context {
                            policy: &__guard.plan,
                            overrides: my::renamed::__private::Option::None,
                            name: ::core::concat!(::core::module_path!(), "::type"),
                        },
                        &my::renamed::__private::BLOCKING,
                        &mut __guard.state,
                        my::renamed::__private::Stage::Whole,
                        &__outcome,
                        my::renamed::__private::Option::None,
                        &mut __judge,
                    ) {
                        my::renamed::__private::Option::None => break __outcome,
                        my::renamed::__private::Option::Some(__wait) => {
                            if my::renamed::__private::pause(
                                &my::renamed::__private::Context {
                                    policy: &__guard.plan,
                                    overrides: my::renamed::__private::Option::None,
                                    name: ::core::concat!(::core::module_path!(), "::type"),
                                },
                                &my::renamed::__private::BLOCKING,
                                &mut __guard.state,
                                __wait,
                                &__outcome,
                                my::renamed::__private::Option::None,
                                &mut __judge,
                            ) {
                                break __outcome;
                            }
                        }
                    }
                    my::renamed::__private::begins(&mut __guard);
                }
            }
        "#]],
    );
}

#[test]
fn copies_the_attempt_a_hook_and_a_timer() {
    snapshot(
        quote!(clone(body), attempt = n, notify = hear, sleep = timer, name = "put", on = [503, E::Busy, E::Io(k) if k.passes()]),
        quote! { async fn put(mut body: Vec<u8>) -> Result<(), E> { body.push(n.number()); send(body).await } },
        expect![[r#"
            async fn put(body: Vec<u8>) -> Result<(), E> {
                let __timer = ::backoff_core::__private::sleep_by(timer);
                const __BACKOFF: &::backoff_core::__private::Context<'static> = &::backoff_core::__private::Context {
                    policy: &::backoff_core::Policy::on(
                        ::backoff_core::Policy::exponential(),
                        ::backoff_core::codes![@ ::backoff_core::Codes::NONE; 503],
                    ),
                    overrides: ::backoff_core::__private::Option::None,
                    name: "put",
                };
                let mut __guard = ::backoff_core::__private::begin(__BACKOFF, &__timer, true);
                let mut __info = ::backoff_core::__private::call_info(&__timer);
                loop {
                    let __wait = {
                        let n = ::backoff_core::__private::attempt(
                            __BACKOFF,
                            &__timer,
                            &__guard.state,
                            &__info,
                        );
                        let __outcome: Result<(), E> = {
                            let __copy_of_body = ::core::clone::Clone::clone(&body);
                            let __attempted = async {
                                if let ::core::option::Option::Some(__returns) = ::core::option::Option::<
                                    Result<(), E>,
                                >::None {
                                    return __returns;
                                }
                                let mut body @ (_) = __copy_of_body;
                                {
                                    body.push(n.number());
                                    send(body).await
                                }
                            }
                                .await;
                            __attempted
                        };
                        let mut __judge = ::backoff_core::__private::with_info(
                            &mut __info,
                            ::backoff_core::__private::notified(
                                &__outcome,
                                ::backoff_core::__private::or(
                                    &__outcome,
                                    |__error| match __error {
                                        E::Busy => true,
                                        E::Io(k) if k.passes() => true,
                                        _ => false,
                                    },
                                ),
                                hear,
                            ),
                        );
                        match ::backoff_core::__private::step(
                            __BACKOFF,
                            &__timer,
                            &mut __guard.state,
                            ::backoff_core::__private::Stage::Whole,
                            &__outcome,
                            ::backoff_core::__private::Outcomes::of(&__outcome).__backoff_value(),
                            &mut __judge,
                        ) {
                            ::backoff_core::__private::Option::None => break __outcome,
                            ::backoff_core::__private::Option::Some(__wait) => __wait,
                        }
                    };
                    ::backoff_core::__private::sleep(&__timer, __wait).await;
                }
            }
        "#]],
    );
}

#[test]
fn a_method_that_async_trait_has_rewritten() {
    snapshot(
        quote!(policy = P, faults(ApiError)),
        quote! {
            fn get<'a>(&'a self) -> Pin<Box<dyn Future<Output = Result<u8, E>> + Send + 'a>> {
                Box::pin(async move {
                    if let ::core::option::Option::Some(__ret) = ::core::option::Option::None::<Result<u8, E>> {
                        return __ret;
                    }
                    let __self = self;
                    let __ret: Result<u8, E> = { __self.ask().await };
                    __ret
                })
            }
        },
        expect![[r#"
            fn get<'a>(&'a self) -> Pin<Box<dyn Future<Output = Result<u8, E>> + Send + 'a>> {
                Box::pin(async move {
                    if let ::core::option::Option::Some(__ret) = ::core::option::Option::None::<
                        Result<u8, E>,
                    > {
                        return __ret;
                    }
                    let __self = self;
                    let __ret: Result<u8, E> = {
                        let mut __guard = ::backoff_core::__private::begin_known(
                            || const {
                                &::backoff_core::__private::Context {
                                    policy: &P,
                                    overrides: ::backoff_core::__private::Option::None,
                                    name: ::core::concat!(::core::module_path!(), "::get"),
                                }
                            },
                            &::backoff_core::__private::ASYNC,
                            false,
                        );
                        loop {
                            let __wait = {
                                let __outcome: Result<u8, E> = async {
                                    if let ::core::option::Option::Some(__returns) = ::core::option::Option::<
                                        Result<u8, E>,
                                    >::None {
                                        return __returns;
                                    }
                                    __self.ask().await
                                }
                                    .await;
                                let mut __judge = ::backoff_core::__private::found(
                                    &__outcome,
                                    |__error| {
                                        use ::backoff_core::__private::via::*;
                                        let __facts = ::backoff_core::__private::Facts(__error);
                                        ::backoff_core::__private::among(
                                                (&__facts).__backoff_first(),
                                                |__cause| {
                                                    ::backoff_core::__private::Option::None
                                                        .or_else(|| {
                                                            (&::backoff_core::__private::Named::<ApiError>::new())
                                                                .__backoff_as_fault(__cause)
                                                        })
                                                },
                                            )
                                            .or_else(|| (&__facts).__backoff_itself())
                                    },
                                );
                                match ::backoff_core::__private::step_known(
                                    &mut __guard,
                                    &::backoff_core::__private::ASYNC,
                                    ::backoff_core::__private::Stage::Whole,
                                    &__outcome,
                                    ::backoff_core::__private::Outcomes::of(&__outcome)
                                        .__backoff_value(),
                                    &mut __judge,
                                ) {
                                    ::backoff_core::__private::Option::None => break __outcome,
                                    ::backoff_core::__private::Option::Some(__wait) => __wait,
                                }
                            };
                            ::backoff_core::__private::sleep(
                                    &::backoff_core::__private::ASYNC,
                                    __wait,
                                )
                                .await;
                            ::backoff_core::__private::begins(&mut __guard);
                        }
                    };
                    __ret
                })
            }
        "#]],
    );
}

#[test]
fn a_block_that_is_not_async() {
    let written = crate::retry_block_in(quote! { (backoff_core) max_attempts = 3, { read() } });
    snapshot_of(
        quote!(fn f() { #written }),
        expect![[r#"
            fn f() {
                {
                    const __BACKOFF: &backoff_core::__private::Context<'static> = &backoff_core::__private::Context {
                        policy: &backoff_core::Policy::max_attempts(
                            backoff_core::Policy::exponential(),
                            3,
                        ),
                        overrides: backoff_core::__private::Option::None,
                        name: ::core::concat!(::core::module_path!(), ":", ::core::line!()),
                    };
                    let mut __guard = backoff_core::__private::begin(
                        __BACKOFF,
                        &backoff_core::__private::BLOCKING,
                        false,
                    );
                    loop {
                        let __outcome: _ = (|| { read() })();
                        let mut __judge = backoff_core::__private::every(
                            &__outcome,
                            backoff_core::__private::Outcomes::of(&__outcome).__backoff_find(),
                        );
                        match backoff_core::__private::step(
                            __BACKOFF,
                            &backoff_core::__private::BLOCKING,
                            &mut __guard.state,
                            backoff_core::__private::Stage::Whole,
                            &__outcome,
                            backoff_core::__private::Option::None,
                            &mut __judge,
                        ) {
                            backoff_core::__private::Option::None => break __outcome,
                            backoff_core::__private::Option::Some(__wait) => {
                                if backoff_core::__private::pause(
                                    __BACKOFF,
                                    &backoff_core::__private::BLOCKING,
                                    &mut __guard.state,
                                    __wait,
                                    &__outcome,
                                    backoff_core::__private::Option::None,
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
    );
}

#[test]
fn a_broken_body_survives() {
    let written = expansion(
        quote!(),
        quote! { async fn f() -> Result<(), E> { let a = ; a. } },
    );
    assert!(written.to_string().starts_with("async fn f"), "{written}");
}

#[test]
fn a_mistake_keeps_the_function() {
    snapshot(
        quote!(max_attempts = 0, colour = 3),
        quote! { async fn f() -> Result<(), Error> { g().await } },
        expect![[r#"
            async fn f() -> Result<(), Error> {
                let __refused = {
                    ::core::compile_error! {
                        "unknown key `colour`: the keys are `policy`, `base`, `throttled_base`, `factor`, `max_backoff`, `jitter`, `max_attempts`, `deadline`, `max_retry_after`, `timeout`, `attempt_timeout`, `stop_on`, `cut_on`, `on`, `also_on`, `when`, `faults`, `until`, `consecutive`, `idempotent`, `retry_conflicts`, `responses`, `budget`, `clone`, `keep`, `attempt`, `notify`, `log_waits`, `attempt_spans`, `sleep`, `runtime`, `name`, `crate`"
                    }
                    ::core::compile_error! {
                        "`max_attempts = 0` never calls the function: write 1 for one call without a retry"
                    }
                };
                g().await
            }
        "#]],
    );
}

#[test]
fn a_block_in_a_loop() {
    let written = crate::retry_block_in(quote! {
        (backoff_core) policy = iam::READ_MODIFY_WRITE, async move { read().await?; Ok::<_, E>(1) }
    });
    snapshot_of(
        quote!(fn f() { #written }),
        expect![[r#"
            fn f() {
                async move {
                    const __BACKOFF: &backoff_core::__private::Context<'static> = &backoff_core::__private::Context {
                        policy: &iam::READ_MODIFY_WRITE,
                        overrides: backoff_core::__private::Option::None,
                        name: ::core::concat!(::core::module_path!(), ":", ::core::line!()),
                    };
                    let mut __guard = backoff_core::__private::begin_known(
                        || __BACKOFF,
                        &backoff_core::__private::ASYNC,
                        false,
                    );
                    loop {
                        let __wait = {
                            let __outcome: _ = async {
                                {
                                    read().await?;
                                    Ok::<_, E>(1)
                                }
                            }
                                .await;
                            let mut __judge = backoff_core::__private::BY_CODES;
                            match backoff_core::__private::step_known(
                                &mut __guard,
                                &backoff_core::__private::ASYNC,
                                backoff_core::__private::Stage::Whole,
                                &__outcome,
                                backoff_core::__private::Option::None,
                                &mut __judge,
                            ) {
                                backoff_core::__private::Option::None => break __outcome,
                                backoff_core::__private::Option::Some(__wait) => __wait,
                            }
                        };
                        backoff_core::__private::sleep(&backoff_core::__private::ASYNC, __wait)
                            .await;
                        backoff_core::__private::begins(&mut __guard);
                    }
                }
            }
        "#]],
    );
}

#[test]
fn a_mistake_keeps_the_block() {
    let written = crate::retry_block_in(quote!((backoff_core) polcy = P, async { a() },));
    snapshot_of(
        quote!(fn f() { #written }),
        expect![[r#"
            fn f() {
                {
                    {
                        let __refused = {
                            ::core::compile_error! {
                                "unknown key `polcy`: write `policy`"
                            }
                        };
                        if false {
                            let __outcome = __refused;
                            let _ = &P;
                        }
                        async { a() }
                    }
                }
            }
        "#]],
    );
}

#[test]
fn impl_trait_becomes_a_hole() {
    let cases = [
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
        (
            "Result<Box<dyn Fn(u8) -> u8>, E>",
            "Result<Box<dyn Fn(u8) -> u8>, E>",
        ),
    ];
    for (ty, expected) in cases {
        let written = without_impl(ty.parse().unwrap()).to_string();
        let expected: TokenStream = expected.parse().unwrap();
        assert_eq!(
            written.replace(' ', ""),
            expected.to_string().replace(' ', "")
        );
    }
}

#[test]
fn the_door_decides_the_path() {
    let item = quote!(
        fn f() -> Result<(), E> {
            g()
        }
    );
    let cloud = crate::retry_in("backoff_cloud", quote!(), item).to_string();
    assert!(cloud.contains(":: backoff_cloud :: __private"), "{cloud}");
    assert!(!cloud.contains("backoff_core"), "{cloud}");
}
