//! The parts of a retry, whichever loop drives them.

use super::{OfPolicy, Own, Pace};
use crate::{
    Clock, Decision, Event, Judge, Notify, Policy, Random, Retry, Silent, StopReason, Verdict,
    observe::{self, Failure},
};

/// What is said before a retry begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup<O, J, N, R, P> {
    pub(super) policy: Policy,
    pub(super) judge: J,
    pub(super) operation: O,
    pub(super) notify: N,
    pub(super) runtime: R,
    pub(super) pace: P,
}

impl<O, J, R> Setup<O, J, Silent, R, OfPolicy> {
    pub(super) fn new(policy: Policy, judge: J, operation: O, runtime: R) -> Self {
        Setup {
            policy,
            judge,
            operation,
            notify: Silent,
            runtime,
            pace: OfPolicy,
        }
    }
}

impl<O, J, N, R, P> Setup<O, J, N, R, P> {
    pub(super) fn operation<Q>(self, change: impl FnOnce(O) -> Q) -> Setup<Q, J, N, R, P> {
        Setup {
            policy: self.policy,
            judge: self.judge,
            operation: change(self.operation),
            notify: self.notify,
            runtime: self.runtime,
            pace: self.pace,
        }
    }

    pub(super) fn notify<H>(self, notify: H) -> Setup<O, J, H, R, P> {
        Setup {
            policy: self.policy,
            judge: self.judge,
            operation: self.operation,
            notify,
            runtime: self.runtime,
            pace: self.pace,
        }
    }

    pub(super) fn runtime<Q>(self, runtime: Q) -> Setup<O, J, N, Q, P> {
        Setup {
            policy: self.policy,
            judge: self.judge,
            operation: self.operation,
            notify: self.notify,
            runtime,
            pace: self.pace,
        }
    }

    pub(super) fn delays<D>(self, delays: D) -> Setup<O, J, N, R, Own<D>> {
        Setup {
            policy: self.policy,
            judge: self.judge,
            operation: self.operation,
            notify: self.notify,
            runtime: self.runtime,
            pace: Own(delays),
        }
    }
}

impl<O, J, N, R: Clock + Random, P> Setup<O, J, N, R, P> {
    /// Begins; `timed` if somebody asks how much time has passed.
    #[inline]
    pub(super) fn start(&self, timed: bool) -> Retry {
        if timed {
            Retry::start_at(self.runtime.now())
        } else {
            Retry::start(&self.policy, || self.runtime.now())
        }
    }

    /// Apart, so that what a success needs is small enough to be inlined.
    #[cold]
    #[inline(never)]
    pub(super) fn conclude<E>(&mut self, retry: &mut Retry, name: &str, error: &E) -> Decision
    where
        J: Judge<E>,
        N: Notify<E>,
        P: Pace,
    {
        self.conclude_as(retry, name, error, |verdict| verdict)
    }

    /// As [`conclude`](Self::conclude), where the loop has a word in what the judge says.
    pub(super) fn conclude_as<E>(
        &mut self,
        retry: &mut Retry,
        name: &str,
        error: &E,
        verdict: impl FnOnce(Verdict) -> Verdict,
    ) -> Decision
    where
        J: Judge<E>,
        N: Notify<E>,
        P: Pace,
    {
        let decide = |policy: &Policy, retry: &mut Retry, judged| {
            let verdict = verdict(judged);
            let (now, random) = (|| self.runtime.now(), || self.runtime.random());
            self.pace.failed(retry, policy, verdict, now, random)
        };
        conclude(
            &self.policy,
            retry,
            &self.judge,
            decide,
            &mut self.notify,
            name,
            error,
        )
    }
}

impl<O, J, N, R, P> Setup<O, J, N, R, P> {
    /// Tells whoever listens that the timer woke after the deadline.
    pub(super) fn woke_late<E>(&mut self, attempts: u32, name: &str, error: &E)
    where
        J: Judge<E>,
        N: Notify<E>,
    {
        let decision = Decision::Stop(StopReason::Deadline);
        tell(
            decision,
            attempts,
            &self.judge,
            &mut self.notify,
            name,
            error,
        );
    }
}

/// What every loop does after a failed attempt: asks the judge, asks the state machine, tells
/// whoever listens. The loop then waits or stops.
#[inline]
pub(crate) fn conclude<E, J, N>(
    policy: &Policy,
    retry: &mut Retry,
    judge: &J,
    decide: impl FnOnce(&Policy, &mut Retry, crate::Verdict) -> Decision,
    notify: &mut N,
    operation: &str,
    error: &E,
) -> Decision
where
    J: Judge<E>,
    N: Notify<E>,
{
    let decision = decide(policy, retry, judge.judge(policy, error));
    tell(decision, retry.failures(), judge, notify, operation, error);
    decision
}

/// Tells whoever listens what comes after a failed attempt.
pub(crate) fn tell<E, J, N>(
    decision: Decision,
    attempt: u32,
    judge: &J,
    notify: &mut N,
    operation: &str,
    error: &E,
) where
    J: Judge<E>,
    N: Notify<E>,
{
    let failure = || Failure {
        operation,
        attempt,
        error: judge.message(error),
    };
    match decision {
        Decision::Wait(wait) => {
            observe::waiting(failure, wait);
            notify.notify(&Event::Waiting {
                attempt,
                error,
                wait,
            });
        }
        Decision::Stop(reason) => {
            observe::gave_up(failure, reason);
            notify.notify(&Event::GaveUp {
                attempts: attempt,
                error,
                reason,
            });
        }
    }
}
