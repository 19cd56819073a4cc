//! A call whose outcome comes with a report.

use super::{
    blocking::OnThread,
    hedging::Hedging,
    operation::Operation,
    plan::Plan,
    retrying::{Awaited, Driver, Retrying},
    setting::{Setting, Surrounds},
    settings::report::Measured,
    signal::{BlockingSignal, Signal},
};
use crate::{
    report::Reporting,
    runtime::{BlockingSleep, Clock, Random, Sleep},
};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use pin_project_lite::pin_project;

pin_project! {
    /// A call that also returns a report: a future, or a blocking call with the method [`call`](Self::call). Made
    /// by [`Retrying::reported`].
    #[must_use = "an async call does nothing unless awaited, a blocking one before `.call()`"]
    pub struct Reported<P, O, S, R, W>
    where
        P: Plan,
        O: Operation,
        S: Surrounds,
        W: Driver<O, R>,
    {
        #[pin]
        pub(super) retrying: Retrying<P, O, (S, Measured<O::Error>), R, W>,
    }
}

/// The outcome, and the report of the operation.
type Outcome<O> =
    Reporting<<O as Operation>::Value, <O as Operation>::Error, <O as Operation>::Report>;

impl<P, O, S, R, G, H> Future for Reported<P, O, S, R, Awaited<G, H>>
where
    P: Plan,
    O: Operation,
    S: Setting<O::Value, O::Error>,
    R: Clock + Sleep + Random,
    G: Signal<O::Value, O::Error>,
    H: Hedging,
{
    type Output = Outcome<O>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut retrying = self.project().retrying;
        let outcome = ready!(retrying.as_mut().poll(cx));
        let retrying = retrying.project();
        let writes = retrying.operation.writes();
        Poll::Ready(retrying.call.settings.1.reporting(outcome, writes))
    }
}

impl<P, O, S, R, N> Reported<P, O, S, R, OnThread<N>>
where
    P: Plan,
    O: Operation,
    S: Setting<O::Value, O::Error>,
    R: Clock + BlockingSleep + Random,
    N: BlockingSignal,
{
    /// Calls a blocking operation as [`Retrying::call`] does, and also returns a report.
    ///
    /// # Errors
    /// The operation's last error, with a report of the call.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// # #[cfg(feature = "std")] {
    /// let (answer, report) =
    ///     Policy::exponential().blocking(|| Ok::<_, TimedOut>(42)).reported().call().unwrap();
    /// assert_eq!((answer, report.attempts), (42, 1));
    /// # }
    /// ```
    pub fn call(mut self) -> Outcome<O> {
        let outcome = self.retrying.run();
        let writes = self.retrying.operation.writes();
        self.retrying.call.settings.1.reporting(outcome, writes)
    }
}
