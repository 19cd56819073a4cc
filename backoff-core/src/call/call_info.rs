//! What a call remembers for the attempts that ask: its id, and whether an earlier attempt may have been
//! applied. A call whose operation is given no `Attempt` compiles nothing of this.

use crate::{runtime::Random, state::RequestId};

/// The information that each [`Attempt`](crate::Attempt) has about its call.
#[derive(Clone, Copy, Debug)]
pub struct CallInfo {
    pub(crate) id: RequestId,
    pub(crate) maybe_applied: bool,
}

impl CallInfo {
    /// Before the first attempt. The id is drawn.
    #[inline]
    pub(crate) fn new(random: &dyn Random) -> Self {
        CallInfo {
            id: RequestId::random(random),
            maybe_applied: false,
        }
    }
}
