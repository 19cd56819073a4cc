//! Attributes, lints and macros around annotated functions.

use super::*;

#[test]
fn documented() {
    /// Documented, `#[must_use]` and more.
    ///
    /// # Errors
    /// Those of the service.
    #[doc(alias = "fetch")]
    #[must_use = "the number"]
    #[retry(base = "1ms")]
    #[inline]
    #[cold]
    #[allow(clippy::unused_async, clippy::missing_panics_doc)]
    #[rustfmt::skip]
    async fn before(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    #[retry(base = "1ms")]
    #[deprecated = "old"]
    #[track_caller]
    #[cfg(not(any()))]
    #[cfg_attr(all(), inline(never))]
    fn after(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    assert_eq!(run(before(&Flaky::failing(2))), Ok(3));
    #[allow(deprecated)]
    let got = after(&Flaky::failing(2));
    assert_eq!(got, Ok(3));
}

alike! { conditions_on_statements [base = "1ms"] |flaky| run(f(flaky)) =>
    pub(super) async fn f(flaky: &Flaky) -> Result<u32, ApiError> {
        #[cfg(any())]
        compile_error!("left out");
        #[cfg(not(any()))]
        let number = 1;
        #[cfg(any())]
        let number = "left out";
        #[allow(unused_variables)]
        let unused = 2;
        #[rustfmt::skip]
        flaky.call()?;
        let list = [#[cfg(any())] 5, #[cfg(all())] number];
        match list.len() {
            #[cfg(any())]
            0 => unreachable!(),
            1 => Ok(list[0]),
            _ => Err(ApiError(404)),
        }
    }
}

/// The lints that look at drops, at unsafe code and at what is unused.
#[deny(
    let_underscore_drop,
    if_let_rescope,
    keyword_idents_2018,
    elided_lifetimes_in_paths,
    unused_qualifications,
    unused_results,
    unused_lifetimes,
    single_use_lifetimes,
    trivial_casts,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    missing_docs,
    redundant_lifetimes,
    rust_2021_incompatible_closure_captures,
    explicit_outlives_requirements,
    impl_trait_redundant_captures,
    meta_variable_misuse,
    unit_bindings,
    variant_size_differences,
    closure_returning_async_block,
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

    #[retry(base = "1ms", on = [503], attempt = n)]
    pub(super) fn blocking(flaky: &Flaky) -> Result<u32, ApiError> {
        let _call = flaky.call()?;
        Ok(n.number())
    }
}

#[test]
fn under_strict_lints() {
    let flaky = Flaky::failing(2);
    let other = Box::new(|| 1);
    let got = run(sent(strict::strict(&flaky, "a".into(), vec![1], other)));
    assert_eq!((got, flaky.calls()), (Ok(4), 3));
    assert_eq!(strict::blocking(&Flaky::failing(2)), Ok(3));
}

/// A function whose name, arguments and body come from a macro, in another module.
macro_rules! services {
    ($($service:ident { $($method:ident($($arg:ident: $ty:ty),*) -> $ret:ty { $($body:tt)* })* })*) => {
        $(
            mod $service {
                #[allow(unused_imports)]
                use super::*;
                $(
                    #[retry(base = "1ms")]
                    pub(super) async fn $method($($arg: $ty),*) -> Result<$ret, ApiError> {
                        let counted = 0 $(+ { let _ = &$arg; 1 })*;
                        let _ = counted;
                        $($body)*
                    }
                )*
            }
        )*
    };
}

services! {
    users {
        get(flaky: &Flaky, id: u32) -> u32 {
            flaky.call()?;
            Ok(id)
        }
        all(flaky: &Flaky) -> Vec<u32> {
            flaky.call().map(|call| vec![call])
        }
    }
    groups {
        get(flaky: &'static Flaky) -> &'static Flaky {
            flaky.call()?;
            Ok(flaky)
        }
    }
}

#[test]
fn made_by_a_macro() {
    static FLAKY: Flaky = Flaky::failing(2);
    same(|_| Ok(7), |flaky| run(users::get(flaky, 7)));
    assert_eq!(run(users::all(&Flaky::failing(2))), Ok(vec![3]));
    assert_eq!(run(groups::get(&FLAKY)).map(Flaky::calls), Ok(3));
}

/// What a web framework asks of a handler.
fn handler<A, F, Fut, T>(handler: F, arg: A) -> T
where
    F: Fn(A) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = T> + Send,
{
    run(sent(handler.clone()(arg)))
}

#[derive(Clone)]
struct State(std::sync::Arc<Flaky>);
struct Json<T>(T);

#[retry(base = "1ms")]
async fn handle(State(flaky): State) -> Result<Json<u32>, ApiError> {
    let call = flaky.call()?;
    Ok(Json(call))
}

#[test]
fn handler_of_a_web_framework() {
    let got = handler(handle, State(std::sync::Arc::new(Flaky::failing(2))));
    assert_eq!(got.map(|json| json.0), Ok(3));
}

#[test]
fn conditional_and_inner_attributes() {
    #[cfg_attr(all(), retry(base = "1ms"))]
    async fn repeated(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    #[cfg_attr(any(), retry(colour = "blue"))]
    async fn once(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    #[retry(base = "1ms")]
    #[deny(unused_variables)]
    async fn inner(flaky: &Flaky) -> Result<u32, ApiError> {
        #![allow(unused_variables)]
        let nobody_reads_this = 1;
        flaky.call()
    }
    assert_eq!(run(repeated(&Flaky::failing(2))), Ok(3));
    assert_eq!(run(once(&Flaky::failing(2))), Err(ApiError(503)));
    assert_eq!(run(inner(&Flaky::failing(2))), Ok(3));
}
