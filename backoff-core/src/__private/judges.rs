//! The judges of the errors of an annotated function.

use crate::{
    call::settings::{
        judges::{By, ByCodes, Judge},
        notify::Notify,
    },
    event::hook::Event,
    facts::fault::Fault,
    judge::Verdict,
    policy::Policy,
    stage::Stage,
};

use core::marker::PhantomData;

use super::{outcome::Outcome, outcomes::Find};

/// The policy's codes judge the error, which is a fault.
pub const BY_CODES: By<ByCodes> = By(ByCodes);

/// The policy's codes judge a fault that `find` finds, if the fault has facts. Any other error is
/// retried.
#[inline]
pub fn every<R: Outcome>(_outcome: &R, find: Find<R::Error>) -> By<ByFacts<Find<R::Error>>> {
    By(ByFacts {
        find,
        repeats_unknown: true,
    })
}

/// The type of the error.
#[inline]
pub fn error_of<R: Outcome>(_outcome: &R) -> PhantomData<R::Error> {
    PhantomData
}

/// The user's function judges; a hint is obeyed if `find` finds a fault. The compiler knows the type of
/// the error from the function before it reads `find`. The type of the judge depends on what the function
/// returns, so that the compiler reports a wrong function only once.
#[inline]
pub fn when<E, F, V>(
    _error: PhantomData<E>,
    judge: F,
    find: impl FnOnce() -> Find<E>,
) -> By<V::As<When<F, Find<E>>>>
where
    F: Fn(&E) -> V,
    V: Judgement,
{
    let find = find();
    By(V::typed(When { judge, find }))
}

/// The return type of a function that judges an error.
#[diagnostic::on_unimplemented(
    message = "`when` takes a function that returns a `bool` or a `Verdict`",
    label = "this function returns `{Self}`"
)]
pub trait Judgement {
    /// The same type.
    type As<T>;

    /// The same value.
    fn typed<T>(judge: T) -> Self::As<T>;
}

impl Judgement for bool {
    type As<T> = T;

    #[inline]
    fn typed<T>(judge: T) -> T {
        judge
    }
}

impl Judgement for Verdict {
    type As<T> = T;

    #[inline]
    fn typed<T>(judge: T) -> T {
        judge
    }
}

/// The user's patterns judge; if no pattern matches, the policy's codes judge.
#[inline]
pub fn or<R, F>(_outcome: &R, matches: F) -> By<Or<F>>
where
    R: Outcome,
    R::Error: Fault,
    F: Fn(&R::Error) -> bool,
{
    By(Or(matches))
}

/// The policy's codes judge the fault that `find` finds. An error without one is not retried.
#[inline]
pub fn found<R: Outcome>(_outcome: &R, find: Find<R::Error>) -> By<ByFacts<Find<R::Error>>> {
    By(ByFacts {
        find,
        repeats_unknown: false,
    })
}

/// The same settings, and the user's hook.
#[inline]
pub fn notified<R, S, N>(_outcome: &R, settings: S, hook: N) -> (S, Notify<N>)
where
    R: Outcome,
    N: FnMut(&Event<'_, R::Error>),
{
    (settings, Notify(hook))
}

/// The facts of an error decide. Without facts, the error is repeated or not.
#[derive(Debug)]
pub struct ByFacts<K> {
    find: K,
    repeats_unknown: bool,
}

/// Made by [`when`].
#[derive(Debug)]
pub struct When<F, K> {
    judge: F,
    find: K,
}

/// Made by [`or`].
#[derive(Debug)]
pub struct Or<F>(F);

impl<E, K> Judge<E> for ByFacts<K>
where
    K: Fn(&E) -> Option<&dyn Fault>,
{
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Verdict {
        match (self.find)(error) {
            fault if self.repeats_unknown => policy.rule_any(stage, fault),
            Some(fault) => policy.rule(stage, fault),
            None => Verdict::NothingKnown,
        }
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        (self.find)(error)
    }
}

impl<E, F, V, K> Judge<E> for When<F, K>
where
    F: Fn(&E) -> V,
    V: Into<Verdict>,
    K: Fn(&E) -> Option<&dyn Fault>,
{
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Verdict {
        let verdict = (self.judge)(error).into();
        policy.rule_by_verdict(stage, verdict, (self.find)(error))
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        (self.find)(error)
    }
}

impl<E, F> Judge<E> for Or<F>
where
    E: Fault,
    F: Fn(&E) -> bool,
{
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Verdict {
        match (self.0)(error) {
            true => policy.rule_by_verdict(stage, true.into(), Some(error)),
            false => policy.rule(stage, error),
        }
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{facts::fault::FaultKind, test_error::TestError};

    #[test]
    fn a_matched_error_is_judged_in_the_order_of_a_policy() {
        let careful = Policy::exponential().idempotent(false);
        let permanent = TestError::kind(FaultKind::Permanent);
        let stops = TestError::LOST.asking_to_stop();
        for (failure, verdict) in [
            (TestError::LOST, Verdict::MaybeApplied),
            (stops, Verdict::StoppedByServer),
            (permanent, Verdict::MaybeApplied),
            (
                TestError::REFUSED.and_kind(FaultKind::Permanent),
                Verdict::from(true),
            ),
        ] {
            let or = Or(|_: &TestError| true);
            let judged = or.judge(&careful, Stage::Whole, &failure);
            assert_eq!(judged, verdict, "{failure:?}");
        }
        assert_eq!(careful.judge(&stops), Verdict::StoppedByServer);
    }
}
