//! The driver's work with the waiting callers: takes their changes, gives them their outcomes, and
//! counts.

use super::{KeyQueue, drop_each, wake};
use crate::{
    judge::Ruling,
    many::combining::{
        caller::{Caller, Outcome, PendingChange, Place},
        error::CombineError,
        failed_step::{Concerned, FailedStep, Together},
    },
    policy::Policy,
    report::StopReason,
    state::Decision,
};
use core::time::Duration;
use std::sync::Arc;

/// The changes that are being applied. They go back to their callers, even after a panic.
pub(crate) struct PendingChanges<'l, V, W, E> {
    queue: &'l KeyQueue<V, W, E>,
    pub(crate) all: Vec<PendingChange<V, E>>,
}

impl<V, W, E> Drop for PendingChanges<'_, V, W, E> {
    fn drop(&mut self) {
        let changes = core::mem::take(&mut self.all);
        // A change whose caller has gone is dropped here, after the lock.
        let gone = self.queue.with(|state| {
            let back = |pending: PendingChange<V, E>| match state.waiting.get_mut(&pending.place) {
                Some(caller) => caller.change.replace(pending.change),
                None => Some(pending.change),
            };
            changes.into_iter().filter_map(back).collect()
        });
        drop_each(gone);
    }
}

impl<V, W, E> KeyQueue<V, W, E> {
    /// A read begins. Callers who come from now on have higher places than the returned one. `None` if
    /// nobody waits.
    pub(crate) fn read_begins(&self) -> Option<Place> {
        self.with(|state| (!state.waiting.is_empty()).then_some(state.next))
    }

    /// Whether the poll ends before the next read begins: the polled caller has its outcome, and others
    /// still wait. They are woken when the poll has ended.
    pub(crate) fn ends_poll(&self) -> bool {
        self.with(|state| {
            let is_told = |place| state.told.contains_key(&place);
            let ends = state.polled_by.is_some_and(is_told) && !state.waiting.is_empty();
            state.is_woken |= ends;
            ends
        })
    }

    /// Whether the poll ends because callers have signals: each caller asks its signal when it is polled.
    /// Callers with a signal are woken now, and the others when the poll has ended.
    pub(crate) fn asks_signals(&self) -> bool {
        let (wakers, asks) = self.with(|state| {
            let with_signals = state.waiting.values_mut();
            let with_signals = with_signals.filter(|caller| caller.has_signal);
            let wakers: Vec<_> = with_signals.map(|caller| caller.waker.take()).collect();
            let asks = !wakers.is_empty();
            state.is_woken |= asks;
            (wakers.into_iter().flatten().collect(), asks)
        });
        wake(wakers);
        asks
    }

    /// Keeps the callers of `places` who still wait.
    pub(crate) fn keep_waiting(&self, places: &mut Vec<Place>) {
        self.with(|state| places.retain(|place| state.waiting.contains_key(place)));
    }

    /// The next attempt waits for its turn from now on.
    pub(crate) fn rests(&self, now: Duration) {
        self.with(|state| {
            for caller in state.waiting.values_mut() {
                caller.counts.rests_since.get_or_insert(now);
            }
        });
    }

    /// The next attempt begins now.
    pub(crate) fn rested(&self, now: Duration) {
        self.with(|state| {
            for caller in state.waiting.values_mut() {
                caller.counts.rested(now);
            }
        });
    }

    /// Whether any waiting caller needs the time.
    pub(crate) fn is_timed(&self) -> bool {
        self.with(|state| {
            state
                .waiting
                .values()
                .any(|caller| caller.limits.is_timed())
        })
    }

    /// Takes the changes of all waiting callers, or only of these places, in the order of their places. A
    /// caller whose signal has come, or whose deadline is over at `now`, gets this outcome.
    pub(crate) fn take(
        &self,
        policy: &Policy,
        mark: Place,
        only: Option<&[Place]>,
        now: Option<Duration>,
    ) -> PendingChanges<'_, V, W, E> {
        let mut all = Vec::new();
        let told = self.with(|state| {
            state.fail(|place, caller| {
                if only.is_some_and(|only| only.binary_search(&place).is_err()) {
                    return None;
                }
                let may_be_applied = caller.maybe_applied;
                if caller.is_stopped {
                    return Some(CombineError::Stopped { may_be_applied });
                }
                let remaining = now.map(|now| caller.limits.remaining(policy, || now));
                if remaining == Some(Duration::ZERO) {
                    return Some(CombineError::OutOfTime { may_be_applied });
                }
                let change = caller.change.take()?;
                caller.is_taken = true;
                caller.counts.attempts = caller.counts.attempts.saturating_add(1);
                let was_there = place < mark;
                all.push(PendingChange {
                    place,
                    change,
                    was_there,
                });
                None
            })
        });
        let changes = PendingChanges { queue: self, all };
        wake(told);
        changes
    }

    /// Gives callers their outcomes. The error of a change also says whether an earlier write may have
    /// applied the change. If a write was running, these are all callers who took part in it.
    pub(crate) fn tell(&self, outcomes: Vec<(Place, Outcome<V, W, E>)>) {
        let (wakers, gone) = self.with(|state| {
            state.is_writing = false;
            let (mut wakers, mut gone) = (Vec::new(), Vec::new());
            for (place, mut outcome) in outcomes {
                let Some(caller) = state.waiting.get(&place) else {
                    gone.push(outcome);
                    continue;
                };
                if let Outcome::Failed(CombineError::Own { may_be_applied, .. }) = &mut outcome {
                    *may_be_applied |= caller.maybe_applied;
                }
                wakers.extend(state.tell(place, outcome));
            }
            (wakers, gone)
        });
        wake(wakers);
        drop_each(gone);
    }

    /// The write of the taken changes begins.
    pub(crate) fn write_begins(&self) {
        self.with(|state| {
            state.is_writing = true;
            for caller in state.waiting.values_mut() {
                if caller.is_taken {
                    caller.counts.writes = caller.counts.writes.saturating_add(1);
                }
            }
        });
    }

    /// Nothing was written of the taken changes: callers who still wait continue to wait.
    pub(crate) fn give_back(&self) {
        self.with(|state| {
            state.is_writing = false;
            for caller in state.waiting.values_mut() {
                caller.is_taken = false;
            }
        });
    }

    /// The value shows that somebody has written since a write that may have been applied: changes that do
    /// not recognise their own effect end with the error of that write.
    pub(crate) fn overtaken(&self, error: &Arc<E>) {
        let shared = || CombineError::Shared {
            error: Arc::clone(error),
            reason: StopReason::MaybeApplied,
            may_be_applied: true,
        };
        let is_blind = |caller: &Caller<V, E>| caller.maybe_applied && !caller.recognises;
        wake(self.with(|state| state.fail(|_, caller| is_blind(caller).then(shared))));
    }

    /// A write succeeded on the same version as a write that may have been applied. So that earlier write
    /// was not applied, and never will be.
    pub(crate) fn resolved(&self) {
        self.with(|state| {
            for caller in state.waiting.values_mut() {
                caller.maybe_applied &= caller.recognises;
            }
        });
    }

    /// A step failed: counts the failure. `is_paced`: a pace gives the wait after it.
    /// Returns the ruling and the time for the callers whom the failure concerns, if there are any.
    pub(crate) fn step_failed(
        &self,
        policy: &Policy,
        failed: FailedStep,
        is_paced: bool,
        now: Duration,
    ) -> Option<Together> {
        self.with(|state| {
            let mut together = None;
            for (&place, caller) in &mut state.waiting {
                if !failed.concerns(place, caller) {
                    continue;
                }
                let together = together.get_or_insert(Together {
                    ruling: Ruling::MAYBE_APPLIED,
                    patience: None,
                });
                caller.limits.failed(is_paced);
                caller.maybe_applied |= failed.maybe_applied;
                caller.counts.conflicts += u32::from(failed.ruling.is_conflict());
                if let Concerned::Before(_) = failed.concerned {
                    caller.counts.attempts = caller.counts.attempts.saturating_add(1);
                }
                let ruling = failed.ruling_for(caller);
                if ruling != Ruling::MAYBE_APPLIED {
                    together.ruling = ruling;
                    let patience = caller.limits.patience(policy, now);
                    together.patience = together.patience.max(patience);
                }
            }
            // Changes that may have been applied are marked now.
            state.is_writing = false;
            together
        })
    }

    /// After a step that failed with `error`: callers who make no further attempt get their outcome. `together`
    /// is the next step of all callers together. Returns whether a caller continues.
    pub(crate) fn decided(
        &self,
        policy: &Policy,
        failed: FailedStep,
        error: &Arc<E>,
        together: Decision,
        now: Duration,
    ) -> bool {
        let (mut wakers, mut continues) = (Vec::new(), false);
        let told = self.with(|state| {
            state.fail(|place, caller| {
                if !failed.concerns(place, caller) {
                    return None;
                }
                let ruling = failed.ruling_for(caller);
                let next = caller.limits.decide(policy, ruling, together, now);
                caller.is_taken = false;
                if let Some(reason) = next.reason() {
                    caller.counts.ends_with_group = !together.is_wait();
                    return Some(CombineError::Shared {
                        error: Arc::clone(error),
                        reason,
                        may_be_applied: caller.maybe_applied,
                    });
                }
                continues = true;
                caller.counts.rests_since = Some(now);
                if caller.has_signal {
                    wakers.extend(caller.waker.take());
                }
                None
            })
        });
        wakers.extend(told);
        wake(wakers);
        continues
    }
}
