//! The resources that callers wait for. The task of a resource makes one group after another, until nobody waits.

use super::{
    caller::{Caller, Change, Receiver, Resource},
    group::{Group, GroupResult, GroupState},
};
use crate::{
    runtime::Task,
    sync::{Mutex, lock},
};
use core::{
    future::{Future, poll_fn},
    hash::Hash,
    mem,
    pin::{Pin, pin},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    task::{Poll, Waker},
};
use std::{collections::HashMap, sync::Arc};

type Updating<V, W, E> = Pin<Box<dyn Future<Output = GroupResult<V, W, E>> + Send>>;

type Update<K, V, W, E> = dyn Fn(K, Group<V, W, E>) -> Updating<V, W, E> + Send + Sync;

type ByKey<K, V, W, E> = HashMap<K, Arc<Resource<V, W, E>>>;

pub(super) struct Resources<K, V, W, E> {
    pub(super) update: Box<Update<K, V, W, E>>,
    pub(super) spawn: Box<dyn Fn(Task) + Send + Sync>,
    pub(super) at_most: AtomicUsize,
    /// While this lock is held, the only code of the callers that runs is the comparison of keys.
    pub(super) all: Mutex<ByKey<K, V, W, E>>,
}

impl<K: Clone + Eq + Hash, V, W, E> Resources<K, V, W, E> {
    /// Takes in a new caller, unless `at_most` callers already wait.
    pub(super) fn enter(
        &self,
        key: &K,
        change: Change<V, E>,
        recognises: bool,
    ) -> Option<Arc<Receiver<V, W, E>>> {
        let key = key.clone();
        let _gone: Vec<_>; // Callers who left are dropped after the locks.
        let mut all = lock(&self.all);
        let resource = Arc::clone(all.entry(key).or_default());
        let mut queue = resource.queue();
        drop(all);
        if queue.present >= self.at_most.load(Relaxed) {
            return None;
        }
        // Callers who left during a long wait are not kept until its end.
        if queue.waiting.len() > 2 * queue.present + 64 {
            let has_left = |caller: &mut Caller<V, W, E>| !caller.is_open();
            _gone = queue.waiting.extract_if(.., has_left).collect();
        }
        let (receiver, caller) = Caller::new(Arc::clone(&resource), change, recognises);
        queue.present += 1;
        queue.waiting.push(caller);
        Some(receiver)
    }

    /// A resource without a task and without callers is removed.
    pub(super) fn tidy(&self, key: &K, resource: &Arc<Resource<V, W, E>>) {
        let _removed; // Dropped after the locks.
        let mut all = lock(&self.all);
        let queue = resource.queue();
        let is_idle = !queue.has_task && queue.present == 0;
        drop(queue);
        // Callers enter under the lock of all resources.
        if is_idle && all.get(key).is_some_and(|it| Arc::ptr_eq(it, resource)) {
            _removed = all.remove_entry(key);
            if all.len() < all.capacity() / 8 {
                let room = 2 * all.len();
                all.shrink_to(room);
            }
        }
    }
}

/// The task of a resource.
pub(super) struct ResourceTask<K: Clone + Eq + Hash, V, W, E> {
    resources: Arc<Resources<K, V, W, E>>,
    key: K,
    resource: Arc<Resource<V, W, E>>,
    has_begun: bool,
}

impl<K: Clone + Eq + Hash, V, W, E> ResourceTask<K, V, W, E> {
    /// The task of the resource that the caller waits for, if there is none yet.
    pub(super) fn new(
        resources: &Arc<Resources<K, V, W, E>>,
        key: &K,
        receiver: &Receiver<V, W, E>,
    ) -> Option<Self> {
        let resource = &receiver.resource;
        if resource.queue().has_task {
            return None;
        }
        // The copy of a key is code of the caller.
        let key = key.clone();
        let mut queue = resource.queue();
        // The last task may have given the caller its outcome meanwhile.
        if queue.has_task || !receiver.is_open() {
            return None;
        }
        queue.has_task = true;
        Some(ResourceTask {
            resources: Arc::clone(resources),
            key,
            resource: Arc::clone(resource),
            has_begun: false,
        })
    }

    pub(super) async fn run(mut self)
    where
        W: Clone,
    {
        self.has_begun = true;
        // Halves of refused groups, each with a `bool` that says whether the other half comes next. The last one is written next.
        let mut halves = Vec::new();
        // The left half was accepted, so the right one has the refused change, and is not written as a whole.
        let mut is_suspect = false;
        loop {
            let is_half = !halves.is_empty();
            let waiting = || (mem::take(&mut self.resource.queue().waiting), false);
            let (mut left, is_left) = halves.pop().unwrap_or_else(waiting);
            left.retain(Caller::is_open);
            let is_split = mem::take(&mut is_suspect) && left.len() > 1;
            match left.is_empty() {
                true if is_half => continue,
                true => return,
                false => {}
            }
            if !is_split {
                let group = GroupState::new(&self.resource, left, is_half);
                let update = (self.resources.update)(self.key.clone(), Group(Arc::clone(&group)));
                let Some(ended) = self.while_callers_wait(update).await else {
                    return;
                };
                left = match group.ended(ended) {
                    Ok(succeeded) => {
                        is_suspect = succeeded && is_left;
                        continue;
                    }
                    Err(refused) => refused,
                };
            }
            // The left half is written first.
            let right = left.split_off(left.len() / 2);
            halves.extend([(right, false), (left, true)]);
        }
    }

    /// The output of the future, which is dropped when the last caller has left: a read or a write may hang.
    async fn while_callers_wait<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let (present, _before) = {
                let mut queue = self.resource.queue();
                (queue.present, queue.task.replace(waker))
            };
            if present == 0 {
                return Poll::Ready(None);
            }
            future.as_mut().poll(cx).map(Some)
        })
        .await
    }
}

/// When a task is dropped, at its end or with the runtime, the callers who still wait begin the next one. A task that
/// never ran interrupts them: no runtime would run the next one.
impl<K: Clone + Eq + Hash, V, W, E> Drop for ResourceTask<K, V, W, E> {
    fn drop(&mut self) {
        let (_gone, wakers): (Vec<_>, Vec<_>); // Dropped and woken after the lock.
        {
            let mut queue = self.resource.queue();
            queue.has_task = false;
            queue.task = None;
            let goes = |caller: &mut Caller<V, W, E>| !self.has_begun || !caller.is_open();
            _gone = queue.waiting.extract_if(.., goes).collect();
            wakers = queue
                .waiting
                .iter()
                .filter_map(Caller::take_waker)
                .collect();
        }
        drop(_gone);
        self.resources.tidy(&self.key, &self.resource);
        wakers.into_iter().for_each(Waker::wake);
    }
}
