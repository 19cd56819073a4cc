//! The future of one caller.

use super::{
    caller::{Caller, Change, Counts, Outcome, Place, Told},
    drive,
    error::CombineError,
    key_queue::{KeyQueue, finished_before},
    rules::{Rules, Shared},
};
use crate::{
    call::signal::Once,
    event::{
        log,
        told::{self, EndedBy, Step},
    },
    facts::fault::Fault,
    judge::{Ruling, Stage},
    policy::NO_ATTEMPTS,
    report::{Measures, Reporting, RetryError, UpdateReport, Updated},
    runtime::{AsyncRuntime, Clock, Random, Sleep},
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
/// With the panic of its change; with a panic of the read or the write that happens in its poll; and
/// when it is polled again after it has finished.
#[must_use = "futures do nothing unless awaited"]
pub struct Updating<K: Clone + Eq + Hash, V, W, E, R: Sleep = AsyncRuntime> {
    shared: Arc<Shared<K, V, W, E, R>>,
    key: K,
    /// The change until the first poll, and whether it recognises its own effect.
    change: Option<(Change<V, E>, bool)>,
    limits: Participant,
    is_measured: bool,
    ticket: Option<Ticket<V, W, E>>,
    timer: Option<Pin<Box<R::Sleep>>>,
    /// The signal that ends the waiting.
    signal: Option<Signal>,
    /// The counts of the call, after its end.
    counts: Counts,
}

type Signal = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Whether there is a signal and it has come.
fn has_come(signal: &mut Option<Signal>, cx: &mut Context<'_>) -> bool {
    signal
        .as_mut()
        .is_some_and(|signal| signal.as_mut().poll(cx).is_ready())
}

/// The outcome of a caller that leaves by itself.
const fn stopped<E>(may_be_applied: bool) -> CombineError<E> {
    CombineError::Stopped { may_be_applied }
}

/// The place of a waiting caller.
struct Ticket<V, W, E> {
    queue: Arc<KeyQueue<V, W, E>>,
    place: Place,
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
            is_measured: false,
            ticket: None,
            timer: None,
            signal: None,
            counts: Counts::default(),
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
    /// use backoff_core::{Policy, TimedOut, many::CombineError};
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

    /// Also returns a report: the attempts that this change took part in, most of them shared with other
    /// callers. `slept` counts the waits after a failure of such an attempt, as long as they lasted, and the
    /// time in the queue of a rate. A wait that was already running when the change came is not counted.
    pub fn reported(mut self) -> UpdatingReported<K, V, W, E, R> {
        self.is_measured = true;
        UpdatingReported { updating: self }
    }

    /// Gives up the place, and also the resource if no other caller is left. Returns the outcome, which is
    /// `error` if there is none yet.
    fn leave(&mut self, error: fn(bool) -> CombineError<E>) -> Option<Told<V, W, E>> {
        let Ticket { queue, place } = self.ticket.take()?;
        // These are dropped after the lock, even if the comparison or the hash of keys panics.
        let (left, _removed);
        let mut queues = self.shared.queues();
        left = queue.leave(place, error);
        let is_ours = |found: &Arc<KeyQueue<V, W, E>>| Arc::ptr_eq(found, &queue);
        if left.is_empty && queues.get(&self.key).is_some_and(is_ours) {
            _removed = queues.remove_entry(&self.key);
            // The memory of a burst is given back. At least as many keys leave as are hashed again.
            if queues.len() < queues.capacity() / 4 {
                let twice = 2 * queues.len();
                queues.shrink_to(twice);
            }
        }
        drop(queues);
        left.told
    }
}

impl<K: Clone + Eq + Hash, V, W, E, R: Clock + Sleep> Updating<K, V, W, E, R> {
    /// Takes a place among the waiting callers, unless the limit is reached or a signal has already come.
    fn enter(&mut self, cx: &mut Context<'_>) -> Result<(), CombineError<E>> {
        let Some((change, recognises)) = self.change.take() else {
            return Ok(());
        };
        let rules = &self.shared.rules;
        if cfg!(debug_assertions) {
            rules.runtime.check();
        }
        let now = || rules.runtime.now();
        self.limits.start(&rules.policy, self.is_measured, now);
        if has_come(&mut self.signal, cx) {
            return Err(stopped(false));
        }
        let has_signal = self.signal.is_some();
        let mut caller = Some(Caller::new(change, recognises, self.limits, has_signal));
        let at_most = rules.at_most;
        // Two values are dropped while no lock is held: a caller without a place, and a key that is not
        // needed.
        let (mut key, mut spare) = (None, None);
        self.ticket = loop {
            let mut queues = self.shared.queues();
            let queue = match queues.get(&self.key) {
                Some(queue) => Arc::clone(queue),
                None => {
                    let (Some(key), Some(queue)) = (key.take(), spare.take()) else {
                        drop(queues);
                        key = Some(self.key.clone());
                        spare = Some(Arc::new(KeyQueue::new()));
                        continue;
                    };
                    queues.insert(key, Arc::clone(&queue));
                    queue
                }
            };
            break queue
                .enter(&mut caller, at_most)
                .map(|place| Ticket { queue, place });
        };
        match self.ticket {
            Some(_) => Ok(()),
            None => Err(CombineError::Full),
        }
    }

    /// Logs the end of a call that failed alone: the end of a group is one event for all of its callers.
    fn tell(&self, error: &CombineError<E>)
    where
        E: Fault,
    {
        if self.counts.ends_with_group {
            return;
        }
        let rules = &self.shared.rules;
        let is_own = matches!(error, CombineError::Own { .. });
        let now = || rules.runtime.now();
        log::log(&told::Told {
            name: rules.operation,
            host: None,
            policy: &rules.policy,
            attempt: self.counts.attempts,
            elapsed: self.limits.is_timed().then(|| self.limits.elapsed(now())),
            fault: Some(error),
            stage: Stage::Whole,
            ended_by: EndedBy::Attempt,
            ruling: is_own.then_some(Ruling::PERMANENT),
            late: None,
            type_name: core::any::type_name::<E>(),
            step: Step::GaveUp(error.reason()),
        });
    }

    fn report(&self) -> UpdateReport {
        let (mut counts, now) = (self.counts, self.shared.rules.runtime.now());
        counts.rested(now);
        let measures = Measures {
            attempts: counts.attempts,
            conflicts: counts.conflicts,
            elapsed: self.limits.elapsed(now),
            slept: counts.slept,
        };
        UpdateReport::new(measures, counts.writes)
    }
}

impl<K, V, W, E, R> Future for Updating<K, V, W, E, R>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    W: Clone + Send + Sync + 'static,
    E: Fault + Send + Sync + 'static,
    R: Clock + Sleep + Random + Send + Sync + 'static,
    R::Sleep: Send + 'static,
{
    type Output = Result<Updated<V, W>, CombineError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Err(error) = this.enter(cx) {
            this.tell(&error);
            return Poll::Ready(Err(error));
        }
        let Some(ticket) = &this.ticket else {
            finished_before();
        };
        let (shared, queue) = (&this.shared, &ticket.queue);
        let make = || {
            let (shared, queue) = (Arc::clone(shared), Arc::clone(queue));
            Box::pin(drive::drive(shared, queue, this.key.clone())) as _
        };
        // The signal is asked before the poll takes the change, and after a write of the change has failed.
        let mut is_stopped = has_come(&mut this.signal, cx) && queue.stops(ticket.place);
        let polled = if is_stopped {
            Poll::Pending
        } else {
            queue.poll(ticket.place, make, cx)
        };
        let (told, error): (_, fn(bool) -> _) = if let Poll::Ready(told) = polled {
            (Some(told), stopped)
        } else {
            is_stopped = is_stopped || has_come(&mut this.signal, cx) && queue.stops(ticket.place);
            if is_stopped {
                (None, stopped)
            } else {
                let timer = match &mut this.timer {
                    Some(timer) => timer,
                    None => {
                        let Rules {
                            policy, runtime, ..
                        } = &this.shared.rules;
                        let remaining = this.limits.remaining(policy, || runtime.now());
                        if remaining == Duration::MAX {
                            return Poll::Pending;
                        }
                        this.timer.insert(Box::pin(runtime.sleep(remaining)))
                    }
                };
                ready!(timer.as_mut().poll(cx));
                (None, |may_be_applied| CombineError::OutOfTime {
                    may_be_applied,
                })
            }
        };
        let left = this.leave(error);
        let Some(told) = told.or(left) else {
            return Poll::Pending;
        };
        drop(told.change);
        this.counts = told.counts;
        Poll::Ready(match told.outcome {
            Outcome::Done(Updated::Unchanged(value)) => {
                Ok(Updated::Unchanged(Arc::unwrap_or_clone(value)))
            }
            Outcome::Done(Updated::Written(reply)) => Ok(Updated::Written(reply)),
            Outcome::Failed(error) => {
                this.tell(&error);
                Err(error)
            }
            Outcome::Panicked(panic) => resume_unwind(panic),
        })
    }
}

impl<K: Clone + Eq + Hash, V, W, E, R: Sleep> Drop for Updating<K, V, W, E, R> {
    fn drop(&mut self) {
        drop(self.leave(stopped));
    }
}

impl<K: Clone + Eq + Hash, V, W, E, R: Sleep> fmt::Debug for Updating<K, V, W, E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Updating(..)")
    }
}

/// A change that also returns a report. Made by [`Updating::reported`].
#[must_use = "futures do nothing unless awaited"]
#[derive(Debug)]
pub struct UpdatingReported<K: Clone + Eq + Hash, V, W, E, R: Sleep = AsyncRuntime> {
    updating: Updating<K, V, W, E, R>,
}

impl<K, V, W, E, R> Future for UpdatingReported<K, V, W, E, R>
where
    K: Clone + Eq + Hash,
    R: Clock + Sleep,
    Updating<K, V, W, E, R>: Future<Output = Result<Updated<V, W>, CombineError<E>>>,
{
    type Output = Reporting<Updated<V, W>, CombineError<E>, UpdateReport>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let updating = &mut self.get_mut().updating;
        let result = ready!(Pin::new(&mut *updating).poll(cx));
        let report = updating.report();
        Poll::Ready(match result {
            Ok(updated) => Ok((updated, report)),
            Err(error) => {
                let reason = error.reason();
                Err(RetryError::new(error, reason, report))
            }
        })
    }
}
