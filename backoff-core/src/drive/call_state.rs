//! The state of one call: the work that every loop does around an attempt. There is no I/O here. The
//! loop sleeps and calls; the state says when to begin, wait and stop, and reports to hooks, logs and
//! metrics.

#[cfg(feature = "metrics")]
use super::call_metrics::{self, CallMetrics, Ended, Labels};
use super::{
    attempt_failure::AttemptFailure,
    call_info::CallInfo,
    context::Context,
    handler::Handler,
    watch::{Measured, Watch},
    write_outcome::{FailureContext, WriteOutcome},
};
use crate::rate::Reply;
use crate::{
    budget::Budget,
    facts::fault::{Fault, HintSource},
    judge::{Ruling, Stage},
    observe::{self, Event, Failure, Happened, Record},
    policy::{NEVER, Policy},
    report::{Measures, StopReason},
    runtime::{Clock, Random},
    state::{Attempt, Decision, Overrides, RetryState, Wait, WaitSource},
};

use core::time::Duration;

/// The state of a call. Policy, stage and runtime are passed in, so that a future stores only 15 bytes.
#[derive(Clone, Copy, Debug)]
pub struct CallState {
    pub(super) retry: RetryState,
    /// In a program with metrics, this is stored beside the 15 bytes.
    #[cfg(feature = "metrics")]
    metrics: CallMetrics,
}

/// No time remains for the next attempt.
const LATE: Decision = Decision::Stop(StopReason::Deadline);

/// A signal has ended the call.
const STOPPED: Decision = Decision::Stop(StopReason::Stopped);

/// Applies the setting of a test for retries.
#[cfg(feature = "testing")]
fn in_tests(next: Decision, retry: &mut RetryState) -> Decision {
    crate::testing::adjusted(next, retry)
}

/// Without the feature `testing`, no test changes the next step.
#[cfg(not(feature = "testing"))]
#[inline(always)]
fn in_tests(next: Decision, _: &mut RetryState) -> Decision {
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
const fn is_heard<E, H: Handler<E>>() -> bool {
    H::LISTENS || cfg!(feature = "tracing")
}

/// The source of the wait, with the detail that the error gives about its hint.
fn said_by(source: WaitSource, fault: Option<&dyn Fault>) -> WaitSource {
    match (source, fault.map(Fault::hint_source)) {
        (WaitSource::RetryAfter, Some(HintSource::RetryInfo)) => WaitSource::RetryInfo,
        (WaitSource::RetryAfter, Some(HintSource::Pause)) => WaitSource::Pause,
        (source, _) => source,
    }
}

/// The end of a call between two attempts.
pub(crate) struct CallEnd<'e, E> {
    next: Decision,
    failure: Failure<'e, E>,
    attempt_failure: AttemptFailure<'e>,
}

impl<'e, E> CallEnd<'e, E> {
    /// The timer woke after the deadline, and the loop returns the last failure.
    pub(crate) fn late(failure: Failure<'e, E>, outcome: WriteOutcome) -> Self {
        CallEnd {
            next: outcome.concluded(LATE),
            attempt_failure: AttemptFailure::failed(Stage::Late, failure.fault()),
            failure,
        }
    }

    /// The timer woke after the deadline, and the loop returns this error, which says so.
    pub(crate) fn expired(
        error: &'e E,
        fault: Option<&'e dyn Fault>,
        outcome: WriteOutcome,
    ) -> Self {
        CallEnd {
            next: outcome.concluded(LATE),
            attempt_failure: AttemptFailure::expired(fault),
            failure: Failure::new(Some(error), fault),
        }
    }

    /// The call waited too long for its turn.
    pub(crate) fn too_long(failure: Failure<'e, E>, outcome: WriteOutcome) -> Self {
        CallEnd {
            next: outcome.concluded(Decision::Stop(StopReason::Rate)),
            attempt_failure: AttemptFailure::expired(failure.fault()),
            failure,
        }
    }

    /// A signal has come, and the loop returns the last failure.
    pub(crate) fn stopped(failure: Failure<'e, E>, outcome: WriteOutcome) -> Self {
        CallEnd {
            next: outcome.concluded(STOPPED),
            attempt_failure: AttemptFailure::stopped(Stage::Late, failure.fault()),
            failure,
        }
    }

    /// The loop ends for a reason of its own.
    pub(super) fn given_up(failure: Failure<'e, E>, reason: StopReason) -> Self {
        CallEnd {
            next: Decision::Stop(reason),
            attempt_failure: AttemptFailure::failed(Stage::Late, failure.fault()),
            failure,
        }
    }
}

impl CallState {
    /// Before the first attempt.
    #[inline]
    pub(crate) const fn new() -> Self {
        CallState {
            retry: RetryState::UNTIMED,
            #[cfg(feature = "metrics")]
            metrics: CallMetrics::NEW,
        }
    }

    /// A call that began at `started`, with this number of failed attempts. The beginning of any attempt
    /// after the first one is unknown.
    pub(super) fn resumed(started: Duration, failures: u32) -> Self {
        let mut state = Self::new();
        state.retry = RetryState::resumed(started, failures);
        #[cfg(feature = "metrics")]
        if failures > 0 {
            state.metrics.missed();
        } else {
            state.metrics.begins(started);
        }
        state
    }

    /// Like [`RetryState::draw_waits`].
    pub(super) fn draw_waits(&mut self, policy: &Policy, random: &impl Random) {
        self.retry.draw_waits(policy, || random.random());
    }

    /// The first attempt is about to begin. Reads the clock if the policy has a deadline or if a hook, the
    /// log or the operation asks for the time.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn start<C: Clock>(&mut self, context: &Context<'_>, clock: &C, timed: bool) {
        if cfg!(debug_assertions) {
            clock.check();
        }
        if METERED
            || timed
            || Overrides::deadline(context.overrides.as_ref(), context.policy) != NEVER
        {
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
        // The time counts from now on.
        self.retry.elapsed_from_now_on(now);
        #[cfg(feature = "metrics")]
        self.metrics.begins(now);
    }

    /// The attempt that is about to begin or is running: its number, its time, and what the call remembers.
    #[inline]
    pub(crate) fn attempt<C: Clock>(
        &self,
        context: &Context<'_>,
        clock: &C,
        info: &CallInfo,
    ) -> Attempt {
        let attempt =
            self.retry
                .attempt_under(context.policy, context.overrides.as_ref(), info.id, || {
                    clock.now()
                });
        attempt.remembering(info.maybe_applied)
    }

    /// The time that remains.
    #[inline]
    pub(crate) fn remaining<C: Clock>(&self, context: &Context<'_>, clock: &C) -> Duration {
        let (policy, overrides) = (context.policy, context.overrides.as_ref());
        self.retry
            .remaining_under(policy, overrides, || clock.now())
    }

    /// Whether a timer woke so late that no time remains for the next attempt. The first attempt is always
    /// begun.
    #[inline]
    pub(crate) fn is_late<C: Clock>(&self, context: &Context<'_>, clock: &C) -> bool {
        let (policy, overrides) = (context.policy, context.overrides.as_ref());
        self.retry.is_late(policy, overrides, || clock.now())
    }

    /// The first attempt has failed, and its beginning is unknown: the time counts from now.
    pub(super) fn start_at_failure<C: Clock>(&mut self, context: &Context<'_>, clock: &C) {
        self.start(context, clock, false);
        self.rests();
    }

    /// The beginning of the next attempt is unknown until [`begins`](Self::begins).
    pub(super) fn rests(&mut self) {
        #[cfg(feature = "metrics")]
        self.metrics.rests();
    }

    /// The attempt after the wait begins.
    #[inline]
    pub(crate) fn begins<C: Clock>(&mut self, clock: &C) {
        self.spend();
        #[cfg(feature = "metrics")]
        self.metrics.begins(clock.now());
        let _ = clock;
    }

    /// The wait is over: the attempt begins, or the call asks its rate first.
    #[inline]
    pub(crate) fn rested<C: Clock>(&mut self, context: &Context<'_>, clock: &C) {
        if context.rate().is_none() {
            self.begins(clock);
        }
    }

    /// As [`begins`](Self::begins), without a clock.
    #[inline]
    pub(crate) fn spend(&mut self) {
        self.retry.begins();
    }

    /// Whether a rate counts the attempt that runs.
    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.retry.is_in_flight()
    }

    /// Whether a budget has paid for a wait that no attempt has followed yet.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.retry.is_held()
    }

    /// No attempt follows the wait: the budget gets back the tokens that it paid for the wait.
    #[inline]
    pub(super) fn cancelled(&mut self, budget: Option<&Budget>) {
        if self.retry.is_held() {
            self.retry.give_back(budget);
            #[cfg(feature = "metrics")]
            call_metrics::level(budget);
        }
    }

    /// The budget of the policy gets its tokens back, without an event for a success.
    pub(crate) fn progressed(&self, policy: &Policy) {
        self.retry.succeeded_under(policy, None);
    }

    /// An attempt begins after a wait: a report counts the wait. A function of its own, so that the path of a success
    /// keeps the registers.
    #[cold]
    #[inline(never)]
    pub(super) fn has_waited<E, M: Watch<E>, C: Clock>(&self, watch: &mut M, clock: &C) {
        watch.rested(self.retry.elapsed(|| clock.now()));
    }

    /// An attempt succeeded. After retries, this reports the success to hooks and logs.
    #[inline]
    pub(crate) fn succeeded<E, H, R>(&self, context: &Context<'_>, settings: &mut H, runtime: &R)
    where
        H: Handler<E>,
        R: Clock,
    {
        let overrides = context.overrides.as_ref();
        self.retry.succeeded_under(context.policy, overrides);
        settings.succeeded();
        #[cfg(feature = "metrics")]
        {
            call_metrics::level(context.budget());
            self.record_success(runtime.now(), context);
        }
        if is_heard::<E, H>() && self.retry.failures() > 0 {
            self.tell_success(context, settings, runtime);
        }
    }

    #[cfg(feature = "metrics")]
    fn record_success(&self, now: Duration, context: &Context<'_>) {
        let labels = Labels::of(context);
        let ended = Ended {
            attempts: self.retry.failures().saturating_add(1),
            elapsed: self.retry.elapsed(|| now),
            reason: None,
        };
        self.metrics.attempt(labels, now, None);
        self.metrics.call(labels, ended, None);
    }

    /// An attempt failed, or the call ended between two attempts.
    #[cfg(feature = "metrics")]
    fn record_failure(
        &mut self,
        now: Duration,
        context: &Context<'_>,
        next: Decision,
        attempt_failure: AttemptFailure<'_>,
    ) {
        let labels = Labels::of(context);
        let error_type = Some(attempt_failure.error_type());
        if attempt_failure.is_of_an_attempt() {
            self.metrics.attempt(labels, now, error_type);
        } else {
            self.metrics.ends_waiting(now);
        }
        let Some(reason) = next.reason() else {
            self.metrics.waits(now, next.wait());
            return;
        };
        let ended = Ended {
            attempts: self.retry.failures(),
            elapsed: self.retry.elapsed(|| now),
            reason: Some(reason),
        };
        self.metrics.call(labels, ended, error_type);
    }

    #[cold]
    #[inline(never)]
    fn tell_success<E, H, R>(&self, context: &Context<'_>, settings: &mut H, runtime: &R)
    where
        H: Handler<E>,
        R: Clock,
    {
        let operation = context.operation();
        let attempts = self.retry.failures().saturating_add(1);
        let elapsed = self.retry.measured(|| runtime.now());
        observe::log(|| Record {
            operation,
            host: context.host(),
            attempt: attempts,
            elapsed,
            happened: Happened::Succeeded,
            error_type: core::any::type_name::<E>(),
            fault: None,
        });
        settings.notify(&Event::Succeeded {
            operation,
            attempts,
            elapsed,
        });
    }

    /// An attempt failed: judges the error, decides on the next step, and reports to hooks, logs and
    /// metrics. Compiled once for each error type and settings, whatever the operation is.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed<E, H, R, K>(
        &mut self,
        context: &Context<'_>,
        settings: &mut H,
        runtime: &R,
        error: &E,
        stage: Stage,
        known: K,
    ) -> Decision
    where
        H: Handler<E>,
        R: Clock + Random,
        K: FailureContext,
    {
        // The judged stages come first: to compare with `Late` first would cost time in each retry.
        let ruling = if let Some(ruling) = known.ruling() {
            ruling
        } else if stage.is_judged() {
            settings.judge(context.policy, stage, error)
        } else {
            stage.ruling(context.policy)
        };
        if !stage.is_judged() && matches!(stage, Stage::Late | Stage::Queued) {
            return self.expired(context, settings, runtime, error, stage, known.outcome());
        }
        let ruling = known.outcome().corrected(stage, ruling);
        let fault = settings.fault(error);
        let (failure, attempt_failure) = (
            Failure::new(Some(error), fault),
            AttemptFailure::failed(stage, fault),
        );
        self.decided(
            context,
            settings,
            runtime,
            failure,
            attempt_failure,
            ruling,
            known,
        )
    }

    /// The timer woke after the deadline, and this error says so.
    #[cold]
    #[inline(never)]
    fn expired<E, H, R>(
        &mut self,
        context: &Context<'_>,
        settings: &mut H,
        runtime: &R,
        error: &E,
        stage: Stage,
        outcome: WriteOutcome,
    ) -> Decision
    where
        H: Handler<E>,
        R: Clock,
    {
        let fault = settings.fault(error);
        let end = match stage {
            Stage::Queued => CallEnd::too_long(Failure::new(Some(error), fault), outcome),
            _ => CallEnd::expired(error, fault, outcome),
        };
        let next = end.next;
        self.ended(context, settings, runtime, end);
        next
    }

    /// Decides on the next step after this ruling, and reports to hooks, logs and metrics. Inlined: to pass
    /// the failure on would cost 14 instructions in each retry.
    #[inline(always)]
    #[expect(clippy::too_many_arguments)]
    fn decided<E, H, R, K>(
        &mut self,
        context: &Context<'_>,
        settings: &mut H,
        runtime: &R,
        failure: Failure<'_, E>,
        attempt_failure: AttemptFailure<'_>,
        ruling: Ruling,
        mut known: K,
    ) -> Decision
    where
        H: Handler<E>,
        R: Clock + Random,
        K: FailureContext,
    {
        let (policy, overrides) = (context.policy, context.overrides.as_ref());
        let rated;
        let rate = match self.is_in_flight() {
            true => context.rate(),
            false => None,
        };
        let overrides = match rate {
            Some(rate) => {
                let reply = Reply::of(ruling, failure.fault());
                let reply = reply.filter(|_| !attempt_failure.stage().is_cut());
                self.replied::<E, H, R>(reply, context, settings, runtime);
                rated = Overrides::with_rate(overrides, rate);
                Some(&rated)
            }
            None => overrides,
        };
        let (now, random) = (|| runtime.now(), || runtime.random());
        let delays = settings.delays();
        let next = (self.retry).decide(policy, ruling, overrides, delays, now, random);
        let next = in_tests(next, &mut self.retry);
        let next = known.outcome().concluded(next);
        #[cfg(feature = "metrics")]
        {
            let now = runtime.now();
            call_metrics::level(context.budget());
            self.record_failure(now, context, next, attempt_failure);
        }
        known.judged(attempt_failure.stage(), ruling, failure.fault());
        if H::WANTS_RULINGS {
            settings.judged(attempt_failure.stage(), ruling, failure.fault());
        }
        let retry = self.retry;
        settings.measure(attempt_failure, ruling.is_conflict(), next, || {
            retry.elapsed(|| runtime.now())
        });
        if is_heard::<E, H>() {
            let now = runtime.now();
            // The time since the start; without a start, the time since the first failure.
            let elapsed = self.retry.elapsed_from_now_on(now);
            // The call is not in the queue yet.
            let told = match rate {
                Some(rate) if next.is_wait() => next.lasting(rate.turn_after(next.wait(), now)),
                _ => next,
            };
            let ended = Some((attempt_failure.stage(), ruling));
            self.tell(told, context, settings, failure, ended, elapsed);
        }
        next
    }

    /// The call ends between two attempts. The budget gets back the tokens that it paid for a wait. This
    /// happens before hooks are called, and not only when the call is dropped, because its future may be
    /// kept.
    #[cold]
    #[inline(never)]
    pub(crate) fn ended<E, H, R>(
        &mut self,
        context: &Context<'_>,
        settings: &mut H,
        runtime: &R,
        end: CallEnd<'_, E>,
    ) where
        H: Handler<E>,
        R: Clock,
    {
        self.cancelled(context.budget());
        self.ends(context, settings, runtime, end);
    }

    /// A signal ended the attempt, or nobody waits for its outcome any more: counts the attempt, and
    /// reports to hooks, logs and metrics.
    #[cold]
    pub(crate) fn cut<E, H, R>(
        &mut self,
        context: &Context<'_>,
        settings: &mut H,
        runtime: &R,
        error: &E,
        attempt_failure: AttemptFailure<'_>,
        outcome: WriteOutcome,
    ) where
        H: Handler<E>,
        R: Clock,
    {
        let stage = attempt_failure.stage();
        let ruling = outcome.corrected(stage, stage.ruling(context.policy));
        self.retry.ended();
        let next = outcome.concluded(match ruling {
            Ruling::MAYBE_APPLIED => Decision::Stop(StopReason::MaybeApplied),
            _ => STOPPED,
        });
        let failure = Failure::new(Some(error), settings.fault(error));
        let end = CallEnd {
            next,
            failure,
            attempt_failure,
        };
        self.ends(context, settings, runtime, end);
    }

    /// The call ends without a decision about an error: counts the end, and reports it to hooks, logs and
    /// metrics.
    fn ends<E, H, R>(
        &self,
        context: &Context<'_>,
        settings: &mut H,
        runtime: &R,
        end: CallEnd<'_, E>,
    ) where
        H: Handler<E>,
        R: Clock,
    {
        let CallEnd {
            next,
            failure,
            attempt_failure,
        } = end;
        #[cfg(feature = "metrics")]
        {
            let mut state = *self;
            state.record_failure(runtime.now(), context, next, attempt_failure);
        }
        settings.measure(attempt_failure, false, next, || {
            self.retry.elapsed(|| runtime.now())
        });
        if is_heard::<E, H>() {
            let elapsed = self.retry.measured(|| runtime.now());
            self.tell(next, context, settings, failure, None, elapsed);
        }
    }

    /// A value counts as a failure: judges the value by the policy's codes, and decides as about an error.
    /// Returns nothing if the policy would not retry the value.
    #[cold]
    #[inline(never)]
    pub(crate) fn answered<E, H, R, K>(
        &mut self,
        context: &Context<'_>,
        settings: &mut H,
        runtime: &R,
        fault: &dyn Fault,
        known: K,
    ) -> Option<Decision>
    where
        H: Handler<E>,
        R: Clock + Random,
        K: FailureContext,
    {
        let ruling = context.policy.rule(Stage::Whole, fault);
        if ruling.is_permanent() {
            return None;
        }
        let (failure, attempt_failure) = (
            Failure::new(None, Some(fault)),
            AttemptFailure::of_value(fault),
        );
        Some(self.decided(
            context,
            settings,
            runtime,
            failure,
            attempt_failure,
            ruling,
            known,
        ))
    }

    /// `ended` is the stage of the attempt that has just ended by itself, and the ruling about it.
    #[inline]
    fn tell<E, H: Handler<E>>(
        &self,
        next: Decision,
        context: &Context<'_>,
        settings: &mut H,
        failure: Failure<'_, E>,
        ended: Option<(Stage, Ruling)>,
        elapsed: Option<Duration>,
    ) {
        let (operation, attempt) = (context.operation(), self.retry.failures());
        let decision = match next {
            Decision::Wait(wait) => Decision::Wait(Wait {
                source: said_by(wait.source, failure.fault()),
                ..wait
            }),
            stop => stop,
        };
        observe::log(|| Record {
            operation,
            host: context.host(),
            attempt,
            elapsed,
            happened: match (decision, ended) {
                (Decision::Wait(wait), ended) => Happened::Waits {
                    wait,
                    level: context.policy.log_waits,
                    is_poll: ended.is_some_and(|(_, ruling)| ruling.is_pending()),
                },
                (Decision::Stop(reason), ended) => {
                    let by_itself = ended.is_some_and(|(stage, _)| !stage.is_cut());
                    Happened::GaveUp {
                        reason,
                        by_itself,
                        late: context.late(elapsed).filter(|_| by_itself),
                    }
                }
            },
            error_type: core::any::type_name::<E>(),
            fault: failure.fault(),
        });
        settings.notify(&match decision {
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
    #[inline]
    pub(crate) fn failures(&self) -> u32 {
        self.retry.failures()
    }

    /// The measures of a call that has ended. A value that was given up is one of the failures.
    pub(crate) fn measures<E, C: Clock>(&self, counts: &Measured<E>, clock: &C) -> Measures {
        let successes = u32::from(!counts.gave_up());
        Measures {
            attempts: self.retry.failures().saturating_add(successes),
            elapsed: self.retry.elapsed(|| clock.now()),
            ..counts.measures()
        }
    }
}
