//! A call with a loop outside of this library: the loop of a client. The loop asks after each attempt,
//! and hooks, logs and metrics get the same events as from a loop of this library.

#[cfg(feature = "metrics")]
use super::call_metrics;
use super::{
    call_state::{CallEnd, CallState},
    context::Context,
    judges::Judge,
    settings::Settings,
};
use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage},
    observe::Failure,
    policy::Policy,
    report::StopReason,
    runtime::{Clock, Random},
    state::{Decision, Overrides},
};
use core::time::Duration;

/// The state of such a call. Its attempts are cut when the deadline is over.
#[derive(Clone, Copy, Debug)]
pub struct ForeignCall {
    state: CallState,
}

/// The policy's codes judge, and a conflict is never repeated.
#[derive(Clone, Copy, Debug)]
struct SameRequest;

impl<E: Fault> Judge<E> for SameRequest {
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        let ruling = policy.rule(stage, error);
        // The same write would conflict again. Only a new read helps, and the read is outside of this call.
        if ruling.is_conflict() {
            Ruling::PERMANENT
        } else {
            ruling
        }
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }
}

/// An attempt is cut at the deadline: a wait that ends just then leaves no time for one.
const CUT: Option<Overrides<'static>> = Some(Overrides::cut(None, None));

/// The settings of such a call.
const SETTINGS: Settings<SameRequest> = Settings::of(SameRequest);

impl ForeignCall {
    /// Whether logs or metrics get each call.
    pub const IS_HEARD: bool = cfg!(any(feature = "metrics", feature = "tracing"));

    /// A call whose first attempt began at `started`, with this number of failed attempts. After a failure,
    /// the beginning of the running attempt and the time spent waiting are unknown, so neither is recorded.
    pub fn resumed(started: Duration, failures: u32) -> Self {
        ForeignCall {
            state: CallState::resumed(started, failures),
        }
    }

    /// Draws the waits before the next one again, for a policy whose waits grow from the waits before.
    /// The loop that has waited tells only how often.
    pub fn draw_waits(&mut self, policy: &Policy, random: &impl Random) {
        self.state.draw_waits(policy, random);
    }

    /// The rest of the deadline; [`Duration::MAX`] without a deadline.
    pub fn remaining<C: Clock>(&self, policy: &Policy, clock: &C) -> Duration {
        self.state.remaining(&Context::of(policy, ""), clock)
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
        let context = Context {
            overrides: CUT,
            ..Context::of(policy, operation)
        };
        self.state
            .failed(
                &context,
                &mut { SETTINGS },
                runtime,
                error,
                Stage::Whole,
                (),
            )
            .into()
    }

    /// The loop ends after a wait, for a reason of its own. The policy's budget gets back the tokens that
    /// it paid for the wait, and logs and metrics get the end.
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
        let end = CallEnd::given_up(Failure::new(Some(error), Some(error)), reason);
        self.state.ended(
            &Context::of(policy, operation),
            &mut { SETTINGS },
            clock,
            end,
        );
    }

    /// An attempt succeeded. The policy's budget gets its tokens back, and logs and metrics get the
    /// success.
    pub fn succeeded<E, C>(&self, policy: &Policy, clock: &C, operation: &'static str)
    where
        E: Fault,
        C: Clock,
    {
        let state = self.state;
        state.succeeded::<E, _, _>(&Context::of(policy, operation), &mut { SETTINGS }, clock);
    }

    /// A call succeeded, and nobody knows which one: the policy's budget gets the tokens of a success at the
    /// first attempt.
    pub fn one_succeeded(policy: &Policy) {
        CallState::new().progressed(policy);
        #[cfg(feature = "metrics")]
        call_metrics::level(policy.budget);
    }

    /// No attempt follows the wait: the policy's budget gets back the tokens that it paid for the wait.
    pub fn cancelled(&mut self, policy: &Policy) {
        self.state.cancelled(policy.budget);
    }
}
