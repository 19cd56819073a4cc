//! What a call remembers for the attempts that ask: its id, and whether an earlier attempt may have been
//! applied. A call whose operation is given no `Attempt` compiles nothing of this.

use super::handler::{Handle, Handler, forward};
use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage},
    observe::Event,
    policy::Policy,
    report::Measures,
    runtime::{Clock, Random},
    state::{Next, Overrides, RequestId, RetryState},
};

/// What each [`Attempt`](crate::Attempt) of a call says of the call.
#[derive(Clone, Copy, Debug)]
pub struct Recall {
    pub(crate) id: RequestId,
    pub(crate) maybe_applied: bool,
}

impl Recall {
    /// Before the first attempt. The id is drawn.
    #[inline]
    pub(crate) fn new<R: Random>(runtime: &R) -> Self {
        Recall {
            id: RequestId::random(runtime),
            maybe_applied: false,
        }
    }
}

/// Calls with the handler as it is, or with one that remembers for the operation's attempts.
macro_rules! recalling {
    ($operation:expr, $handler:ident => $call:expr) => {
        if O::RECALLS
            && let Some(recall) = $operation.recall()
        {
            let lent = crate::drive::handler::Lent { inner: $handler };
            let $handler = &mut crate::drive::recall::Recalling::new(lent, recall);
            $call
        } else {
            $call
        }
    };
}

pub(super) use recalling;

/// A handler that remembers whether an attempt may have been applied.
#[derive(Debug)]
pub struct Recalling<'r, H> {
    inner: H,
    recall: &'r mut Recall,
}

impl<'r, H> Recalling<'r, H> {
    pub(crate) const fn new(inner: H, recall: &'r mut Recall) -> Self {
        Recalling { inner, recall }
    }
}

impl<H: Handler> Handler for Recalling<'_, H> {
    const MEASURES: bool = H::MEASURES;
    const LISTENS: bool = H::LISTENS;
    const WANTS_RULINGS: bool = true;

    forward!(runtime policy measures overrides decide hold);

    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
        self.recall.maybe_applied |= ruling.leaves_doubt(stage, fault);
        self.inner.judged(stage, ruling, fault);
    }
}

impl<E, H: Handle<E>> Handle<E> for Recalling<'_, H> {
    forward!(judge keep notify);
}
