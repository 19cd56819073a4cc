//! Functions of odd shapes, the same source in every edition. Each is compared with the plain
//! function: what it gives, in which order it drops, and how often it is tried.

#![deny(warnings, unused, rust_2018_idioms)]
#![allow(
    clippy::double_must_use,
    clippy::erasing_op,
    clippy::manual_async_fn,
    clippy::match_single_binding,
    clippy::needless_ifs,
    clippy::needless_return,
    clippy::never_loop,
    clippy::redundant_allocation,
    clippy::redundant_locals,
    clippy::unit_arg,
    clippy::wrong_self_convention,
    reason = "the functions are odd on purpose"
)]

/// The same function twice: as it is, and with the attribute.
macro_rules! both {
    ($(#[$attr:meta])+ => $($function:tt)+) => {
        mod plain {
            #[allow(unused_imports)]
            use super::*;
            $($function)+
        }
        mod retried {
            #[allow(unused_imports)]
            use super::*;
            $(#[$attr])+
            $($function)+
        }
    };
}

pub(crate) use std::future::Future;
pub(crate) use std::pin::Pin;

pub(crate) use backoff_core::{retry, retry_block};
pub(crate) use ui::{ApiError, Flaky};

mod arguments;
mod around;
mod bodies;
mod drops;
mod generic;
mod groups;
mod names;
mod runtimes;
mod sends;
mod traits;

use std::cell::RefCell;

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
