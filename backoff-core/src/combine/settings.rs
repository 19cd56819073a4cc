//! The settings that hold for all changes of a [`Combining`](super::Combining), and its resources.

use super::{
    caller::{Caller, Change, Entered, TaskWaker, Waiting},
    error::CombineError,
};
use crate::{
    call::{
        settings::{judges::Judge, values::Conflict},
        version::Version,
    },
    facts::fault::TimedOut,
    policy::Policy,
    state::Participant,
    sync::{Mutex, MutexGuard},
};
use core::{any::Any, future::Future, hash::Hash, pin::Pin, time::Duration};
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, Weak},
};

/// A running read or write.
pub(super) type Step<T> = Pin<Box<dyn Future<Output = T> + Send>>;

type Read<K, V, E> = dyn Fn(K) -> Step<Result<V, E>> + Send + Sync;
type Write<K, V, W, E> = dyn Fn(K, V) -> Step<Result<W, E>> + Send + Sync;
type IsConflict<W> = dyn Fn(&W) -> bool + Send + Sync;

/// The time limit of an attempt, and the function that makes the error of a cut attempt.
type Cut<E> = (Duration, fn(TimedOut) -> E);

/// Whether a reply reports a conflict, and the function that makes the error of the conflict.
type ByReply<W, E> = (Arc<IsConflict<W>>, fn(Conflict) -> E);

/// The version of a value.
pub(super) type AnyVersion = Box<dyn Any + Send>;

/// Keeps the version of a value, and returns whether it is the version that was kept before.
pub(super) type Versions<V> = Arc<dyn Fn(&V, &mut Option<AnyVersion>) -> bool + Send + Sync>;

pub(super) fn versions<V, T, F>(version: F) -> Versions<V>
where
    F: Fn(&V) -> T + Send + Sync + 'static,
    T: Version + Send + 'static,
{
    Arc::new(move |value, kept| {
        let version = version(value);
        let before = kept.as_ref().and_then(|kept| kept.downcast_ref::<T>());
        let is_same = before.is_some_and(|before| version.is_same(before));
        *kept = Some(Box::new(version));
        is_same
    })
}

/// Policy, read, write, and the other settings.
pub(super) struct Settings<K, V, W, E, R> {
    pub(super) policy: Policy,
    pub(super) judge: Arc<dyn Judge<E> + Send + Sync>,
    pub(super) read: Arc<Read<K, V, E>>,
    pub(super) write: Arc<Write<K, V, W, E>>,
    pub(super) runtime: Arc<R>,
    /// The name of the operation in logs and metrics.
    pub(super) operation: &'static str,
    pub(super) at_most: usize,
    pub(super) attempt_timeout: Option<Cut<E>>,
    pub(super) conflict: Option<ByReply<W, E>>,
    /// Set if values have a version.
    pub(super) versions: Option<Versions<V>>,
}

impl<K, V, W, E, R> Settings<K, V, W, E, R> {
    /// The same settings under another runtime.
    pub(super) fn under<Q>(&self, runtime: Arc<Q>) -> Settings<K, V, W, E, Q> {
        Settings {
            policy: self.policy,
            judge: Arc::clone(&self.judge),
            read: Arc::clone(&self.read),
            write: Arc::clone(&self.write),
            runtime,
            operation: self.operation,
            at_most: self.at_most,
            attempt_timeout: self.attempt_timeout,
            conflict: self.conflict.clone(),
            versions: self.versions.clone(),
        }
    }
}

/// A resource that has a task or waiting callers.
pub(super) struct Resource<V, W, E> {
    /// Callers that wait for the next read, in the order in which they came.
    pub(super) waiting: Vec<Caller<V, W, E>>,
    pub(super) present: Weak<Waiting>,
    pub(super) task: TaskWaker,
    pub(super) has_task: bool,
}

/// The state that all clones share: the settings, and the resources.
pub(super) struct Shared<K, V, W, E, R> {
    pub(super) settings: Settings<K, V, W, E, R>,
    resources: Mutex<HashMap<K, Resource<V, W, E>>>,
}

impl<K, V, W, E, R> Shared<K, V, W, E, R> {
    pub(super) fn new(settings: Settings<K, V, W, E, R>) -> Self {
        Shared {
            settings,
            resources: Mutex::default(),
        }
    }

    /// While this lock is held, the only code of the callers that runs is the comparison of keys.
    pub(super) fn resources(&self) -> MutexGuard<'_, HashMap<K, Resource<V, W, E>>> {
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn busy(&self) -> usize {
        self.resources().len()
    }
}

impl<K: Clone + Eq + Hash, V, W, E, R> Shared<K, V, W, E, R> {
    /// Takes in a new caller, unless `at_most` callers already wait.
    pub(super) fn enter(
        &self,
        key: &K,
        change: Change<V, E>,
        recognises: bool,
        limits: Participant,
    ) -> Result<Entered<V, W, E>, CombineError<E>> {
        let key = key.clone();
        // Callers who left are dropped after the lock.
        let _gone: Vec<_>;
        let mut resources = self.resources();
        let resource = resources.entry(key).or_insert_with(|| Resource {
            waiting: Vec::new(),
            present: Weak::new(),
            task: TaskWaker::default(),
            has_task: false,
        });
        let count = resource.present.strong_count();
        if count >= self.settings.at_most {
            return Err(CombineError::Full);
        }
        // Callers who left during a long wait are not kept until its end.
        let has_left = |caller: &mut Caller<V, W, E>| !caller.is_waiting();
        if resource.waiting.len() > 2 * count + 64 {
            _gone = resource.waiting.extract_if(.., has_left).collect();
        }
        let task = &resource.task;
        let present = resource.present.upgrade();
        let present = present.unwrap_or_else(|| Arc::new(Waiting(task.clone())));
        resource.present = Arc::downgrade(&present);
        let (receiver, caller) = Caller::new(change, recognises, limits);
        resource.waiting.push(caller);
        Ok((receiver, present))
    }

    /// A caller has left. A resource that has no task and no callers goes.
    pub(super) fn tidy(&self, key: &K) {
        let _removed;
        let mut resources = self.resources();
        if let Some(resource) = resources.get(key)
            && !resource.has_task
            && resource.present.strong_count() == 0
        {
            _removed = resources.remove_entry(key);
        }
    }

    /// Whether callers wait for the resource.
    pub(super) fn has_callers(&self, key: &K) -> bool {
        let resources = self.resources();
        let resource = resources.get(key);
        resource.is_some_and(|resource| resource.present.strong_count() > 0)
    }

    /// The callers who came since the last time.
    pub(super) fn newcomers(&self, key: &K) -> Vec<Caller<V, W, E>> {
        let mut resources = self.resources();
        let resource = resources.get_mut(key);
        resource.map_or_else(Vec::new, |resource| core::mem::take(&mut resource.waiting))
    }

    /// Callers wait again, before all who came later.
    pub(super) fn give_back(&self, key: &K, callers: Vec<Caller<V, W, E>>) {
        if let Some(resource) = self.resources().get_mut(key) {
            resource.waiting.splice(..0, callers);
        }
    }
}
