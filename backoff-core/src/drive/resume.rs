//! An operation that continues where it stopped: after progress its failures count anew. The caller
//! writes the loop; the state of the call does the work around each attempt, as in every loop.

use super::{
    call_state::{CallEnd, CallState},
    context::Context,
    entry::Judged,
    handler::Handler,
    judges::ByCodes,
    operation::Failed,
    plan::Guard,
    settings::Settings,
    stopping::{BlockingSignal, Signal, Unstopped, unless_stopped},
    write_outcome::WriteOutcome,
};
#[cfg(feature = "std")]
use crate::runtime::{BLOCKING, BlockingRuntime};
use crate::{
    judge::Stage,
    observe::{Event, Failure},
    policy::Policy,
    runtime::{ASYNC, AsyncRuntime, BlockingSleep, Clock, Random, Sleep},
    state::Decision,
};
use core::pin::{Pin, pin};

/// Retries an operation that continues where it stopped: a read of many pages, a watch, a stream that
/// is opened again after the last message. Made by [`Policy::resuming`] and
/// [`Policy::blocking_resuming`].
///
/// After [`progress`](Self::progress) the next failure is the first one:
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
/// attempts are.
///
/// # Hooks, log events and metrics
///
/// A stretch is one call if at least one of its attempts failed. The call succeeds at
/// [`progress`](Self::progress), or it is given up. Its time and its deadline count from its first
/// failure. A stretch without a failure has no event and no [metric](crate::telemetry). A call that is
/// dropped without progress has no end event: when the operation ends well, call `progress` once more.
/// After a stretch was given up, further failures belong to no call until there is progress.
///
/// Log events and metrics call the operation `resuming`, unless [`operation`](Self::operation) gives
/// another name.
///
/// The duration of the first attempt of a stretch is not recorded, because only the caller knows when
/// that attempt began. A retry begins when [`failed`](Self::failed) has waited. Its duration is
/// recorded until it fails, or until its first progress.
#[derive(Debug)]
#[must_use = "it does nothing until `failed` or `failed_blocking` is called"]
pub struct Resuming<'p, K = Settings, R = AsyncRuntime, S = Unstopped> {
    guard: Guard<&'p Policy>,
    settings: K,
    runtime: R,
    signal: S,
    operation: &'static str,
    /// The stretch was given up: no attempt of it follows.
    is_given_up: bool,
    /// Reports the success of the stretch to hooks, logs and metrics, after an attempt of it has failed.
    /// The type of the errors is known only from a failure.
    succeeds: Option<Succeeds<K, R>>,
}

/// A call has succeeded after failures.
type Succeeds<K, R> = fn(&mut CallState, &Context<'_>, &mut K, &R);

impl Policy {
    /// Waits between the attempts of an operation that continues where it stopped. After progress, waits
    /// and attempts count anew: see [`Resuming`].
    ///
    /// ```
    /// use backoff_core::{Policy, Resuming, TimedOut};
    ///
    /// # struct Client { calls: u32 }
    /// # impl Client {
    /// #     async fn page(&mut self, number: usize) -> Result<Vec<usize>, TimedOut> {
    /// #         self.calls += 1;
    /// #         if self.calls % 2 == 1 { return Err(TimedOut::new(Default::default())) }
    /// #         Ok(if number < 5 { vec![number] } else { vec![] })
    /// #     }
    /// # }
    /// /// Goes on behind the pages that were read before.
    /// async fn read_on(
    ///     client: &mut Client,
    ///     pages: &mut Vec<Vec<usize>>,
    ///     resuming: &mut Resuming<'_>,
    /// ) -> Result<(), TimedOut> {
    ///     loop {
    ///         let page = client.page(pages.len()).await?;
    ///         if page.is_empty() { return Ok(()) }
    ///         pages.push(page);
    ///         resuming.progress();
    ///     }
    /// }
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), TimedOut> {
    /// # let mut client = Client { calls: 0 };
    /// // Every page fails once, so two attempts would never do for all of them.
    /// const POLICY: Policy = Policy::exponential().max_attempts(2);
    /// let (mut pages, mut resuming) = (Vec::new(), POLICY.resuming());
    /// while let Err(error) = read_on(&mut client, &mut pages, &mut resuming).await {
    ///     // Waits, or gives the error back when it is not to be retried any more.
    ///     resuming.failed(error).await?;
    /// }
    /// assert_eq!(pages.len(), 5);
    /// # Ok(()) }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn resuming(&self) -> Resuming<'_> {
        Resuming::new(self, Settings::of(ByCodes), ASYNC)
    }

    /// As [`resuming`](Self::resuming), for a loop that blocks its thread.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # fn main() -> Result<(), TimedOut> {
    /// # let mut calls = 0;
    /// # let mut page = |_: usize| {
    /// #     calls += 1;
    /// #     if calls % 2 == 1 { Err(TimedOut::new(Duration::ZERO)) } else { Ok("rows") }
    /// # };
    /// const POLICY: Policy = Policy::exponential().base(Duration::from_millis(1)).max_attempts(2);
    /// let (mut pages, mut resuming) = (Vec::new(), POLICY.blocking_resuming());
    /// while pages.len() < 5 {
    ///     match page(pages.len()) {
    ///         Ok(read) => {
    ///             pages.push(read);
    ///             resuming.progress();
    ///         }
    ///         Err(error) => resuming.failed_blocking(error)?,
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "std")]
    pub const fn blocking_resuming(&self) -> Resuming<'_, Settings, BlockingRuntime> {
        Resuming::new(self, Settings::of(ByCodes), BLOCKING)
    }
}

impl<'p, J> Judged<'p, J> {
    /// As [`Policy::resuming`].
    pub fn resuming(self) -> Resuming<'p, Settings<J>> {
        Resuming::new(self.policy, Settings::of(self.judge), ASYNC)
    }

    /// As [`Policy::blocking_resuming`].
    #[cfg(feature = "std")]
    pub fn blocking_resuming(self) -> Resuming<'p, Settings<J>, BlockingRuntime> {
        Resuming::new(self.policy, Settings::of(self.judge), BLOCKING)
    }
}

impl<'p, K, R> Resuming<'p, K, R> {
    const fn new(policy: &'p Policy, settings: K, runtime: R) -> Self {
        Resuming {
            guard: Guard::new(policy),
            settings,
            runtime,
            signal: Unstopped,
            operation: "resuming",
            is_given_up: false,
            succeeds: None,
        }
    }
}

impl<'p, K, R, S> Resuming<'p, K, R, S> {
    const fn context(&self) -> Context<'p> {
        Context::of(self.guard.plan, self.operation)
    }

    pub(super) fn signal<Q>(self, signal: Q) -> Resuming<'p, K, R, Q> {
        Resuming {
            guard: self.guard,
            settings: self.settings,
            runtime: self.runtime,
            signal,
            operation: self.operation,
            is_given_up: self.is_given_up,
            succeeds: self.succeeds,
        }
    }

    /// Sets the name of the operation in hooks, log events and metrics. Without this, the name is
    /// `resuming`.
    ///
    /// ```
    /// use backoff_core::{Event, Policy, TimedOut};
    ///
    /// # #[cfg(feature = "testing")] {
    /// # use backoff_core::testing::VirtualTime;
    /// # let time = VirtualTime::new();
    /// const POLICY: Policy = Policy::exponential();
    /// let mut names = Vec::new();
    /// let pages = POLICY.resuming().operation("invoices.pages").runtime(time);
    /// let mut pages = pages.notify(|event: &Event<'_, TimedOut>| names.push(event.operation()));
    /// pages.failed_blocking(TimedOut::new(Default::default())).unwrap();
    /// drop(pages);
    /// assert_eq!(names, ["invoices.pages"]);
    /// # }
    /// ```
    pub const fn operation(mut self, operation: &'static str) -> Self {
        self.operation = operation;
        self
    }

    /// Uses the clock, timer and random numbers of `runtime` instead of those of tokio or the standard
    /// library.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// use backoff_core::{Policy, TimedOut, testing::VirtualTime};
    /// use std::time::Duration;
    ///
    /// const POLICY: Policy = Policy::exponential();
    /// let time = VirtualTime::new();
    /// let mut resuming = POLICY.resuming().runtime(time.clone());
    /// for _ in 0..3 {
    ///     resuming.failed_blocking(TimedOut::new(Duration::ZERO)).unwrap();
    ///     resuming.progress();
    /// }
    /// assert_eq!(time.waits(), [Duration::from_secs(1); 3]);
    /// # }
    /// ```
    pub fn runtime<Q>(self, runtime: Q) -> Resuming<'p, K, Q, S> {
        Resuming {
            guard: self.guard,
            settings: self.settings,
            runtime,
            signal: self.signal,
            operation: self.operation,
            is_given_up: self.is_given_up,
            succeeds: None,
        }
    }

    /// Reports progress that no later attempt makes again: a page is stored, an event is handled, an offset
    /// is committed. Progress counts as a success, and the next failure counts as the first one. After a
    /// failure, hooks and metrics get an event for this success.
    ///
    /// An opened connection is no progress: a server that accepts connections and then fails would be
    /// called for ever, with the shortest waits.
    pub fn progress(&mut self) {
        let (context, mut state) = (self.context(), self.guard.state);
        match self.succeeds.take() {
            Some(succeeds) => succeeds(&mut state, &context, &mut self.settings, &self.runtime),
            None => state.progressed(context.policy),
        }
        self.is_given_up = false;
        self.guard.state = CallState::new();
    }

    /// An attempt failed: waits until the next one may begin.
    ///
    /// # Errors
    /// The error, if no attempt follows: the policy does not retry the error, or attempts, time or budget
    /// since the last progress are used up, or a [signal](Self::stop_on) has come. Then the stretch is
    /// given up: until [`progress`](Self::progress), each further call returns its error at once, whatever
    /// the error is. Hooks, log events and metrics get an event only for the first of these errors.
    pub async fn failed<E>(&mut self, error: E) -> Result<(), E>
    where
        K: Handler<E>,
        R: Clock + Sleep + Random,
        S: Signal<(), E> + Unpin,
    {
        let Some(next) = self.decide(&error) else {
            return Err(error);
        };
        let waiting = self.rests();
        // Only a signal keeps the error, so that the future need not keep it.
        drop(Pin::new(&mut self.signal).keep(Err(Failed::whole(error))));
        let sleep = pin!(self.runtime.sleep(next.wait()));
        let is_stopped = unless_stopped(sleep, |cx| {
            S::IS_ONE && Pin::new(&mut self.signal).has_come(cx)
        });
        let is_stopped = is_stopped.await;
        if let Some(Err(failed)) = Pin::new(&mut self.signal).take()
            && is_stopped
        {
            return Err(self.ended(waiting, failed.error, stopped));
        }
        self.guard.state = waiting;
        self.guard.state.begins(&self.runtime);
        Ok(())
    }

    /// An attempt failed: sleeps on this thread until the next one may begin.
    ///
    /// # Errors
    /// As [`failed`](Self::failed). This also returns the error if the timer woke so late that no time
    /// remains.
    pub fn failed_blocking<E>(&mut self, error: E) -> Result<(), E>
    where
        K: Handler<E>,
        R: Clock + BlockingSleep + Random,
        S: BlockingSignal<E>,
    {
        let Some(next) = self.decide(&error) else {
            return Err(error);
        };
        let waiting = self.rests();
        let runtime = &self.runtime;
        if self.signal.pause(runtime, next.wait()) {
            return Err(self.ended(waiting, error, stopped));
        }
        if self.guard.state.is_late(&self.context(), runtime) {
            return Err(self.ended(waiting, error, late));
        }
        self.guard.state = waiting;
        self.guard.state.begins(&self.runtime);
        Ok(())
    }

    /// The wait before the next attempt; nothing if no attempt follows.
    fn decide<E>(&mut self, error: &E) -> Option<Decision>
    where
        K: Handler<E>,
        R: Clock + Random,
    {
        if self.is_given_up {
            return None;
        }
        let (context, state) = (self.context(), &mut self.guard.state);
        if state.failures() == 0 {
            state.start_at_failure(&context, &self.runtime);
        }
        let (settings, runtime) = (&mut self.settings, &self.runtime);
        let next = state.failed(&context, settings, runtime, error, Stage::Whole, ());
        self.is_given_up = !next.is_wait();
        self.succeeds = next
            .is_wait()
            .then_some(|state, context, settings, runtime| {
                state.succeeded::<E, K, R>(context, settings, runtime);
            });
        Some(next).filter(|next| next.is_wait())
    }

    /// Begins a wait, which may be dropped: then the beginning of the next attempt is unknown. Returns the
    /// state to use when the wait is over.
    fn rests(&mut self) -> CallState {
        let waiting = self.guard.state;
        self.guard.state.rests();
        waiting
    }

    /// No attempt follows the wait, for this reason: reports this to hooks, logs and metrics, and gives the
    /// tokens of the wait back to the budget.
    fn ended<E>(&mut self, waiting: CallState, error: E, end: Ends<E>) -> E
    where
        K: Handler<E>,
        R: Clock,
    {
        let context = self.context();
        let failure = Failure::new(Some(&error), self.settings.fault(&error));
        let end = end(failure);
        // The tokens are given back before the hook is called, in the state that the guard drops.
        self.guard.state = waiting;
        let (state, settings) = (&mut self.guard.state, &mut self.settings);
        state.ended(&context, settings, &self.runtime, end);
        self.guard.state.rests();
        self.is_given_up = true;
        self.succeeds = None;
        error
    }
}

impl<'p, J, N, R, S> Resuming<'p, Settings<J, N>, R, S> {
    /// Calls `hook` before each wait, when the operation is given up, and at progress after a failure. The
    /// numbers in its events count from the last progress.
    ///
    /// ```
    /// use backoff_core::{Event, Policy, TimedOut};
    ///
    /// const POLICY: Policy = Policy::exponential();
    /// let resuming = POLICY.resuming().notify(|event: &Event<'_, TimedOut>| println!("{event}"));
    /// # let _ = resuming;
    /// ```
    pub fn notify<E, F>(self, hook: F) -> Resuming<'p, Settings<J, (N, F)>, R, S>
    where
        F: FnMut(&Event<'_, E>),
    {
        Resuming {
            guard: self.guard,
            settings: self.settings.hook(|before| (before, hook)),
            runtime: self.runtime,
            signal: self.signal,
            operation: self.operation,
            is_given_up: self.is_given_up,
            succeeds: None,
        }
    }
}

/// How a call has ended in a wait.
type Ends<E> = for<'e> fn(Failure<'e, E>) -> CallEnd<'e, E>;

/// By a signal.
fn stopped<E>(failure: Failure<'_, E>) -> CallEnd<'_, E> {
    CallEnd::stopped(failure, WriteOutcome::Known)
}

/// By a timer that woke too late.
fn late<E>(failure: Failure<'_, E>) -> CallEnd<'_, E> {
    CallEnd::late(failure, WriteOutcome::Known)
}
