//! The future of one caller.

use super::{
    caller::{Change, Entered, Outcome},
    error::CombineError,
    settings::Shared,
    task,
};
use crate::{
    call::signal::Once,
    event::{
        attempt_event::{AttemptEvent, Step},
        log,
    },
    facts::fault::Fault,
    judge::Verdict,
    policy::NO_ATTEMPTS,
    report::Updated,
    runtime::{AsyncRuntime, Clock, Random, Sleep, Spawn},
    stage::{EndedBy, Stage},
    state::Participant,
};
use core::{
    fmt,
    future::Future,
    hash::Hash,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use std::{panic::resume_unwind, sync::Arc};

/// A change that is being made together with others: a future of
/// `Result<Updated<V, W>, CombineError<E>>`. Made by [`Combining::update`](super::Combining::update).
///
/// The methods of this type configure the change; write them before the `.await`. Dropping the future
/// withdraws the change if it was not taken yet. A running write continues as long as another caller
/// waits for it.
///
/// # Panics
/// With the panic of its change, and when it is polled again after it has finished.
#[must_use = "futures do nothing unless awaited"]
pub struct Updating<K: Clone + Eq + Hash, V, W, E, R: Sleep = AsyncRuntime> {
    shared: Arc<Shared<K, V, W, E, R>>,
    key: K,
    /// The change until the first poll, and whether it recognises its own effect.
    change: Option<(Change<V, E>, bool)>,
    limits: Participant,
    /// Set from the first poll to the outcome.
    receiver: Option<Entered<V, W, E>>,
    timer: Option<Pin<Box<R::Sleep>>>,
    /// The signal that ends the waiting.
    signal: Option<Signal>,
}

type Signal = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Whether there is a signal or a timer, and it is ready.
fn is_ready<F>(future: &mut Option<Pin<Box<F>>>, cx: &mut Context<'_>) -> bool
where
    F: Future<Output = ()> + ?Sized,
{
    let future = future.as_mut();
    future.is_some_and(|future| future.as_mut().poll(cx).is_ready())
}

/// No field is pinned in place: the timer has a box of its own.
impl<K: Clone + Eq + Hash, V, W, E, R: Sleep> Unpin for Updating<K, V, W, E, R> {}

impl<K: Clone + Eq + Hash, V, W, E, R: Sleep> Updating<K, V, W, E, R> {
    pub(super) fn new(
        shared: Arc<Shared<K, V, W, E, R>>,
        key: K,
        change: Change<V, E>,
        recognises: bool,
    ) -> Self {
        Updating {
            shared,
            key,
            change: Some((change, recognises)),
            limits: Participant::new(),
            receiver: None,
            timer: None,
            signal: None,
        }
    }

    /// Ends the waiting after `deadline`, whatever the server does. The time counts from the first poll of
    /// the future. If the policy has a deadline too, the shorter one holds. With a deadline and no
    /// `max_attempts`, the change takes part in as many attempts as fit into the time.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.set_deadline(deadline);
        self
    }

    /// Sets how many attempts this change takes part in, instead of the policy's number. Each failed read
    /// or write counts as one attempt; a group that is halved does not count.
    ///
    /// # Panics
    /// When `max_attempts` is 0.
    #[track_caller]
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        assert!(max_attempts > 0, "{NO_ATTEMPTS}");
        self.limits.set_attempts(max_attempts);
        self
    }

    /// Ends the waiting when `signal` is ready, for a program that shuts down. The error is
    /// [`CombineError::Stopped`].
    ///
    /// - A wait ends at once. A running read continues as long as another caller waits for it.
    /// - A write that contains the change is finished, unless the [deadline](Self::deadline) is over first.
    ///   If the write fails, no further attempt follows.
    /// - If `signal` is ready before the future is first polled, the change is not made.
    ///
    /// Any future that owns the values it uses is a signal, such as that of `CancellationToken` in
    /// tokio-util. If two signals are set, the later one holds. To end a change in the middle of a write,
    /// drop its future. Then you do not learn whether the change was applied.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut, combine::CombineError};
    /// use std::{future::ready, time::Duration};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let busy = |_| ready(Err(TimedOut::new(Duration::ZERO)));
    /// let combined = Policy::exponential().combine(busy, |_, _: u32| ready(Ok(())));
    /// let shutdown = CancellationToken::new();
    /// let change = combined.update("counter", |count| *count += 1);
    /// let change = tokio::spawn(change.stop_on(shutdown.clone().cancelled_owned()));
    /// tokio::task::yield_now().await;
    /// shutdown.cancel();
    /// let ended = change.await.unwrap().unwrap_err();
    /// assert!(matches!(ended, CombineError::Stopped { may_be_applied: false }));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn stop_on<F>(mut self, signal: F) -> Self
    where
        F: Future + Send + 'static,
    {
        self.signal = Some(Box::pin(Once::new(signal)));
        self
    }

    /// The caller has its outcome, or leaves.
    fn leave(&mut self) {
        if self.receiver.take().is_some() {
            self.shared.tidy(&self.key);
        }
    }
}

impl<K: Clone + Eq + Hash, V, W, E, R: Clock + Sleep> Updating<K, V, W, E, R> {
    /// Joins the waiting callers, unless the limit is reached or a signal has already come.
    fn enter(
        &mut self,
        (change, recognises): (Change<V, E>, bool),
        cx: &mut Context<'_>,
    ) -> Result<Entered<V, W, E>, CombineError<E>> {
        let settings = &self.shared.settings;
        if cfg!(debug_assertions) {
            settings.runtime.check();
        }
        let now = || settings.runtime.now();
        self.limits.start(&settings.policy, now);
        if is_ready(&mut self.signal, cx) {
            let may_be_applied = false;
            return Err(CombineError::Stopped { may_be_applied });
        }
        let remaining = self.limits.remaining(&settings.policy, now);
        let is_limited = remaining != Duration::MAX;
        self.timer = is_limited.then(|| Box::pin(settings.runtime.sleep(remaining)));
        self.shared
            .enter(&self.key, change, recognises, self.limits)
    }

    /// Logs the end of a call that failed alone: the end of a group is one event for all of its callers.
    fn log_end(&self, error: &CombineError<E>, attempt: u32)
    where
        E: Fault,
    {
        let settings = &self.shared.settings;
        let is_own = matches!(error, CombineError::Own { .. });
        let now = || settings.runtime.now();
        log::log(&AttemptEvent {
            name: settings.operation,
            host: None,
            policy: &settings.policy,
            attempt,
            elapsed: self.limits.is_timed().then(|| self.limits.elapsed(now())),
            fault: Some(error),
            stage: is_own.then_some(Stage::Whole),
            ended_by: EndedBy::Operation,
            verdict: is_own.then_some(Verdict::Permanent),
            late: None,
            maybe_applied: false,
            type_name: core::any::type_name::<E>(),
            step: Step::GaveUp(error.reason()),
        });
    }
}

impl<K, V, W, E, R> Future for Updating<K, V, W, E, R>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    W: Clone + Send + Sync + 'static,
    E: Fault + Send + Sync + 'static,
    R: Clock + Sleep + Random + Spawn + Send + Sync + 'static,
    R::Sleep: Send + 'static,
{
    type Output = Result<Updated<V, W>, CombineError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(change) = this.change.take() {
            match this.enter(change, cx) {
                Ok(receiver) => this.receiver = Some(receiver),
                Err(error) => {
                    this.log_end(&error, 0);
                    return Poll::Ready(Err(error));
                }
            }
        }
        let Some((receiver, _)) = &this.receiver else {
            panic!("an `Updating` was polled after it had finished");
        };
        let receiver = Arc::clone(receiver);
        let mut outcome = receiver.poll(is_ready(&mut this.signal, cx), cx);
        if outcome.is_pending() {
            task::begin(&this.shared, &this.key);
            if is_ready(&mut this.timer, cx) {
                let late = |may_be_applied| CombineError::OutOfTime { may_be_applied };
                outcome = Poll::Ready(receiver.leave(late));
            }
        }
        let outcome = ready!(outcome);
        this.leave();
        Poll::Ready(match outcome {
            Outcome::Done(Updated::Unchanged(value)) => {
                Ok(Updated::Unchanged(Arc::unwrap_or_clone(value)))
            }
            Outcome::Done(Updated::Written(reply)) => Ok(Updated::Written(reply)),
            Outcome::Failed { error, is_logged } => {
                if !is_logged {
                    this.log_end(&error, receiver.attempts());
                }
                Err(error)
            }
            Outcome::Panicked(panic) => resume_unwind(panic),
        })
    }
}

/// A change that was not taken yet is not applied.
impl<K: Clone + Eq + Hash, V, W, E, R: Sleep> Drop for Updating<K, V, W, E, R> {
    fn drop(&mut self) {
        if let Some((receiver, _)) = &self.receiver {
            drop(receiver.leave(|may_be_applied| CombineError::Stopped { may_be_applied }));
        }
        self.leave();
    }
}

impl<K: Clone + Eq + Hash, V, W, E, R: Sleep> fmt::Debug for Updating<K, V, W, E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Updating(..)")
    }
}
