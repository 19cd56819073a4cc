//! Adding a member to a role and removing it, as a whole read-modify-write.

use super::READ_MODIFY_WRITE;
use super::grant::Grant;
use super::step::{self, ATTEMPT_TIMEOUT, make_known, read, version, write};
use super::store::{Error, Failure, PolicyStore};
use backoff_core::{
    Policy, UpdateReport, Updated, Verdict,
    call::{ByCodes, Judge, Judged, When},
};
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
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/iam/examples/memory.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // One of Google's own clients, `iam::Rest`, or the store of the page of `PolicyStore`, as here.
/// let client = Memory::default();
///
/// let project = "projects/p";
/// iam::add(&client, project, "roles/viewer", "user:ann@example.com").await?;
///
/// let year = iam::Condition::new("2026", "request.time.getFullYear() == 2026");
/// let audit = iam::Grant::add("roles/viewer", "group:audit@example.com").condition(year);
/// let (updated, report) = iam::change(&client, project, audit)
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
    change(store, resource, Grant::add(role, member))
}

/// Takes a role from a member, in every spelling that the policy has. A binding without members is removed.
/// Nothing is written if the member does not have the role. A role with a condition is removed only by a
/// [`change`] with the same [condition](Grant::condition).
///
/// # Errors
/// The errors of [`add`].
pub fn remove<'a, S: PolicyStore>(
    store: &'a S,
    resource: &'a str,
    role: &str,
    member: &str,
) -> Change<'a, S> {
    change(store, resource, Grant::remove(role, member))
}

/// Makes this change, which may have a condition, as [`add`] and [`remove`] do.
///
/// # Errors
/// The errors of [`add`].
pub fn change<'a, S: PolicyStore>(store: &'a S, resource: &'a str, grant: Grant) -> Change<'a, S> {
    make_known();
    Change {
        store,
        resource,
        operation: grant.name(),
        grant,
        policy: READ_MODIFY_WRITE,
        judge: ByCodes,
        attempt_timeout: ATTEMPT_TIMEOUT,
    }
}

/// A change of an allow policy. Made by [`add`], [`remove`] and [`change`]; it does nothing until it is awaited.
#[derive(Debug)]
#[must_use = "a change is not made until it is awaited"]
pub struct Change<'a, S, J = ByCodes> {
    store: &'a S,
    resource: &'a str,
    grant: Grant,
    policy: Policy,
    judge: J,
    attempt_timeout: Duration,
    operation: &'static str,
}

impl<'a, S: PolicyStore, J> Change<'a, S, J> {
    /// Lets a function decide which failures are retried, instead of the policy's codes, as
    /// [`Policy::when`] does. The function decides about conflicts too. Nothing else changes: hints and the
    /// limits of the policy hold. [An example](super#an-account-that-was-just-made).
    pub fn when<F, Answer>(self, judge: F) -> Change<'a, S, When<F>>
    where
        F: Fn(&Failure<S::Error>) -> Answer,
        Answer: Into<Verdict>,
    {
        Change {
            store: self.store,
            resource: self.resource,
            grant: self.grant,
            policy: self.policy,
            judge: When(judge),
            attempt_timeout: self.attempt_timeout,
            operation: self.operation,
        }
    }

    /// Retries by this policy instead of [`READ_MODIFY_WRITE`]. Conflicts are always retried, unless
    /// [`when`](Self::when) says otherwise.
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
    pub fn reported(self) -> Running<'a, Changed<S>>
    where
        J: Judge<Failure<S::Error>> + Send + 'a,
    {
        let (store, resource) = (self.store, self.resource);
        Box::pin(async move {
            Judged::new(&self.policy, self.judge)
                .update(
                    || read(store, resource),
                    |policy| step::change(&self.grant, resource, policy, |policy| policy),
                    |policy| write(store, resource, policy),
                )
                .version(version)
                .operation(self.operation)
                .attempt_timeout(self.attempt_timeout)
                .reported()
                .await
        })
    }
}

type Running<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

type Written<S> = Updated<<S as PolicyStore>::Policy, <S as PolicyStore>::Policy>;

type Changed<S> = Result<(Written<S>, UpdateReport), Error<<S as PolicyStore>::Error>>;

impl<'a, S, J> IntoFuture for Change<'a, S, J>
where
    S: PolicyStore,
    J: Judge<Failure<S::Error>> + Send + 'a,
{
    type Output = Result<Written<S>, Error<S::Error>>;
    type IntoFuture = Running<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.reported().await.map(|(updated, _)| updated) })
    }
}

#[cfg(all(test, feature = "combine"))]
mod tests {
    use super::*;
    use crate::{
        iam::{
            Condition, Members,
            kept::{Kept, PROJECT, ROLE},
        },
        reply::{Says, broken, grpc, http},
    };
    use backoff_core::{Delivery, GrpcCode, StopReason};
    use std::sync::Arc;
    use tokio::time::Instant;

    const NEW: &str = "serviceAccount:new@example.com";

    type Decides = fn(&Failure<Says>) -> Verdict;

    /// Whether a change under a condition is written, the writes, and the seconds, in each way.
    async fn changed(
        policy: Policy,
        decides: Option<Decides>,
        failing: &[Says],
    ) -> [(Result<bool, StopReason>, u32, u64); 4] {
        let mut changed = [(Ok(true), 0, 0); 4];
        for (way, told) in changed.iter_mut().enumerate() {
            let kept = Arc::new(Kept::default());
            let night = Condition::new("night", "request.time.getHours() < 6");
            let members = Members::new(Arc::clone(&kept)).policy(policy);
            let is_removed = way % 2 == 1;
            let new = Grant::add(ROLE, NEW).condition(night.clone());
            if is_removed {
                let add = members.change(PROJECT, new.clone());
                assert!(add.await.unwrap().is_written());
            }
            let grant = match is_removed {
                true => Grant::remove(ROLE, NEW).condition(night.clone()),
                false => new,
            };
            let before = kept.calls().1;
            kept.failing.lock().unwrap().extend(failing);
            let begin = Instant::now();
            let written = if way < 2 {
                let change = change(&kept, PROJECT, grant).policy(policy);
                let outcome = match decides {
                    Some(when) => change.when(when).await,
                    None => change.await,
                };
                outcome.map(|it| it.is_written()).map_err(|it| it.reason)
            } else {
                let members = match decides {
                    Some(when) => members.set(|it| it.when(when)),
                    None => members,
                };
                let outcome = members.change(PROJECT, grant).await;
                outcome.map(|it| it.is_written()).map_err(|it| it.reason())
            };
            *told = (written, kept.calls().1 - before, begin.elapsed().as_secs());
            let is_there = written.is_ok() != is_removed;
            let bindings = kept.get(PROJECT).await.unwrap().bindings;
            let conditions: Vec<_> = bindings.into_iter().map(|it| it.condition).collect();
            assert_eq!(conditions, vec![Some(night); usize::from(is_there)]);
        }
        changed
    }

    /// A row: who decides, how the first writes fail, whether the change is written, the writes, and the
    /// least seconds.
    #[tokio::test(start_paused = true)]
    async fn the_codes_decide_and_a_function_replaces_them_and_nothing_else() {
        use StopReason::{Attempts, MaybeApplied, Permanent};
        let refused: Decides = |failure| match backoff_core::Fault::status(failure) {
            Some(400) => true.into(),
            _ => READ_MODIFY_WRITE.judge(failure),
        };
        let (always, never): (Decides, Decides) = (|_| true.into(), |_| false.into());
        let [conflict, exists] = [GrpcCode::Aborted, GrpcCode::AlreadyExists].map(grpc);
        let (lost, hinted) = (broken(Delivery::MaybeSent), http(404).hint(9_000));
        let twice = READ_MODIFY_WRITE.max_attempts(2);
        let careful = READ_MODIFY_WRITE.idempotent(false);
        for (policy, decides, failing, written, writes, seconds) in [
            (twice, None, &[http(400)][..], Err(Permanent), 1, 0),
            // A 409 is a conflict, unless the reply says otherwise.
            (twice, None, &[http(409)], Ok(true), 2, 0),
            (twice, None, &[conflict], Ok(true), 2, 0),
            (twice, None, &[exists], Err(Permanent), 1, 0),
            (twice, Some(refused), &[http(400)], Ok(true), 2, 0),
            (twice, Some(refused), &[http(503)], Ok(true), 2, 0),
            (twice, Some(refused), &[conflict], Ok(true), 2, 0),
            (twice, Some(refused), &[http(404)], Err(Permanent), 1, 0),
            (twice, Some(never), &[http(503)], Err(Permanent), 1, 0),
            (twice, Some(never), &[conflict], Err(Permanent), 1, 0),
            (twice, Some(always), &[hinted], Ok(true), 2, 9),
            (twice, Some(always), &[http(404); 2], Err(Attempts), 2, 0),
            (careful, Some(always), &[lost], Err(MaybeApplied), 1, 0),
        ] {
            let changed = changed(policy, decides, failing).await;
            for (way, told) in changed.into_iter().enumerate() {
                assert_eq!((told.0, told.1), (written, writes), "{way} {failing:?}");
                assert!(told.2 >= seconds, "{way} {failing:?}: {told:?}");
            }
        }
    }
}
