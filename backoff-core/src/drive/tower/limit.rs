//! Whether attempts are cut.

use crate::drive::bounded::Bounded;
use core::time::Duration;

/// Whether the attempts of a [`RetryLayer`](super::RetryLayer) are cut: [`Unlimited`] or [`PerAttempt`].
pub trait Limits<O> {
    /// The operation with its limit.
    type Operation;

    /// Sets the limit.
    fn limited(&self, operation: O) -> Self::Operation;
}

/// Attempts are not cut.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

/// Each attempt is cut. Made by [`RetryLayer::attempt_timeout`](super::RetryLayer::attempt_timeout).
#[derive(Clone, Copy, Debug)]
pub struct PerAttempt(pub(super) Duration);

impl<O> Limits<O> for Unlimited {
    type Operation = O;

    fn limited(&self, operation: O) -> O {
        operation
    }
}

impl<O> Limits<O> for PerAttempt {
    type Operation = Bounded<O>;

    fn limited(&self, operation: O) -> Bounded<O> {
        Bounded::attempts(operation, self.0)
    }
}
