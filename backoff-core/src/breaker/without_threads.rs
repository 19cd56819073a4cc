//! Without the standard library, no call knows that it is inside of a probe.

use super::{Admitted, Breaker};
use core::convert::Infallible;

pub(crate) type Runs = Infallible;

impl Breaker {
    pub(crate) const fn runs(&self, _: Admitted) -> Option<Runs> {
        None
    }

    pub(super) const fn running_probe(&self) -> Option<Admitted> {
        None
    }
}
