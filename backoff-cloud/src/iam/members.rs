//! Members of roles that many tasks change at once.

use super::READ_MODIFY_WRITE;
use super::condition::Condition;
use super::grant::Grant;
use super::step::{ATTEMPT_TIMEOUT, change, make_known, read, version, write};
use super::store::{Failure, PolicyStore};
use backoff_core::{
    Policy, Verdict,
    combine::{Combining, Updating},
};
use std::{fmt, future::IntoFuture, sync::Arc, time::Duration};

/// Changes the members of roles for many tasks at once: the changes of one resource that wait at the same
/// time become one read and one write.
///
/// If a hundred tasks call [`iam::add`](super::add) for the same resource, they conflict with one another,
/// and each conflict costs a read, a write and a wait. With `Members` a hundred tasks on one thread make 2
/// calls: a read and a write. On four threads they make 2 to 6 calls (measured with the emulator, 200 runs
/// each). A single change begins at once, and costs as much as `iam::add`. [`Combining`] has the rules of
/// the groups.
///
/// `S` is any [`PolicyStore`]: one of Google's clients, `Rest`, or [two closures](super::store). A clone of
/// `Members` is cheap and combines with the original. All changes use the credentials of this client, so
/// make one `Members` for each set of credentials. Changes by `iam::add` or by another process are
/// conflicts as usual.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/iam/examples/memory.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // One of Google's own clients, `iam::Rest`, or the store of the page of `PolicyStore`, as here.
/// let members = iam::Members::new(Memory::default());
///
/// let tasks: Vec<_> = (0..100)
///     .map(|n| {
///         let members = members.clone();
///         tokio::spawn(async move {
///             let member = format!("user:{n}@example.com");
///             members.add("projects/p", "roles/viewer", &member).await
///         })
///     })
///     .collect();
/// for task in tasks {
///     assert!(task.await??.is_written());
/// }
///
/// let year = iam::Condition::new("2026", "request.time.getFullYear() == 2026");
/// let audit = members.add("projects/p", "roles/viewer", "group:audit@example.com");
/// let policy = audit.condition(year).await?.into_inner();
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
pub struct Members<S: PolicyStore> {
    combining: Combined<S>,
}

type Combined<S> = Combining<
    Arc<str>,
    Arc<<S as PolicyStore>::Policy>,
    Arc<<S as PolicyStore>::Policy>,
    Failure<<S as PolicyStore>::Error>,
>;

impl<S> Members<S>
where
    S: PolicyStore<Policy: Clone + Send + Sync + 'static, Error: Send + Sync + 'static>
        + Send
        + Sync
        + 'static,
{
    /// Changes members with this client, by [`READ_MODIFY_WRITE`].
    pub fn new(client: S) -> Self {
        make_known();
        let reads = Arc::new(client);
        let writes = Arc::clone(&reads);
        let combining = READ_MODIFY_WRITE
            .combine(
                move |resource: Arc<str>| {
                    let store = Arc::clone(&reads);
                    // Callers share the policy, and it may have 1,500 members.
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
            .version(|policy: &Arc<S::Policy>| version(&**policy))
            .operation("iam::Members")
            .attempt_timeout(ATTEMPT_TIMEOUT);
        Members { combining }
    }

    /// Retries by this policy instead of [`READ_MODIFY_WRITE`]. Conflicts are always retried, unless
    /// [`when`](Self::when) says otherwise. Call this before the first change: the returned value does not
    /// combine with the old one.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        let combining = self.combining.policy(policy);
        Members { combining }
    }

    /// Lets a function decide which failures are retried, instead of the policy's codes, as
    /// [`Change::when`](super::Change::when) does. A failure that the function repeats is repeated for all changes
    /// of the group. Call this before the first change: the returned value does not combine with the old one.
    #[must_use]
    pub fn when<F, Answer>(self, judge: F) -> Self
    where
        F: Fn(&Failure<S::Error>) -> Answer + Send + Sync + 'static,
        Answer: Into<Verdict>,
    {
        let combining = self.combining.when(judge);
        Members { combining }
    }

    /// Names the operation in log events and metrics. Without this call the name is `iam::Members`. Call this
    /// before the first change: the returned value does not combine with the old one.
    #[must_use]
    pub fn operation(self, operation: &'static str) -> Self {
        let combining = self.combining.operation(operation);
        Members { combining }
    }

    /// Ends each attempt (a read and the write after it) after this time. Without this call an attempt ends
    /// after a minute. A write that was cut may have been applied; the next read shows it. Call this before
    /// the first change: the returned value does not combine with the old one.
    #[must_use]
    pub fn attempt_timeout(self, limit: Duration) -> Self {
        let combining = self.combining.attempt_timeout(limit);
        Members { combining }
    }

    /// Limits how many changes of one resource may wait. A further change gets
    /// [`CombineError::Full`](backoff_core::combine::CombineError::Full) at once. Without this call there is
    /// no limit. Call this before the first change: the returned value does not combine with the old one.
    ///
    /// # Panics
    /// When `callers` is 0.
    #[must_use]
    #[track_caller]
    pub fn at_most(self, callers: usize) -> Self {
        let combining = self.combining.at_most(callers);
        Members { combining }
    }

    /// Gives a role on a resource to a member. [`iam::add`](super::add) says which spellings are the same
    /// member, and what is not written.
    ///
    /// The output is [`Updated`](backoff_core::Updated): the policy that the group wrote, or the policy that
    /// already has the change. All callers of a group share it in one [`Arc`].
    ///
    /// # Errors
    /// A [`CombineError`](backoff_core::combine::CombineError). It contains a [`Failure`], unless the deadline
    /// is over or too many changes wait. It says whether the change may have been applied.
    pub fn add(&self, resource: &str, role: &str, member: &str) -> MemberChange<S> {
        self.change(resource, role, member, true)
    }

    /// Takes a role from a member, as [`iam::remove`](super::remove) does.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn remove(&self, resource: &str, role: &str, member: &str) -> MemberChange<S> {
        self.change(resource, role, member, false)
    }

    fn change(&self, resource: &str, role: &str, member: &str, adds: bool) -> MemberChange<S> {
        MemberChange {
            combining: self.combining.clone(),
            resource: resource.into(),
            grant: Grant::new(role, member, adds),
        }
    }
}

/// The clone combines with the original.
impl<S: PolicyStore> Clone for Members<S> {
    fn clone(&self) -> Self {
        let combining = self.combining.clone();
        Members { combining }
    }
}

impl<S: PolicyStore> fmt::Debug for Members<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Members")
            .field("combining", &self.combining)
            .finish()
    }
}

/// A change of an allow policy that is made together with others. Made by [`Members::add`] and
/// [`Members::remove`]; it does nothing until it is awaited.
///
/// It borrows nothing. [`into_future`](IntoFuture::into_future) makes its future, an [`Updating`], for
/// `tokio::spawn` and everything else that takes a future. The future also takes a
/// [`deadline`](Updating::deadline), a number of attempts ([`max_attempts`](Updating::max_attempts)) and a
/// signal ([`stop_on`](Updating::stop_on)) for this change.
#[must_use = "a change is not made until it is awaited"]
pub struct MemberChange<S: PolicyStore> {
    combining: Combined<S>,
    resource: Arc<str>,
    grant: Grant,
}

type Made<S> = Updating<
    Arc<str>,
    Arc<<S as PolicyStore>::Policy>,
    Arc<<S as PolicyStore>::Policy>,
    Failure<<S as PolicyStore>::Error>,
>;

impl<S> MemberChange<S>
where
    S: PolicyStore<Policy: Clone + Send + Sync + 'static, Error: Send + Sync + 'static>,
{
    /// Changes the binding with this condition. Without this call the change is for the binding without a
    /// condition.
    pub fn condition(mut self, condition: Condition) -> Self {
        self.grant.condition = Some(condition);
        self
    }
}

impl<S> IntoFuture for MemberChange<S>
where
    S: PolicyStore<Policy: Clone + Send + Sync + 'static, Error: Send + Sync + 'static>,
{
    type Output = <Made<S> as Future>::Output;
    type IntoFuture = Made<S>;

    fn into_future(self) -> Made<S> {
        let MemberChange {
            combining,
            resource,
            grant,
        } = self;
        let named = Arc::clone(&resource);
        combining.update(resource, move |policy: &mut Arc<S::Policy>| {
            change(&grant, &named, policy, Arc::make_mut)
        })
    }
}

impl<S: PolicyStore> fmt::Debug for MemberChange<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberChange")
            .field("resource", &self.resource)
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
