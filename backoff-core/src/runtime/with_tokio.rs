//! Tokio's clock and timer.

use super::{Clock, Duration, Random, Sleep, Std, origin::since_origin};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use pin_project_lite::pin_project;
#[cfg(not(feature = "smol"))]
use tokio::time::{Sleep as Timer, sleep as timer};

/// Tokio's timer inside a tokio runtime, async-io's elsewhere: two crates of a program may each turn one feature on.
#[cfg(feature = "smol")]
type Timer = Pin<std::boxed::Box<dyn Future<Output = ()> + Send + Sync>>;

#[cfg(feature = "smol")]
fn timer(wait: Duration) -> Timer {
    if is_in_tokio() {
        return std::boxed::Box::pin(tokio::time::sleep(wait));
    }
    std::boxed::Box::pin(Std.sleep(wait))
}

/// Tokio's clock and timer: the runtime of async calls. Paused time works.
///
/// The timer has a resolution of one millisecond and rounds up. A wait of zero does not use the timer: the other tasks of
/// the thread run once.
///
/// With the feature `smol`, a call outside a tokio runtime waits as [`Std`] does, and does not panic. Then each
/// wait allocates.
///
/// # Panics
/// In a build with debug assertions, every call outside a tokio runtime panics before its first attempt, and the message says
/// what to write instead. In another build, `tokio::time::sleep` panics when a wait, or a call that is cut at a time limit,
/// begins outside a runtime. In a runtime whose time is not enabled, `tokio::time::sleep` panics: build such a runtime with
/// `enable_time` or `enable_all`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokio;

impl Clock for Tokio {
    #[inline]
    fn now(&self) -> Duration {
        since_origin(tokio::time::Instant::now().into_std())
    }

    #[track_caller]
    fn check(&self) {
        needs_runtime();
    }
}

impl Sleep for Tokio {
    type Sleep = TokioSleep;

    #[inline]
    #[track_caller]
    fn sleep(&self, wait: Duration) -> Self::Sleep {
        TokioSleep {
            wait: match wait.is_zero() {
                true => Wait::Yields,
                false => Wait::Until { timer: timer(wait) },
            },
        }
    }
}

pin_project! {
    /// A wait.
    #[cfg_attr(not(feature = "smol"), derive(Debug))]
    pub struct TokioSleep {
        #[pin]
        wait: Wait,
    }
}

pin_project! {
    #[project = WaitProjection]
    #[cfg_attr(not(feature = "smol"), derive(Debug))]
    enum Wait {
        // A wait of zero.
        Yields,
        Yielded,
        Until { #[pin] timer: Timer },
    }
}

impl Future for TokioSleep {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut wait = self.project().wait;
        match wait.as_mut().project() {
            WaitProjection::Until { timer } => timer.poll(cx),
            WaitProjection::Yielded => Poll::Ready(()),
            WaitProjection::Yields => {
                wait.set(Wait::Yielded);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// Panics in place of tokio, whose message does not help in a program that only retries.
#[track_caller]
pub(super) fn needs_runtime() {
    assert!(
        cfg!(feature = "smol") || is_in_tokio(),
        "an async retry waits with tokio's timer, but no tokio runtime runs on this thread. Call it \
         inside a runtime (`#[tokio::main]`, `Runtime::block_on`), turn on the feature `smol`, whose \
         timer runs on any executor, pass another timer (`.runtime(..)`, in the attribute \
         `runtime = ..`, for combined changes `Combining::on`), or use the blocking form (`Policy::retry_blocking`, `#[retry]` on a \
         function that is not async)"
    );
}

/// Whether a tokio runtime runs on this thread.
pub(super) fn is_in_tokio() -> bool {
    tokio::runtime::Handle::try_current().is_ok()
}

impl Random for Tokio {
    #[inline]
    fn random(&self) -> u64 {
        Std.random()
    }
}
