//! Members of roles that many tasks change at once.

use super::READ_MODIFY_WRITE;
use super::grant::Grant;
use super::step::{ATTEMPT_TIMEOUT, change, make_known, read, version, write};
use super::store::{Failure, PolicyStore};
use backoff_core::{
    Fault, Policy, TimedOut, Verdict,
    call::{ByCodes, Judge, Judged, Stage, When},
    combine::{self, Combining, Group},
};
use std::{fmt, sync::Arc, time::Duration};

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
pub struct Members<S: PolicyStore> {
    settings: MembersSettings<S>,
    combining: Combined<S>,
}

/// The settings of [`Members`]: see [`Members::set`].
pub struct MembersSettings<S: PolicyStore> {
    store: Arc<S>,
    policy: Policy,
    judge: Arc<dyn Judge<Failed<S>> + Send + Sync>,
    attempt_timeout: Duration,
    operation: &'static str,
    at_most: usize,
}

type Combined<S> = Combining<Arc<str>, Shared<S>, Shared<S>, Failed<S>>;

/// The output of a change. It owns everything that it needs, so it can be spawned.
type Changing<S> = combine::Changing<Arc<str>, Shared<S>, Shared<S>, Failed<S>>;

/// Callers share the policy, which may have 1,500 members.
type Shared<S> = Arc<<S as PolicyStore>::Policy>;

type Failed<S> = Failure<<S as PolicyStore>::Error>;

impl<S: PolicyStore> MembersSettings<S> {
    /// Lets a function decide which failures are retried, instead of the policy's codes, as [`Policy::when`] does. The
    /// function decides about conflicts too. A write that it repeats is not halved: all callers of the group wait for the
    /// next attempt.
    #[must_use]
    pub fn when<F, Answer>(mut self, judge: F) -> Self
    where
        F: Fn(&Failed<S>) -> Answer + Send + Sync + 'static,
        Answer: Into<Verdict>,
    {
        self.judge = Arc::new(When(judge));
        self
    }

    /// Ends each attempt (a read and the write after it) after this time, or when the deadline is over. Without this call an
    /// attempt ends after a minute.
    #[must_use]
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = limit;
        self
    }

    /// Names the operation in log events and metrics. Without this call the name is `iam::Members`.
    #[must_use]
    pub fn operation(mut self, operation: &'static str) -> Self {
        self.operation = operation;
        self
    }

    /// Limits how many changes of one resource may wait, as [`Combining::at_most`] does.
    ///
    /// # Panics
    /// [`Members::set`] panics when `changes` is 0.
    #[must_use]
    pub fn at_most(mut self, changes: usize) -> Self {
        self.at_most = changes;
        self
    }
}

/// The clone shares the client and the function that judges.
impl<S: PolicyStore> Clone for MembersSettings<S> {
    fn clone(&self) -> Self {
        MembersSettings {
            store: Arc::clone(&self.store),
            judge: Arc::clone(&self.judge),
            ..*self
        }
    }
}

impl<S: PolicyStore> fmt::Debug for MembersSettings<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MembersSettings")
            .field("policy", &self.policy)
            .field("attempt_timeout", &self.attempt_timeout)
            .field("operation", &self.operation)
            .field("at_most", &self.at_most)
            .finish_non_exhaustive()
    }
}

/// Judges the error that the changes of a group share.
struct JudgedInside<E>(Arc<dyn Judge<Failure<E>> + Send + Sync>);

impl<E: Fault> Judge<combine::Shared<Failure<E>>> for JudgedInside<E> {
    fn judge(&self, policy: &Policy, stage: Stage, error: &combine::Shared<Failure<E>>) -> Verdict {
        self.0.judge(policy, stage, error)
    }

    fn fault<'e>(&self, error: &'e combine::Shared<Failure<E>>) -> Option<&'e dyn Fault> {
        self.0.fault(error)
    }

    fn late() -> Option<fn(TimedOut) -> combine::Shared<Failure<E>>> {
        <combine::Shared<Failure<E>>>::late()
    }
}

impl<S: PolicyStore + Send + 'static> Members<S> {
    /// Changes members with this client, by [`READ_MODIFY_WRITE`]. An attempt (a read and the write after it) ends
    /// after a minute; a write that was cut may have been applied, and the next read shows it.
    pub fn new(client: S) -> Self {
        make_known();
        Members::with(MembersSettings {
            store: Arc::new(client),
            policy: READ_MODIFY_WRITE,
            judge: Arc::new(ByCodes),
            attempt_timeout: ATTEMPT_TIMEOUT,
            operation: "iam::Members",
            at_most: usize::MAX,
        })
    }

    fn with(settings: MembersSettings<S>) -> Self {
        let made = settings.clone();
        let combining = Combining::new(
            move |resource: Arc<str>, group: Group<Shared<S>, Shared<S>, Failed<S>>| {
                let made = made.clone();
                async move {
                    let (store, resource) = (&*made.store, &*resource);
                    let reads = async || read(store, resource).await.map(Arc::new);
                    let writes = async |policy| {
                        let written = write(store, resource, Arc::unwrap_or_clone(policy));
                        written.await.map(Arc::new)
                    };
                    Judged::new(&made.policy, JudgedInside(made.judge))
                        .update(
                            || group.read(reads()),
                            |_| group.has_changed(),
                            |policy| group.write(writes(policy)),
                        )
                        .version(|policy: &Shared<S>| version(&**policy))
                        .operation(made.operation)
                        .attempt_timeout(made.attempt_timeout)
                        .reported()
                        .await
                }
            },
        );
        let combining = combining.at_most(settings.at_most);
        Members {
            settings,
            combining,
        }
    }

    /// Retries by this policy instead of [`READ_MODIFY_WRITE`]. Conflicts are always retried, unless
    /// [`when`](MembersSettings::when) says otherwise. Call this before the first change: the returned value does not
    /// combine with the old one.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        self.set(|settings| MembersSettings { policy, ..settings })
    }

    /// Changes a setting: who decides which failures are retried ([`when`](MembersSettings::when)), the
    /// time of an attempt, how many changes of a resource may wait ([`at_most`](MembersSettings::at_most)), or the name
    /// in log events and metrics. Call this before the first change: the returned value does not combine with the
    /// old one.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/iam/examples/memory.rs"));
    /// # fn main() {
    /// let members = iam::Members::new(Memory::default()).set(|settings| settings.at_most(1_000));
    /// # drop(members); }
    /// ```
    #[must_use]
    pub fn set(self, set: impl FnOnce(MembersSettings<S>) -> MembersSettings<S>) -> Self {
        Members::with(set(self.settings))
    }

    /// Gives a role on a resource to a member. [`iam::add`](super::add) says which spellings are the same
    /// member, and what is not written.
    ///
    /// Nothing happens until the future is polled. It owns everything that it needs, so it can be spawned. Its page,
    /// [`Changing`](combine::Changing), says how a caller with a deadline withdraws the change, and how a program that shuts
    /// down leaves it.
    ///
    /// The output is [`Updated`](backoff_core::Updated): the policy that the group wrote, or the policy that
    /// already has the change. All callers of a group share it in one [`Arc`].
    ///
    /// # Errors
    /// A [`CombineError`](backoff_core::combine::CombineError). It contains a [`Failure`], unless the caller has left or too
    /// many changes wait. It says whether the change may have been applied.
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
        self.combining
            .update(resource, move |policy: &mut Shared<S>| {
                change(&grant, &named, policy, Arc::make_mut)
            })
    }
}

/// The clone combines with the original.
impl<S: PolicyStore> Clone for Members<S> {
    fn clone(&self) -> Self {
        Members {
            settings: self.settings.clone(),
            combining: self.combining.clone(),
        }
    }
}

impl<S: PolicyStore> fmt::Debug for Members<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Members").field(&self.settings).finish()
    }
}

#[cfg(test)]
mod tests;
