//! Without the standard library, no call knows that it is inside of a probe.

use super::{Admitted, Breaker};

pub(crate) const fn end_scope() {}

impl Breaker {
    pub(crate) const fn begin_scope(&self, _: Admitted) -> bool {
        false
    }

    pub(super) const fn running_probe(&self) -> Option<Admitted> {
        None
    }
}
