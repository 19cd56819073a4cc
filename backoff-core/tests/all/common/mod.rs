//! What these tests share: their runtime, their error, a store, and the forms of a call.

// Without some features nothing uses a part of this.
#![allow(dead_code)]

#[macro_use]
pub(crate) mod error;
#[cfg(all(feature = "macros", feature = "tokio"))]
pub(crate) mod forms;
#[cfg(feature = "tracing")]
pub(crate) mod recorder;
#[cfg(feature = "tokio")]
pub(crate) mod store;
pub(crate) mod time;

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

/// What a future gives that never waits for anybody.
pub(crate) fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}
