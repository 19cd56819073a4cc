//! A call with a loop outside of this library: the loop of a client, or a queue of jobs. The loop asks after each
//! attempt, and logs and metrics get the same events as from a loop of this library.

use super::{
    call_state::CallState,
    operation::Named,
    parts::{End, Parts},
    setting::{Setting, surrounds_nothing},
};
use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage},
    policy::{LONGEST, Policy},
    report::StopReason,
    runtime::{Clock, Random, Sleep, nanos},
    state::{Decision, Rules},
};
use core::{future::poll_fn, time::Duration};

/// The state of such a call.
#[derive(Clone, Copy, Debug)]
pub struct ForeignCall {
    state: CallState,
    repeats: Repeats,
}

/// The operation that the loop repeats. The policy's codes judge.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Repeats {
    /// One request of a client. A conflict is never repeated, and attempts are cut when the deadline is over.
    Request,
    /// A whole job, with its reads.
    Job,
}

surrounds_nothing!(Repeats);

impl<T, E: Fault> Setting<T, E> for Repeats {
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Option<Ruling> {
        let ruling = policy.rule(stage, error);
        // The same write would conflict again. Only a new read helps, and the read is outside of a request.
        Some(match *self == Repeats::Request && ruling.is_conflict() {
            true => Ruling::PERMANENT,
            false => ruling,
        })
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }

    /// The request of a client is cut at the deadline: a wait that ends just then leaves no time for one.
    fn rules<'a>(&'a self, rules: &mut Rules<'a>) {
        if *self == Repeats::Request {
            rules.cut();
        }
    }
}

impl ForeignCall {
    /// Whether logs or metrics get each call.
    pub const IS_HEARD: bool = cfg!(any(feature = "metrics", feature = "tracing"));

    /// A call whose first attempt began at `started`, with this number of failed attempts. After a failure,
    /// the beginning of the running attempt and the time spent waiting are unknown, so neither is recorded.
    pub fn resumed(started: Duration, failures: u32) -> Self {
        ForeignCall {
            state: CallState::resumed(started, failures),
            repeats: Repeats::Request,
        }
    }

    /// The run of a job whose first run began `elapsed` ago, after this number of failed runs.
    pub fn job<R: Clock + Random>(
        elapsed: Duration,
        failures: u32,
        policy: &Policy,
        runtime: &R,
    ) -> Self {
        // The difference of two readings of a clock counts, also where the job is older than the clock.
        let started = nanos(runtime.now()).wrapping_sub(nanos(elapsed.min(LONGEST)));
        let mut call = ForeignCall {
            repeats: Repeats::Job,
            ..Self::resumed(Duration::from_nanos(started), failures)
        };
        call.draw_waits(policy, runtime);
        call
    }

    /// Waits for the turn of the attempt, if the policy has a rate.
    pub async fn turn<R: Clock + Sleep>(&mut self, policy: &Policy, runtime: &R) {
        let Some(rate) = policy.shared_rate() else {
            return;
        };
        let queued = self.state.enters(rate, &Rules::of(policy), runtime);
        if let Some(mut queued) = queued {
            poll_fn(|cx| self.state.turn(&mut queued, runtime, cx)).await;
        }
    }

    fn parts<'c, E, R>(
        &'c mut self,
        policy: &'c Policy,
        operation: &'c mut Named,
        runtime: &'c R,
    ) -> Parts<'c, (), E, Repeats, R> {
        Parts::new(
            policy,
            operation,
            &mut self.state,
            &mut self.repeats,
            runtime,
        )
    }

    /// Draws the waits before the next one again, for a policy whose waits grow from the waits before.
    /// The loop that has waited tells only how often.
    pub fn draw_waits(&mut self, policy: &Policy, random: &impl Random) {
        self.state.draw_waits(policy, random);
    }

    /// The rest of the deadline; [`Duration::MAX`] without a deadline.
    pub fn remaining<C: Clock>(&self, policy: &Policy, clock: &C) -> Duration {
        self.state.remaining(&Rules::of(policy), clock)
    }

    /// The attempt after the wait begins.
    pub fn begins<C: Clock>(&mut self, clock: &C) {
        self.state.begins(clock);
    }

    /// An attempt failed: decides whether to wait or to stop, and reports to logs and metrics.
    pub fn failed<E, R>(
        &mut self,
        policy: &Policy,
        runtime: &R,
        operation: &'static str,
        error: &E,
    ) -> Decision
    where
        E: Fault,
        R: Clock + Random,
    {
        let operation = &mut Named(operation);
        let parts = self.parts(policy, operation, runtime);
        parts.failed(error, Stage::Whole, false)
    }

    /// The loop ends after a wait, for a reason of its own. The policy's budget gets back the tokens that
    /// the wait has taken, and logs and metrics get the end.
    pub fn given_up<E, C>(
        &mut self,
        policy: &Policy,
        clock: &C,
        operation: &'static str,
        error: &E,
        reason: StopReason,
    ) where
        E: Fault,
        C: Clock,
    {
        let operation = &mut Named(operation);
        let parts = self.parts(policy, operation, clock);
        parts.ends(Some(error), None, End::GivenUp(reason));
    }

    /// An attempt succeeded. The policy's budget gets its tokens back, and logs and metrics get the
    /// success.
    pub fn succeeded<E, C>(&self, policy: &Policy, clock: &C, operation: &'static str)
    where
        E: Fault,
        C: Clock,
    {
        let mut this = *self;
        let operation = &mut Named(operation);
        this.parts::<E, _>(policy, operation, clock).succeeded(None);
    }

    /// A call succeeded, and nobody knows which one: the policy's budget gets the tokens of a success at the
    /// first attempt.
    pub fn one_succeeded(policy: &Policy) {
        CallState::new().return_tokens(policy.budget);
    }

    /// The call is dropped: the policy's budget gets back the tokens that a wait has taken.
    pub fn cancelled(&mut self, policy: &Policy) {
        if let Some(budget) = policy.budget {
            self.state.cancelled(budget);
        }
    }
}
