//! The driver's work with the waiting callers: takes their changes, gives them their outcomes, and
//! counts.

use super::{KeyQueue, bury, wake};
use crate::{
    many::combining::{
        caller::{Bound, Caller, Failing, Going, Outcome, PendingChange, Place, Standing},
        error::CombineError,
    },
    report::StopReason,
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
        bury(gone);
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
            let with_signals = with_signals.filter(|caller| caller.limits.has_signal);
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

    /// Whether any waiting caller has a deadline.
    pub(crate) fn has_deadlines(&self) -> bool {
        self.with(|state| {
            let mut waiting = state.waiting.values();
            waiting.any(|caller| caller.limits.until.is_some())
        })
    }

    /// Takes the changes of all waiting callers, or only of these places, in the order of their places. A
    /// caller whose signal has come, or whose deadline was over before `now`, gets this outcome.
    pub(crate) fn take(
        &self,
        mark: Place,
        only: Option<&[Place]>,
        now: Option<Duration>,
    ) -> PendingChanges<'_, V, W, E> {
        let (all, told) = self.with(|state| {
            let (mut all, mut ended) = (Vec::new(), Vec::new());
            for (&place, caller) in &mut state.waiting {
                if only.is_some_and(|only| only.binary_search(&place).is_err()) {
                    continue;
                }
                let is_over = |until| now.is_some_and(|now| now > until);
                if caller.is_stopped || caller.limits.until.is_some_and(is_over) {
                    ended.push(place);
                    continue;
                }
                let Some(change) = caller.change.take() else {
                    continue;
                };
                caller.is_taken = true;
                caller.counts.attempts = caller.counts.attempts.saturating_add(1);
                let was_there = place < mark;
                all.push(PendingChange {
                    place,
                    change,
                    was_there,
                });
            }
            let is_over = |caller: &Caller<V, E>| {
                let may_be_applied = caller.is_doubtful;
                Outcome::Failed(if caller.is_stopped {
                    CombineError::Stopped { may_be_applied }
                } else {
                    CombineError::OutOfTime { may_be_applied }
                })
            };
            let told: Vec<_> = ended
                .into_iter()
                .filter_map(|place| state.tell(place, is_over))
                .collect();
            (all, told)
        });
        let changes = PendingChanges { queue: self, all };
        wake(told);
        changes
    }

    /// Gives callers their outcomes; `outcome` is made from the result of each change and from whether a
    /// write may have applied the change before. If a write was running, these are all callers who took
    /// part in it.
    pub(crate) fn tell(&self, outcomes: Vec<(Place, Outcome<V, W, E>)>) {
        let (wakers, gone) = self.with(|state| {
            state.is_writing = false;
            let (mut wakers, mut gone) = (Vec::new(), Vec::new());
            for (place, mut outcome) in outcomes {
                if !state.waiting.contains_key(&place) {
                    gone.push(outcome);
                    continue;
                }
                wakers.extend(state.tell(place, |caller| {
                    if let Outcome::Failed(CombineError::Own { may_be_applied, .. }) = &mut outcome
                    {
                        *may_be_applied |= caller.is_doubtful;
                    }
                    outcome
                }));
            }
            (wakers, gone)
        });
        wake(wakers);
        bury(gone);
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
        let told = self.with(|state| {
            let blind = state.waiting.iter();
            let blind = blind.filter(|(_, caller)| caller.is_doubtful && !caller.recognises);
            let blind: Vec<_> = blind.map(|(&place, _)| place).collect();
            let tell = |place| {
                state.tell(place, |_| {
                    Outcome::Failed(CombineError::Shared {
                        error: Arc::clone(error),
                        reason: StopReason::MaybeApplied,
                        may_be_applied: true,
                    })
                })
            };
            blind.into_iter().filter_map(tell).collect()
        });
        wake(told);
    }

    /// A write succeeded on the same version as a write that may have been applied. So that earlier write
    /// was not applied, and never will be.
    pub(crate) fn resolved(&self) {
        self.with(|state| {
            for caller in state.waiting.values_mut() {
                caller.is_doubtful &= caller.recognises;
            }
        });
    }

    /// A step failed: counts the failure, and counts the callers whom the failure concerns.
    pub(crate) fn step_failed(&self, failing: Failing) -> Standing {
        self.with(|state| {
            let mut standing = Standing::default();
            let mut is_endless = false;
            for (&place, caller) in &mut state.waiting {
                if !caller.is_bound(place, failing.bound) {
                    continue;
                }
                standing.all += 1;
                caller.failures = caller.failures.saturating_add(1);
                caller.paced = caller.paced.saturating_add(u32::from(failing.is_paced));
                caller.is_doubtful |= failing.is_doubtful;
                caller.counts.conflicts += u32::from(failing.is_conflict);
                if let Bound::Before(_) = failing.bound {
                    caller.counts.attempts = caller.counts.attempts.saturating_add(1);
                }
                if caller.is_repeatable(failing) {
                    standing.repeatable += 1;
                    if caller.has_attempts() {
                        standing.able += 1;
                        is_endless |= caller.limits.until.is_none();
                        standing.until = standing.until.max(caller.limits.until);
                    }
                }
            }
            if is_endless {
                standing.until = None;
            }
            // Changes that may have been applied are marked now.
            state.is_writing = false;
            standing
        })
    }

    /// After a step that failed with `error`: callers who make no further attempt get their outcome. `next`
    /// is the next step for the others, or the reason to stop. Returns how many callers continue.
    pub(crate) fn decided(
        &self,
        failing: Failing,
        error: &Arc<E>,
        next: Result<Going, StopReason>,
    ) -> usize {
        let (wakers, going) = self.with(|state| {
            let (mut stopped, mut going, mut wakers) = (Vec::new(), 0, Vec::new());
            for (&place, caller) in &mut state.waiting {
                if !caller.is_bound(place, failing.bound) {
                    continue;
                }
                let stops = caller.stops(failing, next);
                caller.is_taken = false;
                match stops {
                    Some(reason) => stopped.push((place, reason)),
                    None => {
                        going += 1;
                        let wait = next.map_or(Duration::ZERO, |going| going.wait.delay);
                        caller.counts.slept = caller.counts.slept.saturating_add(wait);
                        if caller.limits.has_signal {
                            wakers.extend(caller.waker.take());
                        }
                    }
                }
            }
            let told = stopped.into_iter().filter_map(|(place, reason)| {
                let error = Arc::clone(error);
                state.tell(place, |caller| {
                    Outcome::Failed(CombineError::Shared {
                        error,
                        reason,
                        may_be_applied: caller.is_doubtful,
                    })
                })
            });
            wakers.extend(told);
            (wakers, going)
        });
        wake(wakers);
        going
    }
}
