//! The changed rules for an update while one of its writes may have been applied. A call that is not an
//! update compiles nothing of this.

use super::{
    course::Course,
    ending::Ending,
    handler::{Handle, Handler, Ruled, forward},
};
use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage},
    observe::{Event, Failure},
    policy::Policy,
    report::{Measures, StopReason},
    runtime::{Clock, Random},
    state::{Next, RetryState, Terms},
};

/// Whether a write of an update may have been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// No write may have been applied.
    None,
    /// The write that failed just now may have been applied, if its failure is retried.
    New,
    /// An earlier write may have been applied.
    Open,
}

/// Calls with the handler itself, or with a handler that knows of the doubt.
macro_rules! in_doubt {
    ($doubt:ident, $handler:ident => $call:expr) => {
        match $doubt {
            Doubt::None => $call,
            doubt => {
                let $handler = &mut InDoubt {
                    inner: $handler,
                    doubt,
                };
                $call
            }
        }
    };
}

impl Doubt {
    /// As [`Course::failed`]. If the judge was asked before, its ruling is used.
    #[inline]
    #[expect(clippy::too_many_arguments)]
    pub(super) fn failed<E, H>(
        self,
        course: &mut Course,
        policy: &Policy,
        handler: &mut H,
        name: &'static str,
        error: &E,
        stage: Stage,
        terms: Option<&Terms<'_>>,
        said: Option<Ruling>,
    ) -> Next
    where
        H: Handle<E>,
        H::Runtime: Clock + Random,
    {
        // Only an operation that asks the judge knows of a doubt.
        let Some(ruling) = said else {
            return course.failed(policy, handler, name, error, stage, terms);
        };
        let inner = handler;
        let handler = &mut Ruled { inner, ruling };
        in_doubt!(self, handler => course.failed(policy, handler, name, error, stage, terms))
    }

    /// As [`Course::expired`].
    pub(super) fn expired<E, H>(
        self,
        course: &mut Course,
        policy: &Policy,
        handler: &mut H,
        name: &'static str,
        error: &E,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        in_doubt!(self, handler => course.expired(policy, handler, name, error));
    }

    /// As [`Course::late`].
    #[inline]
    pub(super) fn late<E, H>(
        self,
        course: &mut Course,
        policy: &Policy,
        handler: &mut H,
        name: &'static str,
        failure: Failure<'_, E>,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        in_doubt!(self, handler => course.late(policy, handler, name, failure));
    }

    /// As [`Course::cut`].
    pub(super) fn cut<E, H>(
        self,
        course: &mut Course,
        policy: &Policy,
        handler: &mut H,
        name: &'static str,
        error: &E,
        ending: Ending<'_>,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        in_doubt!(self, handler => course.cut(policy, handler, name, error, ending));
    }

    /// As [`Course::stopped`].
    pub(super) fn stopped<E, H>(
        self,
        course: &mut Course,
        policy: &Policy,
        handler: &mut H,
        name: &'static str,
        failure: Failure<'_, E>,
    ) where
        H: Handle<E>,
        H::Runtime: Clock,
    {
        in_doubt!(self, handler => course.stopped(policy, handler, name, failure));
    }
}

/// The handler of an update while one of its writes may have been applied.
struct InDoubt<'a, H> {
    inner: &'a mut H,
    doubt: Doubt,
}

impl<H: Handler> Handler for InDoubt<'_, H> {
    forward!(runtime policy measure terms decide hold);

    /// The writer that won against a second write may be the first write of this update.
    fn corrected(&self, stage: Stage, ruling: Ruling) -> Ruling {
        if self.doubt == Doubt::Open && stage != Stage::Read && ruling.is_conflict() {
            Ruling::MAYBE_APPLIED
        } else {
            ruling
        }
    }

    /// While a write may have been applied, this is the reason for the end.
    fn concluded(&self, next: Next) -> Next {
        let is_refused = matches!(
            next.reason(),
            Some(StopReason::Permanent | StopReason::NothingKnown | StopReason::StoppedByServer)
        );
        match self.doubt {
            Doubt::None => next,
            Doubt::New if is_refused => next,
            Doubt::New | Doubt::Open if next.is_wait() => next,
            Doubt::New | Doubt::Open => Next::stop(StopReason::MaybeApplied),
        }
    }
}

impl<E, H: Handle<E>> Handle<E> for InDoubt<'_, H> {
    forward!(judge keep notify);
}
