//! After this page you can say which failures are retried, and your own error type can tell the
//! library what it knows.
//!
//! # Facts and rules
//!
//! An error states facts, by the trait [`Fault`](trait@crate::Fault). A policy holds rules about these
//! facts. Neither decides alone, so the same error may be retried in one call and not in another.
//!
//! The first fact in this table that the error states decides:
//!
//! | fact | example | retried |
//! |---|---|---|
//! | the server asked not to be called again | gRPC's negative pushback | no |
//! | the [kind](crate::FaultKind) | a deadlock in a database is a conflict | `Transient`, `Throttled`, `Pending`: yes; `Conflict`: where the policy [retries conflicts](crate::Policy::retry_conflicts); `Permanent`: no |
//! | the gRPC code | `UNAVAILABLE` in a JSON body of Google | where the policy names the code |
//! | the HTTP status | 503 | where the policy names the status, or [its rule](crate::Policy::throttled_if) the reply, such as a 403 of GitHub with `retry-after` |
//! | the [delivery](crate::Delivery), where the transport failed | the connection was refused, or broke | yes |
//! | nothing | `Err("oh no")` | no; see [below](#an-error-that-says-nothing) |
//!
//! Many services say more than a status. A 400 of AWS with the code `ThrottlingException` is throttled, and a quota
//! for a day is permanent, also with a 429. The errors of clients and of the feature `http` know this. The tables are
//! [`aws::kind`](crate::aws::kind), [`azure::kind`](crate::azure::kind), [`openai::kind`](crate::openai::kind),
//! [`github::kind`](crate::github::kind), [`mysql`](crate::mysql#what-is-retried).
//!
//! [`Policy::judge`](crate::Policy::judge) applies this table, and you can ask it in a test:
//!
//! ```
//! use backoff_cloud::{Fault, Policy, Verdict, codes};
//!
//! struct Status(u16);
//! impl Fault for Status {
//!     fn status(&self) -> Option<u16> { Some(self.0) }
//! }
//!
//! const POLICY: Policy = Policy::exponential().on(codes![429, 500..=504]);
//! assert_eq!(POLICY.judge(&Status(503)), Verdict::from(true));
//! assert_eq!(POLICY.judge(&Status(404)), Verdict::Permanent);
//! ```
//!
//! # Choose the codes
//!
//! - `on = [429, 500..=504]`, or [`.on(codes![..])`](crate::Policy::on), replaces the codes of the policy.
//! - `also_on = [404]`, or [`.also_on(codes![..])`](crate::Policy::also_on), adds codes to them.
//! - A gRPC code is a constant: `also_on = [Codes::ABORTED]`, with `use backoff_cloud::Codes`.
//!
//! A status brings the gRPC codes along that stand for it: 503 brings `UNAVAILABLE`. A 409 does not bring
//! `ALREADY_EXISTS`, because no repetition helps against that one.
//!
//! In the attribute, `on` takes patterns of your error too, beside codes or alone:
//!
//! ```
//! use backoff_cloud::retry;
//!
//! #[derive(Debug)]
//! enum StoreError { Busy { queue: u32 }, Missing }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let mut calls = 0;
//! #[retry(on = [StoreError::Busy { queue } if *queue < 100])]
//! async fn load(calls: &mut u32) -> Result<(), StoreError> {
//!     *calls += 1;
//!     if *calls < 3 { Err(StoreError::Busy { queue: 7 }) } else { Err(StoreError::Missing) }
//! }
//! assert!(matches!(load(&mut calls).await, Err(StoreError::Missing)));
//! assert_eq!(calls, 3);
//! # }
//! ```
//!
//! # Decide by a function
//!
//! [`when`](crate::Policy::when) replaces the codes by a function of the error, which answers with a `bool` or with a
//! [`Verdict`](crate::Verdict). Hints such as `Retry-After`, and all limits, still hold. An error that is no `Fault`
//! goes to [`when_any`](crate::Policy::when_any); the key `when` of the attribute takes both.
//!
//! ```
//! use backoff_cloud::retry;
//! use std::io;
//!
//! #[retry(when = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock)]
//! fn read() -> io::Result<u32> { Ok(3) }
//! # assert_eq!(read().unwrap(), 3);
//! ```
//!
//! # Errors of other crates
//!
//! The library knows the errors of many clients. Each has a feature that is named after the crate and its version:
//! `reqwest-013`, `tonic-014`, `redis-1`, `sqlx-09`; the [list of features](crate::features) has all. `std::io::Error`
//! is always known. With the feature on, the client's error is a `Fault`.
//!
//! For `anyhow::Error` (feature `anyhow-1`) and `Box<dyn Error>`, the library looks along the chain of
//! sources for an error that it knows. Name your own types in `faults(..)`, so that they are found too:
//!
//! ```
//! use backoff_cloud::{Fault, Policy, retry};
//! use std::{error::Error, fmt};
//!
//! #[derive(Debug, Fault)]
//! #[fault(transient)]
//! struct Restarting;
//! impl fmt::Display for Restarting {
//!     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str("restarting") }
//! }
//! impl Error for Restarting {}
//!
//! const POLICY: Policy = Policy::exponential().max_attempts(3);
//!
//! #[retry(policy = POLICY, faults(Restarting))]
//! async fn load(calls: &mut u32) -> Result<(), Box<dyn Error>> {
//!     *calls += 1;
//!     Err(Restarting.into())
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let mut calls = 0;
//! assert!(load(&mut calls).await.is_err());
//! assert_eq!(calls, 3);
//! # }
//! ```
//!
//! In the function form, write `.when_any(|error: &anyhow::Error| ..)` with
//! [`known_fault`](crate::known_fault), and `downcast_ref` for your own types. An error with `#[error(transparent)]` of
//! thiserror leaves the error inside out of its sources: derive `Fault` with `#[fault(forward)]`, or use
//! `#[error("..")]` with `#[source]`.
//!
//! Do not turn an `anyhow::Error` into a `Box<dyn Error>` or an `io::Error` on the way, for example by `?` in a
//! function that returns a box: anyhow hides the error in a private type. Return `anyhow::Error`, or add a
//! `.context(..)`, which makes the error a source.
//!
//! # Your own error
//!
//! `#[derive(Fault)]` writes the implementation. Say one fact for each variant, and `forward` where a
//! variant holds an error that knows more:
//!
//! ```
//! use backoff_cloud::{Fault, Policy, TimedOut, Verdict};
//! use std::time::Duration;
//!
//! #[derive(Debug, Fault)]
//! enum ApiError {
//!     #[fault(status = code, retry_after = wait)]
//!     Reply { code: u16, wait: Option<Duration> },
//!     #[fault(conflict)]
//!     Stale,
//!     #[fault(forward)]
//!     TimedOut(TimedOut), // for `timeout` and `attempt_timeout`, with `From<TimedOut>`
//!     #[fault(permanent)]
//!     Config(String),
//! }
//!
//! let wait = Some(Duration::from_secs(7));
//! let busy = ApiError::Reply { code: 503, wait };
//! let policy = Policy::exponential();
//! assert_eq!(policy.judge(&busy), Verdict::from(true).after(wait));
//! assert_eq!(policy.judge(&ApiError::Config("no key".into())), Verdict::Permanent);
//! assert_eq!(policy.judge(&ApiError::Stale), Verdict::Permanent);
//! assert!(matches!(policy.retry_conflicts(true).judge(&ApiError::Stale), Verdict::Retry { .. }));
//! ```
//!
//! The [derive's page](derive@crate::Fault) has all keys. By hand it is one method for each fact, and
//! [`inner`](crate::Fault::inner) for a wrapper.
//!
//! # An error that says nothing
//!
//! | form | an error about which nothing is known |
//! |---|---|
//! | `#[retry]` without `policy`, `on`, `also_on`, `when` | retried, unless `idempotent = false` |
//! | with a policy or codes | not retried: [`StopReason::NothingKnown`](crate::StopReason::NothingKnown), and with the feature `tracing` a warning that names the type |
//! | `when`, `when_any` | the function decides |
//!
//! So a bare `#[retry]` repeats a function with `Result<T, String>` after every error, and `policy.retry(..)` does not
//! compile there.
//!
//! # Responses that are values
//!
//! reqwest returns a 503 as an `Ok`. In the attribute such a value is judged like an error, where codes or a policy
//! are named. In the function form, `POLICY.retry(call).responses()` asks for that
//! ([example](crate::Retrying::responses)). When the call is given up, the last response is returned as it came: look
//! at its status.
//!
//! Previous: [Which of these do I need](super::which) · next: [Waits and limits](super::waits_and_limits)
