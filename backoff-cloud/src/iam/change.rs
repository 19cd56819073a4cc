//! Adding a member to a role and removing it, as a whole read-modify-write.

use super::READ_MODIFY_WRITE;
use super::condition::Condition;
use super::grant::Grant;
use super::step::{ATTEMPT_TIMEOUT, change, make_known, read, version, write};
use super::store::{Error, PolicyStore};
use backoff_core::{Policy, UpdateReport, Updated};
use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

/// Gives a role on a resource to a member. It reads the policy, adds the member and writes the policy back.
/// When another client has written in the meantime, or the service fails, it begins again with the read.
///
/// Nothing is written if the member has the role already, also if the policy spells the member differently:
/// IAM ignores case after the type (`user:Ann@example.com` is `user:ann@example.com`), but not for
/// `principal:`, `principalSet:` and `principalHierarchy:`. Nothing else in the policy changes. A policy
/// without an etag is never written.
///
/// The output is [`Updated`]: the policy that was written, or the policy that was read if nothing was
/// written.
///
/// # Errors
/// [`Error`]: the client's error, or that the policy had no etag, and the reason why there was no further
/// attempt.
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
    role: &str,
    member: &str,
) -> Change<'a, S> {
    Change::new(store, resource, role, member, true)
}

/// Takes a role from a member, in every spelling that the policy has. A binding without members is removed.
/// Nothing is written if the member does not have the role. A role with a condition is removed only if
/// [`when`](Change::when) names the same condition.
///
/// # Errors
/// The errors of [`add`].
pub fn remove<'a, S: PolicyStore>(
    store: &'a S,
    resource: &'a str,
    role: &str,
    member: &str,
) -> Change<'a, S> {
    Change::new(store, resource, role, member, false)
}

/// A change of an allow policy. Made by [`add`] and [`remove`]; it does nothing until it is awaited.
#[derive(Debug)]
#[must_use = "a change is not made until it is awaited"]
pub struct Change<'a, S> {
    store: &'a S,
    resource: &'a str,
    grant: Grant,
    policy: Policy,
    attempt_timeout: Duration,
    operation: &'static str,
}

impl<'a, S: PolicyStore> Change<'a, S> {
    fn new(store: &'a S, resource: &'a str, role: &str, member: &str, adds: bool) -> Self {
        make_known();
        Change {
            store,
            resource,
            grant: Grant::new(role, member, adds),
            policy: READ_MODIFY_WRITE,
            attempt_timeout: ATTEMPT_TIMEOUT,
            operation: if adds { "iam::add" } else { "iam::remove" },
        }
    }

    /// Changes the binding with this condition. Without this call the change is for the binding without a
    /// condition.
    pub fn when(mut self, condition: Condition) -> Self {
        self.grant.condition = Some(condition);
        self
    }

    /// Retries by this policy instead of [`READ_MODIFY_WRITE`]. Conflicts are always retried.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Ends each attempt (a read and the write after it) after this time, or when the deadline is over.
    /// Without this call an attempt ends after a minute. A write that was cut may have been applied; the
    /// next read shows it.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = limit;
        self
    }

    /// Names the operation in log events and metrics, as
    /// [`Retrying::operation`](backoff_core::Retrying::operation) does. Without this call the name is `iam::add`
    /// or `iam::remove`.
    pub fn operation(mut self, operation: &'static str) -> Self {
        self.operation = operation;
        self
    }

    /// Also returns a report: the number of attempts and the time spent.
    pub fn reported(self) -> ReportedChange<'a, S> {
        ReportedChange(self)
    }

    async fn run(self) -> Changed<S> {
        let Change {
            store, resource, ..
        } = self;
        self.policy
            .update(
                || read(store, resource),
                |policy| change(&self.grant, resource, policy, |policy| policy),
                |policy| write(store, resource, policy),
            )
            .version(version)
            .operation(self.operation)
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

/// A [`Change`] that also returns a report. Made by [`Change::reported`].
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
