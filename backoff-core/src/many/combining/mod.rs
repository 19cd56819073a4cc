//! Changes of one resource that wait at the same time become one read-modify-write.
//!
//! The face. `updating.rs` is the future of one caller, `lane.rs` one resource, `drive.rs` its reads
//! and writes, `group.rs` what they do with the changes, `pieces.rs` the halving of a refused group.

mod caller;
mod drive;
mod error;
mod group;
mod lane;
mod pieces;
#[cfg(all(test, loom))]
mod races;
mod rules;
mod sync;
#[cfg(all(test, feature = "tokio"))]
mod tests;
mod updating;

pub use error::CombineError;
pub use updating::{Updating, UpdatingReported};

use crate::{
    drive::{until::Conflict, update::Changed, version::Version},
    facts::fault::{Fault, TimedOut},
    policy::Policy,
    runtime::{ASYNC, AsyncRuntime},
};
use core::{fmt, future::Future, hash::Hash, time::Duration};
use rules::{Rules, Shared, Versions};
use std::sync::Arc;

/// Combines the changes of many callers: what waits for one resource at the same time becomes one
/// read, all the changes, and one write. Made by [`Policy::combine`].
///
/// A hundred tasks that each [`update`](Policy::update) the same resource conflict with one another,
/// and each conflict costs a read, a write and a wait. Here they cost one or two reads and writes.
/// There is no timer that collects changes, and no task is spawned: the first change to an idle
/// resource begins at once, and what arrives before its read returns goes along. What comes later is
/// the next group.
///
/// It is a cheap handle: clones share the resources, as does a reference. All callers go out as `read`
/// and `write` do, so have one for each set of credentials. `K` names a resource, `V` is what is read
/// and written, `W` the reply of a write, `E` the error of all, and `R` the runtime. Keys are hashed and
/// compared while a lock is held; nothing else of yours is.
///
/// ```
/// use backoff_core::{Fault, FaultKind, Policy, Updated, many::Combining};
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
/// # What a change is told
///
/// - [`Updated::Written`](crate::Updated::Written): the write of its group succeeded. The reply is
///   that of the whole group, so no number that belongs to one caller can be taken from it.
/// - [`Updated::Unchanged`](crate::Updated::Unchanged): the change found nothing to do, in a value that
///   was read after the call, or that its group has written since. The value is the one that the change
///   has seen.
/// - A [`CombineError`], which says whether the change may have been applied. Its
///   [reason](CombineError::reason) is that of the last failure: after a write that may have been
///   applied, a later read may be refused, and then the reason is `Permanent` and
///   [`may_be_applied`](CombineError::may_be_applied) is still true.
///
/// The changes of a group are applied in the order in which the futures were first polled. A change may
/// run many times, each time on a fresh value, so it owns what it uses. A change that returns `false`
/// should leave the value as it was: what it has done to the value is not written with the changes of
/// the others. An error or a panic of a change fails that change alone. When a write is refused for its value (400, 413, 422,
/// `INVALID_ARGUMENT`, `FAILED_PRECONDITION`, `OUT_OF_RANGE`, where the policy does not retry it), the
/// group is halved until the bad change stands alone: one bad change among `n` costs at most
/// `2·log₂ n + 2` writes, and no number of them costs `2n` or more. Any other failure is shared by all
/// who took part.
///
/// # After a write that may have been applied
///
/// A change that returns a `bool` recognises its own effect, and is applied again to what is read then.
/// A change that returns nothing is not: it ends with
/// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), unless the value tells its
/// [version](Self::version) and this has stayed the same. So nothing is applied twice. Where the
/// policy is not [idempotent](Policy::idempotent), every change of the group ends so.
///
/// # Limits
///
/// Deadline and attempts are each caller's: the policy's, or those that the call
/// [names](Updating::deadline). A deadline ends the waiting, whatever the server does. A
/// [signal](Updating::stop_on) ends the waiting of its caller alone. The waits after
/// failures and the [budget](Policy::budget) are the resource's: a retry that a hundred share costs
/// what one retry costs, and is logged once. A `Retry-After` is the resource's too: a caller who comes
/// during such a wait waits for its end. Halving costs no attempt. For the budget it is neither a
/// success nor a failure.
///
/// # Dropping
///
/// The read or write under way belongs to the resource, and whichever caller is polled goes on
/// with it. Dropping one caller drops no write; a change that was not taken yet is not applied.
/// Dropping the last caller of a resource drops the step that is under way. A resource for which nobody
/// waits leaves nothing behind.
///
/// The step may use what belongs to the runtime of the caller that began it, as sockets do. So do not
/// share one value between runtimes that end at different times.
///
/// # Panics
///
/// A panic of `read` or `write` unwinds through the caller in whose poll it happens. The others begin
/// again, but for those who would be [interrupted](CombineError::Interrupted). The same holds for a
/// panic of what is called after the write: a reply's `Clone`, the function of
/// [`conflict_if`](Self::conflict_if), a method of [`Fault`]. A change is dropped by the caller that
/// made it. Where that caller has gone while the change was applied, a panic of the change's destructor
/// is not passed on.
pub struct Combining<K, V, W, E, R = AsyncRuntime> {
    shared: Arc<Shared<K, V, W, E, R>>,
}

impl Policy {
    /// Combines the changes that many callers make to the same resource at the same time into one
    /// read-modify-write. Everything is said at [`Combining`].
    ///
    /// `read` reads the resource with this key, `write` writes it under the precondition that nobody was
    /// faster; what was read, with its etag or version, is all that it gets. Both give futures that own
    /// what they use.
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
        Combining::new(Rules {
            policy: *self,
            read: Arc::new(move |key| Box::pin(read(key))),
            write: Arc::new(move |key, value| Box::pin(write(key, value))),
            runtime: Arc::new(ASYNC),
            name: core::any::type_name::<Write>(),
            at_most: usize::MAX,
            attempt_timeout: None,
            conflict: None,
            versions: None,
        })
    }
}

impl<K, V, W, E, R> Combining<K, V, W, E, R> {
    fn new(rules: Rules<K, V, W, E, R>) -> Self {
        Combining {
            shared: Arc::new(Shared::new(rules)),
        }
    }

    /// The same with other rules, and with resources of its own.
    fn with(self, change: impl FnOnce(&mut Rules<K, V, W, E, R>)) -> Self {
        let rules = &self.shared.rules;
        let mut rules = rules.under(Arc::clone(&rules.runtime));
        change(&mut rules);
        Combining::new(rules)
    }

    /// Changes the resource with this key. Nothing happens until the future is polled, and the changes
    /// of a group are applied in the order in which their futures were first polled.
    ///
    /// `change` is what a change of [`Policy::update`] is: it returns nothing, a `bool`, or a `Result`
    /// of either. It may run again on a fresh value, so it owns what it uses.
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
    /// [`Retrying::attempt_timeout`](crate::Retrying::attempt_timeout) does. To be said before the first
    /// change: what is returned combines apart from what it was made of.
    #[must_use]
    pub fn attempt_timeout(self, limit: Duration) -> Self
    where
        E: From<TimedOut>,
    {
        self.with(|rules| rules.attempt_timeout = Some((limit, E::from)))
    }

    /// Lets at most so many callers wait for one resource. One more gets [`CombineError::Full`] at
    /// once; without this there is no limit. To be said before the first change: what is returned
    /// combines apart from what it was made of.
    ///
    /// # Panics
    /// When `callers` is 0.
    #[must_use]
    #[track_caller]
    pub fn at_most(self, callers: usize) -> Self {
        assert!(
            callers > 0,
            "where nobody may wait, no change is made: write 1 to let one caller wait"
        );
        self.with(|rules| rules.at_most = callers)
    }

    /// Takes a write's reply for a conflict where the function says so, as
    /// [`Retrying::conflict_if`](crate::Retrying::conflict_if) does. To be said before the first
    /// change: what is returned combines apart from what it was made of.
    #[must_use]
    pub fn conflict_if<F>(self, is_conflict: F) -> Self
    where
        F: Fn(&W) -> bool + Send + Sync + 'static,
        E: From<Conflict>,
    {
        self.with(|rules| rules.conflict = Some((Arc::new(is_conflict), E::from)))
    }

    /// Tells the version of a value that was read, as
    /// [`Retrying::version`](crate::Retrying::version) does. After a conflict with another process, the
    /// wait then follows from how busy the resource is. A change that returns nothing is
    /// written again after a write that may have been applied, but only as long as the version is the
    /// one that was written upon. To be said before the first change: what is returned combines apart
    /// from what it was made of.
    #[must_use]
    pub fn version<F, T>(self, version: F) -> Self
    where
        F: Fn(&V) -> T + Send + Sync + 'static,
        T: Version + Send + 'static,
    {
        self.with(|rules| rules.versions = Some(Arc::new(Versions::new(version))))
    }

    /// Takes clock, timer and random numbers from here instead of from tokio. To be said before the
    /// first change: what is returned combines apart from what it was made of.
    #[must_use]
    pub fn runtime<Q>(self, runtime: Q) -> Combining<K, V, W, E, Q> {
        Combining::new(self.shared.rules.under(Arc::new(runtime)))
    }

    /// How many resources somebody waits for now.
    pub fn busy(&self) -> usize {
        self.shared.lanes().len()
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
        f.debug_struct("Combining")
            .field("policy", &self.shared.rules.policy)
            .finish_non_exhaustive()
    }
}
