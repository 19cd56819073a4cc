//! The settings of a call, each in a slot of its own. An empty slot costs nothing, and no slot knows
//! another.

#[cfg(feature = "tower")]
use super::rules::Responses;
use super::{
    around::Around,
    attempt_failure::AttemptFailure,
    context::{Called, Context},
    handler::Handler,
    judges::{ByCodes, Judge},
    limit::Limit,
    operation::Operation,
    plan::Plan,
    rules::Rules,
    watch::Watch,
};
use crate::{
    delay::Delay,
    facts::fault::Fault,
    judge::{Ruling, Stage},
    observe::{Event, Notify},
    policy::Policy,
    state::Decision,
};
use core::time::Duration;

/// The settings of a call, apart from its plan, its runtime and its signal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings<J = ByCodes, N = (), D = (), X = (), L = (), C = (), M = ()> {
    /// Who decides about errors.
    pub(crate) judge: J,
    /// The hooks.
    pub(crate) hook: N,
    /// The caller's own waits.
    pub(crate) delays: D,
    /// The rules about values: `until`, `conflict_if`, `responses`.
    pub(crate) rules: X,
    /// The time limits.
    pub(crate) limit: L,
    /// The spans around attempts.
    pub(crate) around: C,
    /// The report, or the memory of an annotated function.
    pub(crate) watch: M,
}

impl<J> Settings<J> {
    /// This judge, and no other setting.
    #[inline]
    pub(crate) const fn of(judge: J) -> Self {
        Settings {
            judge,
            hook: (),
            delays: (),
            rules: (),
            limit: (),
            around: (),
            watch: (),
        }
    }
}

#[cfg(feature = "tower")]
impl<J> Settings<J, (), (), Responses> {
    /// This judge, and responses are judged as errors are.
    pub(crate) const fn judging_responses(judge: J) -> Self {
        Settings {
            judge,
            hook: (),
            delays: (),
            rules: Responses,
            limit: (),
            around: (),
            watch: (),
        }
    }
}

/// A method that changes one slot.
macro_rules! slot {
    ($slot:ident: $old:ident => $settings:ty, $($other:ident)+) => {
        #[inline]
        pub(crate) fn $slot<New>(self, change: impl FnOnce($old) -> New) -> $settings {
            Settings {
                $slot: change(self.$slot),
                $($other: self.$other,)+
            }
        }
    };
}

impl<J, N, D, X, L, C, M> Settings<J, N, D, X, L, C, M> {
    slot!(hook: N => Settings<J, New, D, X, L, C, M>, judge delays rules limit around watch);
    slot!(delays: D => Settings<J, N, New, X, L, C, M>, judge hook rules limit around watch);
    slot!(rules: X => Settings<J, N, D, New, L, C, M>, judge hook delays limit around watch);
    slot!(limit: L => Settings<J, N, D, X, New, C, M>, judge hook delays rules around watch);
    #[cfg(feature = "tracing")]
    slot!(around: C => Settings<J, N, D, X, L, New, M>, judge hook delays rules limit watch);
    slot!(watch: M => Settings<J, N, D, X, L, C, New>, judge hook delays rules limit around);
}

impl<J, N, D, X, L, C, M> Settings<J, N, D, X, L, C, M> {
    /// The rules of a call and the name of its operation. The host is not in it, because it would be
    /// borrowed from the operation, which an attempt changes.
    #[inline]
    pub(crate) fn context<'a, P, O>(&self, plan: &'a P, operation: &O) -> Context<'a>
    where
        P: Plan,
        O: Operation,
        X: Rules<O::Value, O::Error>,
        L: Limit,
    {
        let of_operation = self.rules.overrides(operation.overrides());
        Context {
            policy: plan.policy(),
            overrides: plan.overrides(self.limit.overrides(of_operation)),
            called: Called::Name(plan.operation().unwrap_or_else(|| operation.name())),
        }
    }
}

/// The types of the parts of a running attempt that the settings choose.
pub trait AttemptTypes {
    /// An attempt, with its span if it has one.
    type Attempt<A>;
    /// The timer that cuts an attempt.
    type Timer<S>;
}

impl<J, N, D, X, L: Limit, C: Around, M> AttemptTypes for Settings<J, N, D, X, L, C, M> {
    type Attempt<A> = C::Attempt<A>;
    type Timer<S> = L::Timer<S>;
}

impl<E, J, N, D, X, L, C, M> Handler<E> for Settings<J, N, D, X, L, C, M>
where
    J: Judge<E>,
    N: Notify<E>,
    D: Delays,
    C: Watch<E>,
    M: Watch<E>,
{
    const LISTENS: bool = N::LISTENS;
    const WANTS_RULINGS: bool = M::WANTS_RULINGS;

    #[inline]
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        self.judge.judge(policy, stage, error)
    }

    #[inline]
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        self.judge.fault(error)
    }

    #[inline]
    fn delays(&self) -> Option<&dyn Delay> {
        self.delays.delays()
    }

    #[inline]
    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
        self.watch.judged(stage, ruling, fault);
    }

    #[inline]
    fn measure(
        &mut self,
        attempt_failure: AttemptFailure<'_>,
        is_conflict: bool,
        next: Decision,
        elapsed: impl FnOnce() -> Duration,
    ) {
        self.around.ended(Some(attempt_failure));
        self.watch.ended(Some(attempt_failure));
        self.watch
            .measure(attempt_failure, is_conflict, next, elapsed);
    }

    #[inline]
    fn succeeded(&mut self) {
        self.around.ended(None);
        self.watch.ended(None);
    }

    #[inline]
    fn notify(&mut self, event: &Event<'_, E>) {
        self.hook.notify(event);
    }
}

/// The waits of a call: those of the policy, or the caller's own.
pub trait Delays {
    /// The caller's own waits.
    fn delays(&self) -> Option<&dyn Delay>;
}

impl Delays for () {
    #[inline]
    fn delays(&self) -> Option<&dyn Delay> {
        None
    }
}

impl<D: Delay> Delays for D {
    #[inline]
    fn delays(&self) -> Option<&dyn Delay> {
        Some(self)
    }
}
