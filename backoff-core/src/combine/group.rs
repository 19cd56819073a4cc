//! The changes that one read-modify-write makes. The decisions about retries are those of the call around it.

use super::{
    caller::{Caller, Effect, Resource},
    error::{CombineError, Shared},
};
use crate::{
    call::update::Changed,
    facts::fault::Fault,
    named_debug::named_in_debug,
    report::{Reporting, RetryError, StopReason, UpdateReport, Updated},
    sync::{Mutex, MutexGuard, lock},
};
use core::{
    future::{Future, poll_fn},
    mem,
    panic::AssertUnwindSafe,
    task::Poll,
};
use std::{panic::catch_unwind, sync::Arc};

/// How many changes run in one poll of the task. Longer polls would keep a runtime's thread from its other
/// tasks.
const CHANGES_PER_POLL: usize = 128;

/// The end of the read-modify-write of a group: that of a [`reported`](crate::Retrying::reported) update.
pub type GroupResult<V, W, E> = Reporting<Updated<V, W>, Shared<E>, UpdateReport>;

/// The changes that one read-modify-write makes. Its three methods stand around the three steps of
/// [`Policy::update`](crate::Policy::update): see [`Combining`](super::Combining).
///
/// The error of these steps is [`Shared`], which only a group and the settings of the call make. So a read or a write that
/// does not go through the group does not compile, or panics.
pub struct Group<V, W, E>(pub(super) Arc<GroupState<V, W, E>>);

pub(super) struct GroupState<V, W, E> {
    resource: Arc<Resource<V, W, E>>,
    /// Newcomers join before each read and after it. The halves of a refused group take in nobody.
    is_half: bool,
    /// Changes run under this lock, which only the task takes.
    changes: Mutex<Changes<V, W, E>>,
}

struct Changes<V, W, E> {
    callers: Vec<Caller<V, W, E>>,
    /// The value that is written, for those who changed nothing in it.
    copy: Option<Arc<V>>,
    attempts: u32,
    /// The changes were applied to the value that was read.
    is_applied: bool,
    /// The last write was refused for its value, which had several changes.
    is_refused: bool,
}

/// What the changes of a group did: nothing, or something, and whether one of them recognises its own effect.
struct GroupChange(Option<bool>);

impl<E> Changed<E> for GroupChange {
    const RECOGNISES: bool = true;
    const IS_CONDITIONAL: bool = true;

    fn recognises(&self) -> bool {
        self.0 == Some(true)
    }

    fn changed(self) -> Result<bool, E> {
        Ok(self.0.is_some())
    }
}

impl<V, W, E> Group<V, W, E> {
    /// Makes the read, and then the changes of all callers who have come until it returns. The future `read` must not read before
    /// its first poll. A [`version`](crate::Retrying::version) is read from the changed value, so changes must not touch it.
    ///
    /// # Errors
    /// The error of the read.
    pub async fn read(&self, read: impl Future<Output = Result<V, E>>) -> Result<V, Shared<E>>
    where
        V: Clone,
    {
        self.0.changes().begin();
        self.0.join(true);
        let value = read.await.map_err(Shared::new)?;
        self.0.join(false);
        Ok(self.0.applied(value).await)
    }

    /// Whether there is something to write: the change of the update.
    ///
    /// # Panics
    /// When the value does not come from [`read`](Self::read).
    pub fn has_changed(&self) -> impl Changed<Shared<E>> + use<V, W, E> {
        let mut changes = self.0.changes();
        let is_applied = mem::take(&mut changes.is_applied);
        assert!(is_applied, "read the value of a group by `Group::read`");
        changes.made()
    }

    /// Makes the write.
    ///
    /// # Errors
    /// The error of the write.
    pub async fn write(&self, write: impl Future<Output = Result<W, E>>) -> Result<W, Shared<E>>
    where
        E: Fault,
    {
        let cut = Cut(&self.0);
        let written = write.await;
        mem::forget(cut);
        written.map_err(|error| {
            let shared = Shared::new(error);
            let may_be_written = shared.may_be_written();
            let mut changes = self.0.changes();
            let is_refused = shared.refuses_value() && !may_be_written;
            changes.is_refused = is_refused && changes.with(Effect::Changed).count() > 1;
            let error = || shared.told(StopReason::MaybeApplied, true);
            changes.not_written(may_be_written, error);
            shared
        })
    }
}

impl<V, W, E> GroupState<V, W, E> {
    pub(super) fn new(
        resource: &Arc<Resource<V, W, E>>,
        mut callers: Vec<Caller<V, W, E>>,
        is_half: bool,
    ) -> Arc<Self> {
        callers.iter_mut().for_each(|caller| caller.is_late = false);
        Arc::new(GroupState {
            resource: Arc::clone(resource),
            is_half,
            changes: Mutex::new(Changes {
                callers,
                copy: None,
                attempts: 0,
                is_applied: false,
                is_refused: false,
            }),
        })
    }

    fn changes(&self) -> MutexGuard<'_, Changes<V, W, E>> {
        lock(&self.changes)
    }

    /// Takes in the callers who came.
    fn join(&self, was_there: bool) {
        if self.is_half {
            return;
        }
        let mut newcomers = mem::take(&mut self.resource.queue().waiting);
        let mut changes = self.changes();
        for caller in &mut newcomers {
            caller.was_there = was_there;
            caller.is_late = changes.attempts > 1;
        }
        changes.callers.append(&mut newcomers);
    }

    /// Applies the changes in their order. What a change does that has no effect is undone: the changes since the last
    /// copy run again on this copy.
    async fn applied(&self, mut value: V) -> V
    where
        V: Clone,
    {
        let count = {
            let mut changes = self.changes();
            changes.callers.retain(Caller::take);
            changes.callers.len()
        };
        // A change that is alone is not written without its effect, so it needs no copy.
        let mut copy = (count > 1).then(|| Arc::new(value.clone()));
        let (mut is_changed, mut since, mut runs) = (false, Vec::new(), 0);
        let mut index = 0;
        while index < count {
            if self.apply(index, &mut value, &mut runs).await {
                since.push(index);
                index += 1;
                continue;
            }
            let (mut saw_undone, mut again) = (false, 0);
            if let Some(before) = &copy {
                value.clone_from(before);
                while let Some(&other) = since.get(again) {
                    again += 1;
                    if !self.apply(other, &mut value, &mut runs).await {
                        // This change has an effect only sometimes. It waits for the next read.
                        saw_undone = true;
                        since.remove(again - 1);
                        value.clone_from(before);
                        again = 0;
                    }
                }
            }
            if !mem::take(&mut since).is_empty() {
                is_changed = true;
                copy = Some(Arc::new(value.clone()));
            }
            let mut changes = self.changes();
            let caller = &mut changes.callers[index];
            // A change that found nothing to do because of an effect that is undone now runs again.
            if saw_undone && caller.is_open() {
                continue;
            }
            index += 1;
            if let Some(read) = copy.as_ref().filter(|_| caller.was_there && !is_changed) {
                caller.end(|_| Ok(Ok(Updated::Unchanged(Arc::clone(read)))));
            }
            if caller.is_open() {
                caller.effect = Effect::Unchanged;
            }
        }
        drop(copy);
        let mut changes = self.changes();
        let is_shared =
            changes.with(Effect::Unchanged).next().is_some() && changes.made().0.is_some();
        changes.copy = is_shared.then(|| Arc::new(value.clone()));
        changes.is_applied = true;
        value
    }

    /// Runs a change, in the next poll if enough changes ran in this one. A failure is the outcome of its caller. Returns whether
    /// the change has an effect.
    async fn apply(&self, index: usize, value: &mut V, runs: &mut usize) -> bool {
        if *runs == CHANGES_PER_POLL {
            // This is pending once.
            poll_fn(|cx| match mem::take(runs) {
                0 => Poll::Ready(()),
                _ => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
            })
            .await;
        }
        *runs += 1;
        let caller = &mut self.changes().callers[index];
        caller.effect = Effect::Waits;
        match catch_unwind(AssertUnwindSafe(|| (caller.change)(value))) {
            Ok(Ok(true)) => caller.effect = Effect::Changed,
            Ok(Ok(false)) => {}
            Ok(Err(error)) => caller.end(|may_be_applied| {
                Ok(Err(CombineError::Own {
                    error,
                    may_be_applied,
                }))
            }),
            Err(panic) => caller.end(|_| Err(panic)),
        }
        caller.effect == Effect::Changed
    }

    /// The call of the group has ended: its callers get their outcomes, or wait for the next read. Returns the changes whose
    /// value was refused, of which a half may be accepted, or whether the call succeeded.
    pub(super) fn ended(&self, ended: GroupResult<V, W, E>) -> Result<bool, Vec<Caller<V, W, E>>>
    where
        W: Clone,
    {
        let (mut callers, copy, is_refused) = {
            let mut changes = self.changes();
            let callers = mem::take(&mut changes.callers);
            (callers, changes.copy.take(), changes.is_refused)
        };
        let mut next = Ok(ended.is_ok());
        match ended {
            Ok((updated, _)) => {
                let (reply, value) = match updated {
                    Updated::Unchanged(value) => (None, Some(Arc::new(value))),
                    Updated::Written(reply) => (Some(reply), copy),
                };
                for caller in &callers {
                    let updated = match caller.effect {
                        Effect::Changed => reply.clone().map(Updated::Written),
                        Effect::Unchanged if reply.is_some() || caller.was_there => {
                            value.clone().map(Updated::Unchanged)
                        }
                        _ => None,
                    };
                    if let Some(updated) = updated {
                        caller.end(|_| Ok(Ok(updated)));
                    }
                }
            }
            Err(failed) if is_refused && failed.reason == StopReason::Permanent => {
                let is_changed = |caller: &mut Caller<V, W, E>| caller.effect == Effect::Changed;
                next = Err(callers.extract_if(.., is_changed).collect());
            }
            Err(RetryError { error, reason, .. }) => {
                let is_concerned = |caller: &&Caller<V, W, E>| match reason {
                    // Who came after the first attempt makes its own attempts next.
                    StopReason::Attempts | StopReason::Deadline => !caller.is_late,
                    StopReason::MaybeApplied => caller.effect == Effect::Changed,
                    _ => true,
                };
                for caller in callers.iter().filter(is_concerned) {
                    caller.end(|may_be_applied| Ok(Err(error.told(reason, may_be_applied))));
                }
            }
        }
        // The others wait for the next read, before all who came later.
        callers.retain(|caller| caller.is_open() && caller.give_back(false));
        self.resource.queue().waiting.splice(..0, callers);
        next
    }
}

impl<V, W, E> Changes<V, W, E> {
    /// An attempt begins: no write contains a change any more.
    fn begin(&mut self) {
        (self.copy, self.is_applied, self.is_refused) = (None, false, false);
        self.attempts += 1;
        self.callers.retain_mut(|caller| {
            (caller.was_there, caller.effect) = (true, Effect::Waits);
            caller.give_back(false)
        });
    }

    fn with(&self, effect: Effect) -> impl Iterator<Item = &Caller<V, W, E>> {
        let callers = self.callers.iter();
        callers.filter(move |caller| caller.effect == effect)
    }

    fn made(&self) -> GroupChange {
        let recognise = self.with(Effect::Changed).map(|caller| caller.recognises);
        GroupChange(recognise.reduce(|one, other| one || other))
    }

    /// The write failed. If the write may have been applied and the call goes on with other changes, the changes that would not
    /// recognise their effect end with this error. If none recognises it, the call ends, and all get its error.
    fn not_written(&mut self, maybe_applied: bool, error: impl Fn() -> CombineError<E>) {
        let goes_on = self.made().0 == Some(true);
        for caller in &mut self.callers {
            let maybe_applied = maybe_applied && caller.effect == Effect::Changed;
            caller.give_back(maybe_applied);
            if maybe_applied && !caller.recognises && goes_on {
                caller.end(|_| Ok(Err(error())));
            }
        }
        self.callers.retain(Caller::is_open);
    }
}

/// A write that is dropped before its end may have been applied.
struct Cut<'g, V, W, E>(&'g GroupState<V, W, E>);

impl<V, W, E> Drop for Cut<'_, V, W, E> {
    fn drop(&mut self) {
        let may_be_applied = true;
        let interrupted = || CombineError::Interrupted { may_be_applied };
        self.0.changes().not_written(true, interrupted);
    }
}

named_in_debug!(Group<V, W, E>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::caller::Change;
    use core::{
        cell::Cell,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        task::{Context, Waker},
    };

    /// The results of the changes of a group.
    struct Applied<V> {
        value: V,
        copy: Option<Arc<V>>,
        /// For each caller: changed, unchanged, waits, or answered.
        effects: String,
        polls: usize,
    }

    fn apply<V: Clone>(value: V, changes: Vec<Change<V, ()>>) -> Applied<V> {
        let resource = Arc::<Resource<V, (), ()>>::default();
        resource.queue().present = changes.len();
        let callers = changes.into_iter().map(|change| {
            let (receiver, mut caller) = Caller::new(Arc::clone(&resource), change, true);
            caller.was_there = true;
            (receiver, caller)
        });
        let (_receivers, callers): (Vec<_>, Vec<_>) = callers.unzip();
        let group = GroupState::new(&resource, callers, true);
        let mut applying = Box::pin(group.applied(value));
        let cx = &mut Context::from_waker(Waker::noop());
        let polled = (1..).find_map(|polls| match applying.as_mut().poll(cx) {
            Poll::Ready(value) => Some((polls, value)),
            Poll::Pending => None,
        });
        let (polls, value) = polled.unwrap();
        drop(applying);
        let effect = |caller: &Caller<V, (), ()>| match caller.effect {
            _ if !caller.is_open() => 'a',
            Effect::Changed => 'c',
            Effect::Unchanged => 'u',
            Effect::Waits => 'w',
        };
        let mut changes = group.changes();
        Applied {
            value,
            copy: changes.copy.take(),
            effects: changes.callers.iter().map(effect).collect(),
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
            assert_eq!(applied.value.0, sum);
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

    /// A part of the changes would be applied twice.
    #[test]
    fn a_refused_write_that_may_have_been_applied_is_not_halved() {
        struct Unclear(bool);
        impl Fault for Unclear {
            fn may_be_written(&self) -> bool {
                self.0
            }
            fn refuses_value(&self) -> bool {
                true
            }
        }
        for may_be_written in [true, false] {
            let resource = Arc::<Resource<u8, (), Unclear>>::default();
            resource.queue().present = 2;
            let change = || Box::new(|_: &mut u8| Ok(true)) as Change<u8, Unclear>;
            let callers = [change(), change()]
                .map(|change| Caller::new(Arc::clone(&resource), change, true).1);
            let state = GroupState::new(&resource, callers.into(), true);
            let group = Group(Arc::clone(&state));
            let cx = &mut Context::from_waker(Waker::noop());
            let read = Box::pin(state.applied(0)).as_mut().poll(cx);
            assert_eq!(read, Poll::Ready(0));
            let write = group.write(core::future::ready(Err(Unclear(may_be_written))));
            assert!(Box::pin(write).as_mut().poll(cx).is_ready());
            assert_eq!(state.changes().is_refused, !may_be_written);
        }
    }

    /// Rows: the changes, the value that is left, and what the callers are told.
    #[test]
    fn who_saw_a_change_that_is_undone_runs_again() {
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
            (among(changes_once(Err(()))), vec![1, 7], "cauac"),
            (among(changes_once(Ok(false))), vec![1, 7], "cwuac"),
            (vec![changes_once(Err(())), adds(7)], vec![7], "ac"),
            (vec![changes_once(Ok(false)), adds(7)], vec![7], "wc"),
            (untouched, vec![1, 3], "acuc"),
        ] {
            let applied = apply(Vec::new(), changes);
            assert_eq!(applied.value, value, "{effects}");
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
        assert_eq!(applied.value, names);
        assert_eq!(applied.effects, "ca".repeat(50));
        assert_eq!((ran.load(Relaxed), applied.polls), (150, 2));
    }
}
