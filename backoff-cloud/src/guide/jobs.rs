//! After this page you know when a call should outlive its process, and how its waits are kept then.
//!
//! # The problem
//!
//! A wait lives in a future. If the process ends during the wait, the call is lost. A wait of an hour also holds a
//! task and its caller for an hour.
//!
//! | what you repeat | use |
//! |---|---|
//! | a call whose caller waits for the result | a future: `#[retry]` or [`Policy::retry`](crate::Policy::retry) |
//! | a call that must be made even if this process ends, or that may wait for longer than a minute or two | a job in a queue |
//!
//! A job can run twice: its worker may be killed after the call and before the queue hears of its end. So give each job
//! an operation id by which the server recognises the second call, as in [Idempotency](super::idempotency).
//!
//! # apalis
//!
//! apalis keeps jobs in SQLite, PostgreSQL or Redis. With the feature `apalis-1`, a handler calls
//! [`reschedule`](crate::apalis::RescheduleExt::reschedule): a job whose failure the policy repeats goes back into the
//! storage, to run after the wait, and its worker is free. [`backoff_cloud::apalis`](crate::apalis) has the handler,
//! and says what holds after a crash; the [cookbook](super::cookbook) has a whole program.
//!
//! When the signal to end comes, `run_until` finishes the jobs that run. In [a
//! measurement](super::measurements#other-figures) no job is lost where workers are killed.
//!
//! # A queue of your own
//!
//! [`SavedRetry`](crate::SavedRetry) is what has to be kept of a call: when its first attempt began, and how many
//! attempts have failed. With the feature `serde` it is a pair of numbers, for a column or a message. After a failure
//! it says how long the job waits, or why the job ends:
//!
//! ```
//! use backoff_cloud::{Decision, Fault, Policy, SavedRetry, Std, StopReason, TimedOut};
//! use std::time::{Duration, SystemTime};
//!
//! const DAY: Duration = Duration::from_secs(86_400);
//! const POLICY: Policy = Policy::exponential().max_attempts(20).deadline(DAY);
//!
//! enum Next {
//!     RunAt(SystemTime, SavedRetry),
//!     GiveUp(StopReason),
//! }
//!
//! /// After a failed run. Write the result into the queue, then acknowledge this run.
//! fn after_failure(mut retry: SavedRetry, error: &impl Fault) -> Next {
//!     let now = SystemTime::now();
//!     match retry.failed(&POLICY, error, now, &Std) {
//!         Decision::Wait(wait) => Next::RunAt(now + wait.delay, retry),
//!         Decision::Stop(reason) => Next::GiveUp(reason),
//!     }
//! }
//!
//! let first = SavedRetry::begins(SystemTime::now());
//! let next = after_failure(first, &TimedOut::new(Duration::from_secs(5)));
//! assert!(matches!(next, Next::RunAt(_, SavedRetry { failures: 1, .. })));
//! ```
//!
//! - Write the next run and acknowledge this run in one transaction. If the queue has none, write first. Give the next
//!   run a unique key, such as the id of the job with its `failures`.
//! - Call `begins` before the first run, not when the job is queued: the deadline counts from there. The run that
//!   begins is attempt `failures + 1`. `SavedRetry` writes no log: log its decision.
//! - Before each run, ask [`is_too_late`](crate::SavedRetry::is_too_late): a queue can be late.
//! - A run whose worker is killed reports no failure, so mark a job as running before the run. For a job that is
//!   marked when the worker starts, call `failed` with a [`TimedOut`](crate::TimedOut): the request may have been
//!   made. Otherwise a job that kills its worker runs for ever.
//!
//! # Queues that repeat by themselves
//!
//! Cloud Tasks, Celery, Temporal and Step Functions repeat jobs by settings of their own. This table says which
//! setting is which rule of a [`Policy`](crate::Policy). Where a queue takes whole seconds, round up.
//!
//! | rule | [Cloud Tasks] | [Celery] | [Temporal] | [Step Functions] |
//! |---|---|---|---|---|
//! | `base` | `minBackoff` | `retry_backoff`, whole seconds | `initial_interval`; 0 means 1 s | `IntervalSeconds`, from 1 |
//! | `max_backoff` | `maxBackoff` | `retry_backoff_max`, whole seconds | `maximum_interval` | `MaxDelaySeconds` |
//! | `factor` | 2, for `maxDoublings` retries; then the wait grows evenly | 2 | `backoff_coefficient` | `BackoffRate` |
//! | `jitter` | none | `retry_jitter`, which is full jitter | none | `JitterStrategy`: `FULL` or `NONE` |
//! | `on` | every status except 2xx | exceptions in `autoretry_for` | types not in `non_retryable_error_types` | names in `ErrorEquals` |
//! | `Retry-After` | with 429 or 503 | `self.retry(countdown=…)` | the next retry delay of an application failure | no |
//! | `max_attempts` | `maxAttempts`, with the first attempt | `max_retries`, without it; `None` means no limit | `maximum_attempts`, with it; 0 means no limit | `MaxAttempts`, without it; 3 by default |
//! | `deadline` | `maxRetryDuration`: a task with `maxAttempts` too ends when both are reached | `expires`, which counts from the sending | `schedule_to_close_timeout` | `TimeoutSeconds` of the whole state machine |
//!
//! [Cloud Tasks]: https://docs.cloud.google.com/tasks/docs/reference/rest/v2/projects.locations.queues#RetryConfig
//! [Celery]: https://docs.celeryq.dev/en/stable/userguide/tasks.html#retrying
//! [Temporal]: https://docs.temporal.io/encyclopedia/retry-policies
//! [Step Functions]: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
//!
//! A task, an activity or a job of such a queue may run twice. If the queue repeats the job, the code of the job
//! should not retry for long: one or two short retries are enough, because [retries inside
//! retries](super::right_and_wrong#retries-inside-retries) multiply.
//!
//! Previous: [Testing](super::testing) · next: [The cookbook](super::cookbook)
