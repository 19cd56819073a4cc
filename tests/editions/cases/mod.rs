//! Functions of odd shapes, the same source in every edition. Each is compared with the plain
//! function: what it gives, in which order it drops, and how often it is tried.

#![deny(warnings, unused, rust_2018_idioms)]
#![allow(clippy::all, reason = "the functions are odd on purpose")]

/// A test of a function, as it is and with the attribute: both give the same and drop in the same order, and the one
/// with the attribute is tried until it succeeds.
macro_rules! alike {
    ($name:ident [$($keys:tt)*] $call:expr => $($function:tt)+) => {
        #[test]
        fn $name() {
            mod plain {
                #[allow(unused_imports)]
                use super::*;
                $($function)+
            }
            mod retried {
                #[allow(unused_imports)]
                use super::*;
                #[retry($($keys)*)]
                $($function)+
            }
            same(
                {
                    use plain::*;
                    $call
                },
                {
                    use retried::*;
                    $call
                },
            )
        }
    };
}

/// An operation that fails twice, under these keys: in each form that can wait for a future, or that blocks. The keys
/// can name arguments.
macro_rules! forms {
    (async: [$($keys:tt)*] $($arg:ident: $ty:ty = $value:expr),*) => {[
        ("async function", {
            #[retry($($keys)*)]
            async fn f(flaky: &Flaky $(, $arg: $ty)*) -> Result<u32, Error> {
                Ok(attempted(flaky)?)
            }
            asked(|flaky| run(sent(f(flaky $(, $value)*))))
        }),
        ("function that returns a future", {
            #[retry($($keys)*)]
            fn f<'a>(flaky: &'a Flaky $(, $arg: $ty)*) -> impl Future<Output = Result<u32, Error>> + Send + 'a {
                async move { Ok(attempted(flaky)?) }
            }
            asked(|flaky| run(sent(f(flaky $(, $value)*))))
        }),
        ("async block", asked(|flaky| {
            $(let $arg: $ty = $value;)*
            run(async { retry_block!($($keys)*, async { Ok::<u32, Error>(attempted(flaky)?) }).await })
        })),
    ]};
    (blocking: [$($keys:tt)*] $($arg:ident: $ty:ty = $value:expr),*) => {[
        ("function", {
            #[retry($($keys)*)]
            fn f(flaky: &Flaky $(, $arg: $ty)*) -> Result<u32, Error> {
                Ok(attempted(flaky)?)
            }
            asked(|flaky| f(flaky $(, $value)*))
        }),
        ("block", asked(|flaky| {
            $(let $arg: $ty = $value;)*
            retry_block!($($keys)*, { Ok::<u32, Error>(attempted(flaky)?) })
        })),
    ]};
}

/// A row is keys, the arguments that they name, and how often each form calls the operation that fails twice.
macro_rules! rows {
    ($($keys:tt $($arg:ident: $ty:ty = $value:expr),* => $calls:literal;)*) => {$(
        expect(stringify!($keys), $calls, &forms!(async: $keys $($arg: $ty = $value),*));
        expect(stringify!($keys), $calls, &forms!(blocking: $keys $($arg: $ty = $value),*));
    )*};
}

/// Rows of keys that a blocking form refuses, because it cannot wait for a future.
macro_rules! async_rows {
    ($($keys:tt $($arg:ident: $ty:ty = $value:expr),* => $calls:literal;)*) => {
        $(expect(stringify!($keys), $calls, &forms!(async: $keys $($arg: $ty = $value),*));)*
    };
}

pub(crate) use std::cell::{Cell, RefCell};
pub(crate) use std::future::Future;
pub(crate) use std::pin::Pin;
pub(crate) use std::time::Duration;

pub(crate) use backoff_core::{
    Budget, Codes, Event, Fault, NotYet, Policy, Stopped, TimedOut, codes, retry, retry_block,
};
pub(crate) use evaluated::attempted;
pub(crate) use ui::{ApiError, Flaky};

mod anyhow_errors;
mod arguments;
mod around;
mod async_traits;
mod blocks;
mod bodies;
mod derived;
mod drops;
mod evaluated;
mod futures;
mod generic;
mod groups;
mod judges;
mod keys;
mod names;
mod policies;
mod rewritten;
mod runtimes;
mod sends;
mod spans;
mod traits;
mod unsafe_code;

/// An error that a key can be made to need: of a cut attempt, of a stopped call, of a value that is not there yet.
#[derive(Debug, Clone, PartialEq, Fault, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    #[fault(forward)]
    Api(#[from] ApiError),
    #[error("reset")]
    #[fault(maybe_sent)]
    Reset,
    #[error(transparent)]
    #[fault(forward)]
    Late(#[from] TimedOut),
    #[error(transparent)]
    #[fault(forward)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    #[fault(forward)]
    NotYet(#[from] NotYet),
}

pub(crate) const BUSY: Error = Error::Api(ApiError(503));

thread_local!(static DROPPED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) });

/// A value whose drop is seen.
#[derive(Debug)]
pub(crate) struct D(pub(crate) &'static str);

impl D {
    /// A success that does not keep the value.
    pub(crate) fn name(&self) -> Result<&'static str, ApiError> {
        Ok(self.0)
    }
}

impl Drop for D {
    fn drop(&mut self) {
        DROPPED.with(|dropped| dropped.borrow_mut().push(self.0));
    }
}

/// What it gives, and what is dropped meanwhile.
pub(crate) fn watched<T>(run: impl FnOnce() -> T) -> (T, Vec<&'static str>) {
    DROPPED.with(|dropped| dropped.borrow_mut().clear());
    let value = run();
    (value, DROPPED.with(|dropped| dropped.borrow().clone()))
}

/// Runs a future; waits take no time.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(future)
}

/// The future can go to another thread.
pub(crate) fn sent<F: Future + Send>(future: F) -> F {
    future
}

/// Both give the same and drop in the same order, and the second one is tried until it succeeds.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    plain: impl Fn(&Flaky) -> T,
    retried: impl Fn(&Flaky) -> T,
) {
    let expected = watched(|| plain(&Flaky::failing(0)));
    assert_eq!(watched(|| retried(&Flaky::failing(0))), expected);
    let flaky = Flaky::failing(2);
    let (value, _) = watched(|| retried(&flaky));
    assert_eq!((value, flaky.calls()), (expected.0, 3));
}

/// How often it calls an operation that fails twice, and what it gives.
fn asked<T>(call: impl FnOnce(&Flaky) -> T) -> (u32, T) {
    let flaky = Flaky::failing(2);
    let value = call(&flaky);
    (flaky.calls(), value)
}

fn expect(keys: &str, calls: u32, forms: &[(&str, (u32, Result<u32, Error>))]) {
    let outcome = if calls > 2 { Ok(calls) } else { Err(BUSY) };
    for (form, got) in forms {
        assert_eq!(*got, (calls, outcome.clone()), "{} with {}", form, keys);
    }
}
