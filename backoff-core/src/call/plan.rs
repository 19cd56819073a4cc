//! The policy of a call, and a budget, a rate, a breaker and a name of the call's own; and the guard that gives tokens back.

use super::call_state::CallState;
#[cfg(feature = "combine")]
use crate::state::Together;
use crate::{
    breaker::{self, Admitted, Breaker},
    budget::Budget,
    facts::fault::{Fault, FaultKind},
    judge::http_status,
    policy::Policy,
    rate::{self, NO_TOKENS, Rate, RateChange, Reply, Tokens, enters_without_rate, is_inside},
    state::{RetryState, Rules},
};
use core::{ops::Deref, time::Duration};

/// The policy of a call, with the budget, the rate, the breaker and the name. This trait is used as an object, so that most
/// code after a failure is compiled once for all plans.
pub trait CallPlan {
    /// The policy.
    fn policy(&self) -> &Policy;

    /// Whether the policy alone gives the rules.
    #[inline]
    fn is_plain(&self) -> bool {
        true
    }

    /// The budget whose tokens the retries take.
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.policy().budget
    }

    /// The rate that says when an attempt begins.
    #[inline]
    fn rate(&self) -> Option<&Rate> {
        self.policy().shared_rate()
    }

    /// The breaker that ends the call while a service is down.
    #[inline]
    fn breaker(&self) -> Option<&Breaker> {
        self.policy().shared_breaker()
    }

    /// Whether an attempt asks a rate or a breaker before it begins.
    #[inline]
    fn has_gate(&self) -> bool {
        self.policy().has_gate()
    }

    /// How many tokens of a quota an attempt uses.
    #[inline]
    fn tokens(&self) -> Tokens {
        self.policy().tokens
    }

    /// The name of the operation, if the call gives one.
    #[inline]
    fn operation(&self) -> Option<&'static str> {
        None
    }

    /// Whether a rate or a breaker counts the attempt that runs.
    #[inline]
    fn counts(&self, retry: &RetryState) -> bool {
        retry.is_in_flight()
    }

    /// The rules before the settings of the call change them.
    fn rules(&self) -> Rules<'_> {
        Rules::with_budget(self.policy(), self.budget())
    }
}

/// The longest pause of a server that counts for a rate: an hour.
const LONGEST_PAUSE: u64 = 3_600_000_000_000;

impl dyn CallPlan + '_ {
    /// A loop of this kind asks neither rate nor breaker before an attempt. The log says so once for each of them.
    pub(super) fn warn_unasked(&self, kind: &str) {
        const UNASKED: &str =
            "asks neither the rate nor the breaker of its policy before an attempt";
        let is_first = self.rate().is_some_and(|it| it.is_first_warning(UNASKED));
        if self.breaker().is_some_and(Breaker::is_first_unasked) || is_first {
            #[cfg(feature = "tracing")]
            tracing::warn!(target: "backoff", policy = self.policy().name, "{kind} {UNASKED}");
            let _ = kind;
        }
    }

    /// The call ends without a further attempt, or is dropped. The budget gets back the tokens of a wait that no attempt
    /// follows, and the rate gets back the share of an attempt.
    #[inline(always)]
    pub(super) fn give_back(&self, state: &mut CallState) {
        state.cancelled(self.budget());
        let says_nothing = Some(FaultKind::Permanent);
        let _ = self.ended(state, None, says_nothing, None, || Duration::ZERO);
    }

    /// The attempt that the rate or the breaker counts has ended with this reply; with none if the server did not reply.
    /// For the breaker, the attempt has failed so, or has succeeded. Returns the change of the rate.
    #[inline(always)]
    pub(super) fn ended(
        &self,
        state: &mut CallState,
        reply: Option<Reply>,
        failure: Option<FaultKind>,
        fault: Option<&dyn Fault>,
        now: impl Fn() -> Duration,
    ) -> Option<(RateChange, Option<&'static str>)> {
        let (epoch, period) = state.retry.take_attempt();
        // Without the feature, a call compiles nothing of a breaker.
        if cfg!(feature = "breaker")
            && let Some(breaker) = self.breaker().filter(|_| period > 0)
        {
            let status = fault.and_then(http_status);
            breaker.ended_with(Admitted { period }, failure, status, &now);
        }
        let (rate, epoch) = (self.rate()?, epoch?);
        let attempt = (epoch, self.tokens());
        if let Some(fault) = fault {
            let _runs = Running {
                in_rate: rate.enters(attempt),
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
            Reply::Refused { hint } if hint > longest => Reply::Refused { hint: 0 },
            reply => reply,
        };
        Some((rate.replied(reply, epoch, now)?, rate.label()))
    }
}

/// Several calls together.
#[cfg(feature = "combine")]
impl CallPlan for Together {
    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn rules(&self) -> Rules<'_> {
        Together::rules(self)
    }
}

/// The plan of a call: `&Policy`, `Policy`, or one of them [`With`] something of the call's own.
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
/// [`Retrying::budget`](super::Retrying::budget), [`Retrying::rate`](super::Retrying::rate), `Retrying::breaker`, `Retrying::tokens` and
/// [`Retrying::operation`](super::Retrying::operation).
#[derive(Clone, Copy, Debug)]
pub struct With<'b, P> {
    pub(crate) plan: P,
    pub(crate) budget: Option<&'b Budget>,
    pub(crate) rate: Option<&'b Rate>,
    pub(crate) breaker: Option<&'b Breaker>,
    pub(crate) tokens: Tokens,
    pub(crate) operation: Option<&'static str>,
}

impl<P> With<'_, P> {
    /// The plan as it is.
    pub(crate) const fn nothing(plan: P) -> Self {
        With {
            plan,
            budget: None,
            rate: None,
            breaker: None,
            tokens: NO_TOKENS,
            operation: None,
        }
    }
}

impl<P: CallPlan> CallPlan for With<'_, P> {
    #[inline]
    fn policy(&self) -> &Policy {
        self.plan.policy()
    }

    #[inline]
    fn is_plain(&self) -> bool {
        self.budget.is_none() && self.plan.is_plain()
    }

    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.budget.or_else(|| self.plan.budget())
    }

    #[inline]
    fn rate(&self) -> Option<&Rate> {
        self.rate.or_else(|| self.plan.rate())
    }

    #[inline]
    fn breaker(&self) -> Option<&Breaker> {
        self.breaker.or_else(|| self.plan.breaker())
    }

    #[inline]
    fn has_gate(&self) -> bool {
        self.rate.is_some() || self.breaker.is_some() || self.plan.has_gate()
    }

    #[inline]
    fn tokens(&self) -> Tokens {
        self.tokens.max(self.plan.tokens())
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
            budget: self.budget,
            rate: self.rate,
            breaker: self.breaker,
            tokens: self.tokens,
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
    pub fn runs(&self) -> Running {
        let (retry, plan) = (&self.state.retry, &self.plan);
        if retry.is_in_flight() && plan.has_gate() {
            // Copies, because a state to which nothing refers stays in registers.
            Running::of(plan.rate(), plan.tokens(), plan.breaker(), *retry)
        } else {
            Running {
                in_rate: is_inside() && enters_without_rate(),
                in_probe: false,
            }
        }
    }
}

/// An attempt that the thread runs until this is dropped.
pub struct Running {
    in_rate: bool,
    in_probe: bool,
}

impl Running {
    #[cold]
    #[inline(never)]
    fn of(
        rate: Option<&Rate>,
        tokens: Tokens,
        breaker: Option<&Breaker>,
        retry: RetryState,
    ) -> Self {
        let period = retry.period();
        Running {
            in_rate: match rate.zip(retry.epoch()) {
                Some((rate, epoch)) => rate.enters((epoch, tokens)),
                None => is_inside() && enters_without_rate(),
            },
            in_probe: breaker.is_some_and(|it| it.enters(Admitted { period })),
        }
    }
}

impl Drop for Running {
    #[inline]
    fn drop(&mut self) {
        if self.in_rate {
            rate::leaves();
        }
        if self.in_probe {
            breaker::leaves();
        }
    }
}

impl<P: CallPlan> Drop for Guard<P> {
    #[inline]
    fn drop(&mut self) {
        // A plan without a size is a constant, of which the compiler knows whether it shares anything.
        let may_share = size_of::<P>() > 0 || self.plan.budget().is_some() || self.plan.has_gate();
        if may_share && self.state.retry.holds() {
            self.give_back();
        }
    }
}
