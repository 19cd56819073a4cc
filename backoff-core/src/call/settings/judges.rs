//! Who decides about an error: the policy's codes, or a function.

use crate::{
    call::setting::{Setting, surrounds_nothing},
    facts::fault::{Fault, TimedOut},
    judge::Verdict,
    named_debug::named_in_debug,
    policy::Policy,
    stage::Stage,
    state::Rules,
};
use core::time::Duration;

/// Decides about errors of the type `E`.
#[doc(hidden)]
pub trait Judge<E> {
    /// The verdict about this error, apart from the limits.
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Verdict;

    /// The facts that the error reports about itself, if it reports any.
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault>;

    /// How an error is made of a call that ends before an attempt.
    #[inline]
    fn late() -> Option<fn(TimedOut) -> E>
    where
        Self: Sized,
    {
        None
    }
}

/// The first setting of a call: its judge.
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct By<J>(#[doc(hidden)] pub J);

surrounds_nothing!(By<J>: J);

impl<T, E, J: Judge<E>> Setting<T, E> for By<J> {
    #[inline]
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Option<Verdict> {
        Some(self.0.judge(policy, stage, error))
    }

    #[inline]
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        self.0.fault(error)
    }

    #[inline]
    fn rules<'a>(&'a self, rules: &mut Rules<'a>) {
        if J::late().is_some() {
            rules.max_queue_time.get_or_insert(Duration::MAX);
        }
    }

    #[inline]
    fn expired(late: TimedOut) -> Option<E> {
        J::late().map(|make| make(late))
    }
}

/// The policy's codes judge; the error is a [`Fault`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ByCodes;

impl<E: Fault> Judge<E> for ByCodes {
    #[inline]
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Verdict {
        policy.rule(stage, error)
    }

    #[inline]
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }

    #[inline]
    fn late() -> Option<fn(TimedOut) -> E> {
        E::late()
    }
}

named_in_debug!(WhenAny, When);

/// The caller's function judges, about a [`Fault`] whose hints are kept. Made by
/// [`Policy::when`].
#[derive(Clone, Copy)]
pub struct When<F>(#[doc(hidden)] pub F);

impl<E, F, V> Judge<E> for When<F>
where
    E: Fault,
    F: Fn(&E) -> V,
    V: Into<Verdict>,
{
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Verdict {
        policy.rule_by_verdict(stage, (self.0)(error).into(), Some(error))
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }

    #[inline]
    fn late() -> Option<fn(TimedOut) -> E> {
        E::late()
    }
}

/// The caller's function judges errors of any type. Made by [`Policy::when_any`].
#[derive(Clone, Copy)]
pub struct WhenAny<F>(pub(crate) F);

impl<E, F, V> Judge<E> for WhenAny<F>
where
    F: Fn(&E) -> V,
    V: Into<Verdict>,
{
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Verdict {
        policy.rule_by_verdict(stage, (self.0)(error).into(), None)
    }

    fn fault<'e>(&self, _error: &'e E) -> Option<&'e dyn Fault> {
        None
    }
}
