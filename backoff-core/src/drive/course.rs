//! The course of one call: what every loop does around an attempt. No I/O: the loop sleeps and
//! calls, the course says when to begin, when to wait and when to stop, and tells whoever listens.

use super::handler::{Handle, Handler};
use crate::{
    budget::Budget,
    facts::fault::Fault,
    judge::{Ruling, Stage},
    observe::{self, Event, Failure, Record},
    policy::{NEVER, Policy},
    report::{Measures, StopReason},
    runtime::{Clock, Random},
    state::{Attempt, Decision, Holds, Next, RequestId, RetryState, Terms},
};

use core::time::Duration;

/// Where a call stands. Policy, stage and runtime are passed in, so that a future keeps 15 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    retry: RetryState,
}

/// No time remains for the next attempt.
const LATE: Next = Next::stop(StopReason::Deadline);

/// A signal has ended the call.
const STOPPED: Next = Next::stop(StopReason::Stopped);

/// What a test has said of retries.
#[cfg(feature = "testing")]
fn in_tests(next: Next) -> Next {
    crate::testing::adjusted(next)
}

/// No test has a say.
#[cfg(not(feature = "testing"))]
#[inline(always)]
fn in_tests(next: Next) -> Next {
    next
}

/// Tells the compiler that the way to here is rarely taken, so that a success keeps the registers.
#[cold]
#[inline]
pub(crate) fn rarely() {}

impl Course {
    /// Before the first attempt.
    #[inline]
    pub(crate) const fn new() -> Self {
        Course {
            retry: RetryState::UNTIMED,
        }
    }

    /// The first attempt is about to begin. The clock is read if the policy has a deadline or if
    /// somebody asks for the time.
    #[inline]
    pub(crate) fn start<C: Clock>(
        &mut self,
        policy: &Policy,
        terms: Option<&Terms<'_>>,
        clock: &C,
        timed: bool,
    ) {
        if timed || terms.deadline(policy) != NEVER {
            self.start_now(clock);
        }
    }

    /// Apart, so that it is compiled once for a clock.
    #[inline(never)]
    fn start_now<C: Clock>(&mut self, clock: &C) {
        self.retry = RetryState::start_at(clock.now());
    }

    /// Which attempt is about to begin or under way, and what time it has.
    #[inline]
    pub(crate) fn attempt<C: Clock>(
        &self,
        policy: &Policy,
        terms: Option<&Terms<'_>>,
        clock: &C,
        id: RequestId,
    ) -> Attempt {
        self.retry.attempt_under(policy, terms, id, || clock.now())
    }

    /// What time remains.
    #[inline]
    pub(crate) fn remaining<C: Clock>(
        &self,
        policy: &Policy,
        terms: Option<&Terms<'_>>,
        clock: &C,
    ) -> Duration {
        self.retry.remaining_under(policy, terms, || clock.now())
    }

    /// Whether a timer woke so late that no time remains for the next attempt. The first one is
    /// always begun.
    #[inline]
    pub(crate) fn is_late<C: Clock>(
        &self,
        policy: &Policy,
        terms: Option<&Terms<'_>>,
        clock: &C,
    ) -> bool {
        self.retry.is_late(policy, terms, || clock.now())
    }

    /// The attempt that was waited for begins.
    #[inline]
    pub(crate) fn begins<H: Handler>(&mut self, handler: &mut H) {
        self.spend();
        handler.begins();
    }

    /// As [`begins`](Self::begins), where no handler holds a budget.
    #[inline]
    pub(crate) fn spend(&mut self) {
        self.retry.begins();
    }

    /// The wait leads to no attempt: the budget gets back what it has paid for it.
    #[inline]
    pub(super) fn cancelled(&mut self, budget: Option<&Budget>) {
        if self.retry.is_held() {
            self.retry.give_back(budget);
        }
    }

    /// An attempt succeeded.
    #[inline]
    pub(crate) fn succeeded(&self, policy: &Policy, terms: Option<&Terms<'_>>) {
        self.retry.succeeded_under(policy, terms);
    }

    /// An attempt failed: judges the error, decides, and tells whoever listens. Compiled once for an
    /// error type and a handler, whatever the operation is.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed<E, H>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        error: &E,
        stage: Stage,
        of_operation: Option<&Terms<'_>>,
    ) -> Next
    where
        H: Handle<E>,
        H::Runtime: Clock + Random,
    {
        let policy = handler.policy(borrowed);
        let ruling = if stage.is_judged() {
            handler.judge(policy, stage, error)
        } else if stage == Stage::Late {
            self.late(handler, name, error);
            return handler.concluded(LATE);
        } else {
            stage.ruling(policy)
        };
        let ruling = handler.corrected(stage, ruling);
        let retry = &mut self.retry;
        let next = in_tests(handler.decide(handler.runtime(), policy, retry, ruling, of_operation));
        let next = handler.concluded(next);
        handler.hold(&mut self.retry);
        handler.measure(stage, ruling.is_conflict(), next);
        let failure = Failure::new(Some(error), handler.fault(error));
        self.tell(next, handler, name, failure);
        next
    }

    /// The timer woke after the deadline, and the loop hands back this error.
    #[cold]
    pub(crate) fn late<E, H: Handle<E>>(&self, handler: &mut H, name: &'static str, error: &E) {
        let next = handler.concluded(LATE);
        handler.measure(Stage::Late, false, next);
        let failure = Failure::new(Some(error), handler.fault(error));
        self.tell(next, handler, name, failure);
    }

    /// A signal has cut the attempt: counts it, and tells whoever listens.
    #[cold]
    pub(crate) fn cut<E, H: Handle<E>>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        error: &E,
        stage: Stage,
    ) {
        let ruling = handler.corrected(stage, stage.ruling(handler.policy(borrowed)));
        self.retry.ended();
        let next = if ruling == Ruling::MAYBE_APPLIED {
            handler.concluded(Next::stop(StopReason::MaybeApplied))
        } else {
            handler.concluded(STOPPED)
        };
        handler.measure(stage, false, next);
        let failure = Failure::new(Some(error), handler.fault(error));
        self.tell(next, handler, name, failure);
    }

    /// A signal has come while no attempt is under way, and the loop hands back what failed last.
    #[cold]
    pub(crate) fn stopped<E, H: Handle<E>>(
        &self,
        handler: &mut H,
        name: &'static str,
        failure: Failure<'_, E>,
    ) {
        let next = handler.concluded(STOPPED);
        handler.measure(Stage::Late, false, next);
        self.tell(next, handler, name, failure);
    }

    /// A value counts as a failure: judges it by the policy's codes, and decides as about an error.
    /// Nothing if the policy would not retry it.
    #[cold]
    #[inline(never)]
    pub(crate) fn answered<E, H>(
        &mut self,
        borrowed: &Policy,
        handler: &mut H,
        name: &'static str,
        fault: &dyn Fault,
        of_operation: Option<&Terms<'_>>,
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
        let retry = &mut self.retry;
        let next = in_tests(handler.decide(handler.runtime(), policy, retry, ruling, of_operation));
        handler.hold(&mut self.retry);
        handler.measure(Stage::Whole, ruling.is_conflict(), next);
        self.tell(next, handler, name, Failure::new(None, Some(fault)));
        Some(next)
    }

    #[inline]
    fn tell<E, H: Handle<E>>(
        &self,
        next: Next,
        handler: &mut H,
        operation: &'static str,
        failure: Failure<'_, E>,
    ) {
        let attempt = self.retry.failures();
        let decision = Decision::from(next);
        observe::log(decision, || Record {
            operation,
            attempt,
            error_type: core::any::type_name::<E>(),
            error: failure.fault().and_then(|fault| fault.message()),
        });
        handler.notify(&match decision {
            Decision::Wait(wait) => Event::Waiting {
                attempt,
                failure,
                wait,
            },
            Decision::Stop(reason) => Event::GaveUp {
                attempts: attempt,
                failure,
                reason,
            },
        });
    }

    /// How many attempts have failed.
    #[cfg(feature = "std")]
    pub(crate) fn failures(&self) -> u32 {
        self.retry.failures()
    }

    /// What the call took so far.
    pub(crate) fn measures<H: Handler>(&self, handler: &H, succeeded: bool) -> Measures
    where
        H::Runtime: Clock,
    {
        Measures {
            attempts: self.retry.failures().saturating_add(succeeded.into()),
            elapsed: self.retry.elapsed(|| handler.runtime().now()),
            ..handler.measured()
        }
    }
}
