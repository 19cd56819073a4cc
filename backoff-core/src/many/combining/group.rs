//! Applies the changes of a group to one value.

use super::{
    caller::{Change, Outcome, PendingChange, Place},
    error::CombineError,
};
use crate::report::Updated;
use core::{future::poll_fn, panic::AssertUnwindSafe, task::Poll};
use std::{panic::catch_unwind, sync::Arc};

/// How many changes run in one poll of a caller. Longer polls would keep a runtime's thread from its other
/// tasks.
const CHANGES_PER_POLL: usize = 128;

/// The results of the changes of a group.
pub(super) struct Applied<V, W, E> {
    /// The value to write; `None` if nothing was changed.
    pub(super) value: Option<V>,
    /// The callers whose change changed the value, in order.
    pub(super) changed: Vec<Place>,
    /// The callers who get their outcome now: the change failed, or it changed nothing. In the second case
    /// the value was read after the call, and no change before this one had changed it.
    pub(super) told: Vec<(Place, Outcome<V, W, E>)>,
    /// The other callers whose change changed nothing: after the write they may get the value that is
    /// written. One copy is for all.
    pub(super) later: Vec<(Place, Arc<V>)>,
}

/// Runs a change. A failure is the outcome of its caller.
fn run<V, W, E>(change: &mut Change<V, E>, value: &mut V) -> Result<bool, Outcome<V, W, E>> {
    let own = |error| CombineError::Own {
        error,
        may_be_applied: false,
    };
    match catch_unwind(AssertUnwindSafe(|| change(value))) {
        Ok(changed) => changed.map_err(|error| Outcome::Failed(own(error))),
        Err(panic) => Err(Outcome::Panicked(panic)),
    }
}

/// Ends the poll; the next poll goes on.
async fn end_poll() {
    let mut has_ended = false;
    poll_fn(|cx| {
        if has_ended {
            return Poll::Ready(());
        }
        has_ended = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Applies the changes in their order. A change that fails, or that says that it changed nothing,
/// leaves no trace: the value before it is restored from a copy, and the changes since the copy run
/// again.
pub(super) async fn apply<V: Clone, W, E>(
    value: V,
    changes: &mut [PendingChange<V, E>],
) -> Applied<V, W, E> {
    // A copy of the value after the first `kept_after` changes of `changed`. These changes are not run
    // again, however many others fail. A change that is alone needs no copy.
    let mut kept = (changes.len() > 1).then(|| Arc::new(value.clone()));
    let mut kept_after = 0;
    let mut value = Some(value);
    // Here a change is named by its index. The next change to run is the last of `to_run`.
    let mut to_run: Vec<usize> = (0..changes.len()).rev().collect();
    let (mut changed, mut told, mut later) = (Vec::new(), Vec::new(), Vec::new());
    // While changes run again: how many changes have not run yet.
    let mut not_run = None;
    let mut runs = 0;
    while let (Some(index), Some(current)) = (to_run.pop(), &mut value) {
        let PendingChange {
            place,
            change,
            was_there,
        } = &mut changes[index];
        let ran = run(change, current);
        if let Ok(true) = ran {
            changed.push(index);
        } else {
            // The value may hold a half-done change.
            let seen = core::mem::replace(&mut value, kept.as_deref().cloned());
            // Callers after this one saw a change that is now undone, so they wait for a new read.
            later.truncate(later.partition_point(|&later| later < index));
            match ran {
                Err(outcome) => told.push((*place, outcome)),
                Ok(_) if *was_there && changed.is_empty() => {
                    // The copy is still the value that was read.
                    let read = kept.clone().or_else(|| seen.map(Arc::new));
                    let unchanged = |read| Outcome::Done(Updated::Unchanged(read));
                    told.extend(read.map(|read| (*place, unchanged(read))));
                }
                Ok(_) => later.push(index),
            }
            not_run.get_or_insert(to_run.len());
            to_run.extend(changed.drain(kept_after..).rev());
        }
        if not_run == Some(to_run.len()) {
            not_run = None;
            if kept_after < changed.len() {
                kept_after = changed.len();
                kept = value.clone().map(Arc::new);
            }
        }
        runs += 1;
        if runs % CHANGES_PER_POLL == 0 {
            end_poll().await;
        }
    }
    drop(kept);
    let value = value.filter(|_| !changed.is_empty());
    let copy = value.as_ref().filter(|_| !later.is_empty());
    let copy = copy.map(|value| Arc::new(value.clone()));
    let place = |index: usize| changes[index].place;
    let with_copy = |index| Some((place(index), Arc::clone(copy.as_ref()?)));
    Applied {
        changed: changed.into_iter().map(place).collect(),
        told,
        later: later.into_iter().filter_map(with_copy).collect(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::{
        cell::Cell,
        pin::pin,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        task::{Context, Waker},
    };

    /// Applies changes whose write would return nothing. Also returns the number of polls.
    fn in_polls<V: Clone>(
        value: V,
        changes: &mut [PendingChange<V, ()>],
    ) -> (usize, Applied<V, (), ()>) {
        let mut applying = pin!(super::apply(value, changes));
        let cx = &mut Context::from_waker(Waker::noop());
        let polled = (1..).find_map(|polls| match applying.as_mut().poll(cx) {
            Poll::Ready(applied) => Some((polls, applied)),
            Poll::Pending => None,
        });
        polled.unwrap()
    }

    fn apply<V: Clone>(value: V, changes: &mut [PendingChange<V, ()>]) -> Applied<V, (), ()> {
        in_polls(value, changes).1
    }

    #[test]
    fn a_change_that_is_alone_costs_no_copy() {
        struct Counted<'c>(u32, &'c Cell<u32>);
        impl Clone for Counted<'_> {
            fn clone(&self) -> Self {
                self.1.set(self.1.get() + 1);
                Counted(self.0, self.1)
            }
        }
        let copies = Cell::new(0);
        let pending = |place, add: u32| {
            pending(place, move |value: &mut Counted<'_>| {
                value.0 += add;
                if add == 9 { Err(()) } else { Ok(add > 0) }
            })
        };
        let applied = apply(Counted(0, &copies), &mut [pending(0, 1)]);
        assert_eq!(
            (applied.value.map(|value| value.0), copies.get()),
            (Some(1), 0)
        );
        let several = &mut [pending(0, 1), pending(1, 9), pending(2, 2), pending(3, 4)];
        let applied = apply(Counted(0, &copies), several);
        assert_eq!(
            applied.value.map(|value| value.0),
            Some(7),
            "without the one that failed"
        );
        assert_eq!((applied.changed, copies.get()), (vec![0, 2, 3], 3));
    }

    fn pending<V>(
        place: Place,
        change: impl FnMut(&mut V) -> Result<bool, ()> + Send + 'static,
    ) -> PendingChange<V, ()> {
        PendingChange {
            place,
            change: Box::new(change),
            was_there: true,
        }
    }

    fn adds(place: Place, name: u32) -> PendingChange<Vec<u32>, ()> {
        pending(place, move |names: &mut Vec<u32>| {
            let is_new = !names.contains(&name);
            if is_new {
                names.push(name);
            }
            Ok(is_new)
        })
    }

    #[test]
    fn who_saw_a_change_that_is_gone_is_told_nothing_of_it() {
        for second in [Err(()), Ok(false)] {
            let mut is_first = true;
            let once = move |names: &mut Vec<u32>| match core::mem::take(&mut is_first) {
                true => {
                    names.push(7);
                    Ok(true)
                }
                false => second,
            };
            let changes = &mut [
                adds(0, 1),
                pending(1, once),
                adds(2, 1),
                pending(3, |_| Err(())),
                adds(4, 7),
            ];
            let applied = apply(Vec::new(), changes);
            assert_eq!(applied.value, Some(vec![1, 7]));
            assert_eq!(applied.changed, [0, 4]);
            let later: Vec<_> = applied.later.iter().map(|later| later.0).collect();
            let failed: Vec<_> = applied.told.iter().map(|failed| failed.0).collect();
            match second {
                Err(()) => assert_eq!((later, failed), (vec![], vec![1, 3])),
                Ok(_) => assert_eq!((later, failed), (vec![1], vec![3])),
            }
            for (_, written) in &applied.later {
                assert_eq!(**written, [1, 7]);
            }
        }
    }

    #[test]
    fn a_change_that_says_no_leaves_nothing_in_the_value() {
        let touches = |names: &mut Vec<u32>| {
            names.push(66);
            Ok(false)
        };
        let changes = &mut [
            pending(0, touches),
            adds(1, 1),
            pending(2, touches),
            adds(3, 3),
        ];
        let applied = apply(Vec::new(), changes);
        assert_eq!(applied.value, Some(vec![1, 3]));
        assert_eq!(applied.changed, [1, 3]);
    }

    #[test]
    fn changes_that_fail_let_no_other_run_more_than_twice_and_128_run_in_a_poll() {
        let ran = Arc::<AtomicUsize>::default();
        let changes = (0..100).map(|place| {
            let ran = Arc::clone(&ran);
            let mut change = adds(place, place as u32).change;
            pending(place, move |names| {
                ran.fetch_add(1, Relaxed);
                if place % 2 == 0 {
                    change(names)
                } else {
                    Err(())
                }
            })
        });
        let (polls, applied) = in_polls(Vec::new(), &mut changes.collect::<Vec<_>>());
        let names = (0..100).step_by(2).collect::<Vec<u32>>();
        assert_eq!((applied.value, applied.told.len()), (Some(names), 50));
        assert_eq!((ran.load(Relaxed), polls), (150, 2));
    }
}
