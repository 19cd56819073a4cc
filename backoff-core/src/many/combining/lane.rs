//! One resource: who waits for it, and who polls the step that is under way.
//!
//! All of it stands behind one mutex. What belongs to callers (changes, wakers, values, futures) is
//! never called and never dropped while the mutex is held: it is taken out and handed back to whoever
//! has locked it.

use super::error::CombineError;
use crate::{
    report::{StopReason, Updated},
    state::{Wait, WaitSource},
};
use core::{
    any::Any,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    panic::{catch_unwind, resume_unwind},
    sync::{Arc, Mutex, PoisonError},
    task::Wake,
};

/// A change: whether it changed the value, or its own error.
pub(super) type Change<V, E> = Box<dyn FnMut(&mut V) -> Result<bool, E> + Send>;

/// The reads and writes of a resource, one after another, until nobody waits for it.
pub(super) type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a panic carries.
pub(super) type Panic = Box<dyn Any + Send>;

/// The place of a caller: lower numbers were polled first.
pub(super) type Place = u64;

/// One resource.
pub(super) struct Lane<V, W, E> {
    state: Mutex<State<V, W, E>>,
}

struct State<V, W, E> {
    waiting: BTreeMap<Place, Caller<V, E>>,
    /// What callers were told and have not taken yet.
    told: BTreeMap<Place, Told<V, W, E>>,
    /// Callers who have entered and not left.
    members: usize,
    next: Place,
    /// `None` while somebody polls it, and where there is none.
    driver: Option<Driver>,
    is_polled: bool,
    /// The driver has asked to be polled.
    is_woken: bool,
    is_writing: bool,
}

/// Whoever waits.
pub(super) struct Caller<V, E> {
    /// `None` while it is applied.
    change: Option<Change<V, E>>,
    /// Whether the change recognises its own effect.
    recognises: bool,
    waker: Option<Waker>,
    limits: Limits,
    /// Failed attempts that it took part in.
    failures: u32,
    /// The change is part of what is written, or will be.
    is_taken: bool,
    /// An earlier write may have applied the change.
    is_doubtful: bool,
    counts: Counts,
}

/// What a caller allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) attempts: u32,
    /// On the runtime's clock.
    pub(super) until: Option<Duration>,
}

/// The steps that a caller took part in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) attempts: u32,
    pub(super) writes: u32,
    pub(super) conflicts: u32,
    pub(super) slept: Duration,
}

/// What a caller is told at the end.
pub(super) struct Told<V, W, E> {
    pub(super) outcome: Outcome<V, W, E>,
    pub(super) counts: Counts,
}

/// How it ended for one caller.
pub(super) enum Outcome<V, W, E> {
    Done(Updated<V, W>),
    Failed(CombineError<E>),
    /// The change panicked.
    Panicked(Panic),
}

/// A change that was taken to be applied.
pub(super) struct Hand<V, E> {
    pub(super) place: Place,
    pub(super) change: Change<V, E>,
    /// Whether the caller was there when the read began.
    pub(super) was_there: bool,
}

/// The changes that are being applied. They go back to their callers, also where something panics.
pub(super) struct Hands<'l, V, W, E> {
    lane: &'l Lane<V, W, E>,
    pub(super) all: Vec<Hand<V, E>>,
}

impl<V, W, E> Drop for Hands<'_, V, W, E> {
    fn drop(&mut self) {
        let hands = core::mem::take(&mut self.all);
        // A change whose caller has gone is dropped here, after the lock.
        let _gone: Vec<_> = self.lane.with(|state| {
            let back = |hand: Hand<V, E>| match state.waiting.get_mut(&hand.place) {
                Some(caller) => caller.change.replace(hand.change),
                None => Some(hand.change),
            };
            hands.into_iter().filter_map(back).collect()
        });
    }
}

/// What a caller does who is polled.
enum Turn<V, W, E> {
    Told(Told<V, W, E>),
    Wait,
    /// Drive it; where there is no driver, make one.
    Drive(Option<Driver>),
    Gone,
}

/// What is left of a place that was given up.
pub(super) struct Left<V, W, E> {
    pub(super) told: Option<Told<V, W, E>>,
    /// Whether a write may have applied the change, or may still apply it.
    pub(super) may_be_applied: bool,
    pub(super) counts: Counts,
    /// Nobody is there any more.
    pub(super) is_empty: bool,
    /// To be dropped where no lock is held.
    _dropped: (Option<Caller<V, E>>, Option<Driver>),
}

/// Those whom a failed step binds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// Those who were there when a read began: with lower places than this.
    Before(Place),
    /// Those whose changes were written.
    Taken,
}

/// Those whom a failed step binds, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    pub(super) all: usize,
    /// Those whose changes may be applied again.
    pub(super) repeatable: usize,
    /// Those of them who have attempts left.
    pub(super) able: usize,
    /// The last deadline of those; `None` where one of them has none.
    pub(super) until: Option<Duration>,
}

/// What a failed step was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failing {
    pub(super) bound: Bound,
    /// It may have been applied.
    pub(super) is_doubtful: bool,
    /// Changes that do not recognise themselves must not be applied again.
    pub(super) ends_blind: bool,
    pub(super) is_conflict: bool,
}

/// What follows after a failed step for those who go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Going {
    pub(super) wait: Wait,
    /// When the next attempt begins, where somebody has a deadline.
    pub(super) begins: Option<Duration>,
}

impl<V, E> Caller<V, E> {
    pub(super) fn new(change: Change<V, E>, recognises: bool, limits: Limits) -> Self {
        Caller {
            change: Some(change),
            recognises,
            waker: None,
            limits,
            failures: 0,
            is_taken: false,
            is_doubtful: false,
            counts: Counts::default(),
        }
    }

    const fn is_bound(&self, place: Place, bound: Bound) -> bool {
        match bound {
            Bound::Before(mark) => place < mark,
            Bound::Taken => self.is_taken,
        }
    }

    const fn is_repeatable(&self, failing: Failing) -> bool {
        // Whoever was faster than a second write may have been the first one.
        let is_overtaken = failing.is_conflict && self.is_taken && self.is_doubtful;
        self.recognises || !failing.ends_blind && !is_overtaken
    }

    /// Why no attempt follows for this caller after a shared failure, if none does.
    fn stops(&self, failing: Failing, next: Result<Going, StopReason>) -> Option<StopReason> {
        if !self.is_repeatable(failing) {
            return Some(StopReason::MaybeApplied);
        }
        match next {
            Err(reason) => Some(reason),
            Ok(_) if self.failures >= self.limits.attempts => Some(StopReason::Attempts),
            Ok(going) => {
                let is_late = |until| going.begins.is_some_and(|begins| begins > until);
                let is_late = self.limits.until.is_some_and(is_late);
                is_late.then_some(match going.wait.source {
                    WaitSource::Backoff => StopReason::Deadline,
                    WaitSource::RetryAfter => StopReason::RetryAfter,
                })
            }
        }
    }
}

impl<V, W, E> State<V, W, E> {
    fn wakers(&mut self) -> Vec<Waker> {
        let wakers = self.waiting.values_mut();
        wakers.filter_map(|caller| caller.waker.take()).collect()
    }

    /// Tells a caller what came of it, and hands out its waker and its change.
    fn tell(
        &mut self,
        place: Place,
        outcome: impl FnOnce(&Caller<V, E>) -> Outcome<V, W, E>,
    ) -> Option<Caller<V, E>> {
        let caller = self.waiting.remove(&place)?;
        let told = Told {
            outcome: outcome(&caller),
            counts: caller.counts,
        };
        self.told.insert(place, told);
        Some(caller)
    }

    fn turn(&mut self, place: Place, waker: &mut Option<Waker>) -> Turn<V, W, E> {
        if let Some(told) = self.told.remove(&place) {
            return Turn::Told(told);
        }
        let Some(caller) = self.waiting.get_mut(&place) else {
            return Turn::Gone;
        };
        core::mem::swap(&mut caller.waker, waker);
        if self.is_polled || self.driver.is_some() && !self.is_woken {
            return Turn::Wait;
        }
        self.is_polled = true;
        self.is_woken = false;
        Turn::Drive(self.driver.take())
    }

    /// After a panic of the read or the write: the others begin again.
    fn interrupted(&mut self) -> Vec<Caller<V, E>> {
        let is_writing = core::mem::take(&mut self.is_writing);
        let mut blind = Vec::new();
        for (place, caller) in &mut self.waiting {
            let was_taken = core::mem::take(&mut caller.is_taken);
            caller.is_doubtful |= was_taken && is_writing;
            // A change that was lost cannot be applied again either.
            if caller.is_doubtful && !caller.recognises || caller.change.is_none() {
                blind.push(*place);
            }
        }
        let interrupted = |_: &Caller<V, E>| Outcome::Failed(CombineError::Interrupted);
        let tell = |place| self.tell(place, interrupted);
        blind.into_iter().filter_map(tell).collect()
    }
}

/// Wakes callers and drops what is left of them, where no lock is held.
fn wake<V, E>(mut callers: Vec<Caller<V, E>>) {
    let wakers = callers.iter_mut().filter_map(|caller| caller.waker.take());
    wakers.for_each(Waker::wake);
}

impl<V, W, E> Lane<V, W, E> {
    pub(super) fn new() -> Self {
        Lane {
            state: Mutex::new(State {
                waiting: BTreeMap::new(),
                told: BTreeMap::new(),
                members: 0,
                next: 0,
                driver: None,
                is_polled: false,
                is_woken: false,
                is_writing: false,
            }),
        }
    }

    /// What panics while it is held leaves nothing half done, for no caller's code runs then.
    #[inline]
    fn with<T>(&self, look: impl FnOnce(&mut State<V, W, E>) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The place of a new caller, or the caller if as many as `at_most` wait.
    pub(super) fn enter(
        &self,
        caller: Caller<V, E>,
        at_most: usize,
    ) -> Result<Place, Caller<V, E>> {
        self.with(|state| {
            if state.waiting.len() >= at_most {
                return Err(caller);
            }
            let place = state.next;
            state.next += 1;
            state.members += 1;
            state.waiting.insert(place, caller);
            Ok(place)
        })
    }

    /// Gives up a place. The step that is under way is dropped with the last who waits for it.
    pub(super) fn leave(&self, place: Place) -> Left<V, W, E> {
        self.with(|state| {
            state.members -= 1;
            let told = state.told.remove(&place);
            let caller = state.waiting.remove(&place);
            let driver = if state.waiting.is_empty() && !state.is_polled {
                state.is_writing = false;
                state.driver.take()
            } else {
                None
            };
            let (may_be_applied, counts) =
                caller.as_ref().map_or_else(Default::default, |caller| {
                    (caller.is_taken || caller.is_doubtful, caller.counts)
                });
            Left {
                told,
                may_be_applied,
                counts,
                is_empty: state.members == 0,
                _dropped: (caller, driver),
            }
        })
    }
}

impl<V: Send + 'static, W: Send + 'static, E: Send + Sync + 'static> Lane<V, W, E> {
    /// Looks whether this caller was told, and drives what is under way if that has asked for it.
    pub(super) fn poll(
        self: &Arc<Self>,
        place: Place,
        make: impl FnOnce() -> Driver,
        cx: &mut Context<'_>,
    ) -> Poll<Told<V, W, E>> {
        let mut waker = Some(cx.waker().clone());
        let turn = self.with(|state| state.turn(place, &mut waker));
        drop(waker);
        let driver = match turn {
            Turn::Told(told) => return Poll::Ready(told),
            Turn::Wait => return Poll::Pending,
            Turn::Drive(driver) => driver,
            Turn::Gone => finished_before(),
        };
        let driven = catch_unwind(AssertUnwindSafe(|| {
            let mut driver = driver.unwrap_or_else(make);
            let waker = Waker::from(Arc::clone(self));
            let polled = driver.as_mut().poll(&mut Context::from_waker(&waker));
            polled.is_pending().then_some(driver)
        }));
        self.driven(place, driven)
    }

    fn driven(&self, place: Place, driven: Result<Option<Driver>, Panic>) -> Poll<Told<V, W, E>> {
        let mut panic = None;
        let (told, dropped, wakers, callers) = self.with(|state| {
            state.is_polled = false;
            let (mut dropped, mut callers) = (None, Vec::new());
            match driven {
                Ok(driver) if state.waiting.is_empty() => {
                    state.is_writing = false;
                    dropped = driver;
                }
                Ok(driver) => {
                    // Somebody came when nobody waited any more.
                    state.is_woken |= driver.is_none();
                    state.driver = driver;
                }
                Err(payload) => {
                    panic = Some(payload);
                    callers.extend(state.waiting.remove(&place));
                    callers.extend(state.interrupted());
                    state.is_woken = true;
                }
            }
            let told = state.told.remove(&place);
            // Whoever came while it was polled was not woken.
            let wakers = if state.is_woken {
                state.wakers()
            } else {
                Vec::new()
            };
            (told, dropped, wakers, callers)
        });
        wakers.into_iter().for_each(Waker::wake);
        wake(callers);
        drop(dropped);
        if let Some(panic) = panic {
            drop(told);
            resume_unwind(panic);
        }
        told.map_or(Poll::Pending, Poll::Ready)
    }
}

/// What the driver does.
impl<V, W, E> Lane<V, W, E> {
    /// A read begins; those who come from now on have higher places than this. `None` if nobody
    /// waits.
    pub(super) fn read_begins(&self) -> Option<Place> {
        self.with(|state| (!state.waiting.is_empty()).then_some(state.next))
    }

    /// Those of these who still wait.
    pub(super) fn keep_waiting(&self, places: &mut Vec<Place>) {
        self.with(|state| places.retain(|place| state.waiting.contains_key(place)));
    }

    /// Whether anybody who waits has a deadline.
    pub(super) fn has_deadlines(&self) -> bool {
        self.with(|state| {
            let mut waiting = state.waiting.values();
            waiting.any(|caller| caller.limits.until.is_some())
        })
    }

    /// Takes the changes of everybody who waits, or only of these, in the order of their places. A
    /// caller whose deadline was over before `now` is told so.
    pub(super) fn take(
        &self,
        mark: Place,
        only: Option<&[Place]>,
        now: Option<Duration>,
    ) -> Hands<'_, V, W, E> {
        let (all, late) = self.with(|state| {
            let (mut all, mut late) = (Vec::new(), Vec::new());
            for (&place, caller) in &mut state.waiting {
                if only.is_some_and(|only| only.binary_search(&place).is_err()) {
                    continue;
                }
                let is_over = |until| now.is_some_and(|now| now > until);
                if caller.limits.until.is_some_and(is_over) {
                    late.push(place);
                    continue;
                }
                let Some(change) = caller.change.take() else {
                    continue;
                };
                caller.is_taken = true;
                caller.counts.attempts = caller.counts.attempts.saturating_add(1);
                let was_there = place < mark;
                all.push(Hand {
                    place,
                    change,
                    was_there,
                });
            }
            let is_over = |caller: &Caller<V, E>| {
                let may_be_applied = caller.is_doubtful;
                Outcome::Failed(CombineError::OutOfTime { may_be_applied })
            };
            let late: Vec<_> = late
                .into_iter()
                .filter_map(|place| state.tell(place, is_over))
                .collect();
            (all, late)
        });
        let hands = Hands { lane: self, all };
        wake(late);
        hands
    }

    /// Tells callers what came of their changes; `outcome` is made of what is known about each, and
    /// whether a write may have applied its change before.
    pub(super) fn tell(&self, outcomes: Vec<(Place, Outcome<V, W, E>)>) {
        let (callers, gone) = self.with(|state| {
            let (mut callers, mut gone) = (Vec::new(), Vec::new());
            for (place, mut outcome) in outcomes {
                match state.waiting.entry(place) {
                    Entry::Vacant(_) => gone.push(outcome),
                    Entry::Occupied(caller) => {
                        let caller = caller.remove();
                        if let Outcome::Failed(CombineError::Own { may_be_applied, .. }) =
                            &mut outcome
                        {
                            *may_be_applied |= caller.is_doubtful;
                        }
                        let counts = caller.counts;
                        state.told.insert(place, Told { outcome, counts });
                        callers.push(caller);
                    }
                }
            }
            (callers, gone)
        });
        drop(gone);
        wake(callers);
    }

    /// The changes that were taken are written.
    pub(super) fn write_begins(&self) {
        self.with(|state| {
            state.is_writing = true;
            for caller in state.waiting.values_mut() {
                if caller.is_taken {
                    caller.counts.writes = caller.counts.writes.saturating_add(1);
                }
            }
        });
    }

    /// The write is over.
    pub(super) fn write_ends(&self) {
        self.with(|state| state.is_writing = false);
    }

    /// Nothing was written of what was taken: those who still wait wait as before.
    pub(super) fn give_back(&self) {
        self.with(|state| {
            for caller in state.waiting.values_mut() {
                caller.is_taken = false;
            }
        });
    }

    /// What was read shows that somebody has written since a write that may have been applied:
    /// changes that do not recognise themselves end with the error of that write.
    pub(super) fn overtaken(&self, error: &Arc<E>) {
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

    /// A write succeeded on the same version as one that may have been applied, which so was not and
    /// never will be.
    pub(super) fn resolved(&self) {
        self.with(|state| {
            for caller in state.waiting.values_mut() {
                caller.is_doubtful &= caller.recognises;
            }
        });
    }

    /// A step failed: counts that, and counts those whom it binds.
    pub(super) fn step_failed(&self, failing: Failing) -> Standing {
        self.with(|state| {
            let mut standing = Standing::default();
            let mut is_endless = false;
            for (&place, caller) in &mut state.waiting {
                if !caller.is_bound(place, failing.bound) {
                    continue;
                }
                standing.all += 1;
                caller.failures = caller.failures.saturating_add(1);
                caller.is_doubtful |= failing.is_doubtful;
                caller.counts.conflicts += u32::from(failing.is_conflict);
                if let Bound::Before(_) = failing.bound {
                    caller.counts.attempts = caller.counts.attempts.saturating_add(1);
                }
                if caller.is_repeatable(failing) {
                    standing.repeatable += 1;
                    if caller.failures < caller.limits.attempts {
                        standing.able += 1;
                        is_endless |= caller.limits.until.is_none();
                        standing.until = standing.until.max(caller.limits.until);
                    }
                }
            }
            if is_endless {
                standing.until = None;
            }
            standing
        })
    }

    /// After a step that failed with `error`: whoever makes no further attempt is told. `next` is what
    /// follows for the others, or why nothing does. Tells how many go on.
    pub(super) fn decided(
        &self,
        failing: Failing,
        error: &Arc<E>,
        next: Result<Going, StopReason>,
    ) -> usize {
        let (told, going) = self.with(|state| {
            let (mut stopped, mut going) = (Vec::new(), 0);
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
                    }
                }
            }
            let told: Vec<_> = stopped
                .into_iter()
                .filter_map(|(place, reason)| {
                    let error = Arc::clone(error);
                    state.tell(place, |caller| {
                        Outcome::Failed(CombineError::Shared {
                            error,
                            reason,
                            may_be_applied: caller.is_doubtful,
                        })
                    })
                })
                .collect();
            (told, going)
        });
        wake(told);
        going
    }
}

/// The driver asks to be polled: every waiting caller may do it, so all are woken. A caller that is
/// kept and not polled holds nobody up.
impl<V: Send + 'static, W: Send + 'static, E: Send + Sync + 'static> Wake for Lane<V, W, E> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let wakers = self.with(|state| {
            state.is_woken = true;
            state.wakers()
        });
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn finished_before() -> ! {
    panic!("an `Updating` was polled after it had finished")
}
