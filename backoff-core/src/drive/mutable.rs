//! An async closure that mutably borrows values around it. Its future has no name in Rust, so this loop
//! is an async function. The course does the work around each attempt, as in every loop.

use super::{
    context::Context,
    course::End,
    ending::Ending,
    entry::Judged,
    judges::{ByCodes, Judge},
    operation::Failed,
    plan::Guard,
    settings::Settings,
    stopping::{self, Signal, Stopped, StoppedBy, Unstopped, unless_stopped},
    write_outcome::WriteOutcome,
};
use crate::{
    facts::fault::Fault,
    judge::Stage,
    observe::Failure,
    policy::Policy,
    runtime::{ASYNC, Sleep},
};
use core::{
    fmt,
    future::{Future, poll_fn},
    marker::PhantomData,
    pin::{Pin, pin},
    task::Poll,
};

impl Policy {
    /// As [`retry`](Self::retry), for an async closure that mutably borrows values around it. For such a
    /// closure `retry` does not compile: "captured variable cannot escape `FnMut` closure body".
    ///
    /// To end such a call by a signal, write [`stop_on`](Self::stop_on) before this method. For other
    /// settings (a timeout, a hook), write `retry_block!`.
    ///
    /// # Errors
    /// The operation's last error, when no further attempt is made.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// struct Client { calls: u32 }
    ///
    /// impl Client {
    ///     async fn get(&mut self) -> Result<u32, TimedOut> {
    ///         self.calls += 1;
    ///         if self.calls < 3 { Err(TimedOut::new(Default::default())) } else { Ok(self.calls) }
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let mut client = Client { calls: 0 };
    /// assert_eq!(POLICY.retry_mut(async || client.get().await).await, Ok(3));
    /// # }
    /// ```
    pub fn retry_mut<T, E>(
        &self,
        operation: impl AsyncFnMut() -> Result<T, E>,
    ) -> impl Future<Output = Result<T, E>>
    where
        E: Fault,
    {
        self.by_codes().retry_mut(operation)
    }

    /// Sets the signal of a [`retry_mut`](Self::retry_mut), which accepts no settings after its closure.
    /// For any other call, set the signal after the operation: `POLICY.retry(..).stop_on(signal)`.
    ///
    /// The signal works as described at [`Retrying::stop_on`](crate::Retrying::stop_on): when `signal` is
    /// ready, the wait ends, and the call returns the operation's last error. A running attempt is
    /// finished.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::time::Duration;
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let shutdown = CancellationToken::new();
    /// let mut calls = 0;
    /// let call = POLICY.stop_on(shutdown.cancelled()).retry_mut(async || {
    ///     calls += 1;
    ///     shutdown.cancel();
    ///     Err::<(), _>(TimedOut::new(Duration::ZERO))
    /// });
    /// assert!(call.await.is_err());
    /// assert_eq!(calls, 1);
    /// # }
    /// ```
    pub fn stop_on<F: Future>(&self, signal: F) -> Stopping<'_, ByCodes, F> {
        Stopping::new(self.by_codes(), signal)
    }

    /// As [`stop_on`](Self::stop_on), but the signal also cuts the running attempt. The error is then made
    /// from [`Stopped`], as with [`Retrying::cut_on`](crate::Retrying::cut_on).
    ///
    /// ```
    /// use backoff_core::{Policy, Stopped};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let shutdown = CancellationToken::new();
    /// let mut seen = Vec::new();
    /// let call = POLICY.cut_on(shutdown.cancelled()).retry_mut(async || {
    ///     seen.push("begun");
    ///     shutdown.cancel();
    ///     std::future::pending::<Result<(), Stopped>>().await
    /// });
    /// assert_eq!(call.await, Err(Stopped::new()));
    /// assert_eq!(seen, ["begun"]);
    /// # }
    /// ```
    pub fn cut_on<F: Future>(&self, signal: F) -> Stopping<'_, ByCodes, F, Cut> {
        Stopping::new(self.by_codes(), signal)
    }
}

/// A policy with the signal of a [`retry_mut`](Policy::retry_mut). Made by [`Policy::stop_on`] and
/// [`Policy::cut_on`].
#[must_use = "a policy does nothing until it is given an operation"]
pub struct Stopping<'p, J, F, M = Finished> {
    judged: Judged<'p, J>,
    signal: F,
    attempts: PhantomData<M>,
}

impl<'p, J, F, M> Stopping<'p, J, F, M> {
    const fn new(judged: Judged<'p, J>, signal: F) -> Self {
        Stopping {
            judged,
            signal,
            attempts: PhantomData,
        }
    }

    /// As [`Policy::retry_mut`], until the signal comes.
    ///
    /// # Errors
    /// The operation's last error, when no further attempt is made or the signal has come; an error made
    /// from [`Stopped`] if the signal has cut the attempt.
    pub fn retry_mut<T, E>(
        self,
        operation: impl AsyncFnMut() -> Result<T, E>,
    ) -> impl Future<Output = Result<T, E>>
    where
        J: Judge<E>,
        F: Future,
        M: WhatIsRunning<E>,
    {
        let signal = StoppedBy::new(self.signal, M::CUTS);
        self.judged.run(operation, signal)
    }
}

impl<J, F, M> fmt::Debug for Stopping<'_, J, F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stopping").finish_non_exhaustive()
    }
}

/// The effect of a signal on the running attempt: [`Finished`] or [`Cut`]. The error is an `E`.
pub trait WhatIsRunning<E> {
    /// The function that makes the error of a cut attempt; nothing if attempts are not cut.
    const CUTS: Option<fn(Stopped) -> E>;
}

/// The running attempt is finished ([`Policy::stop_on`]).
#[derive(Clone, Copy, Debug)]
pub struct Finished;

impl<E> WhatIsRunning<E> for Finished {
    const CUTS: Option<fn(Stopped) -> E> = None;
}

/// The running attempt is cut ([`Policy::cut_on`]).
#[derive(Clone, Copy, Debug)]
pub struct Cut;

impl<E: From<Stopped>> WhatIsRunning<E> for Cut {
    const CUTS: Option<fn(Stopped) -> E> = Some(E::from);
}

impl<'p, J> Judged<'p, J> {
    /// As [`Policy::retry_mut`].
    ///
    /// # Errors
    /// The operation's last error, when no further attempt is made.
    pub fn retry_mut<T, E>(
        self,
        operation: impl AsyncFnMut() -> Result<T, E>,
    ) -> impl Future<Output = Result<T, E>>
    where
        J: Judge<E>,
    {
        self.run(operation, Unstopped)
    }

    /// As [`Policy::stop_on`].
    pub fn stop_on<F: Future>(self, signal: F) -> Stopping<'p, J, F> {
        Stopping::new(self, signal)
    }

    /// As [`Policy::cut_on`].
    pub fn cut_on<F: Future>(self, signal: F) -> Stopping<'p, J, F, Cut> {
        Stopping::new(self, signal)
    }

    async fn run<O, T, E, S>(self, mut operation: O, signal: S) -> Result<T, E>
    where
        O: AsyncFnMut() -> Result<T, E>,
        J: Judge<E>,
        S: Signal<T, E>,
    {
        let Judged { policy, judge } = self;
        let mut settings = Settings::of(judge);
        // A function that is called again each time, so that the future need not keep the name.
        let context = || Context::of(policy, core::any::type_name::<O>());
        let mut signal = pin!(signal);
        let mut guard = Guard::new(policy);
        let course = &mut guard.course;
        course.start(&context(), &ASYNC, false);
        if S::IS_ONE
            && let Some(cuts) = signal.cuts()
            && poll_fn(|cx| Poll::Ready(signal.as_mut().has_come(cx))).await
        {
            let error = cuts(Stopped);
            let failure = Failure::new(Some(&error), settings.judge.fault(&error));
            let end = End::stopped(failure, WriteOutcome::Known);
            course.ended(&context(), &mut settings, &ASYNC, end);
            return Err(error);
        }
        loop {
            // The error is dropped before the sleep, so that the future need not keep it. Only a signal keeps
            // the error.
            let wait = {
                let ended = {
                    let attempt = pin!(operation());
                    unless_cut(attempt, signal.as_mut()).await
                };
                let error = match ended {
                    Ok(Ok(value)) => {
                        course.succeeded::<E, _, _>(&context(), &mut settings, &ASYNC);
                        return Ok(value);
                    }
                    Ok(Err(error)) => error,
                    Err(error) => {
                        let fault = settings.judge.fault(&error);
                        let ending = Ending::stopped(Stage::Whole.cut(), fault);
                        let (settings, known) = (&mut settings, WriteOutcome::Known);
                        course.cut(&context(), settings, &ASYNC, &error, ending, known);
                        return Err(error);
                    }
                };
                let (settings, stage) = (&mut settings, Stage::Whole);
                let next = course.failed(&context(), settings, &ASYNC, &error, stage, ());
                if !next.is_wait() {
                    return Err(error);
                }
                drop(signal.as_mut().keep(Err(Failed::whole(error))));
                next.wait()
            };
            let sleep = pin!(ASYNC.sleep(wait));
            let is_stopped =
                unless_stopped(sleep, |cx| S::IS_ONE && signal.as_mut().has_come(cx)).await;
            // This is done also if an attempt follows, so that the attempt need not wait for resources of the
            // error.
            if let Some(Err(Failed { error, .. })) = signal.as_mut().take()
                && is_stopped
            {
                let failure = Failure::new(Some(&error), settings.judge.fault(&error));
                let end = End::stopped(failure, WriteOutcome::Known);
                course.ended(&context(), &mut settings, &ASYNC, end);
                return Err(error);
            }
            course.begins(&ASYNC);
        }
    }
}

/// Awaits an attempt; an error where the signal cuts it.
fn unless_cut<T, E, S: Signal<T, E>>(
    mut attempt: Pin<&mut impl Future<Output = Result<T, E>>>,
    mut signal: Pin<&mut S>,
) -> impl Future<Output = Result<Result<T, E>, E>> {
    poll_fn(move |cx| {
        let cuts = signal.cuts().filter(|_| S::IS_ONE);
        let cuts = cuts.filter(|_| signal.as_mut().has_come(cx));
        let polled = stopping::unless_cut(attempt.as_mut().poll(cx), cuts);
        polled.map_err(|cuts| cuts(Stopped))
    })
}
