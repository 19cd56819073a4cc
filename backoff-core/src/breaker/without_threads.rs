//! Without the standard library, no call knows that it is inside of a probe.

use super::{Admitted, Breaker};

pub(crate) const fn leaves() {}

impl Breaker {
    pub(crate) const fn enters(&self, _: Admitted) -> bool {
        false
    }

    pub(super) const fn running_probe(&self) -> Option<Admitted> {
        None
    }
}
