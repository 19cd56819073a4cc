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

impl<V, W, E> Applied<V, W, E> {
    fn unchanged(&mut self, place: Place, value: V) {
        let outcome = Outcome::Done(Updated::Unchanged(value));
        self.told.push((place, outcome));
    }
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
/// leaves no trace: the other changes are applied to a copy of the value before it. A change that is
/// alone needs no copy.
pub(super) fn apply<V: Clone, W, E>(
    value: V,
    changes: &mut [PendingChange<V, E>],
) -> Applied<V, W, E> {
    let mut applied = Applied {
        value: None,
        changed: Vec::new(),
        told: Vec::new(),
        later: Vec::new(),
    };
    match changes {
        [] => return applied,
        [pending] => {
            alone(value, pending, &mut applied);
            return applied;
        }
        _ => {}
    }
    let mut progress = Progress {
        kept: value.clone(),
        kept_after: 0,
        changed: Vec::new(),
        later: Vec::new(),
    };
    let mut value = value;
    for index in 0..changes.len() {
        let PendingChange {
            place,
            change,
            was_there,
        } = &mut changes[index];
        let ran = run(change, &mut value);
        if let Ok(true) = ran {
            progress.changed.push(index);
            continue;
        }
        // The value may hold a half-done change, so only this caller gets the value.
        let seen = core::mem::replace(&mut value, progress.kept.clone());
        match ran {
            Err(outcome) => applied.told.push((*place, outcome)),
            Ok(_) if *was_there && progress.changed.is_empty() => applied.unchanged(*place, seen),
            Ok(_) => progress.later.push((index, seen)),
        }
        if progress.kept_after < progress.changed.len() {
            value = progress.again(value, changes, &mut applied);
        }
    }
    let Progress { changed, later, .. } = progress;
    applied.value = (!changed.is_empty()).then_some(value);
    applied.changed = changed.iter().map(|&index| changes[index].place).collect();
    let later = later.into_iter();
    applied.later = later
        .map(|(index, value)| (changes[index].place, value))
        .collect();
    applied
}

/// The only change of a group.
fn alone<V, W, E>(mut value: V, pending: &mut PendingChange<V, E>, applied: &mut Applied<V, W, E>) {
    let place = pending.place;
    match run(&mut pending.change, &mut value) {
        Ok(true) => {
            applied.changed.push(place);
            applied.value = Some(value);
        }
        Ok(false) if pending.was_there => applied.unchanged(place, value),
        Ok(false) => applied.later.push((place, value)),
        Err(outcome) => applied.told.push((place, outcome)),
    }
}

/// The value so far, after several changes. Here a caller is named by its index among the changes.
struct Progress<V> {
    /// A copy of the value after the first `kept_after` of the changes in `changed`. These changes are not
    /// run again, however many others fail.
    kept: V,
    kept_after: usize,
    changed: Vec<usize>,
    later: Vec<(usize, V)>,
}

impl<V: Clone> Progress<V> {
    /// Applies the changes since the copy again to `value`, which is equal to the copy, and makes a new
    /// copy.
    fn again<W, E>(
        &mut self,
        mut value: V,
        changes: &mut [PendingChange<V, E>],
        applied: &mut Applied<V, W, E>,
    ) -> V {
        let mut done = self.kept_after;
        while let Some(&index) = self.changed.get(done) {
            let PendingChange {
                place,
                change,
                was_there,
            } = &mut changes[index];
            let ran = run(change, &mut value);
            if let Ok(true) = ran {
                done += 1;
                continue;
            }
            // Callers after this one saw a change that is now undone, so they wait for a new read.
            self.changed.remove(done);
            self.later.retain(|&(later, _)| later < index);
            let seen = core::mem::replace(&mut value, self.kept.clone());
            match ran {
                Err(outcome) => applied.told.push((*place, outcome)),
                Ok(_) if *was_there && done == 0 => applied.unchanged(*place, seen),
                Ok(_) => self.later.push((index, seen)),
            }
            done = self.kept_after;
        }
        self.kept_after = done;
        self.kept = value.clone();
        value
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
        let pending = |place, add: u32| PendingChange::<Counted<'_>, ()> {
            place,
            change: Box::new(move |value| {
                value.0 += add;
                if add == 9 { Err(()) } else { Ok(add > 0) }
            }),
            was_there: true,
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

    type Ran = Arc<AtomicUsize>;

    /// A change that counts how often it ran.
    fn pending(
        place: Place,
        ran: &Ran,
        mut change: impl FnMut(&mut Vec<u32>) -> Result<bool, ()> + Send + 'static,
    ) -> PendingChange<Vec<u32>, ()> {
        let ran = Arc::clone(ran);
        PendingChange {
            place,
            change: Box::new(move |value| {
                ran.fetch_add(1, Relaxed);
                change(value)
            }),
            was_there: true,
        }
    }

    fn adds(place: Place, ran: &Ran, name: u32) -> PendingChange<Vec<u32>, ()> {
        pending(place, ran, move |names| {
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
            let ran = Ran::default();
            let mut is_first = true;
            let once = move |names: &mut Vec<u32>| match core::mem::take(&mut is_first) {
                true => {
                    names.push(7);
                    Ok(true)
                }
                false => second,
            };
            let changes = &mut [
                adds(0, &ran, 1),
                pending(1, &ran, once),
                adds(2, &ran, 1),
                pending(3, &ran, |_| Err(())),
                adds(4, &ran, 7),
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
        let ran = Ran::default();
        let touches = |names: &mut Vec<u32>| {
            names.push(66);
            Ok(false)
        };
        let changes = &mut [
            pending(0, &ran, touches),
            adds(1, &ran, 1),
            pending(2, &ran, touches),
            adds(3, &ran, 3),
        ];
        let applied = apply(Vec::new(), changes);
        assert_eq!(applied.value, Some(vec![1, 3]));
        assert_eq!(applied.changed, [1, 3]);
    }

    #[test]
    fn changes_that_fail_let_no_other_run_more_than_twice() {
        let ran = Ran::default();
        let changes = (0..100).map(|place| match place % 2 {
            0 => adds(place, &ran, place as u32),
            _ => pending(place, &ran, |_| Err(())),
        });
        let applied = apply(Vec::new(), &mut changes.collect::<Vec<_>>());
        let names = (0..100).step_by(2).collect::<Vec<u32>>();
        assert_eq!((applied.value, applied.told.len()), (Some(names), 50));
        assert_eq!(ran.load(Relaxed), 150);
    }
}
