//! Members of roles that many tasks change at once.

use super::READ_MODIFY_WRITE;
use super::grant::Grant;
use super::step::{ATTEMPT_TIMEOUT, change, make_known, read, version, write};
use super::store::{Failure, PolicyStore};
use backoff_core::{
    Policy,
    combine::{Combining, Updating},
};
use std::{fmt, sync::Arc};

/// Changes the members of roles for many tasks at once: the changes of one resource that wait at the same
/// time become one read and one write.
///
/// If a hundred tasks call [`iam::add`](super::add) for the same resource, they conflict with one another,
/// and each conflict costs a read, a write and a wait. With `Members` a hundred tasks on one thread make 2
/// calls: a read and a write. On four threads they make 2 to 6 calls (measured with the emulator, 200 runs
/// each). A single change begins at once, and costs as much as `iam::add`. [`Combining`] has the rules of
/// the groups.
///
/// `S` is any [`PolicyStore`]: one of Google's clients, `Rest`, or a client of yours. A clone of `Members` is
/// cheap and combines with the original. All changes use the credentials of this client, so make one `Members`
/// for each set of credentials. Changes by `iam::add` or by another process are conflicts as usual.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/iam/examples/memory.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // One of Google's own clients, `iam::Rest`, or the store of the page of `PolicyStore`, as here.
/// let members = iam::Members::new(Memory::default());
///
/// let names = (0..100).map(|n| format!("user:{n}@example.com"));
/// let tasks: Vec<_> = names
///     .map(|member| tokio::spawn(members.add("projects/p", "roles/viewer", &member)))
///     .collect();
/// for task in tasks {
///     assert!(task.await??.is_written());
/// }
///
/// let year = iam::Condition::new("2026", "request.time.getFullYear() == 2026");
/// let audit = iam::Grant::add("roles/viewer", "group:audit@example.com").condition(year);
/// let policy = members.change("projects/p", audit).await?.into_inner();
/// // The etag counts the writes: one for the hundred members, and this one.
/// assert_eq!(policy.etag.as_deref(), Some("2"));
/// # Ok(()) }
/// ```
///
/// # Which failures concern one change, and which a group
///
/// If the service refuses the content of a write (400 `INVALID_ARGUMENT`: a member or a role that does not
/// exist), the group is halved until the bad change is alone, and only that change fails. Any other failure
/// of a write, such as 403, is the result of all changes of the group. A failed read, or a resource name
/// that the store refuses, is the result of all changes that waited when the read began; for the other
/// changes the resource is read again.
pub struct Members<S: PolicyStore>(Combined<S>);

type Combined<S> = Combining<Arc<str>, Shared<S>, Shared<S>, Failed<S>>;

/// The output of a change. It owns everything that it needs, so it can be spawned.
type Changing<S> = Updating<Arc<str>, Shared<S>, Shared<S>, Failed<S>>;

/// Callers share the policy, which may have 1,500 members.
type Shared<S> = Arc<<S as PolicyStore>::Policy>;

type Failed<S> = Failure<<S as PolicyStore>::Error>;

impl<S: PolicyStore + Send + 'static> Members<S> {
    /// Changes members with this client, by [`READ_MODIFY_WRITE`]. An attempt (a read and the write after it) ends
    /// after a minute; a write that was cut may have been applied, and the next read shows it.
    pub fn new(client: S) -> Self {
        make_known();
        let reads = Arc::new(client);
        let writes = Arc::clone(&reads);
        let combining = READ_MODIFY_WRITE
            .combine(
                move |resource: Arc<str>| {
                    let store = Arc::clone(&reads);
                    async move { read(&*store, &resource).await.map(Arc::new) }
                },
                move |resource: Arc<str>, policy| {
                    let store = Arc::clone(&writes);
                    async move {
                        let policy = Arc::unwrap_or_clone(policy);
                        write(&*store, &resource, policy).await.map(Arc::new)
                    }
                },
            )
            .version(|policy: &Shared<S>| version(&**policy))
            .operation("iam::Members")
            .attempt_timeout(ATTEMPT_TIMEOUT);
        Members(combining)
    }

    /// Retries by this policy instead of [`READ_MODIFY_WRITE`]. Conflicts are always retried, unless
    /// [`when`](Combining::when) says otherwise. Call this before the first change: the returned value does not
    /// combine with the old one.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        self.set(|combining| combining.policy(policy))
    }

    /// Changes a setting of the [`Combining`]: who decides which failures are retried ([`when`](Combining::when)), the
    /// time of an attempt, how many changes of a resource may wait ([`at_most`](Combining::at_most)), or the name
    /// in log events and metrics. Call this before the first change: the returned value does not combine with the
    /// old one.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/iam/examples/memory.rs"));
    /// # fn main() {
    /// let members = iam::Members::new(Memory::default()).set(|combining| combining.at_most(1_000));
    /// # drop(members); }
    /// ```
    #[must_use]
    pub fn set(self, set: impl FnOnce(Combined<S>) -> Combined<S>) -> Self {
        Members(set(self.0))
    }

    /// Gives a role on a resource to a member. [`iam::add`](super::add) says which spellings are the same
    /// member, and what is not written.
    ///
    /// Nothing happens until the future is polled. It owns everything that it needs, so it can be spawned, and takes a
    /// [deadline](Updating::deadline), a number of [attempts](Updating::max_attempts) and a
    /// [signal](Updating::stop_on) for this change.
    ///
    /// The output is [`Updated`](backoff_core::Updated): the policy that the group wrote, or the policy that
    /// already has the change. All callers of a group share it in one [`Arc`].
    ///
    /// # Errors
    /// A [`CombineError`](backoff_core::combine::CombineError). It contains a [`Failure`], unless the deadline
    /// is over or too many changes wait. It says whether the change may have been applied.
    pub fn add(&self, resource: &str, role: &str, member: &str) -> Changing<S> {
        self.change(resource, Grant::add(role, member))
    }

    /// Takes a role from a member, as [`iam::remove`](super::remove) does.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn remove(&self, resource: &str, role: &str, member: &str) -> Changing<S> {
        self.change(resource, Grant::remove(role, member))
    }

    /// Makes this change, which may have a condition.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn change(&self, resource: &str, grant: Grant) -> Changing<S> {
        let resource: Arc<str> = resource.into();
        let named = Arc::clone(&resource);
        self.0.update(resource, move |policy: &mut Shared<S>| {
            change(&grant, &named, policy, Arc::make_mut)
        })
    }
}

/// The clone combines with the original.
impl<S: PolicyStore> Clone for Members<S> {
    fn clone(&self) -> Self {
        Members(self.0.clone())
    }
}

impl<S: PolicyStore> fmt::Debug for Members<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Members").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests;
