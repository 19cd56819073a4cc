//! One resource: its waiting callers, and the caller who polls the running step.
//!
//! One mutex guards the whole state. Values of the callers (changes, wakers, values, futures) are never
//! called and never dropped while the mutex is held: they are taken out and handed to the code that has
//! locked the mutex.

mod steps;

use super::{
    caller::{Caller, Outcome, Panic, Place, Told},
    error::CombineError,
};
use crate::sync::Mutex;
use core::{
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{
    collections::BTreeMap,
    panic::{catch_unwind, resume_unwind},
    sync::{Arc, PoisonError},
    task::Wake,
};

/// The reads and writes of a resource, one after another, until nobody waits for it.
pub(super) type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One resource.
pub(super) struct KeyQueue<V, W, E> {
    state: Mutex<State<V, W, E>>,
}

struct State<V, W, E> {
    waiting: BTreeMap<Place, Caller<V, E>>,
    /// Outcomes that callers have not taken yet.
    told: BTreeMap<Place, Told<V, W, E>>,
    /// The number of callers who have entered and not left.
    members: usize,
    next: Place,
    /// `None` while a caller polls the driver, and if there is no driver.
    driver: Option<Driver>,
    /// The caller who polls the driver.
    polled_by: Option<Place>,
    /// The driver has asked to be polled.
    is_woken: bool,
    /// A write began, and its outcome is not yet recorded for the callers who took part.
    is_writing: bool,
}

/// The next action of a caller that is polled.
enum Turn<V, W, E> {
    Told(Told<V, W, E>),
    Wait,
    /// Poll the driver; without a driver, make one.
    Drive(Option<Driver>),
    Gone,
}

/// The values that a caller leaves behind when it gives up its place.
pub(super) struct Left<V, W, E> {
    pub(super) told: Option<Told<V, W, E>>,
    /// No caller is left.
    pub(super) is_empty: bool,
    /// Values to be dropped while no lock is held.
    _dropped: (Option<Waker>, Option<Driver>),
}

impl<V, W, E> State<V, W, E> {
    fn wakers(&mut self) -> Vec<Waker> {
        let wakers = self.waiting.values_mut();
        wakers.filter_map(|caller| caller.waker.take()).collect()
    }

    /// Gives a caller its outcome, and returns its waker. The caller itself drops its change.
    fn tell(&mut self, place: Place, outcome: Outcome<V, W, E>) -> Option<Waker> {
        let caller = self.waiting.remove(&place)?;
        let told = Told {
            outcome,
            counts: caller.counts,
            change: caller.change,
        };
        self.told.insert(place, told);
        caller.waker
    }

    /// Fails the callers for whom the function returns an error. Returns their wakers.
    fn fail(
        &mut self,
        mut error: impl FnMut(Place, &mut Caller<V, E>) -> Option<CombineError<E>>,
    ) -> Vec<Waker> {
        let waiting = self.waiting.iter_mut();
        let failed = waiting.filter_map(|(&place, caller)| Some((place, error(place, caller)?)));
        let failed: Vec<_> = failed.collect();
        let tell = |(place, error)| self.tell(place, Outcome::Failed(error));
        failed.into_iter().filter_map(tell).collect()
    }

    fn turn(&mut self, place: Place, waker: &mut Option<Waker>) -> Turn<V, W, E> {
        if let Some(told) = self.told.remove(&place) {
            return Turn::Told(told);
        }
        let Some(caller) = self.waiting.get_mut(&place) else {
            return Turn::Gone;
        };
        core::mem::swap(&mut caller.waker, waker);
        if self.polled_by.is_some() || self.driver.is_some() && !self.is_woken {
            return Turn::Wait;
        }
        self.polled_by = Some(place);
        self.is_woken = false;
        Turn::Drive(self.driver.take())
    }

    /// The read or the write panicked: the other callers begin again.
    fn interrupted(&mut self) -> Vec<Waker> {
        let is_writing = core::mem::take(&mut self.is_writing);
        self.fail(|_, caller| {
            let was_taken = core::mem::take(&mut caller.is_taken);
            caller.maybe_applied |= was_taken && is_writing;
            // A change that was lost cannot be applied again either.
            let is_blind = caller.maybe_applied && !caller.recognises || caller.change.is_none();
            is_blind.then_some(CombineError::Interrupted)
        })
    }
}

/// Calls code of a caller, and returns its panic.
fn caught(call: impl FnOnce()) -> Option<Panic> {
    catch_unwind(AssertUnwindSafe(call)).err()
}

/// Wakes callers while no lock is held. All callers are woken before a panic of a waker is passed on.
fn wake(wakers: Vec<Waker>) {
    let mut first = None;
    for waker in wakers {
        let panic = caught(|| waker.wake());
        first = first.or(panic);
    }
    if let Some(panic) = first {
        resume_unwind(panic);
    }
}

/// Drops the values of callers who have gone, while no lock is held. A panic of their destructors does
/// not reach the caller that is polled.
fn drop_each<T>(gone: Vec<T>) {
    for one in gone {
        let _ = caught(|| drop(one));
    }
}

impl<V, W, E> KeyQueue<V, W, E> {
    pub(super) fn new() -> Self {
        KeyQueue {
            state: Mutex::new(State {
                waiting: BTreeMap::new(),
                told: BTreeMap::new(),
                members: 0,
                next: 0,
                driver: None,
                polled_by: None,
                is_woken: false,
                is_writing: false,
            }),
        }
    }

    /// Locks the state. A panic under the lock leaves the state whole, because no caller's code runs then.
    #[inline]
    fn with<T>(&self, look: impl FnOnce(&mut State<V, W, E>) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes in a new caller and returns its place, unless `at_most` callers already wait.
    pub(super) fn enter(&self, caller: &mut Option<Caller<V, E>>, at_most: usize) -> Option<Place> {
        self.with(|state| {
            if state.waiting.len() >= at_most {
                return None;
            }
            let place = state.next;
            state.next += 1;
            state.members += 1;
            state.waiting.insert(place, caller.take()?);
            Some(place)
        })
    }

    /// The signal of this caller has come: its change is taken for no further write. Returns whether the
    /// caller leaves at once, because no running write contains its change.
    pub(super) fn stops(&self, place: Place) -> bool {
        self.with(|state| {
            let caller = state.waiting.get_mut(&place);
            caller.is_some_and(|caller| {
                caller.is_stopped = true;
                !caller.is_taken
            })
        })
    }

    /// Gives up a place. When the last waiting caller leaves, the running step is dropped.
    /// `error` is the outcome of a caller that has none. Its argument says whether a write may have applied
    /// the change, or may still apply it.
    pub(super) fn leave(
        &self,
        place: Place,
        error: impl FnOnce(bool) -> CombineError<E>,
    ) -> Left<V, W, E> {
        self.with(|state| {
            state.members -= 1;
            let caller = state.waiting.get(&place);
            let error = caller.map(|caller| error(caller.is_taken || caller.maybe_applied));
            let waker = error.and_then(|error| state.tell(place, Outcome::Failed(error)));
            let driver = if state.waiting.is_empty() && state.polled_by.is_none() {
                state.is_writing = false;
                state.driver.take()
            } else {
                None
            };
            Left {
                told: state.told.remove(&place),
                is_empty: state.members == 0,
                _dropped: (waker, driver),
            }
        })
    }
}

impl<V: Send + Sync + 'static, W: Send + 'static, E: Send + Sync + 'static> KeyQueue<V, W, E> {
    /// Returns the outcome of this caller if there is one, and polls the driver if the driver has asked to
    /// be polled.
    pub(super) fn poll(
        self: &Arc<Self>,
        place: Place,
        make: impl FnOnce() -> Driver,
        cx: &mut Context<'_>,
    ) -> Poll<Told<V, W, E>> {
        let mut waker = Some(cx.waker().clone());
        let turn = self.with(|state| state.turn(place, &mut waker));
        // The turn is given back before the panic of the waker's destructor goes on.
        let panic = caught(|| drop(waker));
        let polled = match turn {
            Turn::Told(told) => Poll::Ready(told),
            Turn::Wait => Poll::Pending,
            Turn::Drive(driver) => {
                let driven = catch_unwind(AssertUnwindSafe(|| {
                    let mut driver = driver.unwrap_or_else(make);
                    let waker = Waker::from(Arc::clone(self));
                    let polled = driver.as_mut().poll(&mut Context::from_waker(&waker));
                    polled.is_pending().then_some(driver)
                }));
                self.driven(place, driven)
            }
            Turn::Gone => finished_before(),
        };
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        polled
    }

    fn driven(&self, place: Place, driven: Result<Option<Driver>, Panic>) -> Poll<Told<V, W, E>> {
        let mut panic = None;
        let (told, dropped, wakers) = self.with(|state| {
            state.polled_by = None;
            let (mut dropped, mut wakers) = ((None, None), Vec::new());
            match driven {
                Ok(driver) if state.waiting.is_empty() => {
                    state.is_writing = false;
                    dropped.0 = driver;
                }
                Ok(driver) => {
                    // A caller came when nobody waited any more.
                    state.is_woken |= driver.is_none();
                    state.driver = driver;
                }
                Err(payload) => {
                    panic = Some(payload);
                    dropped.1 = state.waiting.remove(&place);
                    wakers = state.interrupted();
                    state.is_woken = true;
                }
            }
            let told = state.told.remove(&place);
            // Callers who came during the poll were not woken.
            if state.is_woken {
                wakers.extend(state.wakers());
            }
            (told, dropped, wakers)
        });
        wake(wakers);
        drop(dropped);
        if let Some(panic) = panic {
            drop(told);
            resume_unwind(panic);
        }
        told.map_or(Poll::Pending, Poll::Ready)
    }
}

/// The driver asks to be polled. Any waiting caller may poll it, so all callers are woken: a
/// caller that stops polling blocks no one.
impl<V: Send + Sync + 'static, W: Send + 'static, E: Send + Sync + 'static> Wake
    for KeyQueue<V, W, E>
{
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let wakers = self.with(|state| {
            state.is_woken = true;
            state.wakers()
        });
        wake(wakers);
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn finished_before() -> ! {
    panic!("an `Updating` was polled after it had finished")
}
