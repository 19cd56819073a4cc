//! The signals that end the calls of a layer.

use crate::call::signal::{Signal, Stopped, StoppedBy, Unstopped};
use crate::named_debug::named_in_debug;
use core::future::Future;

/// The signals of a [`RetryLayer`](super::RetryLayer), one for each request: [`Unstopped`] (none),
/// [`StopOn`] or [`CutOn`]. A response is a `T`, the service's error an `E`.
pub trait Signals<T, E> {
    /// The signal of one request.
    type Signal: Signal<T, E>;

    /// Makes the signal.
    fn signal(&self) -> Self::Signal;
}

impl<T, E> Signals<T, E> for Unstopped {
    type Signal = Unstopped;

    fn signal(&self) -> Unstopped {
        Unstopped
    }
}

/// The function's future ends the waits. Made by [`RetryLayer::stop_on`](super::RetryLayer::stop_on).
#[derive(Clone, Copy)]
pub struct StopOn<F>(pub(super) F);

impl<F, Fut, T, E> Signals<T, E> for StopOn<F>
where
    F: Fn() -> Fut,
    Fut: Future,
{
    type Signal = StoppedBy<Fut, T, E>;

    fn signal(&self) -> Self::Signal {
        StoppedBy::new((self.0)(), None)
    }
}

/// The function's future ends the waits and cuts the running attempt. Made by
/// [`RetryLayer::cut_on`](super::RetryLayer::cut_on).
#[derive(Clone, Copy)]
pub struct CutOn<F>(pub(super) F);

impl<F, Fut, T, E> Signals<T, E> for CutOn<F>
where
    F: Fn() -> Fut,
    Fut: Future,
    E: From<Stopped>,
{
    type Signal = StoppedBy<Fut, T, E>;

    fn signal(&self) -> Self::Signal {
        StoppedBy::new((self.0)(), Some(E::from))
    }
}

named_in_debug!(StopOn, CutOn);
