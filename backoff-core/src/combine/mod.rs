//! Changes of one resource that wait at the same time become one read-modify-write.
//!
//! This file has the public type. `updating.rs` is the future of one caller, `caller.rs` what it shares with the task,
//! `settings.rs` the resources, `task.rs` the task of one resource, `group.rs` applies the changes of a group. `state/`
//! decides which callers go on after a failure (`Participant`).

mod caller;
mod error;
mod failed_step;
mod group;
#[cfg(all(test, loom))]
mod races;
mod settings;
mod task;
#[cfg(all(test, feature = "tokio"))]
mod tests;
mod updating;

pub use error::CombineError;
pub use updating::Updating;

use crate::{
    call::{
        settings::{
            judges::{ByCodes, When},
            values::Conflict,
        },
        update::Changed,
        version::Version,
    },
    facts::fault::{Fault, TimedOut},
    judge::Verdict,
    policy::Policy,
    runtime::{ASYNC, AsyncRuntime},
};
use core::{fmt, future::Future, hash::Hash, time::Duration};
use settings::{Settings, Shared};
use std::sync::Arc;

/// Combines the changes of many callers: changes that wait for one resource at the same time are made
/// by one read and one write. Made by [`Policy::combine`].
///
/// A hundred tasks that each [`update`](Policy::update) the same resource conflict with one another,
/// and each conflict costs a read, a write and a wait. A `Combining` makes one or two reads and writes
/// for them. No timer collects changes. The first change to an idle resource spawns a task, which reads the
/// resource. Changes that arrive before this read returns join the first one, later changes form the next
/// group. The task ends when no change waits.
///
/// A `Combining` is a cheap handle: clones share the resources, and so do references. `read` and
/// `write` send the requests of all callers, so make one `Combining` for each set of credentials. `K`
/// names a resource, `V` is the value that is read and written, `W` the reply of a write, `E` the error
/// of all, and `R` the runtime. Keys are hashed, compared and dropped while a lock is held; no other code
/// of yours runs under the lock.
///
/// ```
/// use backoff_core::{Fault, FaultKind, Policy, Updated, combine::Combining};
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Debug)]
/// struct Stale;
/// impl Fault for Stale {
///     fn kind(&self) -> Option<FaultKind> { Some(FaultKind::Conflict) }
/// }
///
/// /// Members of a role, and the version that a write must name.
/// #[derive(Clone, Default)]
/// struct Members { names: Vec<String>, version: u64 }
///
/// struct Roles { members: Combining<&'static str, Members, (), Stale> }
///
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let store = Arc::new(Mutex::new(Members::default()));
/// # let hop = || tokio::time::sleep(std::time::Duration::from_millis(5));
/// let (read, write) = (store.clone(), store.clone());
/// let roles = Roles {
///     members: Policy::exponential().combine(
///         move |_role| { let store = read.clone(); async move {
/// #            hop().await;
///             Ok(store.lock().unwrap().clone())
///         } },
///         move |_role, mut members: Members| { let store = write.clone(); async move {
/// #            hop().await;
///             let mut stored = store.lock().unwrap();
///             if stored.version != members.version { return Err(Stale) }
///             members.version += 1;
///             *stored = members;
///             Ok(())
///         } },
///     ),
/// };
///
/// let tasks: Vec<_> = (0..100)
///     .map(|n| {
///         let name = format!("member-{n}");
///         tokio::spawn(roles.members.update("viewer", move |members| {
///             let is_new = !members.names.contains(&name);
///             if is_new { members.names.push(name.clone()) }
///             is_new
///         }))
///     })
///     .collect();
/// for task in tasks {
///     assert!(matches!(task.await.unwrap(), Ok(Updated::Written(()))));
/// }
/// let stored = store.lock().unwrap();
/// assert_eq!((stored.names.len(), stored.version), (100, 1));
/// # }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
///
/// # What a caller gets
///
/// - [`Updated::Written`](crate::Updated::Written): the write of its group succeeded. The reply is that
///   of the whole group, so no number that belongs to one caller can be taken from it.
/// - [`Updated::Unchanged`](crate::Updated::Unchanged): the change found nothing to do, in a value that
///   was read after the call, or that its group has written since. The `Updated` holds this value. The
///   callers share one value, and each makes its own copy when it gets its result. Where copies are large,
///   let `V` be an [`Arc`], and let the changes use [`Arc::make_mut`].
/// - A [`CombineError`], which says whether the change may have been applied. Its
///   [reason](CombineError::reason) is the reason of the last failure. After a write that may have been
///   applied, a later read may be refused. Then the reason is `Permanent`, and
///   [`may_be_applied`](CombineError::may_be_applied) is still true.
///
/// The changes of a group are applied in the order in which the futures were first polled. After 128 of them the
/// task lets other tasks run. A change may run many times, each time on a
/// fresh value, so the change owns the values that it uses. A change
/// that returns `false` should leave the value as it was: whatever it did to the value is not written
/// with the changes of the others. An error or a panic of a change fails that change alone. When a
/// write is refused for its value (400, 413, 422, `INVALID_ARGUMENT`, `FAILED_PRECONDITION`,
/// `OUT_OF_RANGE`, if the policy does not retry it), the group is halved until only the bad change is
/// left: one bad change among `n` costs at most `2·log₂ n + 2` writes, and no number of bad changes
/// costs `2n` writes or more. Any other failure goes to all callers who took part.
///
/// # After a write that may have been applied
///
/// A change that returns a `bool` recognises its own effect, and is applied again to the value that is
/// read next. A change that returns nothing is not applied again: it ends with
/// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied). So nothing is applied twice. If the
/// policy is not [idempotent](Policy::idempotent), every change of the group ends with `MaybeApplied`.
///
/// # Limits
///
/// Each caller has its own deadline and attempts: those of the policy, or those [of the
/// call](Updating::deadline). A deadline ends the waiting, whatever the server does. A
/// [signal](Updating::stop_on) ends the waiting of its caller alone. The waits after failures and the
/// [budget](Policy::budget) belong to the resource: a retry that a hundred callers share costs the same
/// as one retry, and is logged once. A `Retry-After` belongs to the resource too: a caller who comes
/// during such a wait waits until the wait ends. Halving a group costs no attempt. For the budget a
/// halving is neither a success nor a failure.
///
/// # Dropping
///
/// The running read or write belongs to the task of the resource. Dropping one caller drops no write; a
/// change that was not taken yet is then not applied. A caller that is kept and not polled holds nobody up.
/// When the last caller of a resource is dropped, the task drops the running read or write and ends. A
/// resource without callers leaves nothing behind.
///
/// # Runtimes
///
/// The task runs on the runtime of the caller that came first, by the runtime's [`Spawn`](crate::Spawn). A
/// runtime of your own needs this one method. One `Combining`, also in a `static`, serves one runtime after
/// the other. Callers of two runtimes that run at the same time should not share a `Combining`: the task
/// stands still while its runtime does. If its runtime ends, callers who were there at the last read or write get
/// [`Interrupted`](CombineError::Interrupted), and the others begin a task of their own.
///
/// # Panics
///
/// A panic of a change is passed on to its caller, and concerns nobody else. A panic of `read`, of `write`
/// or of other code in the task (a reply's `Clone`, the function of [`conflict_if`](Self::conflict_if), a
/// method of [`Fault`], the destructor of a change) ends the task: callers who were there at the last read or
/// write get [`Interrupted`](CombineError::Interrupted), and the others begin the next task.
pub struct Combining<K, V, W, E, R = AsyncRuntime> {
    shared: Arc<Shared<K, V, W, E, R>>,
}

impl Policy {
    /// Combines the changes that many callers make to the same resource at the same time into one
    /// read-modify-write. See [`Combining`].
    ///
    /// `read` reads the resource with this key. `write` writes it on the condition that nobody has written
    /// in between; it gets only the value that was read, with its etag or version. The futures of both own
    /// the values that they use.
    pub fn combine<K, V, W, E, Read, Write, Reading, Writing>(
        &self,
        read: Read,
        write: Write,
    ) -> Combining<K, V, W, E>
    where
        Read: Fn(K) -> Reading + Send + Sync + 'static,
        Reading: Future<Output = Result<V, E>> + Send + 'static,
        Write: Fn(K, V) -> Writing + Send + Sync + 'static,
        Writing: Future<Output = Result<W, E>> + Send + 'static,
        E: Fault,
    {
        Combining::new(Settings {
            policy: *self,
            judge: Arc::new(ByCodes),
            read: Arc::new(move |key| Box::pin(read(key))),
            write: Arc::new(move |key, value| Box::pin(write(key, value))),
            runtime: Arc::new(ASYNC),
            operation: core::any::type_name::<Write>(),
            at_most: usize::MAX,
            attempt_timeout: None,
            conflict: None,
            versions: None,
        })
    }
}

impl<K, V, W, E, R> Combining<K, V, W, E, R> {
    fn new(settings: Settings<K, V, W, E, R>) -> Self {
        Combining {
            shared: Arc::new(Shared::new(settings)),
        }
    }

    /// A `Combining` with other settings, and with resources of its own.
    fn with(self, change: impl FnOnce(&mut Settings<K, V, W, E, R>)) -> Self {
        let settings = &self.shared.settings;
        let mut settings = settings.under(Arc::clone(&settings.runtime));
        change(&mut settings);
        Combining::new(settings)
    }

    /// Changes the resource with this key. Nothing happens until the future is polled. The changes of a
    /// group are applied in the order in which their futures were first polled.
    ///
    /// `change` returns nothing, a `bool`, or a `Result` of either, like a change of [`Policy::update`]. It
    /// may run again on a fresh value, so it owns the values that it uses.
    ///
    /// # Errors
    /// A [`CombineError`].
    pub fn update<F, Changes>(&self, key: K, mut change: F) -> Updating<K, V, W, E, R>
    where
        F: FnMut(&mut V) -> Changes + Send + 'static,
        Changes: Changed<E>,
        K: Clone + Eq + Hash,
        R: crate::runtime::Sleep,
    {
        let change = Box::new(move |value: &mut V| change(value).changed());
        Updating::new(Arc::clone(&self.shared), key, change, Changes::RECOGNISES)
    }

    /// Cuts each attempt, a read and the write after it, after `limit`, as
    /// [`Retrying::attempt_timeout`](crate::Retrying::attempt_timeout) does. Call this before the first
    /// change: the returned `Combining` does not combine its changes with those of the old one.
    #[must_use]
    pub fn attempt_timeout(self, limit: Duration) -> Self
    where
        E: From<TimedOut>,
    {
        self.with(|settings| settings.attempt_timeout = Some((limit, E::from)))
    }

    /// Lets a function decide which failed reads and writes are retried, instead of the policy's codes, as
    /// [`Policy::when`] does. The function decides about conflicts too. A write that it repeats is not halved: all
    /// callers of the group wait for the next attempt. Call this before the first change: the returned
    /// `Combining` does not combine its changes with those of the old one.
    ///
    /// ```
    /// use backoff_core::{FaultKind, Policy, TimedOut, Verdict};
    /// use std::{future::ready, time::Duration};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let busy = |_| ready(Err(TimedOut::new(Duration::ZERO)));
    /// let counts = Policy::exponential()
    ///     .combine(busy, |_, _: u32| ready(Ok(())))
    ///     .when(|_: &TimedOut| false);
    /// assert!(counts.update("counter", |count| *count += 1).await.is_err()); // after one attempt
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[must_use]
    pub fn when<F, Answer>(self, judge: F) -> Self
    where
        F: Fn(&E) -> Answer + Send + Sync + 'static,
        Answer: Into<Verdict>,
        E: Fault,
    {
        self.with(|settings| settings.judge = Arc::new(When(judge)))
    }

    /// The same reads and writes by another policy.
    #[doc(hidden)]
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        self.with(|settings| settings.policy = policy)
    }

    /// Names the operation in log events and metrics, as
    /// [`Retrying::operation`](crate::Retrying::operation) does. Call this before the first change: the
    /// returned `Combining` does not combine its changes with those of the old one.
    #[must_use]
    pub fn operation(self, operation: &'static str) -> Self {
        self.with(|settings| settings.operation = operation)
    }

    /// Limits how many callers wait for one resource. One more caller gets [`CombineError::Full`] at once.
    /// Without this there is no limit. Call this before the first change: the returned `Combining` does not
    /// combine its changes with those of the old one.
    ///
    /// # Panics
    /// When `callers` is 0.
    #[must_use]
    #[track_caller]
    pub fn at_most(self, callers: usize) -> Self {
        assert!(
            callers > 0,
            "`at_most` must be at least 1: write 1 to let one caller wait"
        );
        self.with(|settings| settings.at_most = callers)
    }

    /// Treats the reply of a write as a conflict where the function returns `true`, as
    /// [`Retrying::conflict_if`](crate::Retrying::conflict_if) does. Call this before the first change: the
    /// returned `Combining` does not combine its changes with those of the old one.
    #[must_use]
    pub fn conflict_if<F>(self, is_conflict: F) -> Self
    where
        F: Fn(&W) -> bool + Send + Sync + 'static,
        E: From<Conflict>,
    {
        self.with(|settings| settings.conflict = Some((Arc::new(is_conflict), E::from)))
    }

    /// Reads the version of a value, as [`Retrying::version`](crate::Retrying::version) does. After a
    /// conflict with another process, the wait then follows from how long an attempt takes. Call this before
    /// the first change: the returned `Combining` does not combine its changes with those of the old one.
    #[must_use]
    pub fn version<F, T>(self, version: F) -> Self
    where
        F: Fn(&V) -> T + Send + Sync + 'static,
        T: Version + Send + 'static,
    {
        self.with(|settings| settings.versions = Some(settings::versions(version)))
    }

    /// Uses the clock, timer, random numbers and tasks of `runtime` instead of tokio's. Call this before the first
    /// change: the returned `Combining` does not combine its changes with those of the old one.
    #[must_use]
    pub fn runtime<Q>(self, runtime: Q) -> Combining<K, V, W, E, Q> {
        Combining::new(self.shared.settings.under(Arc::new(runtime)))
    }

    /// The number of resources that have waiting callers now.
    pub fn busy(&self) -> usize {
        self.shared.busy()
    }
}

/// The clone shares the resources.
impl<K, V, W, E, R> Clone for Combining<K, V, W, E, R> {
    fn clone(&self) -> Self {
        Combining {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K, V, W, E, R> fmt::Debug for Combining<K, V, W, E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.shared.settings.attempt_timeout.map(|(limit, _)| limit);
        f.debug_struct("Combining")
            .field("policy", &self.shared.settings.policy)
            .field("attempt_timeout", &limit)
            .finish_non_exhaustive()
    }
}
