//! The future of one caller.

use super::{
    caller::{Change, Receiver},
    error::CombineError,
    resources::{ResourceTask, Resources},
};
use crate::report::Updated;
use core::{
    fmt,
    future::Future,
    hash::Hash,
    mem,
    pin::Pin,
    task::{Context, Poll},
};
use std::{panic::resume_unwind, sync::Arc};

/// A change that is being made together with others: a future of
/// `Result<Updated<V, W>, CombineError<E>>`. Made by [`Combining::update`](super::Combining::update).
///
/// Dropping the future withdraws the change if it was not taken yet. A running write continues as long as another caller
/// waits for it. A caller with a deadline, or in a program that shuts down, waits for `&mut change` and for the end:
///
/// ```
/// use backoff_core::{TimedOut, Updated, combine::{Changing, CombineError}};
/// use std::{future::Future, time::Duration};
///
/// # #[cfg(feature = "tokio")] {
/// async fn with_limits(
///     mut change: Changing<u8, u32, (), TimedOut>,
///     shutdown: impl Future<Output = ()>,
/// ) -> Result<Updated<u32, ()>, CombineError<TimedOut>> {
///     tokio::select! {
///         ended = &mut change => ended,
///         // The caller waits no longer, whatever the server does.
///         () = tokio::time::sleep(Duration::from_secs(5)) => {
///             Err(CombineError::Left { may_be_applied: change.withdraw() })
///         }
///         // A write that contains the change is finished, and no other one begins.
///         () = shutdown => {
///             change.leave();
///             change.await
///         }
///     }
/// }
/// # }
/// ```
///
/// # Panics
/// With the panic of its change, and when it is polled again after it has finished.
#[must_use = "futures do nothing unless awaited"]
pub struct Changing<K: Clone + Eq + Hash, V, W, E> {
    pub(super) resources: Arc<Resources<K, V, W, E>>,
    pub(super) key: K,
    pub(super) state: State<V, W, E>,
}

pub(super) enum State<V, W, E> {
    /// Not polled yet. The `bool` says whether the change recognises its own effect.
    New(Change<V, E>, bool),
    Waits(Arc<Receiver<V, W, E>>),
    /// The caller has left before the first poll.
    Left,
    Finished,
}

impl<K: Clone + Eq + Hash, V, W, E> Changing<K, V, W, E> {
    /// The change takes part in no further write. The future is then ready at once; if a write contains the change, it is ready
    /// when the attempt ends. Unless this write succeeds, the error is [`CombineError::Left`]. A change that was not
    /// polled yet is not made.
    pub fn leave(&mut self) {
        match &self.state {
            State::New(..) => self.state = State::Left,
            State::Waits(receiver) => {
                receiver.leave();
                self.resources.tidy(&self.key, &receiver.resource);
            }
            State::Left | State::Finished => {}
        }
    }

    /// Waits no longer, like a drop. Returns whether a write may have applied the change, or may still apply it.
    #[must_use = "the change may have been applied"]
    pub fn withdraw(self) -> bool {
        matches!(&self.state, State::Waits(receiver) if receiver.withdraw())
    }
}

/// Nothing is pinned in place.
impl<K: Clone + Eq + Hash, V, W, E> Unpin for Changing<K, V, W, E> {}

impl<K, V, W, E> Future for Changing<K, V, W, E>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    W: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    type Output = Result<Updated<V, W>, CombineError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match mem::replace(&mut this.state, State::Finished) {
            State::New(change, recognises) => {
                let Some(receiver) = this.resources.enter(&this.key, change, recognises) else {
                    #[cfg(feature = "tracing")]
                    tracing::warn!(target: "backoff", "{}", CombineError::<&str>::Full);
                    return Poll::Ready(Err(CombineError::Full));
                };
                this.state = State::Waits(receiver);
            }
            State::Left => {
                let may_be_applied = false;
                return Poll::Ready(Err(CombineError::Left { may_be_applied }));
            }
            state => this.state = state,
        }
        let State::Waits(receiver) = &this.state else {
            panic!("a `Changing` was polled after it had finished");
        };
        let Poll::Ready(outcome) = receiver.poll(cx.waker().clone()) else {
            // If this panics, the drop of the future withdraws the change.
            if let Some(task) = ResourceTask::new(&this.resources, &this.key, receiver) {
                (this.resources.spawn)(Box::pin(task.run()));
            }
            return Poll::Pending;
        };
        this.state = State::Finished;
        Poll::Ready(
            match outcome.unwrap_or_else(|panic| resume_unwind(panic))? {
                Updated::Unchanged(value) => Ok(Updated::Unchanged(Arc::unwrap_or_clone(value))),
                Updated::Written(reply) => Ok(Updated::Written(reply)),
            },
        )
    }
}

impl<K: Clone + Eq + Hash, V, W, E> Drop for Changing<K, V, W, E> {
    fn drop(&mut self) {
        if let State::Waits(receiver) = &self.state {
            receiver.withdraw();
            self.resources.tidy(&self.key, &receiver.resource);
        }
    }
}

impl<K: Clone + Eq + Hash, V, W, E> fmt::Debug for Changing<K, V, W, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changing(..)")
    }
}
