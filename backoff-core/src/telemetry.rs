//! What operators see of retries: log events, spans and metrics.
//!
//! Every call whose loop runs inside this library writes log events and metrics: async and blocking
//! calls, updates, annotated functions, blocks, combined changes, and resumed operations. A call of
//! AWS' client with a policy inside (`aws::inside` of the crate `backoff-cloud`) writes the same events
//! and metrics, although the client runs the loop. Google's clients (`gax` of that crate) tell a policy
//! only of failures, so calls that succeed write nothing: see its page. A loop of your own around a
//! [`RetryState`](crate::RetryState) writes nothing.
//!
//! # The name of an operation
//!
//! Events, spans and metrics name the operation. A program that changes its functions keeps its
//! dashboards if it gives names:
//!
//! - `.operation("invoices.get")`, a method of async and blocking calls
//!   ([`Retrying::operation`](crate::Retrying::operation)), of [`Resuming`](crate::Resuming)
//!   and of tower's layer. The update of [combined changes](crate::combine) has it too. A request of `send` has it
//!   after `.json()`, `.text()`, `.bytes()` or `.reply()`.
//! - The key `operation = "invoices.get"` of `#[retry]` and `retry_block!`.
//!
//! Without a given name:
//!
//! | call | name |
//! |---|---|
//! | a function, or a closure | the path of the function, or of the function that holds the closure, with the types of its parameters if it is generic; `boxed closure` for a closure in a box |
//! | an update, combined changes | as a closure, of the write |
//! | `#[retry]` | the module and the name of the function |
//! | `retry_block!` | the module and the line |
//! | `send` of `backoff-cloud` | the method of the request, such as `GET`; `_OTHER` for a method that is not among the nine standard ones |
//! | tower's layer | `tower`; as a middleware of reqwest, as `send` |
//! | [`resuming`](crate::Policy::resuming) | `resuming` |
//! | inside a client | the client's name for it: see `WithPolicy` and `inside` |
//!
//! # Log events: feature `tracing`
//!
//! All events have the target `backoff`: `RUST_LOG=info,backoff=warn` hides the waits and shows the
//! calls that were given up.
//!
//! | what happened | level | fields beside `operation` and `elapsed` |
//! |---|---|---|
//! | an attempt failed, and the next one follows after a wait | `INFO`, or as [`Policy::log_waits`] says | `attempt`, `delay`, `source`, `code`, `error`; after a hint that cannot be read, `unread_header` and `unread_hint` |
//! | a value is not the awaited one yet, and is asked for again after a wait | `DEBUG`; `TRACE` or nothing, if `log_waits` says so | `attempt`, `delay`, `source` |
//! | a call succeeded after retries | `INFO` | `attempts` |
//! | the first attempt failed, and its failure is the operation's own answer: an error that the policy does not retry, such as a 404 | `DEBUG` | `attempts`, `reason` (`permanent`), `code`, `error` |
//! | an open `Breaker` ended the call | `DEBUG` | `attempts`, `reason` (`breaker`), `breaker`, `code`, `error` |
//! | a call failed in any other way | `WARN` | `attempts`, `reason`, `code`, `error`; the name of what ended the call, in `budget` or `rate` |
//! | the same, and the hint asks for a longer wait than the policy allows | `WARN` | the same, and `retry_after` |
//! | the same, and the last attempt ended after the deadline, because a deadline does not cut an attempt (the [`timeout`](crate::Retrying::timeout) of an async call does); a 404 too | `WARN` | the same, and `late` |
//! | the same, and nothing is known about the error | `WARN` | `attempts`, `reason`, `error_type`, `error` |
//! | a later attempt got the operation's own answer, such as a 404 or a 412; the text says if an earlier attempt may have been applied, whose effect the answer may be (Google's clients and jobs tell one failure at a time, so their ends cannot say it) | `WARN` | `attempts`, `reason` (`permanent`), `code`, `error` |
//! | the first attempt succeeded | no event | |
//! | an attempt is slow, and a [`Hedge`](crate::Hedge) sends a second request; inside the span of the attempt | `DEBUG` | none, also no `elapsed` |
//! | a [`Rate`](crate::Rate) closed, opened or was switched off | `DEBUG` | `rate`, its name |
//! | a `Breaker` opened, because attempts failed or by hand | `WARN` | `breaker`, its name; `status` of the last failure |
//! | a reply states quotas, and its thread runs no attempt of a call with a rate (features `http-1` and `rate`) | `DEBUG` | none |
//! | a `Breaker` has ended calls since its last warning; at most once in ten seconds, when the next call ends | `WARN` | `breaker`; `refused`, how many |
//! | a first attempt is made although a `Breaker` is open, because no error can be made; once for each breaker | `WARN` | `breaker`, its name; no `elapsed` |
//! | a loop asks neither the rate nor the breaker of its policy: [`resuming`](crate::Policy::resuming), Google's and AWS' clients; once for each rate and breaker | `WARN` | `policy`, its name; no `operation` and no `elapsed` |
//! | a `Breaker` closed, by a probe or by hand | `INFO` | `breaker`, its name; `refused`, how many calls it has ended since its last warning |
//!
//! One question decides between `DEBUG` and `WARN`: did something keep the call from being retried? The attempts
//! are used up, a deadline, a timeout, the budget, the rate, the breaker or a signal ended the call, the attempt may have been
//! applied, or the server asks for a long wait or for no further call: each of these is a warning, at the first
//! attempt too, and also if no attempt was made (`attempts=0`). So is every failure after a retry: a call that was
//! logged as waiting has an end in the log. There are these borders:
//!
//! - The calls that an open breaker ends are counted, and one warning tells their number: an outage would fill the log
//!   otherwise. Each of them is `DEBUG`.
//! - A policy with [`max_attempts(1)`](crate::Policy::max_attempts) warns of each failure that more attempts would
//!   have retried (`reason="attempts"`): a program whose configuration switches retries off still logs an outage.
//!   Under `testing::off` the reason is `switched_off`.
//! - A failure that `when` or `when_any` does not retry is the operation's own answer.
//! - A call inside an attempt of another call warns by itself. If it ends with a [`RetryError`](crate::RetryError),
//!   the outer call does not retry this error, and logs it at `DEBUG`.
//! - Many callers of [combined changes](crate::combine) share one event for each wait and for the end of their group. A
//!   caller for whom there is no room has a `WARN` of its own. A caller that ends alone, because it leaves or its change fails, has
//!   none.
//! - A call that its caller drops, for example in `tokio::select!`, writes no further event, also if it was logged as
//!   waiting.
//!
//! `delay`, `elapsed`, `retry_after` and `late` are numbers: seconds, rounded to 0.0001 s. They are numbers and not
//! texts, so that a subscriber that writes JSON or sends OpenTelemetry can compare and add them; and they are
//! rounded, because a subscriber that writes lines would write a smaller number as `6.7e-5`. `delay` is how long the
//! call intends to wait. If the next attempt waits for its turn at a [`Rate`](crate::Rate), `delay` is how long that
//! is expected to take, together with the wait before. `source` is a
//! [`WaitSource::name`], and `reason` is a [`StopReason::name`]. `code` is the gRPC code, else the HTTP
//! status, else the [code of a service](crate::Fault::service_code) such as a SQLSTATE (SQLite's errors have none here); of a value that
//! counts as a failure too. `late` is by how much the attempt ended after the deadline. `unread_header` is the name of a header with
//! a hint that cannot be read, and `unread_hint` is its value: at most 40 characters without secrets, of which those
//! outside printable ASCII are escaped. `elapsed` is left
//! out if the time was not measured, see [`Event`]. `error` is the message of the service or the text of the error on one line, cut after 500 characters,
//! [without secrets](#secrets). Events of `send` of `backoff-cloud` and of the layer of tower also have
//! the field `host`, with the port if that is not the scheme's own; before the first attempt too. Metrics have no host, because
//! a label must have few values. (The layer does not know the host of a request that it could not copy.)
//!
//! The feature is not on by default, for two reasons. First, a call that is given up is never silent:
//! the caller gets its error, [`reported`](crate::Retrying::reported) also returns the reason and the
//! number of attempts, and a hook ([`notify`](crate::Retrying::notify)) is called with each [`Event`].
//! Second, only the program knows whether it has a subscriber: a library that uses this crate with the
//! default features would bring `tracing` into programs without a subscriber.
//!
//! **A program that has a subscriber turns the feature on.** Cargo joins features, so one line in the
//! program's `Cargo.toml` turns on the log events of all crates that retry with this crate.
//!
//! # Secrets
//!
//! Servers repeat what they were sent, and errors of clients name URLs. In events, in the text of an [`Event`] and of the
//! errors of this crate, and in the `Debug` of [`RetryError`](crate::RetryError) and [`Failure`](crate::Failure), a `…` is
//! in place of each of these:
//!
//! - **In a URL** the user and the password, the query and the fragment: `https://ann:pw@example.com/a?key=1` becomes
//!   `https://…@example.com/a?…`. A URL is any text with `//`, and ends at a space, `"`, `<` or `>`. What follows the
//!   colon of a host and is no port counts as a password, because the `@` may have been cut off: `https://ann:pw` becomes
//!   `https://ann:…`. What follows a `?` in any word counts as a query: `GET /a?key=1`.
//! - **In a path**, which is what follows a slash, a segment with at least 20 letters and digits in a row, of which one is
//!   a letter and one a digit; a segment with a colon, unless the name of a method follows the colon (`:setIamPolicy`), or
//!   digits, dots and colons (`main.rs:12:5`); and all that follows `hooks.slack.com/` or `/webhooks/`.
//! - **The value of a name** that ends with `key`, `token`, `secret`, `signature`, `sig`, `password`, `passwd`, `pwd` or
//!   `authorization`, in upper or lower case: `name=value`, `name: value`, `"name":"value"`. A value without quotes ends at
//!   a space, `"`, `<` or `>`. After a colon, a word of less than 20 letters stays (`invalid token: expected a name`). The
//!   value of `code` counts behind a `=`, if it has more than five characters (`code=14` stays), and the value of
//!   `username`, `query` and `fragment` if it is in quotes, as in the `Debug` of a URL.
//! - **What follows `Bearer` or `Basic`**, unless it is a word of less than 20 letters (`Basic auth`).
//! - **A token by itself:** at least 20 characters that begin as the tokens of a well-known service do (`sk-`, `ghp_`,
//!   `xox`, `AKIA`, `eyJ` and others); and what is random: at least 20 letters and digits in a row with a letter and a
//!   digit, and if there are capitals and small letters, also with `-` and `_` among them. Names made of words stay, such
//!   as `EC2ThrottledException`. So a UUID stays, but a hash does not. The code of a service is left out if a part of it
//!   is random.
//!
//! Escapes hide none of this, also if they are escaped again: `\/`, `\u003f`, `%3F`, `&#x3F;`. An escape of a character in
//! printable ASCII is shown as that character, but a space as `+` and a quote as `'`. A password in a sentence
//! (`the password is swordfish`) is not recognised. The error itself still has everything. The `Debug` and the text of your
//! own error, its [sources](core::error::Error::source), and the `Debug` of a wrapper such as
//! [`NotApplied`](crate::NotApplied) are your own: the library does not change them.
//!
//! # Spans of attempts: feature `tracing`
//!
//! On request, a call makes a span for each attempt, and the operation runs in this span:
//! [`POLICY.retry(call).attempt_spans()`][async], [`POLICY.blocking(call).attempt_spans()`][blocking],
//! and the key `attempt_spans` of `#[retry]` and `retry_block!`. Without the request, a call makes no
//! span. The events and spans of the operation, such as the spans of an HTTP client, are inside the
//! attempt's span, so a trace shows what each attempt did. The waits and the log events above are
//! outside: they belong to the span in which the call was made.
//!
//! The spans have the target `backoff`, the level `INFO` and the name `attempt`. The names of the
//! fields follow OpenTelemetry's conventions:
//!
//! | field | value |
//! |---|---|
//! | `operation` | the [name of the operation](#the-name-of-an-operation) |
//! | `http.request.resend_count` | how many attempts were made before; left out in the first attempt |
//! | `error.type` | how the attempt failed, as in the metrics below; left out where it succeeded |
//!
//! For one span around all attempts, write `#[instrument]` above `#[retry]`.
//!
//! # Metrics: feature `metrics`
//!
//! Metrics are recorded with the facade [`metrics`](https://docs.rs/metrics), for any exporter. Names
//! and units follow the conventions of OpenTelemetry and of gRPC (A66).
//!
//! | metric | kind | unit | recorded | labels beside `retry.operation` and `retry.policy` |
//! |---|---|---|---|---|
//! | `retry.call.duration` | histogram | s | when a call ends | `retry.outcome`, `retry.stop_reason`, `error.type` |
//! | `retry.call.retries` | histogram | {retry} | when a call ends that was retried | `retry.outcome` |
//! | `retry.call.delay` | histogram | s | the waits of such a call together; each as long as it lasted, and the time in the queue of a rate, also before the first attempt | `retry.outcome` |
//! | `retry.attempt.duration` | histogram | s | when an attempt ends | `error.type` |
//! | `retry.budget.level` | gauge | {token} | when a call asks a budget that has a [name](crate::Budget::name), refills it, or gives back the tokens of a wait | `retry.budget` alone |
//! | `retry.rate.limit` | gauge | {call}/s | of a [`Rate`](crate::Rate) that has a [name](crate::Rate::name), when a call joins or leaves its queue or ends: the calls a second that go; `+Inf` while no call waits for its turn | `retry.rate` alone |
//! | `retry.rate.waiting` | gauge | {call} | the same: the calls in the queue | `retry.rate` alone |
//! | `retry.rate.delay` | histogram | s | when a call has waited in the queue, and its attempt begins at its turn | `retry.rate` alone |
//! | `retry.rate.refused` | counter | {attempt} | when a call with the rate gets a 429 | `retry.rate` alone |
//! | `retry.breaker.state` | gauge | | of a `Breaker` that has a name, when it opens or closes: 0 closed, 1 open | `retry.breaker` alone |
//! | `retry.breaker.opened` | counter | {opening} | when such a breaker opens | `retry.breaker` alone |
//! | `retry.breaker.refused` | counter | {call} | when a call ends because of such a breaker | `retry.breaker` alone |
//! | `retry.hedge.sent` | counter | {request} | when an attempt gets a second request from a [`Hedge`](crate::Hedge) | |
//! | `retry.hedge.won` | counter | {request} | when such a request is the first to succeed | |
//!
//! | label | values |
//! |---|---|
//! | `retry.operation` | the [name of the operation](#the-name-of-an-operation) |
//! | `retry.policy` | [`Policy::name`]; left out without one |
//! | `retry.outcome` | `successful_without_retry`, `successful_with_retry`, `failed_without_retry`, `failed_with_retry` |
//! | `retry.stop_reason` | of a call that failed, a [`StopReason::name`] |
//! | `error.type` | of an attempt or a call that failed: `timeout` if a timer cut it, else the gRPC code (`UNAVAILABLE`), else the HTTP status (`503`; a number outside 100 to 599 is `_OTHER`), else `not_sent` or `maybe_sent`, else the kind (`throttled`), else `_OTHER`; never an error's text |
//!
//! With this feature and a recorder, each call reads the clock before its first attempt and after each attempt.
//! A call that begins before a recorder is installed is not recorded. Without a recorder, a call reads no clock for its
//! metrics, and allocates nothing. In an
//! annotated function, a wait without a rate ends as planned: an attempt begins then, and
//! a timer that wakes late makes it longer. A
//! call that is dropped records nothing more, except for the
//! level of a budget that gets its tokens back. The changes of a group
//! ([`combine::Combining`](crate::combine::Combining)) are one call, an update. If no caller waits for the resource any more, this
//! call is dropped.
//!
//! A call that makes no further attempt because no time remains gets the label `timeout` if its error
//! was made from [`TimedOut`](crate::TimedOut), as in async calls with a `timeout` or an
//! `attempt_timeout`. A blocking call returns the last failure, and its label describes that failure.
//!
//! For a [resumed](crate::Resuming) operation, each stretch without progress in which an attempt failed
//! counts as a call. `retry.call.duration` is the time from the first failure of the stretch to the
//! progress or to the end of the retries, so a stretch that ends at its first failure has the duration
//! zero. `retry.attempt.duration` is recorded for retries only, because only the program knows when a
//! first attempt began. After a stretch was given up, failures are neither logged nor recorded until
//! there is progress.
//!
//! The recorder gets the descriptions of the metrics when the first attempt ends. Install the recorder
//! before that time, or call `describe` after you install it.
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
//! # One outage as an operator sees it
//!
//! The example `cargo run -p examples --features metrics --example outage`, in the repository, calls a
//! service that throttles after 2 s, fails and hangs after 3 s, is down after 4.2 s, recovers after 4.8
//! s and is healthy again after 6 s. These are ten of the 334 lines of its log about `invoices.get`, from
//! `INFO` up. (Its calls of `customers.get` have a rate, a breaker and a hedge; they are left out here.)
//! Numbers are cut to milliseconds, and `…` marks an omission:
//!
//! ```text
//! 2.036s  INFO backoff: attempt failed, waiting before the next operation="invoices.get" attempt=1 delay=1.047 source="retry_after" elapsed=0.001 code=429 error=HTTP 429
//! 2.432s  INFO backoff: attempt failed, waiting before the next … attempt=1 delay=0.097 source="backoff" elapsed=0.001 code=503 error=HTTP 503
//! 2.533s  INFO backoff: succeeded after retries … attempts=2 elapsed=0.101
//! 3.096s  INFO backoff: attempt failed, waiting before the next … attempt=2 delay=0.077 source="backoff" elapsed=1.060 code=503 error=HTTP 503
//! 3.242s  WARN backoff: gave up … attempts=1 reason="budget" elapsed=0.001 code=503 error=HTTP 503
//! 3.444s  WARN backoff: gave up … attempts=2 reason="budget" elapsed=0.313 error=the attempt was cut after 250ms
//! 4.222s  WARN backoff: gave up … attempts=1 reason="budget" elapsed=0.010 error=error sending request for url (…): client error (SendRequest): connection closed before message completed
//! 4.302s  WARN backoff: gave up … attempts=1 reason="budget" elapsed=0.001 error=error sending request for url (…): client error (Connect): tcp connect error: Connection refused (os error 111)
//! 6.056s  INFO backoff: succeeded after retries … attempts=2 elapsed=0.275
//! 9.516s  INFO backoff: attempt failed, waiting before the next … attempt=1 delay=0.075 source="backoff" elapsed=0.001 code=503 error=HTTP 503
//! ```
//!
//! These lines are from the page that Prometheus reads, at the end of the run:
//!
//! ```text
//! retry_budget_level{retry_budget="billing"} 500
//! retry_attempt_duration_seconds_count{retry_operation="invoices.get",retry_policy="billing"} 868
//! retry_attempt_duration_seconds_count{…,error_type="429"} 41
//! retry_attempt_duration_seconds_count{…,error_type="503"} 157
//! retry_attempt_duration_seconds_count{…,error_type="timeout"} 43
//! retry_attempt_duration_seconds_count{…,error_type="not_sent"} 62
//! retry_attempt_duration_seconds_count{…,error_type="maybe_sent"} 13
//! retry_call_duration_seconds_count{…,retry_outcome="successful_without_retry"} 850
//! retry_call_duration_seconds_bucket{…,retry_outcome="successful_with_retry",le="0.1"} 4
//! retry_call_duration_seconds_bucket{…,retry_outcome="successful_with_retry",le="2"} 18
//! retry_call_duration_seconds_count{…,retry_outcome="successful_with_retry"} 18
//! retry_call_duration_seconds_count{…,retry_outcome="failed_without_retry",retry_stop_reason="permanent",error_type="404"} 3
//! retry_call_duration_seconds_count{…,retry_outcome="failed_without_retry",retry_stop_reason="budget",error_type="503"} 82
//! retry_call_duration_seconds_count{…,retry_outcome="failed_with_retry",retry_stop_reason="budget",error_type="503"} 32
//! retry_call_retries_sum{…,retry_outcome="failed_with_retry"} 65
//! retry_call_retries_count{…,retry_outcome="failed_with_retry"} 56
//! ```
//!
//! Notes on these numbers:
//!
//! - **Every error has a line.** The callers got 234 errors: 231 are a `WARN` each, 175 of them after the first
//!   attempt because the budget was empty, and three are a 404, which is `DEBUG`. A filter that counts lines by
//!   `reason` shows the same as `retry_stop_reason`.
//! - **A call that still waits is not counted in any metric of calls.** While the service throttles,
//!   about half of the calls wait for its `Retry-After`, and nearly all calls that end succeed.
//!   `retry.attempt.duration`, which is recorded at once, and `retry.budget.level` show that something
//!   is wrong.
//! - The log lines of one call share only the operation. If calls run at the same time, put a span of
//!   your own around each call.
//! - An exporter that makes a metric's unit a part of its name (Prometheus' `_seconds`) knows the unit
//!   only after `telemetry::describe`: call `describe` when you install the recorder.
//!
//! # OpenTelemetry
//!
//! Metrics reach OpenTelemetry through a recorder of `metrics`; spans and log events reach it through a
//! layer of `tracing`. In `Cargo.toml`, beside this library with its features `tracing` and `metrics`:
//!
//! ```toml
//! metrics = "0.24"
//! # Its version names those of `metrics` (0.24) and of `opentelemetry` (0.33).
//! metrics-opentelemetry = "0.24033"
//! opentelemetry = "0.33"
//! opentelemetry-otlp = { version = "0.33", default-features = false, features = ["grpc-tonic", "metrics", "trace"] }
//! opentelemetry_sdk = "0.33"
//! tracing-opentelemetry = "0.34"
//! tracing-subscriber = { version = "0.3", features = ["env-filter"] }
//! ```
//!
//! ```ignore
//! use backoff_core::telemetry;
//! use metrics_opentelemetry::{OpenTelemetryMetrics, OpenTelemetryRecorder};
//! use opentelemetry::{metrics::MeterProvider as _, trace::TracerProvider as _};
//! use opentelemetry_otlp::{MetricExporter, SpanExporter};
//! use opentelemetry_sdk::{metrics::SdkMeterProvider, trace::SdkTracerProvider};
//! use tracing_subscriber::{EnvFilter, layer::SubscriberExt as _, util::SubscriberInitExt as _};
//!
//! type Failure = Box<dyn std::error::Error>;
//!
//! /// To be called inside of tokio's runtime, before the first retry. Before the program ends, it calls
//! /// `shutdown` of both, which sends what was not sent yet.
//! fn observe() -> Result<(SdkMeterProvider, SdkTracerProvider), Failure> {
//!     let meters = SdkMeterProvider::builder()
//!         .with_periodic_exporter(MetricExporter::builder().with_tonic().build()?)
//!         .build();
//!     let recorder = OpenTelemetryRecorder::new(OpenTelemetryMetrics::new(meters.meter("retries")));
//!     recorder.set_histogram_bounds(["retry.call.retries"].into_iter(), &[1.0, 2.0, 3.0, 4.0, 5.0]);
//!     recorder.set_histogram_bounds(
//!         ["retry.call.duration", "retry.call.delay", "retry.attempt.duration"].into_iter(),
//!         &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0],
//!     );
//!     metrics::set_global_recorder(recorder)?;
//!     telemetry::describe();
//!
//!     let tracers = SdkTracerProvider::builder()
//!         .with_batch_exporter(SpanExporter::builder().with_tonic().build()?)
//!         .build();
//!     tracing_subscriber::registry()
//!         // The exporter's own client is not to be traced.
//!         .with(EnvFilter::new("info,h2=off,hyper=off,tonic=off"))
//!         .with(tracing_opentelemetry::layer().with_tracer(tracers.tracer("retries")))
//!         .init();
//!     Ok((meters, tracers))
//! }
//! ```
//!
//! - **Set the bounds.** The bounds of the SDK are meant for milliseconds (5, 10, 25 to 10,000): nearly
//!   all times in seconds would be in the first bucket.
//! - Units and descriptions are fixed when a metric is recorded for the first time, so call `describe`
//!   right after you install the recorder.
//! - Spans of attempts are children of the span in which the call was made. The log events of the waits
//!   and of the end of a call are events of that span. A log event outside of any span reaches no
//!   trace.
//! - Use matching versions, as above: a recorder or a layer for another version of `opentelemetry` does
//!   not accept the meter or the tracer of this version.
//!
//! We compiled the code with metrics 0.24.6, metrics-opentelemetry 0.24033.1, opentelemetry, its SDK
//! and its OTLP exporter 0.33.1, tracing-opentelemetry 0.34.0 and tracing-subscriber 0.3.23, and ran it
//! with the SDK's exporters in memory.
//!
//! [`Event`]: crate::Event
//! [async]: crate::Retrying#method.attempt_spans
//! [blocking]: crate::Retrying#method.attempt_spans
//! [`Policy::log_waits`]: crate::Policy::log_waits
//! [`Policy::name`]: crate::Policy::name
//! [`StopReason::name`]: crate::StopReason::name
//! [`WaitSource::name`]: crate::WaitSource::name

/// Gives the units and descriptions of all metrics to the installed recorder. The end of the first
/// attempt does the same. A program needs `describe` only if it installs the recorder later, or if the
/// recorder needs the descriptions before the first retry.
///
/// ```
/// backoff_core::telemetry::describe();
/// ```
#[cfg(feature = "metrics")]
pub fn describe() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
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
    describe_gauge!(
        "retry.rate.limit",
        Unit::CountPerSecond,
        "How many calls a second go at a rate that calls share"
    );
    describe_gauge!(
        "retry.rate.waiting",
        Unit::Count,
        "How many calls wait for their turn at a rate"
    );
    describe_histogram!(
        "retry.rate.delay",
        Unit::Seconds,
        "How long a call waited for its turn at a rate"
    );
    describe_counter!(
        "retry.rate.refused",
        Unit::Count,
        "How many attempts at a rate were refused"
    );
    describe_gauge!(
        "retry.breaker.state",
        Unit::Count,
        "Whether a breaker is open: 0 closed, 1 open"
    );
    describe_counter!(
        "retry.breaker.opened",
        Unit::Count,
        "How often a breaker opened"
    );
    describe_counter!(
        "retry.breaker.refused",
        Unit::Count,
        "How many calls ended because of a breaker"
    );
    describe_counter!(
        "retry.hedge.sent",
        Unit::Count,
        "How many attempts got a second request"
    );
    describe_counter!(
        "retry.hedge.won",
        Unit::Count,
        "How many of these second requests had the first success"
    );
}

/// Calls [`describe`] once.
#[cfg(feature = "metrics")]
pub(crate) fn describe_once() {
    static DESCRIBED: std::sync::Once = std::sync::Once::new();
    DESCRIBED.call_once(describe);
}
