//! Who decides about an error: the policy's codes, or a function.

use super::opaque::named_in_debug;
use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage, Verdict},
    policy::Policy,
};

/// Decides about errors of the type `E`.
pub trait Judge<E> {
    /// The ruling about this error, apart from the limits.
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling;

    /// The facts that the error reports about itself, if it reports any.
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault>;

    /// The ruling about a failure at this stage. Asks the judge if the stage is judged.
    #[inline]
    fn rule(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        if stage.is_judged() {
            self.judge(policy, stage, error)
        } else {
            stage.ruling(policy)
        }
    }
}

/// No type implements this trait: its message says that `when` is a method of the policy.
#[diagnostic::on_unimplemented(
    message = "`when` must come before the operation: write `POLICY.when(..).retry(..)`",
    label = "`when` is a method of the policy"
)]
pub trait Replaced {}

/// The policy's codes judge; the error is a [`Fault`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ByCodes;

impl<E: Fault> Judge<E> for ByCodes {
    #[inline]
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        policy.rule(stage, error)
    }

    #[inline]
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
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
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        policy.said(stage, (self.0)(error).into(), Some(error))
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }
}

/// The caller's function judges errors of any type. Made by [`Policy::when_any`].
#[derive(Clone, Copy)]
pub struct WhenAny<F>(pub(super) F);

impl<E, F, V> Judge<E> for WhenAny<F>
where
    F: Fn(&E) -> V,
    V: Into<Verdict>,
{
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        policy.said(stage, (self.0)(error).into(), None)
    }

    fn fault<'e>(&self, _error: &'e E) -> Option<&'e dyn Fault> {
        None
    }
}
