//! OpenAI's API, and services that speak its protocol.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | any request: a completion, an embedding, a file | [`REQUEST`] |
//! | polling a batch until it has ended | [`BATCH`] |
//!
#![doc = page_of!(openai::REQUEST)]
//!
//! # What is retried
//!
//! 408, 409, 429, every 5xx, and failures of the connection.
//!
//! - **`x-should-retry`** counts more than the status, if the error keeps its headers, as `http::ApiError`
//!   (feature `http`) does: `false` is final, and `true` is retried.
//! - **The codes of a used-up quota** are final: [`kind`] is permanent for them.
//! - **A batch of prompts** keeps the limits of requests and of tokens with a `Rate`: see
//!   [Calls to an LLM](crate::guide::quotas), with a program that ends when no money is left.
//! - **Hints**: `retry-after-ms`, `retry-after`, and without them, in a 429 or 503, `x-ratelimit-reset-requests` and
//!   `x-ratelimit-reset-tokens` of a limit that is used up.
//! - **A completion may be made twice.** It changes nothing, but each one is paid for. After a 503 or a lost reply
//!   the first one may have been computed and counted. OpenAI's client repeats it all the same, and so does
//!   `openai::send` (feature `http`). `REQUEST.send(post)` follows the general rule for HTTP: the `POST` ends at
//!   the first 503. For a request that must not be made twice (a batch, a fine-tuning job), write
//!   `REQUEST.send(post)`.
//! - **A stream that breaks after its first byte is not repeated** by itself: the caller has used a part of it. Repeat
//!   the whole call where this is right, in a function with `#[retry(policy = openai::REQUEST)]`.
//!   `openai::send(ask).open()` (feature `http`) retries everything up to the head of the reply, and hands out the
//!   stream. A pause of more than 30 s is an error; a model that thinks for longer needs a longer `read_timeout`.
//!   `events()` reads the events of the stream, `openai::event_kind` knows those that report a failure after the status
//!   200, and `openai::ends_stream` the last one. A stream that ends without its last event is not complete:
//!   `http::ApiError::ended_early`. [The guide](crate::guide::polling_pages_streams#a-watch-or-a-stream) has a program
//!   that goes on behind the last event.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{openai, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Client;
//! # impl Client { async fn complete(&self, _: &str) -> Result<String, ApiError> { Ok("4".into()) } }
//!
//! #[retry(policy = openai::REQUEST, timeout = "2m")]
//! async fn answer(client: &Client, question: &str) -> Result<String, ApiError> {
//!     client.complete(question).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert_eq!(answer(&Client, "2 + 2?").await.unwrap(), "4") }
//! ```

#[cfg(feature = "http")]
pub use crate::http::event_kind::{ends_stream, event_kind};
#[cfg(feature = "http")]
use crate::http::{IntoOutgoing, SendExt as _, Sending};
use crate::services::LLM_RETRIED;
pub use crate::services::openai as kind;
use backoff_core::{Jitter, Policy};
use std::time::Duration;

/// One request. 408, 409, 429, every 5xx and failures of the connection are retried: three attempts, as in OpenAI's
/// clients.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** A repeated completion
/// may be paid for twice.
///
/// With the feature `http`, `openai::send(request)` sends a completion; `REQUEST.send(request)` sends a request that
/// must not be made twice.
///
/// Sources and an example: [the module](self).
pub const REQUEST: Policy = Policy::exponential()
    // 0.5 s, up to a quarter shorter: 7/8 of it, give or take a seventh.
    .base(Duration::from_micros(437_500))
    .factor(2.0)
    .max_backoff(Duration::from_secs(8))
    .jitter(Jitter::Proportional(1.0 / 7.0))
    .max_attempts(3)
    .on(LLM_RETRIED)
    .name("openai::REQUEST");

/// Polls a batch until it has ended: after 5 s, then more and more seldom, up to once a minute, for 25 hours. (A batch
/// ends within 24 hours: "Batch API", <https://platform.openai.com/docs/guides/batch>.) A poll that fails is repeated
/// after the same failures as [`REQUEST`], and the number of polls is not limited.
///
/// A batch that has ended may have failed or expired, so look at its `status`. The deadline limits the polling, not the
/// batch.
///
/// ```
/// use backoff_cloud::{NotYet, openai};
///
/// struct Batch { status: &'static str }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), NotYet> {
/// # let polls = std::cell::Cell::new(0);
/// # let retrieve = || async {
/// #     polls.set(polls.get() + 1);
/// #     Ok::<_, NotYet>(Batch { status: ["validating", "in_progress", "completed"][polls.get() - 1] })
/// # };
///
/// let batch = openai::BATCH
///     .retry(retrieve)
///     .until(|batch| matches!(batch.status, "completed" | "failed" | "expired" | "cancelled"))
///     .await?;
/// assert_eq!(batch.status, "completed");
/// # Ok(())
/// # }
/// ```
pub const BATCH: Policy = Policy::exponential()
    .base(Duration::from_secs(5))
    .factor(1.5)
    .max_backoff(Duration::from_secs(60))
    .jitter(Jitter::Additive(Duration::from_secs(1)))
    .deadline(Duration::from_secs(25 * 3_600))
    .on(LLM_RETRIED)
    .name("openai::BATCH");

/// Sends a request by [`REQUEST`], and repeats it after every transient failure, whatever its method is. A
/// completion is a `POST`, which `REQUEST.send(post)` would not repeat after a 503 or a lost reply. [The
/// module](self#what-is-retried) says what this costs.
///
/// An `error` with a code or a type in the JSON of a 200 is an error. After a `POST` this holds whatever stands beside it,
/// also if the body can be read as the value: gateways send it, and so does a response whose `status` is `failed`. What a
/// `GET` reads, such as a fine-tuning job that failed, stays a value. See [`http::json`](crate::http::json).
///
/// ```no_run
/// use backoff_cloud::{http::ApiError, openai};
/// use serde_json::{Value, json};
///
/// # async fn f(key: &str) -> Result<(), ApiError> {
/// let client = reqwest::Client::new();
/// let question = json!({"model": "gpt-5", "input": "2 + 2?"});
/// let ask = client.post("https://api.openai.com/v1/responses").bearer_auth(key);
/// let ask = ask.header("content-type", "application/json").body(question.to_string());
/// let answer: Value = openai::send(ask).json().await?;
/// # Ok(()) }
/// ```
#[cfg(feature = "http")]
pub fn send(request: impl IntoOutgoing) -> Sending {
    REQUEST.send(request).idempotent(true).finding_errors()
}
