//! Changes of one resource that wait at the same time become one read-modify-write.
//!
//! The loop is [`Policy::update`](crate::Policy::update): this module brings the changes of many callers to one call of it. This
//! file has the handle, `changing.rs` the future of one caller, `caller.rs` what this future shares with the task of the resource,
//! `resources.rs` the resources and that task, `group.rs` the changes that are made together, `policy.rs` the short form,
//! `error.rs` the errors.

mod caller;
mod changing;
mod error;
mod group;
#[cfg(any(
    feature = "smol",
    feature = "tokio",
    all(feature = "wasm", target_family = "wasm", target_os = "unknown")
))]
mod policy;
#[cfg(all(test, loom, feature = "testing"))]
mod races;
mod resources;
#[cfg(all(test, feature = "tokio"))]
mod tests;

pub use changing::Changing;
pub use error::{CombineError, Shared};
pub use group::{Group, GroupResult};

pub use crate::runtime::Task;

use crate::{
    call::update::Changed,
    named_debug::named_in_debug,
    sync::{Mutex, lock},
};
use changing::State;
use core::{future::Future, hash::Hash, sync::atomic::Ordering::Relaxed};
use resources::Resources;
use std::sync::Arc;

/// Combines the changes of many callers: changes that wait for one resource at the same time are made
/// by one read and one write.
///
/// A hundred tasks that each [`update`](crate::Policy::update) the same resource conflict with one another,
/// and each conflict costs a read, a write and a wait. A `Combining` makes one or two reads and writes
/// for them. No timer collects changes. The first change to an idle resource spawns a task, which reads the
/// resource. Changes that arrive before this read returns join the first one, later changes form the next
/// group. The task ends when no change waits.
///
/// [`Policy::combine`](crate::Policy::combine) makes a `Combining` from a policy, a read and a write. For any other setting,
/// write the read-modify-write of a group yourself, as a call of [`Policy::update`](crate::Policy::update) whose three steps go
/// through the [`Group`]:
///
/// ```
/// use backoff_core::{Fault, FaultKind, Policy, TimedOut, Updated, combine::{Combining, Group}};
/// use std::{sync::{Arc, Mutex}, time::Duration};
///
/// #[derive(Debug)]
/// enum Failure { Stale, Late }
/// impl Fault for Failure {
///     fn kind(&self) -> Option<FaultKind> {
///         Some(match self { Failure::Stale => FaultKind::Conflict, Failure::Late => FaultKind::Transient })
///     }
/// }
/// impl From<TimedOut> for Failure { fn from(_: TimedOut) -> Self { Failure::Late } }
///
/// /// Members of a role, and the version that a write must name.
/// #[derive(Clone, Default)]
/// struct Members { names: Vec<String>, version: u64 }
///
/// #[derive(Clone, Default)]
/// struct Store(Arc<Mutex<Members>>);
/// impl Store {
///     async fn read(&self, _role: &str) -> Result<Members, Failure> { Ok(self.0.lock().unwrap().clone()) }
///     async fn write(&self, _role: &str, mut members: Members) -> Result<(), Failure> {
///         let mut stored = self.0.lock().unwrap();
///         if stored.version != members.version { return Err(Failure::Stale) }
///         members.version += 1;
///         *stored = members;
///         Ok(())
///     }
/// }
///
/// const POLICY: Policy = Policy::exponential();
///
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let store = Store::default();
/// let writer = store.clone();
/// let roles = Combining::new(move |role: &'static str, group: Group<Members, (), Failure>| {
///     let store = writer.clone();
///     async move {
///         POLICY
///             .update(
///                 || group.read(store.read(role)),
///                 |_| group.has_changed(),
///                 |members| group.write(store.write(role, members)),
///             )
///             .version(|members: &Members| members.version)
///             .attempt_timeout(Duration::from_secs(60))
///             .operation("roles.update")
///             .reported()
///             .await
///     }
/// });
///
/// let tasks: Vec<_> = (0..100)
///     .map(|n| {
///         let name = format!("member-{n}");
///         tokio::spawn(roles.update("viewer", move |members| {
///             let is_new = !members.names.contains(&name);
///             if is_new { members.names.push(name.clone()) }
///             is_new
///         }))
///     })
///     .collect();
/// for task in tasks {
///     assert!(matches!(task.await.unwrap(), Ok(Updated::Written(()))));
/// }
/// let stored = store.0.lock().unwrap();
/// assert_eq!((stored.names.len(), stored.version), (100, 1));
/// # }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
///
/// A `Combining` is a cheap handle: clones share the resources, and so do references. The reads and writes
/// of all callers are the same requests, so make one `Combining` for each set of credentials. `K`
/// names a resource, `V` is the value that is read and written, `W` the reply of a write, and `E` the error
/// of all. Keys are hashed, compared and dropped while a lock is held. No other code
/// of yours runs under a lock that a caller takes.
///
/// # What a caller gets
///
/// - [`Updated::Written`](crate::Updated::Written): the write of its group succeeded. The reply is that
///   of the whole group, so no number that belongs to one caller can be taken from it.
/// - [`Updated::Unchanged`](crate::Updated::Unchanged): the change found nothing to do, in a value that
///   was read after the call, or that its group has written since. The `Updated` holds this value. The
///   callers share one value, and each makes its own copy when it gets its result. Where copies are large,
///   let `V` be an [`Arc`], and let the changes use [`Arc::make_mut`].
/// - A [`CombineError`], which says whether the change may have been applied.
///
/// The changes of a group are applied in the order in which the futures were first polled. After 128 of them the
/// task lets other tasks run. A change may run many times, each time on a
/// fresh value, so the change owns the values that it uses. A change
/// that returns `false` should leave the value as it was: whatever it did to the value is not written
/// with the changes of the others. An error or a panic of a change fails that change alone.
///
/// A write whose value is refused ([`Fault::refuses_value`](crate::Fault::refuses_value), if the policy does not retry it)
/// ends the call of its group, and the group is halved until only the bad change is
/// left: one bad change among `n` costs at most `2·log₂ n + 2` writes, and no number of bad changes
/// costs `2n` writes or more. Each half is a call of its own, with its own attempts and its own log event. Any other failure
/// goes to all callers of the group.
///
/// # After a write that may have been applied
///
/// A change that returns a `bool` recognises its own effect, and is applied again to the value that is
/// read next. A change that returns nothing is not applied again: it ends with
/// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied). So nothing is applied twice. If the
/// policy is not [idempotent](crate::Policy::idempotent), every change in the write ends with `MaybeApplied`. Each write must be
/// conditional: a write that was refused with 400, 401 or 404 counts as not applied
/// ([`Fault::may_be_written`](crate::Fault::may_be_written)).
///
/// # Limits
///
/// Attempts, deadline, waits, budget, rate and breaker are those of the call of the group: a retry that a hundred callers share
/// costs the same as one retry, and is logged once. A caller who comes while a group retries joins it. If the group then uses
/// up its attempts or its time, a caller who came after its first attempt makes its own attempts in the next group. So a caller
/// may wait for twice the deadline of the policy, and longer only while a refused group is halved. In an outage, with a
/// deadline of 5 s and a wait of a second after each failure, callers who came every 100 ms waited for their error for 4.0 s at
/// least, 6.1 s in the middle and 8.1 s at most (on the virtual clock of a test). As in any update, a read or a write that hangs
/// is cut only by a limit of the call, such as [`attempt_timeout`](crate::Retrying::attempt_timeout).
///
/// For a limit of its own, a caller [withdraws](Changing::withdraw) its change, [leaves](Changing::leave), or drops its future.
/// A change of a caller that is kept and not polled may still be applied, also after a limit that the caller has in mind.
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
/// The task runs on the runtime of the caller that came first. One `Combining`, also in a `static`, serves one runtime after
/// the other. Callers of two runtimes that run at the same time should not share a `Combining`: the task
/// stands still while its runtime does. If its runtime ends, callers who were there at the last read or write get
/// [`Interrupted`](CombineError::Interrupted), and the others begin a task of their own.
///
/// # Panics
///
/// A panic of a change is passed on to its caller, and concerns nobody else. A panic of a read, of a write
/// or of other code in the task (the `Clone` of a key, a value or a reply, a setting of the call, a
/// method of [`Fault`](crate::Fault), the destructor of a change) ends the task: callers who were there at the last read or
/// write get [`Interrupted`](CombineError::Interrupted), and the others begin the next task.
pub struct Combining<K, V, W, E>(Arc<Resources<K, V, W, E>>);

impl<K, V, W, E> Combining<K, V, W, E> {
    /// As `new`, on a runtime of your own: `spawn` runs a task until its end. Nobody waits for this end. If
    /// the runtime ends first, it drops the task.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut, combine::{Combining, Group}};
    ///
    /// # #[cfg(feature = "tokio")] {
    /// let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// let handle = runtime.handle().clone();
    /// let counts = Combining::on(
    ///     move |task| drop(handle.spawn(task)),
    ///     |_key: u8, group: Group<u32, (), TimedOut>| async move {
    ///         Policy::exponential()
    ///             .update(
    ///                 || group.read(async { Ok(1) }),
    ///                 |_| group.has_changed(),
    ///                 |_| group.write(async { Ok(()) }),
    ///             )
    ///             .reported()
    ///             .await
    ///     },
    /// );
    /// let updated = runtime.block_on(counts.update(0, |count| *count += 1));
    /// assert!(updated.is_ok_and(|updated| updated.is_written()));
    /// # }
    /// ```
    pub fn on<S, U, F>(spawn: S, update: U) -> Self
    where
        S: Fn(Task) + Send + Sync + 'static,
        U: Fn(K, Group<V, W, E>) -> F + Send + Sync + 'static,
        F: Future<Output = GroupResult<V, W, E>> + Send + 'static,
    {
        Combining(Arc::new(Resources {
            update: Box::new(move |key, group| Box::pin(update(key, group))),
            spawn: Box::new(spawn),
            at_most: usize::MAX.into(),
            all: Mutex::default(),
        }))
    }

    /// Limits how many callers wait for one resource. One more caller gets [`CombineError::Full`] at once, and the log has
    /// a `WARN`. Without this there is no limit. The limit holds for all clones.
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
        self.0.at_most.store(callers, Relaxed);
        self
    }

    /// Changes the resource with this key. Nothing happens until the future is polled. The changes of a
    /// group are applied in the order in which their futures were first polled.
    ///
    /// `change` returns nothing, a `bool`, or a `Result` of either, like a change of
    /// [`Policy::update`](crate::Policy::update). It may run again on a fresh value, so it owns the values that it uses.
    ///
    /// # Errors
    /// A [`CombineError`].
    pub fn update<F, Changes>(&self, key: K, mut change: F) -> Changing<K, V, W, E>
    where
        F: FnMut(&mut V) -> Changes + Send + 'static,
        Changes: Changed<E>,
        K: Clone + Eq + Hash,
    {
        let change = Box::new(move |value: &mut V| change(value).changed());
        Changing {
            resources: Arc::clone(&self.0),
            key,
            state: State::New(change, Changes::RECOGNISES),
        }
    }

    /// The number of resources that have waiting callers now.
    pub fn busy(&self) -> usize {
        lock(&self.0.all).len()
    }
}

/// The clone shares the resources.
impl<K, V, W, E> Clone for Combining<K, V, W, E> {
    fn clone(&self) -> Self {
        Combining(Arc::clone(&self.0))
    }
}

named_in_debug!(Combining<K, V, W, E>);
