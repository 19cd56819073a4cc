//! Jobs of [apalis](https://docs.rs/apalis) that come back as a policy says.
//!
//! A wait of [`Policy::retry`] lives in a future: it holds a task and its caller, and a deployment in the middle of a
//! `Retry-After: 600` loses it. A job waits in a storage instead (SQLite, PostgreSQL, Redis), and any worker takes it up
//! at its time, also after a crash. apalis itself repeats a failed job too, but by waits of its own.
//!
//! ```no_run
//! # use apalis_core_1 as apalis_core;
//! use apalis_core::{backend::{TaskSink, finalize::Durable}, error::BoxDynError, task::data::Data};
//! use backoff_cloud::{Policy, TimedOut, apalis::{Job, RescheduleExt as _}};
//! use std::time::Duration;
//!
//! const MAIL: Policy = Policy::exponential().max_attempts(20).deadline(Duration::from_secs(86_400)).idempotent(false);
//!
//! #[derive(Clone)]
//! # #[allow(dead_code)]
//! struct Mail { id: u64, to: String }
//!
//! # async fn send(_: Mail) -> Result<(), TimedOut> { Ok(()) }
//! /// The handler of a worker whose storage is also in `.data(storage)`.
//! async fn handle<S>(mail: Mail, job: Job, storage: Data<S>) -> Result<(), BoxDynError>
//! where
//!     S: TaskSink<Mail, Durable> + Clone + Send + Sync,
//!     S::Error: std::error::Error + Send + Sync + 'static,
//! {
//!     MAIL.reschedule(&job, mail, (*storage).clone(), |mail| send(mail)).await
//! }
//! ```
//!
//! # What happens after a failure
//!
//! | the policy says | the job | the handler's result |
//! |---|---|---|
//! | wait | is put back into the storage, to run after the wait; then this run ends | `Ok` |
//! | stop | is killed, with the reason and the error | `AbortError` |
//! | wait, but the storage refuses the job three times | is taken again by apalis, as after a killed run | the storage's error |
//!
//! `Retry-After`, codes, `idempotent`, `max_attempts`, the deadline, a [`Rate`](crate::Policy) and log events hold as in
//! a call. The deadline counts from the first run that ended. No run makes its call after the deadline, also if all
//! workers were down meanwhile. Each retry takes tokens of a budget, and a success gives back what a first success gives. No
//! worker is held while the job waits, so [`Policy::max_retry_after`] may be hours. A run waits for the turn of its
//! rate in the worker.
//!
//! - **A wait ends at a whole second**, because a storage knows seconds: the time is rounded up. A storage looks for jobs
//!   whose time has come only at its heartbeat (30 s), unless something wakes it earlier. `poll_with_interval` of
//!   apalis-core 1.0.0 can lose its timer: [the cookbook](crate::guide::cookbook) has a stream that does not.
//! - **The failures and the time of the first run are in the job's metadata**, under the names `backoff.*`.
//! - **Put back first, then acknowledged**: no job is lost. The job that is put back has an idempotency key: the id of the
//!   first job, and the number of failures. If the same job is put back twice, the storage keeps only the first one.
//!   Redis forgets a key at once unless its `Config` has an `idempotency_ttl`: set a time longer than the deadline.
//! - **A run that was killed may have made its call.** Another worker takes the job up when the first worker has given no
//!   sign for long enough. SQLite and PostgreSQL count the run, so the job is put back as after a lost reply: it waits,
//!   the run counts as a failure, and a policy with `idempotent(false)` kills the job. If the first worker had put the
//!   job back before it died, the next run takes place all the same: look for a job with the same `backoff.job`. Redis
//!   does not count the run: the run is made again at once, and `max_attempts` does not limit a job that kills its
//!   worker. For a call that must not be made twice, give each job an operation id in its arguments, by which the server
//!   recognises the call.
//! - **A storage counts a job as run when a worker has fetched it**, also if the run has not begun. A worker fetches ten
//!   jobs at once: with `idempotent(false)`, set `batch_size(1)` in the storage's `Config`.
//! - Your own idempotency key belongs to the first job only. The next runs have keys of this module.

use apalis_core_1::{
    backend::TaskSink,
    error::{AbortError, BoxDynError},
    task::{ExecutionContext, Task, builder::TaskBuilder, from_request::FromRequest},
};
use backoff_core::{
    __private::{ForeignCall, Loggable},
    Decision, Delivery, Fault, Jitter, Policy, SavedRetry, StopReason, Tokio,
};
use std::{
    borrow::Borrow,
    convert::Infallible,
    error::Error,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// The job that a handler runs. Name it among the handler's arguments.
#[derive(Clone, Debug)]
pub struct Job(Arc<ExecutionContext>);

impl<Args: Sync> FromRequest<Task<Args>> for Job {
    type Error = Infallible;

    async fn from_request(task: &Task<Args>) -> Result<Self, Infallible> {
        Ok(Job(Arc::clone(task.ctx())))
    }
}

const BEGAN: &str = "backoff.began";
const FAILURES: &str = "backoff.failures";
const FIRST: &str = "backoff.job";

impl Job {
    /// Whether this very job has run before: its worker was killed, or the storage refused the job.
    fn is_again(&self) -> bool {
        self.0.attempt() > 1
    }

    /// When the first run began, and how many runs have failed before this job was put into the storage.
    fn saved(&self, now: SystemTime) -> SavedRetry {
        let number = |name| self.0.metadata().get(name)?.parse::<u64>().ok();
        let failures = number(FAILURES).unwrap_or(0);
        let begins = SavedRetry::begins(now);
        SavedRetry {
            began_millis: number(BEGAN).unwrap_or(begins.began_millis),
            failures: failures.try_into().unwrap_or(u32::MAX),
        }
    }

    /// The same job for its next run.
    fn next<Args>(&self, args: Args, saved: SavedRetry, at: SystemTime) -> Task<Args> {
        let mut metadata = self.0.metadata().clone();
        let own = || self.0.task_id().map(ToString::to_string);
        let first = metadata.get(FIRST).map(str::to_owned);
        let first = first.or_else(own).unwrap_or_default();
        metadata.replace(BEGAN, saved.began_millis.to_string());
        metadata.replace(FAILURES, saved.failures.to_string());
        metadata.replace(FIRST, first.clone());
        let mut next = TaskBuilder::new(args)
            .with_metadata(metadata)
            .run_at_timestamp(whole_seconds(at))
            .idempotency_key(format!("{first}/{}", saved.failures));
        if let Some(priority) = self.0.priority() {
            next = next.priority(priority);
        }
        if let Some(attempts) = self.0.max_attempts() {
            next = next.max_attempts(attempts);
        }
        next.build()
    }
}

/// Rounded up: no run begins before its time.
fn whole_seconds(at: SystemTime) -> u64 {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    since.as_secs() + u64::from(since.subsec_nanos() > 0)
}

/// A run whose work did not return.
#[derive(Debug)]
struct Lost {
    how: &'static str,
    delivery: Option<Delivery>,
}

/// Nobody knows how far the run came, so its call may have arrived.
const KILLED: Lost = Lost {
    how: "the worker was killed, or the storage refused the job",
    delivery: Some(Delivery::MaybeSent),
};

/// The run began after the deadline.
const LATE: Lost = Lost {
    how: "no worker was free before the deadline",
    delivery: None,
};

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.how)
    }
}

impl Error for Lost {}

impl Fault for Lost {
    fn delivery(&self) -> Option<Delivery> {
        self.delivery
    }
}

/// The policy has ended a job.
#[derive(Debug)]
struct GaveUp {
    runs: u32,
    reason: StopReason,
    error: Loggable<BoxDynError>,
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.runs == 1 { "" } else { "s" };
        let (runs, reason, error) = (self.runs, self.reason.name(), &self.error);
        write!(f, "gave up after {runs} run{s} ({reason}): {error}")
    }
}

impl Error for GaveUp {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error.0)
    }
}

impl GaveUp {
    /// The result of the handler by which apalis kills the job.
    fn after(runs: u32, reason: StopReason, error: impl Into<BoxDynError>) -> BoxDynError {
        let error = Loggable(error.into());
        AbortError::new(GaveUp {
            runs,
            reason,
            error,
        })
        .into()
    }
}

/// Three attempts to put a job back, after 100 ms and a second.
const PUT_BACK: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .factor(10.0)
    .jitter(Jitter::None)
    .max_attempts(3)
    .name("apalis::PUT_BACK");

/// Puts the job back. SQLite and Redis ignore a job that is there already; PostgreSQL refuses it.
async fn put_back<Args, S, Kind>(
    storage: &mut S,
    mut next: impl FnMut() -> Task<Args> + Send,
) -> Result<(), BoxDynError>
where
    S: TaskSink<Args, Kind>,
    S::Error: Error + Send + Sync + 'static,
{
    let mut call = PUT_BACK.when_any(|_: &_| true).resuming();
    loop {
        match storage.push_task(next()).await {
            Err(error) if !is_there_already(&error) => call.failed(error).await?,
            _ => return Ok(()),
        }
    }
}

/// Whether the storage refused the job because it has a job with the same idempotency key: SQLSTATE 23505 by the index
/// of the keys. The type of the error is not known here, so the texts in quotes in its `Debug` decide. A statement that
/// the error quotes is one text with blanks, so the statement is neither the code nor the name of the index.
fn is_there_already(error: &(dyn Error + 'static)) -> bool {
    let shown = format!("{error:?}").replace(r"\\", "").replace("\\\"", "");
    let has = |wanted: fn(&str) -> bool| shown.split('"').skip(1).step_by(2).any(wanted);
    let is_violation = has(|field| field == "23505")
        && has(|field| field.contains("idempotency_key") && !field.contains(char::is_whitespace));
    is_violation || error.source().is_some_and(is_there_already)
}

/// Puts a job back as a policy says. Implemented for [`Policy`].
pub trait RescheduleExt: Borrow<Policy> + Sync {
    /// Runs `work`. After a failure that the policy repeats, puts the job back into the storage, to run after the wait.
    /// [The module](self) says what holds, and has an example.
    ///
    /// # Errors
    /// `AbortError` if the policy ends the job; the storage's error if the job cannot be put back.
    ///
    /// # Panics
    /// If the policy's rate makes the job wait for its turn, and no tokio runtime with a timer is running.
    fn reschedule<Args, S, Kind, F, W, E>(
        &self,
        job: &Job,
        args: Args,
        mut storage: S,
        work: F,
    ) -> impl Future<Output = Result<(), BoxDynError>> + Send
    where
        Args: Clone + Send,
        S: TaskSink<Args, Kind> + Send,
        S::Error: Error + Send + Sync + 'static,
        F: FnOnce(Args) -> W + Send,
        W: Future<Output = Result<(), E>> + Send,
        E: Fault + Error + Send + Sync + 'static,
    {
        async move {
            let policy = self.borrow();
            let now = SystemTime::now();
            let mut saved = job.saved(now);
            let (elapsed, name) = (saved.elapsed(now), std::any::type_name::<F>());
            let mut call = ForeignCall::job(*policy, name, elapsed, saved.failures, &Tokio);
            let (decision, error): (_, BoxDynError) = if job.is_again() {
                (call.failed(&Tokio, &KILLED), KILLED.into())
            } else {
                call.turn(&Tokio).await;
                if saved.is_too_late(policy, SystemTime::now()) {
                    let reason = StopReason::Deadline;
                    call.given_up(&Tokio, &LATE, reason);
                    return Err(GaveUp::after(saved.failures, reason, LATE));
                }
                match work(args.clone()).await {
                    Ok(()) => {
                        call.succeeded::<E, _>(&Tokio);
                        return Ok(());
                    }
                    Err(error) => (call.failed(&Tokio, &error), error.into()),
                }
            };
            saved.failures = saved.failures.saturating_add(1);
            match decision {
                Decision::Wait(wait) => {
                    let at = SystemTime::now() + wait.delay;
                    put_back(&mut storage, move || job.next(args.clone(), saved, at)).await
                }
                Decision::Stop(reason) => Err(GaveUp::after(saved.failures, reason, error)),
            }
        }
    }
}

impl RescheduleExt for Policy {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a storage: a text as `Debug` of sqlx shows it, perhaps behind the statement.
    #[derive(thiserror::Error)]
    #[error("{0}")]
    struct Refused(String, #[source] Option<Box<Refused>>);

    impl fmt::Debug for Refused {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0)
        }
    }

    const INDEX: &str = "idx_jobs_idempotency_key";
    const INSERT: &str = r#"INSERT INTO "jobs" (id, "idempotency_key") VALUES ($1, "23505")"#;
    const DETAIL: &str = "Key (job_type, idempotency_key)=(calls, 23505/1) already exists.";

    fn reply(code: &str, constraint: Option<&str>) -> Refused {
        let detail = Some(DETAIL);
        let fields = format!("message: {INSERT:?}, detail: {detail:?}, constraint: {constraint:?}");
        Refused(
            format!("Database(PgDatabaseError {{ code: {code:?}, {fields} }})"),
            None,
        )
    }

    fn quoting(cause: Refused) -> Refused {
        Refused(
            format!("Statement({INSERT:?}, {cause:?})"),
            Some(Box::new(cause)),
        )
    }

    fn io(text: &str) -> Refused {
        Refused(format!("Io({text:?})"), None)
    }

    #[test]
    fn only_a_violation_of_the_index_of_the_keys_says_that_the_job_is_there() {
        for (error, is_there) in [
            (reply("23505", Some(INDEX)), true),
            (quoting(reply("23505", Some(INDEX))), true),
            (reply("23505", Some("jobs_pkey")), false),
            (quoting(reply("23505", Some("jobs_pkey"))), false),
            (reply("23502", None), false),
            (reply("23514", Some(INDEX)), false),
            (reply("57014", None), false),
            (quoting(reply("40001", None)), false),
            (io(INSERT), false),
            (io("idempotency_key"), false),
            (quoting(io("connection reset by peer")), false),
        ] {
            assert_eq!(is_there_already(&error), is_there, "{error}");
        }
    }
}
