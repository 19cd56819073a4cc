//! The signal of a call, and how it ends one.

use super::operation::Failed;
#[cfg(feature = "std")]
use crate::stop::Stop;
use crate::{
    facts::fault::{Fault, FaultKind, message},
    runtime::BlockingSleep,
};
use core::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use pin_project_lite::pin_project;

/// The signal of a call whose outcome is a `Result<T, E>`, if it has one.
///
/// Made by [`Retrying::stop_on`](crate::Retrying::stop_on) and
/// [`Retrying::cut_on`](crate::Retrying::cut_on).
#[doc(hidden)]
pub trait Signal<T, E> {
    /// Whether there is a signal. For a call without a signal, nothing of this is compiled.
    const IS_ONE: bool = true;

    /// Whether the signal has come.
    fn has_come(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool;

    /// The function that makes the error of an attempt that the signal cuts; nothing if the signal cuts no
    /// attempt.
    fn cuts(&self) -> Option<fn(Stopped) -> E>;

    /// Keeps what ended the last attempt during a wait, because the call returns this if the wait is ended.
    fn keep(self: Pin<&mut Self>, last: Result<T, Failed<E>>);

    /// Takes the kept failure out.
    fn take(self: Pin<&mut Self>) -> Option<Result<T, Failed<E>>>;
}

/// No signal ends the call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unstopped;

impl<T, E> Signal<T, E> for Unstopped {
    const IS_ONE: bool = false;

    #[inline]
    fn has_come(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> bool {
        false
    }

    #[inline]
    fn cuts(&self) -> Option<fn(Stopped) -> E> {
        None
    }

    #[inline]
    fn keep(self: Pin<&mut Self>, _last: Result<T, Failed<E>>) {}

    #[inline]
    fn take(self: Pin<&mut Self>) -> Option<Result<T, Failed<E>>> {
        None
    }
}

pin_project! {
    /// This future ends the call when it is ready.
    #[doc(hidden)]
    pub struct StoppedBy<F, T, E> {
        #[pin]
        signal: Once<F>,
        kept: Option<Result<T, Failed<E>>>,
        cuts: Option<fn(Stopped) -> E>,
    }
}

impl<F, T, E> StoppedBy<F, T, E> {
    pub(crate) const fn new(signal: F, cuts: Option<fn(Stopped) -> E>) -> Self {
        StoppedBy {
            signal: Once::new(signal),
            kept: None,
            cuts,
        }
    }
}

impl<F: Future, T, E> Signal<T, E> for StoppedBy<F, T, E> {
    fn has_come(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        self.project().signal.has_come(cx)
    }

    fn cuts(&self) -> Option<fn(Stopped) -> E> {
        self.cuts
    }

    fn keep(self: Pin<&mut Self>, last: Result<T, Failed<E>>) {
        *self.project().kept = Some(last);
    }

    fn take(self: Pin<&mut Self>) -> Option<Result<T, Failed<E>>> {
        self.project().kept.take()
    }
}

/// What another thread can do to a blocking call: nothing ([`Unstopped`]), or end its waits by a `Stop`.
#[diagnostic::on_unimplemented(
    message = "a loop that blocks its thread is stopped by a `Stop`",
    label = "another thread cannot end its waits by this signal",
    note = "write `.stop_on(&stop)`, where `stop` is a `backoff_core::Stop`; a loop that awaits `failed` takes a future"
)]
#[doc(hidden)]
pub trait BlockingSignal {
    /// Waits on this thread. Returns whether the signal has come.
    fn pause<R: BlockingSleep>(&self, runtime: &R, wait: Duration) -> bool;

    /// Whether the signal has come.
    fn has_come(&self) -> bool;
}

impl BlockingSignal for Unstopped {
    #[inline]
    fn pause<R: BlockingSleep>(&self, runtime: &R, wait: Duration) -> bool {
        runtime.sleep_blocking(wait);
        false
    }

    #[inline]
    fn has_come(&self) -> bool {
        false
    }
}

#[cfg(feature = "std")]
impl BlockingSignal for &Stop {
    fn pause<R: BlockingSleep>(&self, runtime: &R, wait: Duration) -> bool {
        runtime.sleep_or_stop(wait, self)
    }

    fn has_come(&self) -> bool {
        self.is_stopped()
    }
}

#[cfg(feature = "std")]
impl<T, E> BlockingSignal for StoppedBy<&Stop, T, E> {
    fn pause<R: BlockingSleep>(&self, runtime: &R, wait: Duration) -> bool {
        let stop = self.signal.signal;
        stop.is_some_and(|stop| runtime.sleep_or_stop(wait, stop))
    }

    fn has_come(&self) -> bool {
        self.signal.signal.is_some_and(Stop::is_stopped)
    }
}

pin_project! {
    /// A future whose output does not matter. It can be polled again after it was ready.
    #[derive(Debug)]
    #[doc(hidden)]
    pub struct Once<F> {
        // Dropped when it is ready.
        #[pin]
        signal: Option<F>,
    }
}

impl<F> Once<F> {
    /// A signal that was not polled yet.
    pub(crate) const fn new(signal: F) -> Self {
        Once {
            signal: Some(signal),
        }
    }
}

impl<F: Future> Once<F> {
    /// Whether the signal has come.
    pub(crate) fn has_come(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        let mut signal = self.project().signal;
        let has_come = match signal.as_mut().as_pin_mut() {
            Some(signal) => signal.poll(cx).is_ready(),
            None => return true,
        };
        if has_come {
            signal.set(None);
        }
        has_come
    }
}

impl<F: Future> Future for Once<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_come(cx) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Waits, and polls the signal first. Returns whether the signal has come.
pub(crate) fn unless_stopped(
    mut sleep: Pin<&mut impl Future<Output = ()>>,
    mut has_come: impl FnMut(&mut Context<'_>) -> bool,
) -> impl Future<Output = bool> {
    poll_fn(move |cx| match has_come(cx) {
        true => Poll::Ready(true),
        false => sleep.as_mut().poll(cx).map(|()| false),
    })
}

/// A signal has ended the call during an attempt, or before the first one. The error of a call that a
/// signal [cuts](crate::Retrying::cut_on) is made from this, because the operation has no error of its
/// own then.
///
/// This error is permanent: a retry around the call does not repeat the call. The attempt may have been
/// applied.
///
/// ```
/// use backoff_core::{Policy, Stopped, Verdict};
///
/// enum MyError {
///     Stopped(Stopped),
/// }
///
/// impl From<Stopped> for MyError {
///     fn from(error: Stopped) -> Self { MyError::Stopped(error) }
/// }
/// # let MyError::Stopped(_error) = MyError::from(Stopped::new());
///
/// assert_eq!(Policy::exponential().judge(&Stopped::new()), Verdict::Permanent);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped;

impl Stopped {
    /// Makes the error of a stopped call, for the tests of a program.
    #[must_use]
    pub const fn new() -> Self {
        Stopped
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call was stopped by a signal")
    }
}

impl core::error::Error for Stopped {}

impl Fault for Stopped {
    fn kind(&self) -> Option<FaultKind> {
        Some(FaultKind::Permanent)
    }

    message!();
}
