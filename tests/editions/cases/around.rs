//! Attributes, lints and macros around annotated functions.

use super::*;

#[test]
fn other_attributes() {
    /// Documented, `#[must_use]` and more.
    ///
    /// # Errors
    /// Those of the service.
    #[must_use = "the number"]
    #[retry(base = "1ms")]
    #[inline]
    #[deny(unused_variables)]
    async fn before(flaky: &Flaky) -> Result<u32, ApiError> {
        #![allow(unused_variables)]
        let nobody_reads_this = 1;
        flaky.call()
    }
    #[cfg_attr(all(), retry(base = "1ms"))]
    #[deprecated = "old"]
    #[track_caller]
    #[cfg_attr(all(), inline(never))]
    fn after(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    #[cfg_attr(any(), retry(colour = "blue"))]
    async fn once(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    assert_eq!(run(before(&Flaky::failing(2))), Ok(3));
    #[allow(deprecated)]
    let got = after(&Flaky::failing(2));
    assert_eq!(got, Ok(3));
    assert_eq!(run(once(&Flaky::failing(2))), Err(ApiError(503)));
}

alike! { conditions_on_statements [base = "1ms"] |flaky| run(f(flaky)) =>
    pub(super) async fn f(flaky: &Flaky) -> Result<u32, ApiError> {
        #[cfg(any())]
        compile_error!("left out");
        #[cfg(not(any()))]
        let number = 1;
        flaky.call()?;
        match [#[cfg(any())] 5, #[cfg(all())] number] {
            #[cfg(any())]
            [..] => unreachable!(),
            [number] => Ok(number),
        }
    }
}

/// The lints that look at drops, at unsafe code and at what is unused.
#[deny(
    let_underscore_drop,
    if_let_rescope,
    keyword_idents_2018,
    elided_lifetimes_in_paths,
    unused_results,
    rust_2021_incompatible_closure_captures,
    impl_trait_redundant_captures,
    clippy::all,
    clippy::pedantic
)]
mod strict {
    use super::{ApiError, Flaky, retry};

    #[deny(tail_expr_drop_order)]
    #[retry(base = "1ms", clone(text, mut list))]
    pub(super) async fn strict(
        flaky: &Flaky,
        text: String,
        list: Vec<u8>,
        other: Box<dyn Fn() -> u32 + Send>,
    ) -> Result<usize, ApiError> {
        const MORE: usize = 1;
        drop(text);
        list.push(1);
        let _ = flaky.call()?;
        Ok(list.len() + MORE + other() as usize)
    }
}

/// What is written sets off no lint, not even a forbidden one.
mod forbidden {
    #![forbid(warnings, unused, unreachable_code)]

    use super::{ApiError, Flaky, retry};

    #[retry(base = "1ms")]
    pub(super) async fn never(flaky: &Flaky) -> Result<std::convert::Infallible, ApiError> {
        flaky.call()?;
        Err(ApiError(404))
    }
}

#[test]
fn under_strict_lints() {
    let (flaky, other) = (Flaky::failing(2), Box::new(|| 1));
    let got = run(sent(strict::strict(&flaky, "a".into(), vec![1], other)));
    assert_eq!((got, flaky.calls()), (Ok(4), 3));
    let never = run(forbidden::never(&Flaky::failing(2)));
    assert_eq!(never, Err(ApiError(404)));
}

/// What a web framework asks of a handler.
#[test]
fn handler_of_a_web_framework() {
    fn call<A, F, Fut, T>(handler: F, arg: A) -> T
    where
        F: Fn(A) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = T> + Send,
    {
        run(sent(handler.clone()(arg)))
    }
    struct State(std::sync::Arc<Flaky>);
    #[retry(base = "1ms")]
    async fn handle(State(flaky): State) -> Result<u32, ApiError> {
        flaky.call()
    }
    assert_eq!(call(handle, State(Flaky::failing(2).into())), Ok(3));
}
