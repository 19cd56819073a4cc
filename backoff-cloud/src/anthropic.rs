//! Anthropic's API.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | any request: a message, a count of tokens, a file | [`REQUEST`] |
//! | polling a batch of messages until it has ended | [`BATCH`] |
//!
#![doc = page_of!(anthropic::REQUEST)]
//!
//! # What is retried
//!
//! 408, 409, 429, every 5xx (so 529, `overloaded_error`, too), and failures of the connection.
//!
//! - **`x-should-retry`** counts more than the status, if the error keeps its headers, as `http::ApiError`
//!   (feature `http`) does: `false` is final, and `true` is retried.
//! - **A batch of prompts** keeps the limits of requests and of tokens with a `Rate`: see
//!   [Calls to an LLM](crate::guide::quotas).
//! - **Hints**: `retry-after`, and without it, in a 429 or 503, the `anthropic-ratelimit-*-reset` or
//!   `anthropic-priority-*-reset` of a limit that is used up.
//!   A limit of tokens can refuse a request although some tokens remain; then there is no hint but `retry-after`.
//! - **A spend limit** is a 400, a 402, or a 429 without `retry-after` that the service sends until the next month.
//!   The last one is repeated until the attempts are used up.
//! - **A message may be made twice.** It changes nothing, but each one is paid for. After a 529 or a lost reply the
//!   first one may have been computed and counted. Anthropic's client repeats it all the same, and so does
//!   `anthropic::send` (feature `http`). `REQUEST.send(post)` follows the general rule for HTTP: the `POST` ends at
//!   the first 529.
//! - **A stream that breaks after its first byte is not repeated** by itself: the caller has used a part of it.
//!   `anthropic::send(ask).open()` (feature `http`) retries everything up to the head of the reply, and hands out the
//!   stream. A pause of more than 30 s is an error. `events()` reads the events of the stream. An `error` event comes
//!   after the status 200: `anthropic::event_kind` has its kind. A stream without `message_stop`, which
//!   `anthropic::ends_stream` knows, is not complete: `http::ApiError::ended_early`.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{anthropic, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Client;
//! # impl Client { async fn message(&self, _: &str) -> Result<String, ApiError> { Ok("4".into()) } }
//!
//! #[retry(policy = anthropic::REQUEST, timeout = "2m")]
//! async fn answer(client: &Client, question: &str) -> Result<String, ApiError> {
//!     client.message(question).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert_eq!(answer(&Client, "2 + 2?").await.unwrap(), "4") }
//! ```

#[cfg(feature = "http")]
pub use crate::http::event_kind::{ends_stream, event_kind};
#[cfg(feature = "http")]
use crate::http::{IntoOutgoing, SendExt as _, Sending};
use crate::openai;
use backoff_core::Policy;

/// One request. 408, 409, 429, every 5xx and failures of the connection are retried: three attempts, as in
/// Anthropic's clients. The numbers are those of [`openai::REQUEST`], because one generator writes the clients of both.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** A repeated message may be
/// paid for twice.
///
/// With the feature `http`, `anthropic::send(request)` sends a message.
///
/// Sources and an example: [the module](self).
pub const REQUEST: Policy = openai::REQUEST.name("anthropic::REQUEST");

/// Polls a batch of messages until it has ended. (A batch ends within 24 hours: "Batch processing",
/// <https://platform.claude.com/docs/en/build-with-claude/batch-processing>.) The numbers are those of
/// [`openai::BATCH`]: after 5 s, then more and more seldom, up to once a minute, for 25 hours.
///
/// ```
/// use backoff_cloud::{NotYet, anthropic};
///
/// struct Batch { processing_status: &'static str }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), NotYet> {
/// # let polls = std::cell::Cell::new(0);
/// # let retrieve = || async {
/// #     polls.set(polls.get() + 1);
/// #     Ok::<_, NotYet>(Batch { processing_status: ["in_progress", "ended"][polls.get() - 1] })
/// # };
///
/// let batch = anthropic::BATCH.retry(retrieve).until(|batch| batch.processing_status == "ended").await?;
/// assert_eq!(batch.processing_status, "ended");
/// # Ok(())
/// # }
/// ```
pub const BATCH: Policy = openai::BATCH.name("anthropic::BATCH");

/// Sends a request by [`REQUEST`], and repeats it after every transient failure, whatever its method is. A message is
/// a `POST`, which `REQUEST.send(post)` would not repeat after a 529 or a lost reply. [The
/// module](self#what-is-retried) says what this costs.
///
/// An `error` in the JSON of a 200, which proxies send, is an error, as with [`openai::send`].
///
/// ```no_run
/// use backoff_cloud::{anthropic, http::ApiError};
/// use serde_json::{Value, json};
///
/// # async fn f(key: &str) -> Result<(), ApiError> {
/// let client = reqwest::Client::new();
/// let question = json!({
///     "model": "claude-opus-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "2 + 2?"}]
/// });
/// let ask = client.post("https://api.anthropic.com/v1/messages").header("x-api-key", key);
/// let ask = ask.header("anthropic-version", "2023-06-01").body(question.to_string());
/// let answer: Value = anthropic::send(ask).json().await?;
/// # Ok(()) }
/// ```
#[cfg(feature = "http")]
pub fn send(request: impl IntoOutgoing) -> Sending {
    REQUEST.send(request).idempotent(true).finding_errors()
}
