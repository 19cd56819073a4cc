//! The rules that hold for all changes of a [`Combining`](super::Combining).

use super::key_queue::KeyQueue;
use crate::sync::{Mutex, MutexGuard};
use crate::{
    call::{
        settings::{judges::Judge, values::Conflict},
        version::Version,
    },
    facts::fault::TimedOut,
    policy::Policy,
};
use core::{any::Any, future::Future, pin::Pin, time::Duration};
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
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

/// How the version of a value is read and compared.
pub(super) struct Versions<V> {
    pub(super) read: Box<dyn Fn(&V) -> AnyVersion + Send + Sync>,
    /// Whether both versions are the same.
    pub(super) compare: fn(&(dyn Any + Send), &(dyn Any + Send)) -> bool,
}

impl<V> Versions<V> {
    pub(super) fn new<T, F>(version: F) -> Self
    where
        F: Fn(&V) -> T + Send + Sync + 'static,
        T: Version + Send + 'static,
    {
        Versions {
            read: Box::new(move |value| Box::new(version(value))),
            compare: |earlier, later| match (earlier.downcast_ref(), later.downcast_ref::<T>()) {
                (Some(earlier), Some(later)) => later.is_same(earlier),
                _ => false,
            },
        }
    }
}

/// Policy, read, write, and the other settings.
pub(super) struct Rules<K, V, W, E, R> {
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
    pub(super) versions: Option<Arc<Versions<V>>>,
}

impl<K, V, W, E, R> Rules<K, V, W, E, R> {
    /// The same rules under another runtime.
    pub(super) fn under<Q>(&self, runtime: Arc<Q>) -> Rules<K, V, W, E, Q> {
        Rules {
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

/// The state that all clones share: the rules, and the resources that have waiting callers.
pub(super) struct Shared<K, V, W, E, R> {
    pub(super) rules: Rules<K, V, W, E, R>,
    queues: Mutex<KeyQueues<K, V, W, E>>,
}

/// The resources that have waiting callers.
type KeyQueues<K, V, W, E> = HashMap<K, Arc<KeyQueue<V, W, E>>>;

impl<K, V, W, E, R> Shared<K, V, W, E, R> {
    pub(super) fn new(rules: Rules<K, V, W, E, R>) -> Self {
        Shared {
            rules,
            queues: Mutex::default(),
        }
    }

    /// While this lock is held, the only code of the callers that runs is the comparison of keys.
    pub(super) fn queues(&self) -> MutexGuard<'_, KeyQueues<K, V, W, E>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
