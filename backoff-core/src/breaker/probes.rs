//! The probes that a thread runs: a call inside of a probe is part of the probe.

use super::{Admitted, Breaker};
use crate::running::{Stack, enter, leave};
use core::cell::RefCell;

/// The address of the breaker, and the probe.
type Probe = (usize, Admitted);

std::thread_local! {
    static PROBES: Stack<Probe> = const { RefCell::new(Vec::new()) };
}

/// The thread does not run the innermost probe any more.
#[cold]
#[inline(never)]
pub(crate) fn end_scope() {
    leave(&PROBES);
}

impl Breaker {
    fn probe(&self, admitted: Admitted) -> Probe {
        (core::ptr::from_ref(self).addr(), admitted)
    }

    /// The attempt runs on this thread, until [`end_scope`], if it is a probe. Returns whether it does.
    pub(crate) fn begin_scope(&self, attempt: Admitted) -> bool {
        let is_probe = attempt.period > 0 && attempt.period.is_multiple_of(2);
        is_probe && enter(&PROBES, self.probe(attempt))
    }

    /// The probe that this thread runs, if the breaker has been open since the probe was admitted.
    pub(super) fn running_probe(&self) -> Option<Admitted> {
        let admitted = Admitted {
            period: self.state().period(),
        };
        let probe = self.probe(admitted);
        let runs = PROBES.try_with(|probes| probes.borrow().contains(&probe));
        runs.unwrap_or_default().then_some(admitted)
    }
}
