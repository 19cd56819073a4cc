//! An operation that continues where it stopped: after progress its failures count anew. The caller
//! writes the loop.

use super::{
    before::End,
    call_state::CallState,
    entry::Judged,
    operation::{AnyOperation, CallOf, Failed, Operation},
    plan::{CallPlan, Plan},
    retrying::{Driver, Retrying},
    setting::{Setting, Surrounds},
    settings::judges::{By, ByCodes, Judge},
    signal::{BlockingSignal, Signal, StoppedBy, Unstopped, unless_stopped},
};
use crate::{
    facts::fault::Fault,
    policy::Policy,
    report::Report,
    runtime::{
        ASYNC, AsyncRuntime, BLOCKING, BlockingRuntime, BlockingSleep, Clock, Random, Sleep,
    },
    stage::{EndedBy, Stage},
};
use core::{
    marker::PhantomData,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

/// The caller writes the loop. `N` is the signal that ends the waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByCaller<N>(N);

impl<O, R, N> Driver<O, R> for ByCaller<N> {
    type Phase<S: Surrounds> = ();
}

/// An operation whose attempts the caller makes, with errors of the type `E`.
#[derive(Debug)]
pub struct Resumed<E> {
    /// The stretch was given up. No attempt of the stretch follows.
    is_given_up: bool,
    error: PhantomData<fn() -> E>,
}

impl<E> Default for Resumed<E> {
    fn default() -> Self {
        Resumed {
            is_given_up: false,
            error: PhantomData,
        }
    }
}

impl<E> Operation for Resumed<E> {
    type Value = ();
    type Error = E;
    type Running = ();
    type Report = Report;

    fn erased(&mut self) -> AnyOperation<'_, E> {
        AnyOperation::named("resuming")
    }

    fn begin(&mut self, _call: &impl CallOf<(), E>) {}

    /// Never called: the caller makes the attempts.
    fn poll(
        &mut self,
        _running: Pin<&mut ()>,
        _call: &impl CallOf<(), E>,
        _cx: &mut Context<'_>,
    ) -> Poll<Result<(), Failed<E>>> {
        Poll::Pending
    }
}

/// Retries an operation that continues where it stopped: a read of many pages, a watch, a stream that
/// is opened again after the last message. Made by [`Policy::resuming`] and
/// [`Policy::blocking_resuming`].
///
/// After [`progress`](Retrying::progress) the next failure is the first one:
///
/// - the wait after this failure is the policy's first wait, and all attempts of the policy are
///   available again;
/// - the deadline counts from this failure, because a watch may run for hours before it fails. At the
///   beginning, before any progress, the deadline also counts from the first failure;
/// - the budget gets its tokens back at the progress, as at any success.
///
/// The limits hold for each stretch without progress. The whole operation has no limit of its own. To
/// limit the whole, put `tokio::time::timeout` around it.
///
/// Because the caller writes the loop, attempts may borrow any value, and the future is `Send` if the
/// attempts are. Settings about attempts, such as [`until`](Retrying::until),
/// [`attempt_timeout`](Retrying::attempt_timeout) and [`reported`](Retrying::reported), do not compile here:
/// the loop of the caller sees each value, and can limit each attempt itself.
///
/// `E` is the type of the errors. The alias names the type before any setting is added.
///
/// # Hooks, log events and metrics
///
/// A stretch is one call if at least one of its attempts failed. The call succeeds at
/// [`progress`](Retrying::progress), or it is given up. Its time and its deadline count from its first
/// failure. A stretch without a failure has no event and no [metric](crate::telemetry). A call that is
/// dropped without progress has no end event: when the operation ends well, call `progress` once more.
/// After a stretch was given up, further failures belong to no call until there is progress.
///
/// Log events and metrics call the operation `resuming`, unless [`operation`](Retrying::operation) gives
/// another name.
///
/// The duration of the first attempt of a stretch is not recorded, because only the caller knows when
/// that attempt began. A retry begins when [`failed`](Retrying::failed) has waited. Its duration is
/// recorded until it fails, or until its first progress.
pub type Resuming<'p, E, S = By<ByCodes>, R = AsyncRuntime, N = Unstopped> =
    Retrying<&'p Policy, Resumed<E>, S, R, ByCaller<N>>;

impl Policy {
    /// Waits between the attempts of an operation that continues where it stopped. After progress, waits and attempts count
    /// anew: see [`Resuming`].
    ///
    /// ```
    /// # use backoff_core::{Policy, Resuming, TimedOut};
    /// #
    /// # struct Client { calls: u32 }
    /// # impl Client {
    /// #     async fn page(&mut self, number: usize) -> Result<Vec<usize>, TimedOut> {
    /// #         self.calls += 1;
    /// #         if self.calls % 2 == 1 { return Err(TimedOut::new(Default::default())) }
    /// #         Ok(if number < 5 { vec![number] } else { vec![] })
    /// #     }
    /// # }
    /// # #[cfg(feature = "tokio")]
    /// # async fn read_on(
    /// #     client: &mut Client,
    /// #     pages: &mut Vec<Vec<usize>>,
    /// #     resuming: &mut Resuming<'_, TimedOut>,
    /// # ) -> Result<(), TimedOut> {
    /// #     loop {
    /// #         let page = client.page(pages.len()).await?;
    /// #         if page.is_empty() { return Ok(()) }
    /// #         pages.push(page);
    /// #         resuming.progress();
    /// #     }
    /// # }
    /// #
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), TimedOut> {
    /// # let mut client = Client { calls: 0 };
    /// # // Every page fails once, so two attempts would never do for all of them.
    /// # const POLICY: Policy = Policy::exponential().max_attempts(2);
    /// # let mut pages = Vec::new();
    /// let mut resuming = POLICY.resuming();
    /// // `read_on` calls `resuming.progress()` after each page.
    /// while let Err(error) = read_on(&mut client, &mut pages, &mut resuming).await {
    ///     resuming.failed(error).await?; // waits, or returns the error
    /// }
    /// # assert_eq!(pages.len(), 5);
    /// # Ok(()) }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn resuming<E: Fault>(&self) -> Resuming<'_, E> {
        self.by_codes().resuming()
    }

    /// As [`resuming`](Self::resuming), for a loop that blocks its thread.
    ///
    /// ```
    /// # use backoff_core::{Policy, TimedOut};
    /// # use std::time::Duration;
    /// #
    /// # fn main() -> Result<(), TimedOut> {
    /// # let mut calls = 0;
    /// # let mut page = |_: usize| {
    /// #     calls += 1;
    /// #     if calls % 2 == 1 { Err(TimedOut::new(Duration::ZERO)) } else { Ok("rows") }
    /// # };
    /// # const POLICY: Policy = Policy::exponential().base(Duration::from_millis(1)).max_attempts(2);
    /// # let (mut pages, mut resuming) = (Vec::new(), POLICY.blocking_resuming());
    /// # while pages.len() < 5 {
    /// match page(pages.len()) {
    ///     Ok(read) => { pages.push(read); resuming.progress() }
    ///     Err(error) => resuming.failed_blocking(error)?,
    /// }
    /// # }
    /// # Ok(()) }
    /// ```
    pub fn blocking_resuming<E: Fault>(&self) -> Resuming<'_, E, By<ByCodes>, BlockingRuntime> {
        self.by_codes().blocking_resuming()
    }
}

impl<'p, J> Judged<'p, J> {
    /// As [`Policy::resuming`].
    pub fn resuming<E>(self) -> Resuming<'p, E, By<J>>
    where
        J: Judge<E>,
    {
        self.begin(Resumed::default(), ASYNC, ByCaller(Unstopped))
    }

    /// As [`Policy::blocking_resuming`].
    pub fn blocking_resuming<E>(self) -> Resuming<'p, E, By<J>, BlockingRuntime>
    where
        J: Judge<E>,
    {
        self.begin(Resumed::default(), BLOCKING, ByCaller(Unstopped))
    }
}

impl<P: Plan, E, S: Surrounds, R, N> Retrying<P, Resumed<E>, S, R, ByCaller<N>> {
    /// Ends the waits of the loop when `signal` has come, for a program that shuts down. If the loop awaits
    /// [`failed`](Self::failed), the signal is a future. If the loop calls
    /// [`failed_blocking`](Self::failed_blocking), the signal is a `&Stop`.
    ///
    /// The current wait ends at once, with the error that the caller passed in and the event `GaveUp` with
    /// the reason [`StopReason::Stopped`](crate::StopReason::Stopped). A budget gets back the tokens that
    /// the wait has taken. A running attempt belongs to the caller and is not ended.
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
    pub fn stop_on<F: Unpin>(
        self,
        signal: F,
    ) -> Retrying<P, Resumed<E>, S, R, ByCaller<StoppedBy<F, (), E>>> {
        self.waiting(|_| ByCaller(StoppedBy::new(signal, None)))
    }
}

impl<P, E, S, R, N> Retrying<P, Resumed<E>, S, R, ByCaller<N>>
where
    P: Plan,
    S: Setting<(), E>,
    R: Clock + Random,
{
    /// Reports progress that no later attempt makes again: a page is stored, an event is handled, an offset
    /// is committed. Progress counts as a success, and the next failure counts as the first one. After a
    /// failure, hooks and metrics get an event for this success.
    ///
    /// An opened connection is no progress: a server that accepts connections and then fails would be
    /// called for ever, with the shortest waits.
    pub fn progress(&mut self) {
        let call = &mut self.call;
        let has_failed = call.guard.state.retry.failures() > 0;
        let is_given_up = core::mem::take(&mut self.operation.is_given_up);
        if has_failed && !is_given_up {
            call.erased::<(), E>(self.operation.erased())
                .succeeded(None);
        } else {
            call.guard
                .state
                .return_tokens(call.guard.plan.shared().budget);
        }
        call.guard.state = CallState::new();
    }

    /// An attempt failed: waits until the next one may begin.
    ///
    /// # Errors
    /// The error, if no attempt follows: the policy does not retry the error, or attempts, time or budget
    /// since the last progress are used up, or a [signal](Self::stop_on) has come. Then the stretch is
    /// given up: until [`progress`](Self::progress), each further call returns its error at once, whatever
    /// the error is. Hooks, log events and metrics get an event only for the first of these errors.
    pub async fn failed(&mut self, error: E) -> Result<(), E>
    where
        R: Sleep,
        N: Signal<(), E> + Unpin,
    {
        let Some(wait) = self.decide(&error) else {
            return Err(error);
        };
        let waiting = self.waits();
        let mut signal = Pin::new(&mut self.driver.0);
        // Only a signal keeps the error, so that the future need not keep it.
        signal.as_mut().keep(Err(error.into()));
        let sleep = pin!(self.call.runtime.sleep(wait));
        let has_come = |cx: &mut Context<'_>| N::IS_ONE && signal.as_mut().has_come(cx);
        let is_stopped = unless_stopped(sleep, has_come).await;
        if let Some(Err(failed)) = Pin::new(&mut self.driver.0).take()
            && is_stopped
        {
            return Err(self.ended(waiting, failed.error, End::Stopped));
        }
        self.call.guard.state = waiting;
        self.call.guard.state.begins(&self.call.runtime);
        Ok(())
    }

    /// An attempt failed: sleeps on this thread until the next one may begin.
    ///
    /// # Errors
    /// As [`failed`](Self::failed). This also returns the error if the timer woke so late that no time
    /// remains.
    pub fn failed_blocking(&mut self, error: E) -> Result<(), E>
    where
        R: BlockingSleep,
        N: BlockingSignal,
    {
        let Some(wait) = self.decide(&error) else {
            return Err(error);
        };
        let waiting = self.waits();
        if self.driver.0.pause(&self.call.runtime, wait) {
            return Err(self.ended(waiting, error, End::Stopped));
        }
        let call = &mut self.call;
        if call.erased::<(), E>(self.operation.erased()).is_late() {
            return Err(self.ended(waiting, error, End::Late));
        }
        call.guard.state = waiting;
        call.guard.state.begins(&call.runtime);
        Ok(())
    }

    /// The wait before the next attempt; nothing if no attempt follows.
    fn decide(&mut self, error: &E) -> Option<Duration> {
        let call = &mut self.call;
        if self.operation.is_given_up {
            return None;
        }
        if call.guard.state.retry.failures() == 0 {
            let plan: &dyn CallPlan = &call.guard.plan;
            plan.warn_unasked("`resuming`");
            // The beginning of this attempt is unknown: the time counts from now.
            call.start::<(), E>(false);
            call.guard.state.forget_beginning();
        }
        let next =
            call.erased(self.operation.erased())
                .failed(error, Stage::Whole, EndedBy::Operation);
        self.operation.is_given_up = !next.is_wait();
        next.wait_if_any()
    }

    /// Begins a wait, which may be dropped: then the beginning of the next attempt is unknown. Returns the
    /// state to use when the wait is over.
    fn waits(&mut self) -> CallState {
        let waiting = self.call.guard.state;
        self.call.guard.state.forget_beginning();
        waiting
    }

    /// No attempt follows the wait.
    fn ended(&mut self, waiting: CallState, error: E, end: End) -> E {
        let call = &mut self.call;
        // The tokens are given back before the hook is called, in the state that the guard drops.
        call.guard.state = waiting;
        let error = call
            .erased(self.operation.erased())
            .end_with_error(error, end);
        call.guard.state.forget_beginning();
        self.operation.is_given_up = true;
        error
    }
}
