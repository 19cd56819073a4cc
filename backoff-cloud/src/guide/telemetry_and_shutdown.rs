//! What retries do in a running program, as logs, traces and metrics show it, and how a program ends their waits when
//! it shuts down. [`telemetry`](crate::telemetry) has the names, levels, fields and labels.
//!
//! # What to turn on
//!
//! A library turns on nothing: its errors go to its caller, and the program decides what is logged. A program that has
//! a subscriber or a recorder turns the features on:
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["tracing", "metrics"] }
//! tracing-subscriber = { version = "0.3", features = ["env-filter"] }
//! metrics-exporter-prometheus = "0.18"
//! ```
//!
//! With `env-filter`, the subscriber shows only `ERROR` until `RUST_LOG` is set: start the program with
//! `RUST_LOG=info`. The waits are logged at `INFO`, and what ends a call with a failure at `WARN`. An answer that no
//! policy retries, such as a 404 at the first attempt, is `DEBUG`. A call that is dropped by its caller logs no end.
//!
//! With metrics-exporter-prometheus, call `with_recommended_naming(true)` and `set_buckets(..)` of its builder before
//! `install()`. Without them the histograms are summaries, and an alert on `retry_call_duration_seconds_bucket` never
//! fires.
//!
//! | you want to | write |
//! |---|---|
//! | see each wait, and each call that something kept from being retried | the feature `tracing`, and a subscriber |
//! | see also failures that are answers, such as a 404 | `RUST_LOG=info,backoff=debug` |
//! | make the waits of one policy quieter | [`.log_waits(LogLevel::Debug)`](crate::Policy::log_waits) |
//! | tell the policies of a program apart in metrics | [`.name("billing")`](crate::Policy::name) |
//! | give an operation a name that does not change with the code | [`.operation("invoices.get")`](crate::Retrying::operation), in the attribute `operation = "invoices.get"` |
//! | see each attempt in a trace | the key `attempt_spans`, or `.attempt_spans()` on the call |
//! | see how much of a budget is left | [`Budget::name`](crate::Budget::name), and the metric `retry.budget.level` |
//! | import a dashboard and alerts | [What to watch](super::operations) |
//!
//! # A program that uses the crate `log`
//!
//! Turn the feature `log` of `tracing` on in the program. Where the program has no subscriber of `tracing`,
//! `env_logger` and its relatives then print the events under the target `backoff`, and the same `RUST_LOG` filters
//! them.
//!
//! # In code: a hook, or a report
//!
//! Neither needs a feature. A hook is called with each event; a report is returned at the end.
//!
//! ```
//! use backoff_cloud::{Event, Policy, StopReason, TimedOut};
//! use std::time::Duration;
//!
//! const POLICY: Policy = Policy::exponential().max_attempts(3);
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let down = || std::future::ready(Err::<(), _>(TimedOut::new(Duration::from_secs(1))));
//! let (mut waits, mut given_up) = (0, None);
//! let call = POLICY.retry(down).notify(|event| match event {
//!     Event::Waiting { .. } => waits += 1,
//!     Event::GaveUp { reason, .. } => given_up = Some(*reason),
//!     _ => {} // a success after retries, and what later versions add
//! });
//! let error = call.reported().await.unwrap_err();
//!
//! assert_eq!((waits, given_up), (2, Some(StopReason::Attempts)));
//! assert_eq!((error.report.attempts, error.reason), (3, StopReason::Attempts));
//! # }
//! ```
//!
//! Use the hook for what must happen while the call waits, and the report where the caller decides by the reason, such
//! as [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied).
//!
//! # Shut down
//!
//! Give all calls one signal. With `stop_on` the wait ends at once, the attempt that is running is finished, and the
//! call returns its last error. With `cut_on` the attempt ends too; its error is made from
//! [`Stopped`](crate::Stopped).
//!
//! | what the attempt does | choose |
//! |---|---|
//! | writes, and is over within the time that the shutdown allows | `stop_on` |
//! | reads, or waits for an answer for a long time | `cut_on` |
//! | blocks its thread | [`Stop`](crate::Stop), by [`.stop_on(&stop)`](crate::Retrying::stop_on) |
//!
//! The signal is often a `CancellationToken` of the crate `tokio-util` (`cargo add tokio-util`):
//!
//! ```
//! use backoff_cloud::{Fault, Policy, Stopped, TimedOut, retry};
//! use std::time::Duration;
//! use tokio_util::sync::CancellationToken;
//!
//! const POLICY: Policy = Policy::constant(Duration::from_secs(60)).deadline(Duration::from_secs(600));
//!
//! #[derive(Debug, Fault)]
//! enum Error {
//!     #[fault(forward)]
//!     TimedOut(TimedOut),
//!     #[fault(forward)]
//!     Stopped(Stopped),
//! }
//!
//! impl From<Stopped> for Error {
//!     fn from(error: Stopped) -> Self { Error::Stopped(error) }
//! }
//!
//! /// The write is finished; a wait before the next attempt is not.
//! #[retry(policy = POLICY, stop_on = shutdown.cancelled())]
//! async fn write(shutdown: &CancellationToken) -> Result<(), Error> {
//!     Err(Error::TimedOut(TimedOut::new(Duration::from_secs(1))))
//! }
//!
//! /// The read is cut.
//! #[retry(policy = POLICY, cut_on = shutdown.cancelled())]
//! async fn read(shutdown: &CancellationToken) -> Result<(), Error> {
//!     std::future::pending().await // a server that does not answer
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let shutdown = CancellationToken::new();
//! let begin = tokio::time::Instant::now();
//! let (written, read, ()) = tokio::join!(write(&shutdown), read(&shutdown), async {
//!     // In a program: once `tokio::signal::ctrl_c()` is ready.
//!     tokio::time::sleep(Duration::from_secs(5)).await;
//!     shutdown.cancel();
//! });
//! assert!(matches!(written, Err(Error::TimedOut(_))));
//! assert!(matches!(read, Err(Error::Stopped(_))));
//! assert_eq!(begin.elapsed().as_secs(), 5);
//! # }
//! ```
//!
//! A thread that blocks takes a [`Stop`](crate::Stop), whose clones share one state:
//! `POLICY.blocking(read).stop_on(&stop).call()` in the worker, and `stop.stop()` elsewhere.
//!
//! The order of a shutdown: stop accepting work, cancel the token, wait until the running requests are answered, then
//! flush logs and metrics. [How each form of a call ends](super::waits_and_limits#ending-a-call-early) has what
//! happens to a wait and to an attempt.
//!
//! # A whole service
//!
//! The [cookbook](super::cookbook) has log, metrics and shutdown in one program.
//!
//! Previous: [Right and wrong](super::right_and_wrong) · next: [What to watch](super::operations)
