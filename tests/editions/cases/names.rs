//! Names that mean something else here, or that are words of the language.

use super::*;

#[allow(non_camel_case_types)]
pub(super) struct r#struct {
    r#in: u32,
}

alike! { raw_identifiers [base = "1ms", clone(r#match), attempt = r#fn, operation = "r"]
    |flaky| run(r#async(flaky, "text".to_owned(), r#struct { r#in: 1 })) =>
    #[allow(unused_mut, unused_variables)]
    pub(super) async fn r#async(r#ref: &Flaky, r#match: String, r#type: r#struct) -> Result<usize, ApiError> {
        let r#fn = 1;
        r#ref.call()?;
        let r#let = r#match;
        Ok(r#let.len() + r#type.r#in as usize + r#fn)
    }
}

mod shadows {
    #![allow(unused, nonstandard_style)]

    use crate::cases::{ApiError, Flaky, retry};

    pub(super) mod backoff_core {}
    mod core {}
    mod std {}
    mod alloc {}
    enum Option {
        Some,
        None,
    }
    enum Result {
        Ok,
        Err,
    }
    use self::Option::{None, Some};
    use self::Result::{Err, Ok};
    trait Clone {
        fn clone(&self) {}
    }
    impl<T> Clone for T {}
    const wait: u8 = 0;
    static outcome: u8 = 0;
    macro_rules! hide {
        (traits: $($traits:ident)*, structs: $($structs:ident)*, functions: $($functions:ident)*, macros: $($macros:ident)*) => {
            $(trait $traits {})*
            $(struct $structs;)*
            $(fn $functions() {})*
            $(macro_rules! $macros { () => {}; })*
        };
    }
    hide! {
        traits: Future Send Into,
        structs: Context Box Vec String Duration Policy Step Wait,
        functions: drop start step,
        macros: matches codes concat module_path
    }

    #[retry(base = "1ms", max_backoff = 64s, deadline = 60s, jitter = none, on = [503], clone(text), attempt = _n)]
    pub(super) async fn names(
        flaky: &Flaky,
        text: ::std::vec::Vec<u8>,
        list: [u8; 2],
    ) -> ::core::result::Result<u32, ApiError> {
        match flaky.call() {
            ::core::result::Result::Ok(_) => ::core::result::Result::Ok(list.len() as u32),
            error => error,
        }
    }

    #[retry(base = "1ms", jitter = "1ms", when = |_| true, clone(list))]
    pub(super) fn blocking(flaky: &Flaky, list: [u8; 2]) -> ::core::result::Result<u32, ApiError> {
        let _ = list;
        flaky.call()
    }
}

#[test]
fn prelude_and_library() {
    /// Parameters that are called as types of the prelude.
    #[retry(base = "1ms")]
    async fn generic<Option, Err: From<ApiError>>(flaky: &Flaky, _: &Option) -> Result<u32, Err> {
        Ok(flaky.call()?)
    }
    let got = run(shadows::names(&Flaky::failing(2), vec![], [1, 2]));
    assert_eq!(got, Ok(2));
    assert_eq!(shadows::blocking(&Flaky::failing(2), [1, 2]), Ok(3));
    let got = run(generic::<_, ApiError>(&Flaky::failing(2), &1));
    assert_eq!(got, Ok(3));
}

alike! { variables_named_like_ours
    [base = "1ms", clone(__copy_of_wait), attempt = __attempt, notify = |__event| { let _ = (__event, __row); }]
    |flaky| run(f(flaky, 1, 2, 3, Box::new(4), "5", vec![6])) =>
    #[allow(unused_variables, unused_mut, clippy::too_many_arguments)]
    pub(super) async fn f(
        flaky: &Flaky,
        __row: u32,
        __outcome: u32,
        __copy_of_wait: u32,
        __guard: Box<u32>,
        __judge: &str,
        __returns: Vec<u8>,
    ) -> Result<u32, ApiError> {
        const __BACKOFF: u32 = 1;
        let __attempt = 1;
        let (__wait, __context, __policy, __timer, __info, __done, __is_late, __stage, __error, __value) =
            (1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
        flaky.call()?;
        Ok(__row + __outcome + __copy_of_wait + *__guard + __BACKOFF + __wait + __judge.len() as u32 + __returns.len() as u32)
    }
}

#[test]
fn constant_that_the_body_hides() {
    const POLICY: Policy = keys::QUICK;
    #[retry(policy = POLICY)]
    fn f(flaky: &Flaky) -> Result<u32, ApiError> {
        const POLICY: u32 = 10;
        flaky.call().map(|call| call + POLICY)
    }
    assert_eq!(f(&Flaky::failing(2)), Ok(13));
}

extern crate backoff_core as renamed;

mod inner {
    pub(super) mod again {
        pub(crate) use backoff_core::*;
    }
}

#[test]
fn the_library_under_another_name() {
    use renamed::{retry, retry_block};
    rows! {
        [crate = renamed, base = "1ms", jitter = full, on = [503]] => 3;
        [crate = crate::cases::names::inner::again, base = "1ms", jitter = equal] => 3;
    }
    #[backoff_cloud::retry(policy = backoff_cloud::iam::REQUEST, base = "1ms", on = [503])]
    fn cloud(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    assert_eq!(cloud(&Flaky::failing(2)), Ok(3));
}
