//! A budget that only the handler of a call knows.

#[cfg(feature = "metrics")]
use super::meter;
use crate::{budget::Budget, facts::fault::FaultKind, state::RetryState};

/// A budget that pays for one call instead of the policy's budget, or the budget of a policy that the
/// call owns. The purse takes care of its own payments.
#[derive(Debug)]
pub(crate) struct Purse<'b> {
    pub(super) budget: Option<&'b Budget>,
    held: Option<FaultKind>,
}

impl<'b> Purse<'b> {
    pub(super) const fn new(budget: Option<&'b Budget>) -> Self {
        Purse { budget, held: None }
    }

    /// Takes over the payment for the wait that begins from the state.
    pub(super) fn hold(&mut self, retry: &mut RetryState) {
        if let Some(kind) = retry.take_held() {
            self.held = Some(kind);
        }
    }

    /// The attempt after the wait begins.
    pub(super) fn begins(&mut self) {
        self.held = None;
    }

    /// No attempt follows the wait.
    pub(super) fn give_back(&mut self) {
        if let Some(kind) = self.held.take()
            && let Some(budget) = self.budget
        {
            budget.give_back(kind);
            #[cfg(feature = "metrics")]
            meter::level(self.budget);
        }
    }
}

impl Drop for Purse<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}
