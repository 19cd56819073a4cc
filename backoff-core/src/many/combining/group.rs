//! Applies the changes of a group to one value.

use super::{
    caller::{Change, Outcome, PendingChange, Place},
    error::CombineError,
};
use crate::report::Updated;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// The results of the changes of a group.
pub(super) struct Applied<V, W, E> {
    /// The value to write; `None` if nothing was changed.
    pub(super) value: Option<V>,
    /// The callers whose change changed the value, in order.
    pub(super) changed: Vec<Place>,
    /// The callers who get their outcome now: the change failed, or it changed nothing. In the second case
    /// the value was read after the call, and no change before this one had changed it.
    pub(super) told: Vec<(Place, Outcome<V, W, E>)>,
    /// The other callers whose change changed nothing: they may get this value after the write.
    pub(super) later: Vec<(Place, V)>,
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

/// Applies the changes in their order. A change that fails, or that says that it changed nothing,
/// leaves no trace: the value before it is restored from a copy, and the changes since the copy run
/// again.
pub(super) fn apply<V: Clone, W, E>(
    value: V,
    changes: &mut [PendingChange<V, E>],
) -> Applied<V, W, E> {
    // A copy of the value after the first `kept_after` changes of `changed`. These changes are not run
    // again, however many others fail. A change that is alone needs no copy.
    let mut kept = (changes.len() > 1).then(|| value.clone());
    let mut kept_after = 0;
    let mut value = Some(value);
    // Here a change is named by its index. The next change to run is the last of `to_run`.
    let mut to_run: Vec<usize> = (0..changes.len()).rev().collect();
    let (mut changed, mut told, mut later) = (Vec::new(), Vec::new(), Vec::new());
    // While changes run again: how many changes have not run yet.
    let mut not_run = None;
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
            // The value may hold a half-done change, so only this caller gets the value.
            let seen = core::mem::replace(&mut value, kept.clone());
            // Callers after this one saw a change that is now undone, so they wait for a new read.
            later.retain(|&(later, _)| later < index);
            match (ran, seen) {
                (Err(outcome), _) => told.push((*place, outcome)),
                (Ok(_), Some(seen)) if *was_there && changed.is_empty() => {
                    told.push((*place, Outcome::Done(Updated::Unchanged(seen))));
                }
                (Ok(_), seen) => later.extend(seen.map(|seen| (index, seen))),
            }
            not_run.get_or_insert(to_run.len());
            to_run.extend(changed.drain(kept_after..).rev());
        }
        if not_run == Some(to_run.len()) {
            not_run = None;
            if kept_after < changed.len() {
                kept_after = changed.len();
                kept.clone_from(&value);
            }
        }
    }
    let place = |index: usize| changes[index].place;
    Applied {
        value: value.filter(|_| !changed.is_empty()),
        changed: changed.into_iter().map(place).collect(),
        told,
        later: later
            .into_iter()
            .map(|(index, value)| (place(index), value))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::{
        cell::Cell,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
    };
    use std::sync::Arc;

    /// Applies changes whose write would return nothing.
    fn apply<V: Clone>(value: V, changes: &mut [PendingChange<V, ()>]) -> Applied<V, (), ()> {
        super::apply(value, changes)
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
            for (_, seen) in &applied.later {
                assert_eq!(*seen, [1], "7 was not there when it was seen");
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
    fn changes_that_fail_let_no_other_run_more_than_twice() {
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
        let applied = apply(Vec::new(), &mut changes.collect::<Vec<_>>());
        let names = (0..100).step_by(2).collect::<Vec<u32>>();
        assert_eq!((applied.value, applied.told.len()), (Some(names), 50));
        assert_eq!(ran.load(Relaxed), 150);
    }
}
