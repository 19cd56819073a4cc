//! Adding and removing a member of a role, as a whole read-modify-write.

use super::READ_MODIFY_WRITE;
use super::condition::Condition;
use super::grant::Grant;
use super::step::{ATTEMPT_TIMEOUT, apply, make_known, read, version, write};
use super::store::{Error, PolicyStore};
use backoff_core::{Policy, UpdateReport, Updated};
use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

/// Gives a member a role on a resource: reads the policy, adds the member, writes it back, and
/// begins anew with the read when somebody else was faster or the service fails.
///
/// A member that has the role already is no reason to write, nor one that has it in another
/// spelling: IAM ignores case after the type (`user:Ann@example.com` is `user:ann@example.com`),
/// but for `principal:`, `principalSet:` and `principalHierarchy:`. Nothing else in the policy changes. A
/// policy that was read without an etag is never written.
///
/// Awaited, it gives [`Updated`]: the policy as it was written, or as it was found.
///
/// # Errors
/// [`Error`]: the client's error with the reason why there was no further attempt, or that there
/// was no etag.
///
#[cfg_attr(all(feature = "emulator", feature = "http"), doc = "```")]
#[cfg_attr(not(all(feature = "emulator", feature = "http")), doc = "```ignore")]
/// use backoff_cloud::{emulator::Emulator, iam};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let _ = rustls::crypto::ring::default_provider().install_default();
/// let emulator = Emulator::start()?;
/// // Or one of Google's own clients.
/// let client = iam::Rest::new(reqwest::Client::new(), format!("{}/v3", emulator.url()));
///
/// let project = "projects/p";
/// iam::add(&client, project, "roles/viewer", "user:ann@example.com").await?;
///
/// let year = iam::Condition::new("2026", "request.time.getFullYear() == 2026");
/// let (updated, report) = iam::add(&client, project, "roles/viewer", "group:audit@example.com")
///     .when(year)
///     .policy(iam::READ_MODIFY_WRITE.max_attempts(10))
///     .reported()
///     .await?;
/// assert!(updated.is_written());
/// assert_eq!((report.reads, report.writes, report.conflicts), (1, 1, 0));
/// # Ok(()) }
/// ```
pub fn add<'a, S: PolicyStore>(
    store: &'a S,
    resource: &'a str,
    role: &'a str,
    member: &'a str,
) -> Change<'a, S> {
    Change::new(store, resource, role, member, true)
}

/// Takes a role from a member: as [`add`], the other way round, in every spelling that it has. A binding that loses its last
/// member is dropped, a member that does not have the role is no reason to write, and a role that
/// was given under a condition is taken only with [`when`](Change::when) that condition.
///
/// # Errors
/// As [`add`].
pub fn remove<'a, S: PolicyStore>(
    store: &'a S,
    resource: &'a str,
    role: &'a str,
    member: &'a str,
) -> Change<'a, S> {
    Change::new(store, resource, role, member, false)
}

/// A change of an allow policy that is to be made. Made by [`add`] and [`remove`]; does nothing
/// until it is awaited.
#[derive(Debug)]
#[must_use = "a change is not made until it is awaited"]
pub struct Change<'a, S> {
    store: &'a S,
    resource: &'a str,
    role: &'a str,
    member: &'a str,
    condition: Option<Condition>,
    adds: bool,
    policy: Policy,
    attempt_timeout: Duration,
}

impl<'a, S: PolicyStore> Change<'a, S> {
    fn new(store: &'a S, resource: &'a str, role: &'a str, member: &'a str, adds: bool) -> Self {
        make_known();
        Change {
            store,
            resource,
            role,
            member,
            condition: None,
            adds,
            policy: READ_MODIFY_WRITE,
            attempt_timeout: ATTEMPT_TIMEOUT,
        }
    }

    /// The binding with this condition is meant. Unless this is called, the one without.
    pub fn when(mut self, condition: Condition) -> Self {
        self.condition = Some(condition);
        self
    }

    /// Retries by this policy and not by [`READ_MODIFY_WRITE`]. Conflicts are retried whatever it
    /// says of them.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Cuts each attempt, a read and the write after it, after this time, or when the deadline is
    /// over. Unless this is called, after a minute. A write that was cut may have been applied; the
    /// next read tells.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = limit;
        self
    }

    /// Also says what it took.
    pub fn reported(self) -> ReportedChange<'a, S> {
        ReportedChange(self)
    }

    async fn run(self) -> Changed<S> {
        let Change {
            store, resource, ..
        } = self;
        let grant = Grant {
            role: self.role,
            member: self.member,
            condition: self.condition.as_ref(),
        };
        self.policy
            .update(
                || read(store, resource),
                |policy| apply(grant, self.adds, resource, policy),
                |policy| write(store, resource, policy),
            )
            .version(version)
            .attempt_timeout(self.attempt_timeout)
            .reported()
            .await
    }
}

type Changed<S> = Result<
    (
        Updated<<S as PolicyStore>::Policy, <S as PolicyStore>::Policy>,
        UpdateReport,
    ),
    Error<<S as PolicyStore>::Error>,
>;

/// A [`Change`] that also says what it took. Made by [`Change::reported`].
#[derive(Debug)]
#[must_use = "a change is not made until it is awaited"]
pub struct ReportedChange<'a, S>(Change<'a, S>);

impl<'a, S> IntoFuture for Change<'a, S>
where
    S: PolicyStore<Policy: Send, Error: Send> + Sync,
{
    type Output = Result<Updated<S::Policy, S::Policy>, Error<S::Error>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.run().await.map(|(updated, _)| updated) })
    }
}

impl<'a, S> IntoFuture for ReportedChange<'a, S>
where
    S: PolicyStore<Policy: Send, Error: Send> + Sync,
{
    type Output = Changed<S>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.0.run())
    }
}
