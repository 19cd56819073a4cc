//! The course of one call: the work that every loop does around an attempt. There is no I/O here. The
//! loop sleeps and calls; the course says when to begin, wait and stop, and reports to hooks, logs and
//! metrics.

#[cfg(feature = "metrics")]
use super::meter::{self, Ended, Meter, Named};
use super::{
    ending::Ending,
    handler::{Handle, Handler, Measured},
    recall::Recall,
    write_outcome::{WriteOutcome, Writes},
};
use crate::{
    budget::Budget,
    facts::fault::Fault,
    judge::{Ruling, Stage},
    observe::{self, Event, Failure, Happened, Record},
    policy::{NEVER, Policy},
    report::{Measures, StopReason},
    runtime::{Clock, Random},
    state::{Attempt, Decision, LimitSource, Next, Overrides, RetryState, Wait, WaitSource},
};

use core::time::Duration;

/// The state of a call. Policy, stage and runtime are passed in, so that a future stores only 15 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    retry: RetryState,
    /// In a program with metrics, this is stored beside the 15 bytes.
    #[cfg(feature = "metrics")]
    meter: Meter,
}

/// No time remains for the next attempt.
const LATE: Next = Next::stop(StopReason::Deadline);

/// A signal has ended the call.
const STOPPED: Next = Next::stop(StopReason::Stopped);

/// Applies the setting of a test for retries.
#[cfg(feature = "testing")]
fn in_tests(next: Next) -> Next {
    crate::testing::adjusted(next)
}

/// Without the feature `testing`, no test changes the next step.
#[cfg(not(feature = "testing"))]
#[inline(always)]
fn in_tests(next: Next) -> Next {
    next
}

/// Tells the compiler that this path is rarely taken, so that the path of a success keeps the
/// registers.
#[cold]
#[inline]
pub(crate) fn rarely() {}

/// Whether each call is measured.
const METERED: bool = cfg!(feature = "metrics");

/// Whether a hook or the log gets the events.
const fn is_heard<H: Handler>() -> bool {
    H::LISTENS || cfg!(feature = "tracing")
}

/// The source of the wait, with the detail that the error gives about its hint.
fn said_by(source: WaitSource, fault: Option<&dyn Fault>) -> WaitSource {
    match (source, fault) {
        (WaitSource::RetryAfter, Some(fault)) if fault.is_retry_info() => WaitSource::RetryInfo,
        (source, _) => source,
    }
}

impl Course {
    /// Before the first attempt.
    #[inline]
    pub(crate) const fn new() -> Self {
        Course {
            retry: RetryState::UNTIMED,
            #[cfg(feature = "metrics")]
            meter: Meter::NEW,
        }
    }

    /// A call that began at `started`, with this number of failed attempts. The beginning of any attempt
    /// after the first one is unknown.
    pub(super) fn resumed(started: Duration, failures: u32) -> Self {
        let mut course = Self::new();
        course.retry = RetryState::resumed(started, failures);
        #[cfg(feature = "metrics")]
        if failures > 0 {
            course.meter.missed();
        } else {
            course.meter.begins(started);
        }
        course
    }

    /// The first attempt is about to begin. Reads the clock if the policy has a deadline or if a hook, the
    /// log or the operation asks for the time.
    #[inline]
    pub(crate) fn start<C: Clock>(
        &mut self,
        policy: &Policy,
        overrides: Option<&Overrides<'_>>,
        clock: &C,
        timed: bool,
    ) {
        if METERED || timed || overrides.deadline(policy) != NEVER {
            self.start_now(clock);
        }
    }

    /// As [`start`](Self::start), for a call in which only metrics ask for the time.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn start_if_metered<C: Clock>(&mut self, clock: &C) {
        if METERED && self.retry.failures() == 0 {
            self.start_now(clock);
        }
    }

    /// A function of its own, so that it is compiled once for each clock.
    #[inline(never)]
    fn start_now<C: Clock>(&mut self, clock: &C) {
        let now = clock.now();
        self.retry = RetryState::start_at(now);
        #[cfg(feature = "metrics")]
        self.meter.begins(now);
    }

    /// The attempt that is about to begin or is running: its number, its time, and what the call remembers.
    #[inline]
    pub(crate) fn attempt<C: Clock>(
        &self,
        policy: &Policy,
        overrides: Option<&Overrides<'_>>,
        clock: &C,
        recall: &Recall,
    ) -> Attempt {
        let attempt = self
            .retry
            .attempt_under(policy, overrides, recall.id, || clock.now());
        attempt.remembering(recall.maybe_applied)
    }

    /// The time that remains.
    #[inline]
    pub(crate) fn remaining<C: Clock>(
        &self,
        policy: &Policy,
        overrides: Option<&Overrides<'_>>,
        clock: &C,
    ) -> Duration {
        self.retry
            .remaining_under(policy, overrides, || clock.now())
    }

    /// Whether a timer woke so late that no time remains for the next attempt. The first attempt is always
    /// begun.
    #[inline]
    pub(crate) fn is_late<C: Clock>(
        &self,
        policy: &Policy,
        overrides: Option<&Overrides<'_>>,
        clock: &C,
    ) -> bool {
        self.retry.is_late(policy, overrides, || clock.now())
    }

    /// The first attempt has failed, and its beginning is unknown: the time counts from now.
    pub(super) fn start_at_failure<C: Clock>(&mut self, policy: &Policy, clock: &C) {
        self.start(policy, None, clock, false);
        self.rests();
    }

    /// The beginning of the next attempt is unknown until [`begins`](Self::begins).
    pub(super) fn rests(&mut self) {
        #[cfg(feature = "metrics")]
        self.meter.rests();
    }

    /// The attempt after the wait begins.
    #[inline]
    pub(crate) fn begins<H: Handler>(&mut self, handler: &mut H)
    where
        H::Runtime: Clock,
    {
        self.spend();
        handler.begins();
        #[cfg(feature = "metrics")]
        self.meter.begins(handler.runtime().now());
    }

    /// As [`begins`](Self::begins), for a handler without a budget.
    #[inline]
    pub(crate) fn spend(&mut self) {
        self.retry.begins();
    }

    /// No attempt follows the wait: the budget gets back the tokens that it paid for the wait.
    #[inline]
    pub(super) fn cancelled(&mut self, budget: Option<&Budget>) {
        if self.retry.is_held() {
            self.retry.give_back(budget);
            #[cfg(feature = "metrics")]
            meter::level(budget);
        }
    }

    /// As [`cancelled`](Self::cancelled), and also refunds a budget of the handler. This happens before
    /// hooks are called, and not only when the call is dropped, because its future may be kept.
    fn give_back<H: Handler>(&mut self, borrowed: &Policy, handler: &mut H) {
        self.cancelled(borrowed.budget);
        handler.give_back();
    }

    /// The budget of the policy gets its tokens back, without an event for a success.
    pub(crate) fn progressed(&self, policy: &Policy) {
        self.retry.succeeded_under(policy, None);
    }

    /// An attempt succeeded. After retries, this reports the success to hooks and logs.
    #[inline]
    pub(crate) fn succeeded<E, H>(
        &self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        of_operation: Option<Overrides<'_>>,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        let overrides = handler.overrides(of_operation);
        let policy = handler.policy(borrowed);
        self.retry.succeeded_under(policy, overrides.as_ref());
        #[cfg(feature = "metrics")]
        {
            meter::level(overrides.as_ref().budget(policy));
            self.record_success(handler.runtime().now(), name, policy);
        }
        if is_heard::<H>() && self.retry.failures() > 0 {
            self.tell_success(handler, name);
        }
    }

    #[cfg(feature = "metrics")]
    fn record_success(&self, now: Duration, operation: &'static str, policy: &Policy) {
        let named = Named {
            operation,
            policy: policy.name,
        };
        let ended = Ended {
            attempts: self.retry.failures().saturating_add(1),
            elapsed: self.retry.elapsed(|| now),
            reason: None,
        };
        self.meter.attempt(named, now, None);
        self.meter.call(named, ended, None);
    }

    /// An attempt failed, or the call ended between two attempts.
    #[cfg(feature = "metrics")]
    fn record_failure(
        &mut self,
        now: Duration,
        operation: &'static str,
        policy: &Policy,
        next: Next,
        ending: Ending<'_>,
    ) {
        let named = Named {
            operation,
            policy: policy.name,
        };
        let error_type = Some(ending.error_type());
        if ending.is_of_an_attempt() {
            self.meter.attempt(named, now, error_type);
        } else {
            self.meter.ends_waiting(now);
        }
        let Some(reason) = next.reason() else {
            self.meter.waits(now, next.delay());
            return;
        };
        let ended = Ended {
            attempts: self.retry.failures(),
            elapsed: self.retry.elapsed(|| now),
            reason: Some(reason),
        };
        self.meter.call(named, ended, error_type);
    }

    #[cold]
    #[inline(never)]
    fn tell_success<E, H>(&self, handler: &mut H, operation: &'static str)
    where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        let attempts = self.retry.failures().saturating_add(1);
        let elapsed = self.retry.measured(|| handler.runtime().now());
        observe::log(|| Record {
            operation,
            attempt: attempts,
            elapsed,
            happened: Happened::Succeeded,
            error_type: core::any::type_name::<E>(),
            error: None,
        });
        handler.notify(&Event::Succeeded {
            operation,
            attempts,
            elapsed,
        });
    }

    /// An attempt failed: judges the error, decides on the next step, and reports to hooks, logs and
    /// metrics. Compiled once for each error type and handler, whatever the operation is.
    #[cold]
    #[inline(never)]
    #[expect(clippy::too_many_arguments)]
    pub(crate) fn failed<E, H, W>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        error: &E,
        stage: Stage,
        of_operation: Option<&Overrides<'_>>,
        writes: W,
    ) -> Next
    where
        W: Writes,
        H: Handle<E>,
        H::Runtime: Clock + Random,
    {
        let policy = handler.policy(borrowed);
        let outcome = writes.outcome();
        // The judged stages come first: to compare with `Late` first would cost time in each retry.
        let ruling = if let Some(ruling) = writes.ruling() {
            ruling
        } else if stage.is_judged() {
            handler.judge(policy, stage, error)
        } else {
            stage.ruling(policy)
        };
        if !stage.is_judged() && stage == Stage::Late {
            self.expired(borrowed, handler, name, error, outcome);
            return outcome.concluded(LATE);
        }
        let ruling = outcome.corrected(stage, ruling);
        let fault = handler.fault(error);
        let (failure, ending) = (
            Failure::new(Some(error), fault),
            Ending::failed(stage, fault),
        );
        self.decided(
            borrowed,
            handler,
            name,
            failure,
            ending,
            ruling,
            of_operation,
            outcome,
        )
    }

    /// Decides on the next step after this ruling, and reports to hooks, logs and metrics. Inlined: to pass
    /// the failure on would cost 14 instructions in each retry.
    #[inline(always)]
    #[expect(clippy::too_many_arguments)]
    fn decided<E, H>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        failure: Failure<'_, E>,
        ending: Ending<'_>,
        ruling: Ruling,
        of_operation: Option<&Overrides<'_>>,
        outcome: WriteOutcome,
    ) -> Next
    where
        H: Handle<E>,
        H::Runtime: Clock + Random,
    {
        let policy = handler.policy(borrowed);
        let retry = &mut self.retry;
        let next = in_tests(handler.decide(handler.runtime(), policy, retry, ruling, of_operation));
        let next = outcome.concluded(next);
        #[cfg(feature = "metrics")]
        {
            let now = handler.runtime().now();
            meter::level(
                handler
                    .overrides(of_operation.copied())
                    .as_ref()
                    .budget(policy),
            );
            self.record_failure(now, name, policy, next, ending);
        }
        if H::WANTS_RULINGS {
            handler.judged(ending.stage(), ruling, failure.fault());
        }
        handler.hold(&mut self.retry);
        handler.measure(ending, ruling.is_conflict(), next);
        let elapsed = self.elapsed(handler);
        self.tell(next, borrowed, handler, name, failure, elapsed);
        next
    }

    /// The timer woke after the deadline, and the loop returns the last failure.
    #[cold]
    pub(crate) fn late<E, H>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        failure: Failure<'_, E>,
        outcome: WriteOutcome,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        let (next, ending) = (
            outcome.concluded(LATE),
            Ending::failed(Stage::Late, failure.fault()),
        );
        self.ended(next, borrowed, handler, name, failure, ending);
    }

    /// The timer woke after the deadline, and the loop returns an error that says so.
    #[cold]
    pub(crate) fn expired<E, H>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        error: &E,
        outcome: WriteOutcome,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        let failure = Failure::new(Some(error), handler.fault(error));
        let (next, ending) = (outcome.concluded(LATE), Ending::expired(failure.fault()));
        self.ended(next, borrowed, handler, name, failure, ending);
    }

    /// No attempt follows a wait. The budget gets back the tokens that it paid for the wait.
    pub(super) fn ended<E, H>(
        &mut self,
        next: Next,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        failure: Failure<'_, E>,
        ending: Ending<'_>,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        self.give_back(borrowed, handler);
        self.ends(next, borrowed, handler, name, failure, ending);
    }

    /// A signal ended the attempt, or nobody waits for its outcome any more: counts the attempt, and
    /// reports to hooks, logs and metrics.
    #[cold]
    pub(crate) fn cut<E, H>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        error: &E,
        ending: Ending<'_>,
        outcome: WriteOutcome,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        let stage = ending.stage();
        let ruling = outcome.corrected(stage, stage.ruling(handler.policy(borrowed)));
        self.retry.ended();
        let next = outcome.concluded(match ruling {
            Ruling::MAYBE_APPLIED => Next::stop(StopReason::MaybeApplied),
            _ => STOPPED,
        });
        let failure = Failure::new(Some(error), handler.fault(error));
        self.ends(next, borrowed, handler, name, failure, ending);
    }

    /// A signal has come between two attempts, and the loop returns the last failure. The budget gets back
    /// the tokens that it paid for the wait.
    #[cold]
    pub(crate) fn stopped<E, H>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        failure: Failure<'_, E>,
        outcome: WriteOutcome,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        let next = outcome.concluded(STOPPED);
        let ending = Ending::stopped(Stage::Late, failure.fault());
        self.ended(next, borrowed, handler, name, failure, ending);
    }

    /// The call ends without a decision about an error: counts the end, and reports it to hooks, logs and
    /// metrics.
    fn ends<E, H>(
        &self,
        next: Next,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        failure: Failure<'_, E>,
        ending: Ending<'_>,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        #[cfg(feature = "metrics")]
        {
            let (now, policy) = (handler.runtime().now(), handler.policy(borrowed));
            let mut course = *self;
            course.record_failure(now, name, policy, next, ending);
        }
        handler.measure(ending, false, next);
        let elapsed = is_heard::<H>().then(|| self.retry.measured(|| handler.runtime().now()));
        self.tell(next, borrowed, handler, name, failure, elapsed.flatten());
    }

    /// A value counts as a failure: judges the value by the policy's codes, and decides as about an error.
    /// Returns nothing if the policy would not retry the value.
    #[cold]
    #[inline(never)]
    pub(crate) fn answered<E, H>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        fault: &dyn Fault,
        of_operation: Option<&Overrides<'_>>,
    ) -> Option<Next>
    where
        H: Handle<E>,
        H::Runtime: Clock + Random,
    {
        let policy = handler.policy(borrowed);
        let ruling = policy.rule(Stage::Whole, fault);
        if ruling.is_permanent() {
            return None;
        }
        let (failure, ending) = (Failure::new(None, Some(fault)), Ending::of_value(fault));
        let outcome = WriteOutcome::Known;
        Some(self.decided(
            borrowed,
            handler,
            name,
            failure,
            ending,
            ruling,
            of_operation,
            outcome,
        ))
    }

    /// The time since the start; without a start, the time since the first failure. Reads the clock only if
    /// a hook or the log needs the time.
    #[inline]
    fn elapsed<H: Handler>(&mut self, handler: &H) -> Option<Duration>
    where
        H::Runtime: Clock,
    {
        if !is_heard::<H>() {
            return None;
        }
        self.retry.elapsed_from_now_on(handler.runtime().now())
    }

    #[inline]
    fn tell<E, H: Handle<E>>(
        &self,
        next: Next,
        borrowed: &Policy,
        handler: &mut H,
        operation: &'static str,
        failure: Failure<'_, E>,
        elapsed: Option<Duration>,
    ) {
        if !is_heard::<H>() {
            return;
        }
        let attempt = self.retry.failures();
        let decision = match Decision::from(next) {
            Decision::Wait(wait) => Decision::Wait(Wait {
                source: said_by(wait.source, failure.fault()),
                ..wait
            }),
            stop => stop,
        };
        observe::log(|| Record {
            operation,
            attempt,
            elapsed,
            happened: match decision {
                Decision::Wait(wait) => Happened::Waits(wait, handler.policy(borrowed).log_waits),
                Decision::Stop(reason) => Happened::GaveUp(reason),
            },
            error_type: core::any::type_name::<E>(),
            error: failure.fault().and_then(|fault| fault.message()),
        });
        handler.notify(&match decision {
            Decision::Wait(wait) => Event::Waiting {
                operation,
                attempt,
                failure,
                wait,
                elapsed,
            },
            Decision::Stop(reason) => Event::GaveUp {
                operation,
                attempts: attempt,
                failure,
                reason,
                elapsed,
            },
        });
    }

    /// The time since the start, or zero if the call was not timed.
    #[cfg(feature = "std")]
    pub(crate) fn elapsed_at(&self, now: Duration) -> Duration {
        self.retry.elapsed(|| now)
    }

    /// How many attempts have failed.
    pub(crate) fn failures(&self) -> u32 {
        self.retry.failures()
    }

    /// The measures of a call that has ended. A value that was given up is one of the failures.
    pub(crate) fn measures<H: Handler, E>(&self, handler: &Measured<H, E>) -> Measures
    where
        H::Runtime: Clock,
    {
        let successes = u32::from(!handler.gave_up());
        Measures {
            attempts: self.retry.failures().saturating_add(successes),
            elapsed: self.retry.elapsed(|| handler.runtime().now()),
            ..handler.measured()
        }
    }
}
