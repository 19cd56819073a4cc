//! The work after an attempt: judge, decide, tell. Every form of a call does its work here. The operation and the
//! budgets are objects, so that one copy of this code serves all closures with the same types of values, errors,
//! settings and runtimes.

use super::{
    call_state::CallState,
    operation::{Failing, Memory},
    plan::CallPlan,
    setting::Setting,
    write_outcome::WriteOutcome,
};
#[cfg(feature = "metrics")]
use crate::event::metrics;
use crate::{
    event::{
        attempt_event::{AttemptEvent, EndedBy, Step, with_source},
        log,
    },
    facts::fault::{Fault, FaultKind, TimedOut},
    judge::{self, Ruled, Ruling, Stage},
    policy::Policy,
    rate::{Left, Rate, Reply},
    report::StopReason,
    runtime::{Clock, Random, nanos, shared_now},
    state::{Decision, RetryState, Rules},
};
use core::{marker::PhantomData, time::Duration};

/// The parts of a call that take part in the work after an attempt. The outcome of the call is a `Result<T, E>`.
pub(crate) struct Parts<'c, T, E, S, R> {
    pub(super) plan: &'c dyn CallPlan,
    pub(super) memory: &'c mut dyn Memory<E>,
    pub(super) state: &'c mut CallState,
    pub(super) settings: &'c mut S,
    pub(super) runtime: &'c R,
    value: PhantomData<fn() -> T>,
}

/// A failure, and what is known of it.
struct Failure<'a, E> {
    error: Option<&'a E>,
    fault: Option<&'a dyn Fault>,
    stage: Stage,
    ended_by: EndedBy,
    ruling: Option<Ruling>,
}

// Copied where the failure is passed on, so that the fast path does not write it into memory.
impl<E> Clone for Failure<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Failure<'_, E> {}

/// Why a call ends between two attempts.
#[derive(Clone, Copy)]
pub enum End {
    /// The timer woke after the deadline.
    Late,
    /// The timer woke after the deadline, and the error says so.
    Expired,
    /// The call waited too long for its turn.
    Queued,
    /// The breaker is open.
    Refused,
    /// A signal has come.
    Stopped,
    /// The loop ends for a reason of its own.
    GivenUp(StopReason),
}

impl End {
    /// The call ends before an attempt, with this error.
    pub(crate) const fn before(late: &TimedOut) -> Self {
        match late.is_by_breaker() {
            true => End::Refused,
            false => End::Queued,
        }
    }
}

impl Left {
    /// Why the call ends.
    pub(crate) const fn end(&self) -> End {
        match self {
            Left::Over(late) => End::before(late),
            Left::Stopped => End::Stopped,
        }
    }
}

/// The next step in a test that has made retries instant, or has switched them off.
#[cfg(feature = "testing")]
pub(super) fn in_tests(next: Decision, retry: &mut RetryState) -> Decision {
    crate::testing::adjusted(next, retry)
}

/// Without the feature `testing`, no test changes the next step.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub(super) fn in_tests(next: Decision, _: &mut RetryState) -> Decision {
    next
}

impl<'c, T, E, S, R> Parts<'c, T, E, S, R> {
    #[inline(always)]
    pub(crate) fn new(
        plan: &'c dyn CallPlan,
        memory: &'c mut dyn Memory<E>,
        state: &'c mut CallState,
        settings: &'c mut S,
        runtime: &'c R,
    ) -> Self {
        Parts {
            plan,
            memory,
            state,
            settings,
            runtime,
            value: PhantomData,
        }
    }
}

/// The rules of a call of this plan and these settings, while another part of the call changes.
#[inline]
pub(super) fn rules_of<'r, T, E, S>(
    plan: &'r (impl CallPlan + ?Sized),
    settings: &'r S,
) -> Rules<'r>
where
    S: Setting<T, E>,
{
    let mut rules = Rules::of(plan.policy());
    settings.rules(&mut rules);
    rules
}

impl<'c, T, E, S: Setting<T, E>, R: Clock> Parts<'c, T, E, S, R> {
    /// An attempt failed: judges the error, decides on the next step, and tells hooks, logs and metrics. Inlined into
    /// one cold function for each kind of loop.
    #[inline(always)]
    pub(crate) fn failed(&mut self, error: &E, stage: Stage, is_stopped: bool) -> Decision
    where
        R: Random,
    {
        let policy = self.plan.policy();
        // The judged stages come first: they are the most frequent ones.
        let ruling = match stage.is_judged() {
            true => self.settings.judge(policy, stage, error),
            false => Some(stage.ruling(policy)),
        };
        let ruling = ruling.unwrap_or(Ruling::NOTHING_KNOWN);
        let failure = self.failure(error, stage, ruling);
        if is_stopped {
            let ended_by = EndedBy::Signal;
            return self.cut(Failure {
                ended_by,
                ..failure
            });
        }
        self.decided(policy, failure)
    }

    #[inline(always)]
    fn failure<'e>(&self, error: &'e E, stage: Stage, ruling: Ruling) -> Failure<'e, E> {
        Failure {
            error: Some(error),
            fault: self.settings.fault(error),
            stage,
            ended_by: EndedBy::Attempt,
            ruling: Some(ruling),
        }
    }

    /// As [`failed`](Self::failed), after this ruling.
    #[cfg(feature = "combine")]
    #[cold]
    pub(crate) fn ruled(&mut self, error: &E, stage: Stage, ruling: Ruling) -> Decision
    where
        R: Random,
    {
        let failure = self.failure(error, stage, ruling);
        self.decided(self.plan.policy(), failure)
    }

    /// A value that has a fault: judges the value by the policy's codes, and decides as about an error. Returns the wait
    /// before the next attempt, and nothing if the call returns the value.
    #[cold]
    #[inline(never)]
    pub(crate) fn answered(&mut self, fault: &dyn Fault) -> Option<Duration>
    where
        R: Random,
    {
        let policy = self.plan.policy();
        let ruling = policy.rule(Stage::Whole, fault);
        if ruling.is_permanent() {
            self.succeeded(Some(fault));
            return None;
        }
        let failure = Failure {
            error: None,
            fault: Some(fault),
            stage: Stage::Whole,
            ended_by: EndedBy::Attempt,
            ruling: Some(ruling),
        };
        let next = self.decided(policy, failure);
        next.is_wait().then(|| next.wait())
    }

    /// Decides on the next step after this ruling, and tells hooks, logs and metrics.
    #[inline(always)]
    fn decided(&mut self, policy: &'c Policy, failure: Failure<'_, E>) -> Decision
    where
        R: Random,
    {
        self.settings.failed(failure.stage);
        let ruling = failure.ruling.unwrap_or(Ruling::NOTHING_KNOWN);
        let is_plain = !self.state.retry.is_in_flight()
            && self.plan.is_plain()
            && !self.memory.hears()
            && !self.settings.changes_rules(policy);
        let retry = &mut self.state.retry;
        if is_plain && retry.is_simple(policy, ruling) {
            let next = retry.simple_wait(policy, || self.runtime.random());
            let next = in_tests(next, retry);
            self.emit_failure(failure, next, None, None);
            return next;
        }
        self.decided_fully(policy, failure, ruling)
    }

    /// As [`decided`](Self::decided), if more than the policy's attempts and its backoff matter.
    #[cold]
    #[inline(never)]
    fn decided_fully(
        &mut self,
        policy: &Policy,
        mut failure: Failure<'_, E>,
        ruling: Ruling,
    ) -> Decision
    where
        R: Random,
    {
        let rate = self.state.retry.epoch().and_then(|_| self.plan.rate());
        if self.state.retry.is_in_flight() {
            let reply = Reply::of(ruling, failure.fault);
            let reply = reply.filter(|_| !failure.stage.is_cut());
            let heard = match failure.stage.is_cut() && self.had_only_the_rest() {
                true => Some(FaultKind::Permanent),
                false => heard(ruling, failure.fault, failure.stage),
            };
            self.replied(reply, heard, failure.fault);
        }
        let write = self.remembered(policy, &failure, ruling);
        let ruling = write.corrected(failure.stage, ruling);
        failure.ruling = Some(ruling);
        let mut rules = self.plan.rules();
        self.settings.rules(&mut rules);
        self.memory.rules(&mut rules);
        if let Some(rate) = rate {
            rules.enter(rate, self.plan.tokens());
        }
        rules.stop_by(self.plan.breaker());
        let (retry, runtime) = (&mut self.state.retry, self.runtime);
        let next = retry.decide(&rules, ruling, || runtime.now(), || runtime.random());
        let next = write.concluded(in_tests(next, retry));
        #[cfg(feature = "metrics")]
        metrics::level(self.plan.budget());
        // Without `cut`, an attempt may run on after the deadline.
        let deadline = (!rules.cuts).then(|| Duration::from_nanos(rules.deadline()));
        self.emit_failure(failure, next, deadline, rate);
        next
    }

    /// The rules of the call as they are now.
    #[inline]
    pub(super) fn rules(&self) -> Rules<'_> {
        rules_of(self.plan, &*self.settings)
    }

    /// Whether the end of the call has cut a retry, which had only what the attempts before it left.
    fn had_only_the_rest(&self) -> bool {
        let rules = self.rules();
        let elapsed = || self.state.retry.elapsed(|| self.runtime.now());
        self.state.retry.failures() > 0 && rules.is_over(nanos(elapsed()))
    }

    /// The operation gets the failure with this ruling. Returns whether a write may have been applied.
    #[inline(always)]
    fn remembered(
        &mut self,
        policy: &Policy,
        failure: &Failure<'_, E>,
        ruling: Ruling,
    ) -> WriteOutcome {
        self.memory.failed(&Failing {
            error: failure.error,
            fault: failure.fault,
            stage: failure.stage,
            ruling,
            policy,
            clock: self.runtime,
        });
        self.memory.write_outcome()
    }

    /// A signal ended the attempt, or nobody waits for its outcome any more. Counts the attempt, and tells hooks,
    /// logs and metrics.
    #[cold]
    fn cut(&mut self, mut failure: Failure<'_, E>) -> Decision {
        let stage = failure.stage;
        self.settings.failed(stage);
        self.state.retry.ended();
        self.plan.give_back(self.state);
        let ruling = failure.ruling.unwrap_or(Ruling::PERMANENT);
        let write = self.remembered(self.plan.policy(), &failure, Ruling::PERMANENT);
        let ruling = write.corrected(stage, ruling);
        let next = write.concluded(Decision::Stop(match ruling {
            Ruling::MAYBE_APPLIED => StopReason::MaybeApplied,
            _ => StopReason::Stopped,
        }));
        failure.ruling = None;
        self.emit_failure(failure, next, None, None);
        next
    }

    /// Nobody waits for the outcome of the attempt that failed at this stage.
    #[cfg(feature = "combine")]
    pub(crate) fn abandoned(&mut self, error: &E, stage: Stage) {
        let failure = self.failure(error, stage, stage.ruling(self.plan.policy()));
        if !stage.is_cut() {
            let kind = Some(FaultKind::Permanent);
            self.replied(Reply::to(failure.fault), kind, failure.fault);
        }
        let _stop = self.cut(failure);
    }

    /// The call ends between two attempts, with the last error, or with the last value, which has this fault. The
    /// tokens of a wait go back before hooks are called, and not only when the call is
    /// dropped, because its future may be kept.
    #[cold]
    #[inline(never)]
    pub(crate) fn ends(&mut self, error: Option<&E>, value: Option<&dyn Fault>, end: End) {
        self.plan.give_back(self.state);
        let (ended_by, reason) = match end {
            End::Late => (EndedBy::Attempt, StopReason::Deadline),
            End::Expired => (EndedBy::Clock, StopReason::Deadline),
            End::Queued => (EndedBy::Clock, StopReason::Rate),
            End::Refused => (EndedBy::Attempt, StopReason::Breaker),
            End::Stopped => (EndedBy::Signal, StopReason::Stopped),
            End::GivenUp(reason) => (EndedBy::Attempt, reason),
        };
        let failure = Failure {
            error,
            fault: error.map_or(value, |error| self.settings.fault(error)),
            stage: Stage::Late,
            ended_by,
            ruling: None,
        };
        let write = self.memory.write_outcome();
        let next = write.concluded(Decision::Stop(reason));
        self.emit_failure(failure, next, None, None);
    }

    /// An attempt succeeded, perhaps with a value that has this fault and is not retried. After retries, hooks and
    /// logs are told.
    #[inline(always)]
    pub(crate) fn succeeded(&mut self, value: Option<&dyn Fault>) {
        // Before any hook, which may panic.
        self.state.return_tokens(self.plan.budget());
        if self.plan.counts(&self.state.retry) {
            // A value with a fault is one that the policy does not retry.
            let heard = value.and_then(|value| judge::unretried(Some(value)));
            self.replied(Reply::to(value), heard, value);
        }
        let is_heard = (S::LISTENS || cfg!(feature = "tracing")) && self.state.retry.failures() > 0;
        if S::MEASURES || is_heard || self.state.is_recorded() {
            self.emit_success(is_heard);
        }
    }

    #[cold]
    #[inline(never)]
    fn emit_success(&mut self, is_heard: bool) {
        let retry = &self.state.retry;
        let reads = S::TIMED || is_heard || self.state.is_recorded();
        let now = (reads && retry.is_timed()).then(|| self.runtime.now());
        let event = AttemptEvent {
            attempt: retry.failures().saturating_add(1),
            elapsed: now.map(|now| retry.elapsed(|| now)),
            ..attempt_event(self.plan, &*self.memory, self.state, None, Step::Succeeded)
        };
        #[cfg(feature = "metrics")]
        self.state.metrics.record(&event, now.unwrap_or_default());
        self.settings.ended(&event);
        if is_heard {
            log::log(&event);
            self.settings.notify(&event, None);
        }
    }

    /// The attempt that the rate or the breaker counts has ended with this reply; with none if the server did not reply.
    /// For the breaker, the attempt has failed so, or has succeeded.
    #[cold]
    #[inline(never)]
    pub(crate) fn replied(
        &mut self,
        reply: Option<Reply>,
        failure: Option<FaultKind>,
        fault: Option<&dyn Fault>,
    ) {
        let runtime = self.runtime;
        let now = || shared_now(runtime);
        let changed = self.plan.ended(self.state, reply, failure, fault, now);
        if let Some((change, name)) = changed {
            let step = Step::Rate(change, name);
            let event = attempt_event(self.plan, &*self.memory, self.state, None, step);
            log::log(&event);
            self.settings.notify(&event, None);
        }
    }

    /// An attempt, or the call, ended with a failure.
    #[inline(always)]
    fn emit_failure(
        &mut self,
        failure: Failure<'_, E>,
        next: Decision,
        deadline: Option<Duration>,
        rate: Option<&Rate>,
    ) {
        let is_heard = S::LISTENS || cfg!(feature = "tracing");
        let reads = S::TIMED || is_heard || self.state.is_recorded();
        if !(S::MEASURES || reads) {
            return;
        }
        let now = reads.then(|| self.runtime.now());
        let retry = &mut self.state.retry;
        // The time since the start; without a start, the time since the first failure.
        let elapsed = now.and_then(|now| match failure.ruling {
            Some(_) => retry.elapsed_from_now_on(now),
            None => retry.measured(|| now),
        });
        let late = match (elapsed, deadline, next) {
            (Some(elapsed), Some(deadline), Decision::Stop(_)) if !failure.stage.is_cut() => {
                elapsed.checked_sub(deadline)
            }
            _ => None,
        };
        // The call is not in the queue yet.
        let next = match (rate, now) {
            (Some(rate), Some(now)) if next.is_wait() => {
                next.lasting(rate.turn_after(next.wait(), self.plan.tokens(), now))
            }
            _ => next,
        };
        let event = AttemptEvent {
            elapsed,
            stage: failure.stage,
            ended_by: failure.ended_by,
            ruling: failure.ruling,
            late: late.filter(|late| !late.is_zero()),
            ..attempt_event(
                self.plan,
                &*self.memory,
                self.state,
                failure.fault,
                with_source(next, failure.fault).into(),
            )
        };
        let ruling = failure.ruling;
        if ruling.is_some_and(|it| it.may_be_applied(failure.stage, failure.fault)) {
            self.state.retry.remember_applied();
        }
        #[cfg(feature = "metrics")]
        self.state.metrics.record(&event, now.unwrap_or_default());
        self.settings.ended(&event);
        if is_heard {
            log::log(&event);
            self.settings.notify(&event, failure.error);
        }
    }
}

/// The failure that a breaker hears; nothing if the service answered.
fn heard(ruling: Ruling, fault: Option<&dyn Fault>, stage: Stage) -> Option<FaultKind> {
    match ruling.ruled {
        _ if stage.is_cut() => Some(FaultKind::Transient),
        Ruled::Retry(kind) => Some(kind),
        // The policy would retry it if it were idempotent.
        Ruled::MaybeApplied => Some(fault.map_or(FaultKind::Transient, judge::kind_of)),
        Ruled::Permanent | Ruled::NothingKnown | Ruled::StoppedByServer => judge::unretried(fault),
    }
}

fn attempt_event<'t, E>(
    plan: &'t dyn CallPlan,
    memory: &'t dyn Memory<E>,
    state: &CallState,
    fault: Option<&'t dyn Fault>,
    step: Step,
) -> AttemptEvent<'t> {
    AttemptEvent {
        name: plan.operation().unwrap_or_else(|| memory.name()),
        host: memory.host(),
        policy: plan.policy(),
        attempt: state.retry.failures(),
        elapsed: None,
        fault,
        stage: Stage::Whole,
        ended_by: EndedBy::Attempt,
        ruling: None,
        late: None,
        maybe_applied: state.retry.maybe_applied(),
        type_name: core::any::type_name::<E>(),
        step,
    }
}
