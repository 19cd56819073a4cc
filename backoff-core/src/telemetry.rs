//! What a program's operators see of retries: log events and metrics.
//!
//! Every call whose loop is this library's writes them: async and blocking calls, updates, annotated
//! functions, blocks, and combined changes. So do calls of Google's and AWS' clients that have a policy
//! inside (`gax::WithPolicy` and `aws::inside` of the crate `backoff-cloud`), although the loop there is the
//! client's own: the pages of these two say what the operation is called, and in which case a success is not
//! told. A loop of your own around a [`RetryState`](crate::RetryState) writes nothing by itself.
//!
//! # Log events: feature `tracing`
//!
//! All events have the target `backoff`, so that `RUST_LOG=info,backoff=warn` hides the waits and shows
//! what was given up.
//!
//! | what happened | level | fields beside `operation` and `elapsed` |
//! |---|---|---|
//! | an attempt failed, and the next one follows after a wait | `INFO`, or as [`Policy::log_waits`] says | `attempt`, `delay`, `source`, `error` |
//! | a call succeeded after retries | `INFO` | `attempts` |
//! | a call was given up after retries | `WARN` | `attempts`, `reason`, `error` |
//! | the first attempt failed, and was not retried | `DEBUG` | `attempts`, `reason`, `error` |
//! | nothing is known about the error, so it was not retried | `WARN` | `attempts`, `reason`, `error_type`, `error` |
//! | the first attempt succeeded | no event | |
//!
//! `delay` and `elapsed` are seconds; `source` is a [`WaitSource::name`], `reason` a
//! [`StopReason::name`]. `elapsed` is left out where it was not measured, see [`Event`]. `error` is the
//! text of the error on one line, cut after 500 characters, without the passwords and queries of URLs.
//!
//! The feature is not on by default, for two reasons. A call that is given up is never silent: its error
//! is handed back to the caller, [`reported`](crate::Retrying::reported) says why and after how many
//! attempts, and a hook ([`notify`](crate::Retrying::notify)) is called with each [`Event`]. And only the
//! program knows whether it has a subscriber; a library that retries by this crate and leaves the
//! default features on would bring `tracing` into programs that have none.
//!
//! **A program that has a subscriber turns the feature on**: because Cargo joins features, one line in its
//! `Cargo.toml` logs what is given up in all crates that retry by this one.
//!
//! # Metrics: feature `metrics`
//!
//! Recorded by the facade [`metrics`](https://docs.rs/metrics), for any exporter. Names and units follow
//! the conventions of OpenTelemetry and of gRPC (A66).
//!
//! | metric | kind | unit | recorded | labels beside `retry.operation` and `retry.policy` |
//! |---|---|---|---|---|
//! | `retry.call.duration` | histogram | s | when a call ends | `retry.outcome`, `retry.stop_reason`, `error.type` |
//! | `retry.call.retries` | histogram | {retry} | when a call ends that was retried | `retry.outcome` |
//! | `retry.call.delay` | histogram | s | the waits of such a call together | `retry.outcome` |
//! | `retry.attempt.duration` | histogram | s | when an attempt ends | `error.type` |
//! | `retry.budget.level` | gauge | {token} | when a call asks or refills a budget that has a [name](crate::Budget::name) | `retry.budget` alone |
//!
//! | label | values |
//! |---|---|
//! | `retry.operation` | the path of the function or closure, or the `name` of the attribute; inside a client, what the client calls it |
//! | `retry.policy` | [`Policy::name`]; left out without one |
//! | `retry.outcome` | `successful_without_retry`, `successful_with_retry`, `failed_without_retry`, `failed_with_retry` |
//! | `retry.stop_reason` | of a call that failed, a [`StopReason::name`] |
//! | `error.type` | of what failed: the gRPC code (`UNAVAILABLE`), else the HTTP status (`503`), else `timeout`, `not_sent`, `maybe_sent` or the kind (`throttled`), else `_OTHER`; never an error's text |
//!
//! With this feature each call reads the clock before its first attempt and after each attempt. An
//! attempt that follows a wait in an annotated function, or inside one of Google's clients, counts from when
//! the wait was meant to end. A call that is dropped records nothing more. Changes that were combined
//! ([`many::Combining`](crate::many::Combining)) are one call, that of their resource.
//!
//! The descriptions of the metrics are given to the recorder when the first call ends: install the
//! recorder before that, or call `describe` afterwards.
#![cfg_attr(
    all(feature = "metrics", feature = "tokio"),
    doc = r#"
```
use backoff_core::{Fault, Policy};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

struct Busy;
impl Fault for Busy {
    fn status(&self) -> Option<u16> { Some(503) }
}

const POLICY: Policy = Policy::exponential().name("storage").max_attempts(3);

# #[tokio::main(flavor = "current_thread", start_paused = true)]
# async fn main() {
let recorder = DebuggingRecorder::new();
let seen = recorder.snapshotter();
recorder.install().unwrap();

assert!(POLICY.retry(|| std::future::ready(Err::<(), _>(Busy))).await.is_err());

let metrics = seen.snapshot().into_vec();
let retries = metrics
    .iter()
    .find(|(key, ..)| key.key().name() == "retry.call.retries")
    .map(|(_, _, _, value)| value);
assert_eq!(retries, Some(&DebugValue::Histogram(vec![2.0.into()])));
# }
```
"#
)]
//!
//! [`Event`]: crate::Event
//! [`Policy::log_waits`]: crate::Policy::log_waits
//! [`Policy::name`]: crate::Policy::name
//! [`StopReason::name`]: crate::StopReason::name
//! [`WaitSource::name`]: crate::WaitSource::name

/// Gives the units and descriptions of all metrics to the recorder that is installed. The end of the
/// first call does so too; a program needs this only for a recorder that it installs later.
///
/// ```
/// backoff_core::telemetry::describe();
/// ```
#[cfg(feature = "metrics")]
pub fn describe() {
    use metrics::{Unit, describe_gauge, describe_histogram};
    describe_histogram!(
        "retry.call.duration",
        Unit::Seconds,
        "How long a call took, with all its attempts and waits"
    );
    describe_histogram!(
        "retry.call.retries",
        Unit::Count,
        "How many retries a call made, of calls that made at least one"
    );
    describe_histogram!(
        "retry.call.delay",
        Unit::Seconds,
        "How long a call waited between its attempts, of calls that made at least one retry"
    );
    describe_histogram!(
        "retry.attempt.duration",
        Unit::Seconds,
        "How long an attempt took"
    );
    describe_gauge!(
        "retry.budget.level",
        Unit::Count,
        "How many tokens a budget for retries has left"
    );
}

/// As [`describe`], once.
#[cfg(feature = "metrics")]
pub(crate) fn describe_once() {
    static DESCRIBED: std::sync::Once = std::sync::Once::new();
    DESCRIBED.call_once(describe);
}
