//! The probes that a thread runs: a call inside of a probe is part of the probe.

use super::{Admitted, Breaker};
use crate::running::{self, Stack};
use core::cell::RefCell;

/// The address of the breaker, and the probe.
type Probe = (usize, Admitted);

/// Until this is dropped, the thread runs a probe.
pub(crate) type Runs = running::Runs<Probe>;

std::thread_local! {
    static PROBES: Stack<Probe> = const { RefCell::new(Vec::new()) };
}

impl Breaker {
    fn probe(&self, admitted: Admitted) -> Probe {
        (core::ptr::from_ref(self).addr(), admitted)
    }

    /// An admitted attempt runs on this thread.
    pub(crate) fn runs(&self, attempt: Admitted) -> Option<Runs> {
        let is_probe = attempt.period > 0 && attempt.period.is_multiple_of(2);
        is_probe.then(|| Runs::enter(&PROBES, self.probe(attempt)))?
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
