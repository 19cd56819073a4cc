//! The methods that give a call its signal: `stop_on` and `cut_on`.

#[cfg(feature = "std")]
use super::blocking::Blocking;
use super::{
    future::Retrying,
    operation::Operation,
    plan::Plan,
    resume::Resuming,
    settings::AttemptTypes,
    stopping::{Stopped, StoppedBy},
};
use crate::runtime::Sleep;
#[cfg(feature = "std")]
use crate::stop::Stop;
use core::future::Future;

impl<P: Plan, O: Operation, K: AttemptTypes, R: Sleep, S> Retrying<P, O, K, R, S> {
    /// Ends the waits of the call when `signal` is ready, for a program that shuts down.
    ///
    /// - The current wait ends at once, and no further attempt begins. The call returns the operation's
    ///   last error, or the last response, with [`StopReason::Stopped`](crate::StopReason::Stopped) in the
    ///   report and in the event `GaveUp`. A budget gets back the tokens that it paid for the wait.
    /// - A running attempt is finished. To cut the attempt too, write [`cut_on`](Self::cut_on).
    /// - The first attempt is always made, even if `signal` is ready before it.
    ///
    /// If an update waits while one of its writes may have been applied, it ends with
    /// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), as at its deadline.
    ///
    /// Any future is a signal, whatever its output is. To share a signal between several calls, use one
    /// that gives a future for each call, such as `CancellationToken` in tokio-util. The call keeps the
    /// last error while it waits, so the call is `Send` only if the error is. If two signals are set, the
    /// later one holds.
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
    ) -> Retrying<P, O, K, R, StoppedBy<F, O::Value, O::Error>> {
        self.signal(StoppedBy::new(signal, None))
    }

    /// As [`stop_on`](Self::stop_on), but the signal also cuts the running attempt.
    ///
    /// An attempt that is cut has no error of its own, so its error is made from [`Stopped`]. The attempt
    /// may have been applied. If it must not be applied twice (the policy is not
    /// [idempotent](crate::Policy::idempotent), or the change of an update cannot recognise its own
    /// effect), the reason is [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), otherwise
    /// [`StopReason::Stopped`](crate::StopReason::Stopped). A report also keeps the last real error
    /// ([`RetryError::last`](crate::RetryError::last)). An attempt that is ready together with the signal
    /// is not cut, but an update whose read is running begins no write.
    ///
    /// The errors that this library knows can be made from [`Stopped`], if their crates have a way to make
    /// an error; reqwest and hyper have none. For any other error, write an enum of your own, as on the
    /// page of [`Stopped`].
    ///
    /// If `signal` is ready before the first attempt, no attempt is made, and the error is made from
    /// [`Stopped`], too. If the signal ends a wait, the call returns the operation's last error.
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
    ) -> Retrying<P, O, K, R, StoppedBy<F, O::Value, O::Error>>
    where
        O::Error: From<Stopped>,
    {
        self.signal(StoppedBy::new(signal, Some(O::Error::from)))
    }
}

impl<'p, K, R, S> Resuming<'p, K, R, S> {
    /// Ends the waits of the loop when `signal` has come, for a program that shuts down. If the loop awaits
    /// [`failed`](Self::failed), the signal is a future. If the loop calls
    /// [`failed_blocking`](Self::failed_blocking), the signal is a `&Stop`.
    ///
    /// The current wait ends at once, with the error that the caller passed in and the event `GaveUp` with
    /// the reason [`StopReason::Stopped`](crate::StopReason::Stopped). A budget gets back the tokens that
    /// it paid for the wait. A running attempt belongs to the caller and is not ended.
    ///
    /// The signal lives from one wait to the next, so the caller pins it: by `pin!`, or by `Box::pin` if
    /// the loop is stored. During a wait the signal keeps the error, so the loop has one type of error, and
    /// can be spawned only if that type is `Send`. If two signals are set, the later one holds.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::{pin::pin, time::Duration};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let shutdown = CancellationToken::new();
    /// let signal = pin!(shutdown.cancelled());
    /// let mut resuming = POLICY.resuming().stop_on(signal);
    /// assert!(resuming.failed(TimedOut::new(Duration::ZERO)).await.is_ok());
    /// shutdown.cancel();
    /// assert!(resuming.failed(TimedOut::new(Duration::ZERO)).await.is_err());
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    ///
    /// For a loop that blocks its thread:
    ///
    /// ```
    /// use backoff_core::{Policy, Stop, TimedOut};
    /// use std::time::Duration;
    ///
    /// const POLICY: Policy = Policy::exponential();
    /// let stop = Stop::new();
    /// let mut resuming = POLICY.blocking_resuming().stop_on(&stop);
    /// stop.stop();
    /// assert!(resuming.failed_blocking(TimedOut::new(Duration::ZERO)).is_err());
    /// ```
    pub fn stop_on<F: Unpin, E>(self, signal: F) -> Resuming<'p, K, R, StoppedBy<F, (), E>> {
        self.signal(StoppedBy::new(signal, None))
    }
}

#[cfg(feature = "std")]
impl<P, O: Operation, K, R, S> Blocking<P, O, K, R, S> {
    /// Ends the waits of the call when another thread calls [`Stop::stop`], for a program that shuts down.
    ///
    /// The current wait ends at once, and no further attempt begins: the call returns the operation's last
    /// error, or the last response, with [`StopReason::Stopped`](crate::StopReason::Stopped). A running
    /// attempt is finished, and the first attempt is always made, as with
    /// [`Retrying::stop_on`](crate::Retrying::stop_on). If two stops are set, the later one holds.
    ///
    /// A [`runtime`](Self::runtime) of your own ends a wait early only if it has
    /// [`BlockingSleep::sleep_or_stop`](crate::BlockingSleep::sleep_or_stop). If your program has a `CancellationToken` of tokio-util, pass its
    /// signal on from a task: `token.cancelled().await; stop.stop()`.
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
    pub fn stop_on(self, stop: &Stop) -> Blocking<P, O, K, R, StoppedBy<&Stop, (), O::Error>> {
        self.signal(StoppedBy::new(stop, None))
    }
}
