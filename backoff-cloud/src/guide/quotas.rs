//! After this page your calls to an LLM keep the quotas of the service, a batch ends when no money is left, and you know
//! what is paid twice.
//!
//! [The last part](#github) is about GitHub.
//!
//! # A batch of prompts
//!
//! ```sh
//! cargo add backoff-cloud --features http,rate
//! cargo add reqwest serde_json
//! cargo add tokio --features macros,rt-multi-thread
//! ```
//!
//! The program answers prompts, 20 at a time, and then one as a stream:
//!
//! ```no_run
#![doc = include_str!("examples/llm.rs")]
//! ```
//!
//! With 1,000 prompts against a server that allows 500 requests and 200,000 tokens a minute, this program makes 1,000
//! requests and gets no 429. Without the `Rate` it makes about 1,560 requests, gets about 735 429s, and about 175
//! prompts have no answer ([Measurements](super::measurements#rates)).
//!
//! # The limits
//!
//! - **Requests and tokens a minute**, and with some services a day. [`tokens`](crate::Retrying::tokens) says how many
//!   tokens a call uses at most: those of the prompt and of the longest answer. It is an estimate. Where a service counts
//!   the tokens only after the head of its reply, as Anthropic counts those of a stream,
//!   [`RATE.used(n)`](crate::Rate::used) or [`attempt.used(n)`](crate::Attempt::used) says how many there were.
//! - **A quota for each model**, or for a group of models: declare a `Rate` for each quota.
//! - **Money.** OpenAI answers `insufficient_quota` with a 429, too. This 429 is final:
//!   [`openai::kind`](crate::openai::kind) is permanent for it. Anthropic [says it
//!   otherwise](crate::anthropic#what-is-retried).
//! - **The first requests** go before a reply has come. So let `at_a_time` be less than the requests of a minute.
//!
//! # Who hears what
//!
//! A rate hears the headers of each reply to its own calls, subtracts what still runs, and lets a call go when enough
//! is left: [the rules](crate::Rate#quotas). The reply must be read in the task of the attempt. Where another task or
//! thread reads a reply, pass the headers to [`attempt.observe`](crate::Attempt::observe). Processes share nothing but the replies. A process without a `Rate`
//! [takes nearly everything](super::rates#every-process-of-the-quota-needs-it).
//!
//! | service | each reply states | so |
//! |---|---|---|
//! | OpenAI, Groq and others with these headers | limit, rest and reset of requests and of tokens | no 429s, if the numbers of tokens are right |
//! | Anthropic | the same of requests, of input tokens and of output tokens | `tokens(n)` counts against both: name the larger number |
//! | Azure OpenAI | the rest alone, without limit and reset | the rate learns from 429s only |
//!
//! With Azure, allow more attempts: `openai::REQUEST.max_attempts(8).send(ask).idempotent(true)` sends like
//! `openai::send(ask)`.
//!
//! A batch waits in the queue as long as the quota needs. Where a person waits for the answer, write `.timeout(..)` or
//! [`.max_queue_time(..)`](crate::Retrying::max_queue_time).
//!
//! # Special cases
//!
//! - Header names with `requests` or `tokens` mean a quota that is refilled steadily, until the replies show an end that
//!   stands still: then they mean a window.
//! - Of attempts that run together, the lowest remainder counts. A process that is alone uses the whole quota.
//! - A statement holds until its end. The next turn is never later than that end and a second, nor than 61 minutes. A minute
//!   after the end, a reply without such headers ends the quotas. After that, only the rules for 429s hold.
//! - If a reply says suddenly that nothing is left, any other reply corrects it, and after 2 s one call tries. If this call
//!   is refused, all wait until the end. If it is admitted, the quota counts no more until a reply states that something is
//!   left. So where a service answers each call, such replies delay nobody for more than these 2 s and this one call.
//! - A 429 that asks for a shorter wait than the end of a used-up quota is believed: one call goes then. A 429 beside a
//!   quota that says that nothing is left changes nothing else. After any other 429, the rules for 429s hold too.
//! - A call that needs more than a whole quota goes when the quota is full, with a `WARN`.
//! - A header that cannot be read, a limit of zero, a remainder below zero or above the limit, and a reset in the past or
//!   more than 61 minutes ahead change nothing. The first one is named in a `WARN`.
//!
//! # A stream
//!
//! [`open`](crate::http::Sending::open) returns when the head of a success has come. What fails before the head is
//! repeated. What fails after it is not, because the caller has used a part of the answer: `next` returns the error,
//! and a new call makes, and bills, a new answer. An answer without its last event is not complete: [Polling, pages
//! and streams](super::polling_pages_streams#a-watch-or-a-stream) has the rules, and a program that goes on behind the
//! last event.
//!
//! # What is paid twice
//!
//! - **An answer that was lost.** After a 5xx, a lost connection or a timeout the service may have made the answer.
//!   `openai::send` asks again, and you pay for both. `openai::REQUEST.send(ask)` does not ask again then.
//! - **An answer that takes longer than `attempt_timeout`.** Each attempt is cut, and each one may be paid.
//!
//! A 429 costs no money, but OpenAI counts it against the limit of requests.
//!
//! Prompts that can wait for a day are cheaper as a batch of the service, which has limits of its own:
//! [`openai::BATCH`](crate::openai::BATCH) and [`anthropic::BATCH`](crate::anthropic::BATCH) wait for its end.
//!
//! # GitHub
//!
//! GitHub allows so many requests in a window of an hour: each reply states the rest and the end of the window. Beside
//! this primary limit there are secondary limits, of which nobody hears before the first 403. The
//! [cookbook](super::cookbook) has the whole program.
//!
//! ```no_run
//! use backoff_cloud::{Policy, Rate, github, http::{ApiError, SendExt as _}};
//! use std::time::Duration;
//!
//! const MINUTE: Duration = Duration::from_secs(60);
//! /// A token has a quota of its own, so it has a `Rate` of its own.
//! static RATE: Rate = Rate::new().pause_after_refusal(MINUTE);
//! const POLICY: Policy = github::REQUEST.max_retry_after(MINUTE.saturating_mul(60)).rate(&RATE);
//!
//! async fn repository(client: &reqwest::Client, url: &str) -> Result<serde_json::Value, ApiError> {
//!     POLICY.send(client.get(url)).json().await
//! }
//! ```
//!
//! - When the window is used up, the calls wait for the next one, for up to an hour. The log has a `WARN`.
//! - After a secondary limit no call goes for as long as `retry-after` says, or for a minute.
//! - Resources such as `core` and `search` have quotas of their own. The calls of a `Rate` wait for all its quotas, so
//!   give the calls of `search` another `Rate`.
//!
//! Previous: [Rates](super::rates) · next: [Hedging](super::hedging)
