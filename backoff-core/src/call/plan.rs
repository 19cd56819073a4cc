//! The policy of a call, and a budget, a rate, a breaker and a name of the call's own; and the guard that gives tokens back.

use super::call_state::CallState;
use crate::{
    breaker::{self, Admitted, Breaker},
    facts::fault::{Fault, FaultKind},
    judge::http_status,
    policy::Policy,
    rate::{self, RateChange, RateReply, begin_scope_without_rate, is_inside},
    state::{RetryState, Rules, SharedLimits},
};
use core::{ops::Deref, time::Duration};

/// The policy of a call, with the budget, the rate, the breaker and the name. This trait is used as an object, so that most
/// code after a failure is compiled once for all plans.
pub trait CallPlan {
    /// The policy.
    fn policy(&self) -> &Policy;

    /// What the call shares with other calls.
    #[inline]
    fn shared(&self) -> SharedLimits<'_> {
        SharedLimits::of(self.policy())
    }

    /// The name of the operation, if the call gives one.
    #[inline]
    fn operation(&self) -> Option<&'static str> {
        None
    }

    /// The rules before the settings of the call change them.
    #[inline]
    fn rules(&self) -> Rules<'_> {
        let mut rules = Rules::of(self.policy());
        rules.shared = self.shared();
        rules
    }
}

/// The longest pause of a server that counts for a rate: an hour.
const LONGEST_PAUSE: u64 = 3_600_000_000_000;

impl dyn CallPlan + '_ {
    /// A loop of this kind asks neither rate nor breaker before an attempt. The log says so once for each of them.
    pub(super) fn warn_unasked(&self, kind: &str) {
        const UNASKED: &str =
            "asks neither the rate nor the breaker of its policy before an attempt";
        let SharedLimits { rate, breaker, .. } = self.shared();
        let is_first = rate.is_some_and(|it| it.is_first_warning(UNASKED));
        if breaker.is_some_and(Breaker::is_first_unasked) || is_first {
            #[cfg(feature = "tracing")]
            tracing::warn!(target: "backoff", policy = self.policy().name, "{kind} {UNASKED}");
            let _ = kind;
        }
    }

    /// The call ends without a further attempt, or is dropped. The budget gets back the tokens of a wait that no attempt
    /// follows, and the rate gets back the share of an attempt.
    #[inline(always)]
    pub(super) fn give_back(&self, state: &mut CallState) {
        state.cancelled(self.shared().budget);
        let says_nothing = Some(FaultKind::Permanent);
        let _ = self.ended(state, None, says_nothing, None, || Duration::ZERO);
    }

    /// The attempt that the rate or the breaker counts has ended with this reply; with none if the server did not reply.
    /// For the breaker, the attempt has failed so, or has succeeded. Returns the change of the rate.
    #[inline(always)]
    pub(super) fn ended(
        &self,
        state: &mut CallState,
        reply: Option<RateReply>,
        failure: Option<FaultKind>,
        fault: Option<&dyn Fault>,
        now: impl Fn() -> Duration,
    ) -> Option<RateChange> {
        let (epoch, period) = state.retry.take_attempt();
        let shared = self.shared();
        // Without the feature, a call compiles nothing of a breaker.
        if cfg!(feature = "breaker")
            && let Some(breaker) = shared.breaker.filter(|_| period > 0)
        {
            let status = fault.and_then(http_status);
            breaker.ended_with(Admitted { period }, failure, status, &now);
        }
        let (rate, epoch) = (shared.rate?, epoch?);
        let attempt = (epoch, shared.tokens);
        if let Some(fault) = fault {
            let _runs = AttemptScope {
                in_rate: rate.begin_scope(attempt),
                in_probe: false,
            };
            fault.observe_quotas();
        }
        let Some(reply) = reply else {
            rate.gives_back(epoch);
            return None;
        };
        // A pause for which this call would not wait holds up nobody else.
        let policy = self.policy();
        let longest = policy.longest_hint(policy.deadline).min(LONGEST_PAUSE);
        let reply = match reply {
            RateReply::Refused { hint } if hint > longest => RateReply::Refused { hint: 0 },
            reply => reply,
        };
        rate.replied(reply, epoch, now)
    }
}

/// The plan of a call: `&Policy`, `Policy`, or one of them [`With`] something of the call's own.
#[doc(hidden)]
pub trait Plan: CallPlan + Clone {
    /// The same plan with a policy of its own.
    type Owned: Plan;

    /// The same plan with a copy of the policy.
    fn owned(&self) -> Self::Owned;
}

impl CallPlan for Policy {
    #[inline]
    fn policy(&self) -> &Policy {
        self
    }
}

impl Plan for Policy {
    type Owned = Policy;

    fn owned(&self) -> Policy {
        *self
    }
}

/// A reference to a policy, or a policy that several calls share.
impl<P: Deref<Target = Policy>> CallPlan for P {
    #[inline]
    fn policy(&self) -> &Policy {
        self
    }
}

impl<P: Deref<Target = Policy> + Clone> Plan for P {
    type Owned = Policy;

    fn owned(&self) -> Policy {
        **self
    }
}

/// A plan with a budget, a rate, a breaker, a number of tokens or a name of the call's own. Made by
/// [`Retrying::budget`](crate::Retrying::budget), [`Retrying::rate`](crate::Retrying::rate), `Retrying::breaker`, `Retrying::tokens` and
/// [`Retrying::operation`](crate::Retrying::operation).
#[derive(Clone, Copy, Debug)]
pub struct With<'b, P> {
    pub(crate) plan: P,
    pub(crate) shared: SharedLimits<'b>,
    pub(crate) operation: Option<&'static str>,
}

impl<P: CallPlan> CallPlan for With<'_, P> {
    #[inline]
    fn policy(&self) -> &Policy {
        self.plan.policy()
    }

    #[inline]
    fn shared(&self) -> SharedLimits<'_> {
        self.shared.or(self.plan.shared())
    }

    #[inline]
    fn operation(&self) -> Option<&'static str> {
        self.operation.or_else(|| self.plan.operation())
    }
}

impl<'b, P: Plan> Plan for With<'b, P> {
    type Owned = With<'b, P::Owned>;

    fn owned(&self) -> Self::Owned {
        With {
            plan: self.plan.owned(),
            shared: self.shared,
            operation: self.operation,
        }
    }
}

/// The state of a call, and the plan that has the budget of its waits. If the guard is dropped during a wait,
/// because the call is dropped or a hook panics, the budget gets its tokens back.
#[derive(Debug)]
pub struct Guard<P: CallPlan> {
    /// The plan.
    pub plan: P,
    /// The state of the call.
    pub state: CallState,
}

impl<P: CallPlan> Guard<P> {
    /// A call that has not begun.
    #[inline]
    pub const fn new(plan: P) -> Self {
        Guard {
            plan,
            state: CallState::new(),
        }
    }

    // Compiled once for each plan: then the compiler sees that nothing unwinds, and the drop of a call is cheaper.
    #[cold]
    #[inline(never)]
    fn give_back(&mut self) {
        let plan: &dyn CallPlan = &self.plan;
        plan.give_back(&mut self.state);
    }

    /// Until the value is dropped, this thread runs the attempt: replies with quotas belong to its rate, and calls inside are
    /// part of a probe.
    #[inline(always)]
    pub fn runs(&self) -> AttemptScope {
        let (retry, plan) = (&self.state.retry, &self.plan);
        if retry.is_in_flight() && plan.shared().needs_admission() {
            AttemptScope::of(plan.shared(), retry)
        } else {
            AttemptScope {
                in_rate: is_inside() && begin_scope_without_rate(),
                in_probe: false,
            }
        }
    }
}

/// An attempt that the thread runs until this is dropped.
pub struct AttemptScope {
    in_rate: bool,
    in_probe: bool,
}

impl AttemptScope {
    #[cold]
    #[inline(never)]
    fn of(shared: SharedLimits<'_>, retry: &RetryState) -> Self {
        let period = retry.period();
        AttemptScope {
            in_rate: match shared.rate.zip(retry.epoch()) {
                Some((rate, epoch)) => rate.begin_scope((epoch, shared.tokens)),
                None => is_inside() && begin_scope_without_rate(),
            },
            in_probe: shared
                .breaker
                .is_some_and(|it| it.begin_scope(Admitted { period })),
        }
    }
}

impl Drop for AttemptScope {
    #[inline]
    fn drop(&mut self) {
        if self.in_rate {
            rate::end_scope();
        }
        if self.in_probe {
            breaker::end_scope();
        }
    }
}

impl<P: CallPlan> Drop for Guard<P> {
    #[inline]
    fn drop(&mut self) {
        // A plan without a size is a constant, of which the compiler knows whether it shares anything.
        let shared = self.plan.shared();
        let may_share = size_of::<P>() > 0 || shared.budget.is_some() || shared.needs_admission();
        if may_share && self.state.retry.holds() {
            self.give_back();
        }
    }
}
