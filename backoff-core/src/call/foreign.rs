//! A call with a loop outside of this library: the loop of a client, or a queue of jobs. The loop asks after each
//! attempt, and logs and metrics get the same events as from a loop of this library.

use super::{
    before::End,
    call_state::CallState,
    erased::ErasedCall,
    operation::AnyOperation,
    plan::CallPlan,
    setting::{Setting, surrounds_nothing},
};
use crate::{
    facts::fault::{Fault, FaultKind},
    judge::Verdict,
    policy::{LONGEST, Policy},
    report::StopReason,
    runtime::{Clock, Random, Sleep, nanos},
    stage::{EndedBy, Stage},
    state::{Decision, Rules},
};
use core::time::Duration;

/// Such a call, with its policy and the name of its operation.
#[derive(Debug)]
pub struct ForeignCall {
    policy: Policy,
    operation: &'static str,
    state: CallState,
    repeats: Repeats,
}

/// A job that is dropped in its attempt gives its share of the rate back, and tells its breaker nothing. The tokens of a
/// wait stay taken: the loop may go on in another process.
impl Drop for ForeignCall {
    fn drop(&mut self) {
        let (plan, says_nothing) = (&self.policy as &dyn CallPlan, Some(FaultKind::Permanent));
        let _ = plan.ended(&mut self.state, None, says_nothing, None, || Duration::ZERO);
    }
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

impl<E: Fault> Setting<(), E> for Repeats {
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Option<Verdict> {
        let verdict = policy.rule(stage, error);
        // The same write would conflict again. Only a new read helps, and the read is outside of a request.
        Some(match *self == Repeats::Request && verdict.is_conflict() {
            true => Verdict::Permanent,
            false => verdict,
        })
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }

    /// The request of a client is cut at the deadline: a wait that ends just then leaves no time for one.
    fn rules<'a>(&'a self, rules: &mut Rules<'a>) {
        if *self == Repeats::Request {
            rules.cuts = true;
        }
    }
}

impl ForeignCall {
    /// Whether logs or metrics get each call.
    pub const IS_HEARD: bool = cfg!(any(feature = "metrics", feature = "tracing"));

    /// The request of a client whose first attempt began at `started`, after this number of failed attempts.
    /// After a failure, the beginning of the running attempt and the time spent waiting are unknown, so
    /// neither is recorded. The waits are drawn again, if later waits grow from them.
    pub fn request(
        policy: Policy,
        operation: &'static str,
        started: Duration,
        failures: u32,
        random: &impl Random,
    ) -> Self {
        let mut state = CallState::resumed(started, failures);
        state.retry.draw_waits(&policy, || random.random());
        ForeignCall {
            policy,
            operation,
            state,
            repeats: Repeats::Request,
        }
    }

    /// The run of a job whose first run began `elapsed` ago, after this number of failed runs.
    pub fn job<R: Clock + Random>(
        policy: Policy,
        operation: &'static str,
        elapsed: Duration,
        failures: u32,
        runtime: &R,
    ) -> Self {
        // The difference of two readings of a clock counts, also where the job is older than the clock.
        let started = nanos(runtime.now()).wrapping_sub(nanos(elapsed.min(LONGEST)));
        let started = Duration::from_nanos(started);
        let mut call = Self::request(policy, operation, started, failures, runtime);
        call.repeats = Repeats::Job;
        call
    }

    /// Waits for the turn of the attempt, if the policy has a rate.
    pub async fn turn<R: Clock + Sleep>(&mut self, runtime: &R) {
        self.state.wait_for_turn(&self.policy, runtime).await;
    }

    /// The rest of the deadline; [`Duration::MAX`] without a deadline.
    pub fn remaining<C: Clock>(&self, clock: &C) -> Duration {
        self.state.remaining(&Rules::of(&self.policy), clock)
    }

    /// The attempt after the wait begins.
    pub fn begins<C: Clock>(&mut self, clock: &C) {
        self.state.begins(clock);
    }

    /// An attempt failed: decides whether to wait or to stop, and reports to logs and metrics.
    pub fn failed<E: Fault, R: Clock + Random>(&mut self, runtime: &R, error: &E) -> Decision {
        if self.repeats == Repeats::Request {
            (&self.policy as &dyn CallPlan).warn_unasked("a client with a loop of its own");
        }
        self.with_call(runtime, |mut call| {
            call.failed(error, Stage::Whole, EndedBy::Operation)
        })
    }

    /// The loop ends after a wait, for a reason of its own. The policy's budget gets back the tokens that
    /// the wait has taken, and logs and metrics get the end.
    pub fn given_up<E: Fault, C: Clock + Random>(
        &mut self,
        clock: &C,
        error: &E,
        reason: StopReason,
    ) {
        self.with_call(clock, |mut call| {
            call.end(Some(error), None, End::GivenUp(reason));
        });
    }

    /// An attempt succeeded. The policy's budget gets its tokens back, and logs and metrics get the
    /// success.
    pub fn succeeded<E: Fault, C: Clock + Random>(&mut self, clock: &C) {
        self.with_call::<E, _, _>(clock, |mut call| call.succeeded(None));
    }

    fn with_call<E, R, T>(
        &mut self,
        runtime: &R,
        f: impl FnOnce(ErasedCall<'_, (), E, Repeats, R>) -> T,
    ) -> T {
        let operation = AnyOperation::named(self.operation);
        let (state, repeats) = (&mut self.state, &mut self.repeats);
        f(ErasedCall::new(
            &self.policy,
            operation,
            state,
            repeats,
            runtime,
        ))
    }

    /// A call succeeded, and nobody knows which one: the policy's budget gets the tokens of a success at the
    /// first attempt.
    pub fn one_succeeded(policy: &Policy) {
        CallState::new().return_tokens(policy.budget);
    }

    /// The call is dropped: the policy's budget gets back the tokens that a wait has taken.
    pub fn cancelled(&mut self) {
        self.state.cancelled(self.policy.budget);
    }
}
