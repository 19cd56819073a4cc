//! The timer of async-io, which smol uses, for any executor.

use super::{Sleep, Std};
use core::task::{Context, Poll};
use core::{future::Future, pin::Pin, time::Duration};

/// With the feature `smol`: the timer of async-io, which runs on a thread of its own.
impl Sleep for Std {
    type Sleep = StdSleep;

    #[inline]
    fn sleep(&self, wait: Duration) -> StdSleep {
        StdSleep(async_io::Timer::after(wait))
    }
}

/// A wait.
#[derive(Debug)]
pub struct StdSleep(async_io::Timer);

impl Future for StdSleep {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}
