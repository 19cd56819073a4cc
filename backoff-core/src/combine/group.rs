//! Applies the changes of a group to one value.

use super::{
    caller::{Caller, Change, Effect, Outcome},
    error::CombineError,
};
use crate::report::Updated;
use core::{future::poll_fn, panic::AssertUnwindSafe, task::Poll};
use std::{panic::catch_unwind, sync::Arc};

/// How many changes run in one poll of the task. Longer polls would keep a runtime's thread from its other
/// tasks.
const CHANGES_PER_POLL: usize = 128;

/// Runs a change. A failure is the outcome of its caller.
fn run<V, W, E>(change: &mut Change<V, E>, value: &mut V) -> Result<bool, Outcome<V, W, E>> {
    let own = |error| {
        let may_be_applied = false;
        Outcome::failed(CombineError::Own {
            error,
            may_be_applied,
        })
    };
    match catch_unwind(AssertUnwindSafe(|| change(value))) {
        Ok(changed) => changed.map_err(own),
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

/// Applies the changes in their order. A change that fails, or that says that it changed nothing, leaves no trace:
/// the value before it is restored from a copy, and the changes since the copy run again.
///
/// Callers whose change failed get their outcome, and so do those who changed nothing in a value that was read after
/// their call and that no change before theirs had changed. The other callers get an [`Effect`]. Returns the value to
/// write, if it was changed, and a copy for those who changed nothing in it.
pub(super) async fn apply<V: Clone, W, E>(
    value: V,
    callers: &mut [Caller<V, W, E>],
) -> Option<(V, Option<Arc<V>>)> {
    // A copy of the value after the first `kept_after` changes of `changed`. These changes are not run
    // again, however many others fail. A change that is alone needs no copy.
    let mut kept = (callers.len() > 1).then(|| Arc::new(value.clone()));
    let mut kept_after = 0;
    let mut value = Some(value);
    // Here a change is named by its index. The next change to run is the last of `to_run`.
    let mut to_run: Vec<usize> = (0..callers.len()).rev().collect();
    let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
    // While changes run again: how many changes have not run yet.
    let mut not_run = None;
    let mut runs = 0;
    while let (Some(index), Some(current)) = (to_run.pop(), &mut value) {
        let caller = &mut callers[index];
        let ran = run(&mut caller.change, current);
        if let Ok(true) = ran {
            changed.push(index);
        } else {
            // The value may hold a half-done change.
            let seen = core::mem::replace(&mut value, kept.as_deref().cloned());
            // Callers after this one saw a change that is now undone, so they wait for a new read.
            unchanged.truncate(unchanged.partition_point(|&unchanged| unchanged < index));
            match ran {
                Err(outcome) => caller.answer(outcome),
                Ok(_) if caller.was_there && changed.is_empty() => {
                    // The copy is still the value that was read.
                    if let Some(read) = kept.clone().or_else(|| seen.map(Arc::new)) {
                        caller.answer(Outcome::Done(Updated::Unchanged(read)));
                    }
                }
                Ok(_) => unchanged.push(index),
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
    let value = value.filter(|_| !changed.is_empty())?;
    drop(kept);
    let copy = (!unchanged.is_empty()).then(|| Arc::new(value.clone()));
    for index in changed {
        callers[index].effect = Effect::Changed;
    }
    for index in unchanged {
        callers[index].effect = Effect::Unchanged;
    }
    Some((value, copy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Participant;
    use core::{
        cell::Cell,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        task::{Context, Waker},
    };

    /// The results of the changes of a group.
    struct Applied<V> {
        value: Option<V>,
        copy: Option<Arc<V>>,
        /// For each caller: changed, unchanged, waits, or answered.
        effects: String,
        polls: usize,
    }

    fn apply<V: Clone>(value: V, changes: Vec<Change<V, ()>>) -> Applied<V> {
        let callers = changes.into_iter().map(|change| {
            let (receiver, mut caller) = Caller::<V, (), ()>::new(change, true, Participant::new());
            caller.was_there = true;
            (receiver, caller)
        });
        let (_places, mut callers): (Vec<_>, Vec<_>) = callers.unzip();
        let mut applying = Box::pin(super::apply(value, &mut callers));
        let cx = &mut Context::from_waker(Waker::noop());
        let polled = (1..).find_map(|polls| match applying.as_mut().poll(cx) {
            Poll::Ready(applied) => Some((polls, applied)),
            Poll::Pending => None,
        });
        let (polls, applied) = polled.unwrap();
        drop(applying);
        let (value, copy) = applied.unzip();
        let effect = |caller: &Caller<V, (), ()>| match caller.effect {
            _ if !caller.is_waiting() => 'a',
            Effect::Changed => 'c',
            Effect::Unchanged => 'u',
            Effect::Waits => 'w',
        };
        Applied {
            value,
            copy: copy.flatten(),
            effects: callers.iter().map(effect).collect(),
            polls,
        }
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
        // The change that adds 9 fails.
        for (adding, sum, effects, copied) in [(&[1][..], 1, "c", 0), (&[1, 9, 2, 4], 7, "cacc", 3)]
        {
            let copies = Cell::new(0);
            let changes = adding.iter().map(|&add| {
                change(move |value: &mut Counted<'_>| {
                    value.0 += add;
                    if add == 9 { Err(()) } else { Ok(add > 0) }
                })
            });
            let applied = apply(Counted(0, &copies), changes.collect());
            assert_eq!(applied.value.map(|value| value.0), Some(sum));
            assert_eq!((&*applied.effects, copies.get()), (effects, copied));
        }
    }

    fn change<V>(change: impl FnMut(&mut V) -> Result<bool, ()> + Send + 'static) -> Change<V, ()> {
        Box::new(change)
    }

    fn adds(name: u32) -> Change<Vec<u32>, ()> {
        change(move |names: &mut Vec<u32>| {
            let is_new = !names.contains(&name);
            if is_new {
                names.push(name);
            }
            Ok(is_new)
        })
    }

    /// Rows: the changes, the value that is left, and what the callers are told.
    #[test]
    fn who_saw_a_change_that_is_gone_is_told_nothing_of_it() {
        let fails = || change(|_| Err(()));
        let touches = || {
            change(|names: &mut Vec<u32>| {
                names.push(66);
                Ok(false)
            })
        };
        let changes_once = |second| {
            let mut is_first = true;
            change(move |names: &mut Vec<u32>| {
                let first = core::mem::take(&mut is_first);
                names.extend(first.then_some(7));
                if first { Ok(true) } else { second }
            })
        };
        let among = |once| vec![adds(1), once, adds(1), fails(), adds(7)];
        let untouched = vec![touches(), adds(1), touches(), adds(3)];
        for (changes, value, effects) in [
            (among(changes_once(Err(()))), [1, 7], "cawac"),
            (among(changes_once(Ok(false))), [1, 7], "cuwac"),
            (untouched, [1, 3], "acuc"),
        ] {
            let applied = apply(Vec::new(), changes);
            assert_eq!(applied.value, Some(value.to_vec()), "{effects}");
            assert_eq!(applied.effects, effects);
            assert!(applied.copy.is_none_or(|copy| *copy == value), "{effects}");
        }
    }

    #[test]
    fn changes_that_fail_let_no_other_run_more_than_twice_and_128_run_in_a_poll() {
        let ran = Arc::<AtomicUsize>::default();
        let changes = (0..100).map(|name| {
            let (ran, mut add) = (Arc::clone(&ran), adds(name));
            change(move |names| {
                ran.fetch_add(1, Relaxed);
                if name % 2 == 0 { add(names) } else { Err(()) }
            })
        });
        let applied = apply(Vec::new(), changes.collect());
        let names = (0..100).step_by(2).collect::<Vec<u32>>();
        assert_eq!(applied.value, Some(names));
        assert_eq!(applied.effects, "ca".repeat(50));
        assert_eq!((ran.load(Relaxed), applied.polls), (150, 2));
    }
}
