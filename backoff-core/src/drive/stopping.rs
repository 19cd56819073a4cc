//! Calls that a signal ends.

#[cfg(feature = "std")]
use super::{attempt::Call, blocking::Blocking, handler::forward};
use super::{
    attempt::{Failed, Operation},
    course::Course,
    future::Retrying,
    handler::{Handle, Handler},
};
use crate::{
    facts::fault::{Fault, FaultKind},
    observe::Failure,
    policy::Policy,
    runtime::{Clock, Sleep},
};
#[cfg(feature = "std")]
use crate::{
    judge::{Ruling, Stage},
    observe::Event,
    report::Measures,
    runtime::{BlockingSleep, Random},
    state::{Next, RetryState, Terms},
    stop::Stop,
};
use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use pin_project_lite::pin_project;

/// The signal of a call whose outcome is a `Result<T, E>`, if it has one.
///
/// Made by [`Retrying::stop_on`](crate::Retrying::stop_on) and
/// [`Retrying::cut_on`](crate::Retrying::cut_on).
pub trait Signal<T, E> {
    /// Whether there is a signal. Without one, nothing of this is compiled.
    const IS_ONE: bool = true;

    /// Whether it has come.
    fn has_come(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool;

    /// What an attempt that the signal cuts ends with; nothing if the signal cuts none.
    fn cuts(&self) -> Option<fn(Stopped) -> E>;

    /// Keeps what failed for the time of a wait, because it is handed back if the wait is ended. What is
    /// not kept comes back.
    fn keep(self: Pin<&mut Self>, failed: Result<T, Failed<E>>) -> Option<Result<T, Failed<E>>>;

    /// What was kept.
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
    fn keep(self: Pin<&mut Self>, failed: Result<T, Failed<E>>) -> Option<Result<T, Failed<E>>> {
        Some(failed)
    }

    #[inline]
    fn take(self: Pin<&mut Self>) -> Option<Result<T, Failed<E>>> {
        None
    }
}

pin_project! {
    /// This future ends the call once it is ready.
    pub struct StoppedBy<F, T, E> {
        #[pin]
        signal: Once<F>,
        kept: Option<Result<T, Failed<E>>>,
        cuts: Option<fn(Stopped) -> E>,
    }
}

impl<F, T, E> StoppedBy<F, T, E> {
    pub(super) const fn new(signal: F, cuts: Option<fn(Stopped) -> E>) -> Self {
        StoppedBy {
            signal: Once::new(signal),
            kept: None,
            cuts,
        }
    }
}

impl<F, T, E> fmt::Debug for StoppedBy<F, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoppedBy")
            .field("cuts", &self.cuts.is_some())
            .finish_non_exhaustive()
    }
}

impl<F: Future, T, E> Signal<T, E> for StoppedBy<F, T, E> {
    fn has_come(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        self.project().signal.has_come(cx)
    }

    fn cuts(&self) -> Option<fn(Stopped) -> E> {
        self.cuts
    }

    fn keep(self: Pin<&mut Self>, failed: Result<T, Failed<E>>) -> Option<Result<T, Failed<E>>> {
        *self.project().kept = Some(failed);
        None
    }

    fn take(self: Pin<&mut Self>) -> Option<Result<T, Failed<E>>> {
        self.project().kept.take()
    }
}

pin_project! {
    /// A future of which only the end matters: it can be asked again after it was ready.
    #[derive(Debug)]
    pub struct Once<F> {
        // Dropped when it was ready.
        #[pin]
        signal: Option<F>,
    }
}

impl<F> Once<F> {
    /// It was not asked yet.
    pub(crate) const fn new(signal: F) -> Self {
        Once {
            signal: Some(signal),
        }
    }
}

impl<F: Future> Once<F> {
    /// Whether it has come.
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

impl<'p, O, H, S> Retrying<'p, O, H, S>
where
    O: Operation<<H as Handler>::Runtime>,
    H: Handler,
    <H as Handler>::Runtime: Sleep,
{
    /// Ends the waits of the call once `signal` is ready, for a program that shuts down.
    ///
    /// - A wait ends at once, and no further attempt begins. The call gives the operation's last error, or
    ///   the last response, with [`StopReason::Stopped`](crate::StopReason::Stopped) in the report and in
    ///   the event `GaveUp`. A budget gets back what the wait has cost.
    /// - An attempt that is running is finished. To cut that too, write [`cut_on`](Self::cut_on).
    /// - The first attempt is always made, also where `signal` is ready before it.
    ///
    /// An update that waits while one of its writes may have been applied ends with
    /// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), as at its deadline.
    ///
    /// Any future is a signal, whatever its output is; where several calls share one, it is one that can be
    /// made for each of them, such as that of `CancellationToken` in tokio-util. The call keeps the last
    /// error while it waits, so it is `Send` only if the error is. Of two signals the later one holds.
    ///
    /// ```
    /// use backoff_core::{Jitter, Policy, StopReason, TimedOut};
    /// use std::time::Duration;
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::constant(Duration::from_secs(60)).jitter(Jitter::None);
    /// let busy = || std::future::ready(Err::<(), _>(TimedOut::new(Duration::ZERO)));
    ///
    /// let shutdown = CancellationToken::new();
    /// // A future that is stored or spawned owns its signal.
    /// let call = POLICY.retry(busy).stop_on(shutdown.clone().cancelled_owned()).reported();
    /// let call = tokio::spawn(call);
    /// tokio::task::yield_now().await;
    /// shutdown.cancel();
    /// let ended = call.await.unwrap().unwrap_err();
    /// assert_eq!((ended.reason, ended.report.attempts), (StopReason::Stopped, 1));
    ///
    /// // One that is awaited at once may borrow it.
    /// assert!(POLICY.retry(busy).stop_on(shutdown.cancelled()).await.is_err());
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn stop_on<F: Future>(
        self,
        signal: F,
    ) -> Retrying<'p, O, H, StoppedBy<F, O::Value, O::Error>> {
        self.signal(StoppedBy::new(signal, None))
    }

    /// As [`stop_on`](Self::stop_on), and cuts the attempt that is running, too.
    ///
    /// An attempt that is cut has no error of its own; one is made from [`Stopped`]. It may have been
    /// applied. Where it must not be applied twice (the policy is not
    /// [idempotent](crate::Policy::idempotent), or the change of an update cannot recognise its own
    /// effect), the reason is [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), else
    /// [`StopReason::Stopped`](crate::StopReason::Stopped). A report keeps the last real error beside it
    /// ([`RetryError::last`]). An attempt that is ready together with the signal is not cut, but an
    /// update whose read is under way begins no write.
    ///
    /// Where `signal` is ready before the first attempt, no attempt is made, and the error is made from
    /// [`Stopped`], too. When a wait is ended, the operation's last error is handed back.
    ///
    /// ```
    /// use backoff_core::{Policy, Stopped};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let shutdown = CancellationToken::new();
    /// let hangs = || {
    ///     shutdown.cancel();
    ///     std::future::pending::<Result<(), Stopped>>()
    /// };
    /// assert_eq!(POLICY.retry(hangs).cut_on(shutdown.cancelled()).await, Err(Stopped::new()));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn cut_on<F: Future>(
        self,
        signal: F,
    ) -> Retrying<'p, O, H, StoppedBy<F, O::Value, O::Error>>
    where
        O::Error: From<Stopped>,
    {
        self.signal(StoppedBy::new(signal, Some(O::Error::from)))
    }
}

/// The signal has come in a wait: what the call ends with.
#[cold]
pub(super) fn stopped<O, H, S>(
    operation: &mut O,
    handler: &mut H,
    course: &Course,
    policy: &Policy,
    signal: Pin<&mut S>,
) -> Option<Result<O::Value, O::Error>>
where
    O: Operation<<H as Handler>::Runtime>,
    H: Handle<O::Error>,
    H::Runtime: Clock,
    S: Signal<O::Value, O::Error>,
{
    let doubt = operation.doubt();
    let error = match (operation.kept(), signal.take()) {
        (Some(error), _) => error,
        (None, Some(Err(failed))) => failed.error,
        (None, Some(Ok(value))) => {
            let failure = Failure::new(None, O::fault(&value));
            doubt.stopped(course, policy, handler, O::name(), failure);
            // The last response is handed back as it came.
            return Some(Ok(value));
        }
        (None, None) => return None,
    };
    let failure = Failure::new(Some(&error), handler.fault(&error));
    doubt.stopped(course, policy, handler, O::name(), failure);
    Some(Err(operation.last_word(error)))
}

/// A stop that another thread gives. Made by [`Blocking::stop_on`](crate::Blocking::stop_on).
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
pub struct Stoppable<'s, H> {
    pub(super) inner: H,
    pub(super) stop: &'s Stop,
}

#[cfg(feature = "std")]
impl<H: Handler> Handler for Stoppable<'_, H> {
    type Runtime = H::Runtime;

    #[inline]
    fn runtime(&self) -> &H::Runtime {
        self.inner.runtime()
    }

    fn pause<R: BlockingSleep>(&self, runtime: &R, wait: core::time::Duration) -> bool {
        runtime.sleep_or_stop(wait, self.stop)
    }

    forward!(policy measure terms decide hold);
}

#[cfg(feature = "std")]
impl<E, H: Handle<E>> Handle<E> for Stoppable<'_, H> {
    forward!(judge keep notify);
}

#[cfg(feature = "std")]
impl<'p, O: Call, H> Blocking<'p, O, H> {
    /// Ends the waits of the call once another thread calls [`Stop::stop`], for a program that shuts down.
    ///
    /// A wait ends at once, and no further attempt begins: the call gives the operation's last error, or
    /// the last response, with [`StopReason::Stopped`](crate::StopReason::Stopped). An attempt that is
    /// running is finished, and the first attempt is always made, as with
    /// [`Retrying::stop_on`](crate::Retrying::stop_on). Of two stops the later one holds.
    ///
    /// A [`runtime`](Self::runtime) of your own ends a wait before its time only if it has
    /// [`BlockingSleep::sleep_or_stop`]. A program that has a `CancellationToken` of tokio-util hands it on
    /// from a task: `token.cancelled().await; stop.stop()`.
    ///
    /// ```
    /// use backoff_core::{Policy, Stop, TimedOut};
    /// use std::{cell::Cell, time::Duration};
    ///
    /// const POLICY: Policy = Policy::constant(Duration::from_secs(60));
    /// let (stop, calls) = (Stop::new(), Cell::new(0));
    /// let busy = || {
    ///     calls.set(calls.get() + 1);
    ///     stop.stop();
    ///     Err::<(), _>(TimedOut::new(Duration::ZERO))
    /// };
    /// assert!(POLICY.blocking(busy).stop_on(&stop).call().is_err());
    /// assert_eq!(calls.get(), 1);
    /// ```
    pub fn stop_on(self, stop: &Stop) -> Blocking<'p, O, Stoppable<'_, H>> {
        self.handler(|inner| Stoppable { inner, stop })
    }
}

/// A signal has ended the call during an attempt, or before the first one: the error of a call that a
/// signal [cuts](crate::Retrying::cut_on), where the operation has none of its own.
///
/// It is permanent: a retry around the call does not repeat it. The attempt may have been applied.
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
    /// A call that was stopped: for the tests of a program.
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

    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }
}
