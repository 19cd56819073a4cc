//! The retries of four open source programs, beside the same written with this library, and what both do when a server
//! fails.
//!
//! Each program is used and well kept. "Theirs" is the program at the commit that is named. A server on loopback
//! answered with the scripted replies. "Read" marks a cell that is read from the code and was not measured. The ports
//! use the crate `tower` and reqwest's feature `blocking`.
//!
//! # rattler: the upload of a package
//!
//! [conda/rattler](https://github.com/conda/rattler), commit `92dc77433`, `crates/rattler_upload/src/upload/mod.rs`,
//! uploads a package to a server. The loop has few attempts, full jitter, a table of statuses that no attempt can
//! cure, and opens the stream of the file anew for each attempt:
//!
//! ```text
//! loop:
//!     reply = request.send()?.error_for_status()?      # leaves the function
//!     2xx -> done; 4xx of the table -> error
//!     anything else -> the rule decides; log, sleep
//! ```
//!
//! A 503 and a lost connection leave by the first `?`, so an upload is one request, whatever fails. The same with this
//! library:
//!
//! ```no_run
//! use backoff_cloud::{LogLevel, Policy, http, http::ApiError, plain_http};
//! use reqwest::RequestBuilder;
//! use std::{error::Error, io, path::Path, time::Duration};
//!
//! type BoxError = Box<dyn Error + Send + Sync>;
//!
//! const UPLOAD: Policy = plain_http::IDEMPOTENT
//!     .max_attempts(4)
//!     .log_waits(LogLevel::Warn)
//!     .name("upload");
//!
//! /// The body. In the program it is the stream of the file, with its progress bar.
//! async fn opened(file: &Path) -> io::Result<reqwest::Body> { Ok(std::fs::read(file)?.into()) }
//!
//! pub async fn upload(request: RequestBuilder, file: &Path) -> Result<(), BoxError> {
//!     UPLOAD
//!         .retry_with(async |attempt| {
//!             let request = request.try_clone().expect("it has no body yet");
//!             let request = request.body(opened(file).await?);
//!             match http::check(request.send().await.map_err(ApiError::from)?).await {
//!                 // An attempt whose reply was lost has stored the package.
//!                 Err(error) if error.status() == Some(409) && attempt.maybe_applied() => Ok(()),
//!                 reply => Ok(reply.map(drop)?),
//!             }
//!         })
//!         .attempt_timeout(Duration::from_secs(600))
//!         .await
//! }
//! ```
//!
//! | replies | theirs | ours |
//! |---|---|---|
//! | 503, 503, 200 | 1 request, error | 3 requests, done |
//! | 502 (the package is stored), 409 | 1 request, error (read) | 2 requests, done |
//!
//! Every library that owns the loop prevents this fault. Particular here are `Retry-After`, the judgement of lost
//! connections, and [`maybe_applied`](crate::Attempt::maybe_applied). That a 409 in doubt is the own package is a
//! conclusion and no proof: compare the checksum to be sure.
//!
//! # rustic_core: the REST backend
//!
//! [rustic-rs/rustic_core](https://github.com/rustic-rs/rustic_core), commit `1b2271ea5`,
//! `crates/backend/src/rest.rs`, talks to a server of restic's REST protocol by reqwest's blocking client and backon:
//!
//! ```text
//! all:    1 s, doubling, no cap, 5 retries, no jitter; 4xx -> error, anything else -> retry
//! config: HEAD; 2xx -> yes, any other status -> no
//! write:  POST, error_for_status
//! ```
//!
//! - The question for a config makes a value of each status, so a 503 counts as "no config".
//! - A 429 and a 408 are permanent, and `error_for_status` has dropped `Retry-After`. A full disk (507) is repeated.
//! - When a `POST` was stored and its reply lost, the second `POST` is answered with 403, and the backup fails.
//! - There is no jitter. With 20 retries the last wait is six days.
//!
//! The same with this library:
//!
//! ```no_run
//! use backoff_cloud::{http::ApiError, plain_http};
//! use reqwest::{Url, blocking::{Client, Response}};
//! use std::time::SystemTime;
//!
//! /// As `error_for_status`, but an error keeps its `Retry-After` and what the server said.
//! fn check(reply: Response) -> Result<Response, ApiError> {
//!     let status = reply.status();
//!     if status.is_success() {
//!         return Ok(reply);
//!     }
//!     let headers = reply.headers().clone();
//!     let body = reply.bytes().unwrap_or_default();
//!     let now = SystemTime::now();
//!     Err(ApiError::new(status.as_u16(), &headers, &body, now))
//! }
//!
//! /// Whether there is a config.
//! pub fn has_config(client: &Client, url: &Url) -> Result<bool, ApiError> {
//!     plain_http::IDEMPOTENT.retry_blocking(|| match check(client.head(url.clone()).send()?) {
//!         Ok(_) => Ok(true),
//!         Err(error) if error.status() == Some(404) => Ok(false),
//!         Err(error) => Err(error),
//!     })
//! }
//! ```
//!
//! The write asks for the length of the object where a 403 follows a lost reply.
//!
//! | replies | theirs | ours |
//! |---|---|---|
//! | `GET`: 507 always | 6 requests, 31 s of waits | 1 request, error 507 |
//! | `HEAD`: 503, 200 | 1 request, "no config" | 2 requests, "a config" |
//! | `POST`: 502 (stored), 403 | 2 requests, error 403 | 3 requests, one of them the `HEAD`; done |
//!
//! No library cures the first and the third point: the port does, because it asks what the status means. The others
//! are one line each in backon, except `Retry-After`.
//!
//! # lmnr: notification mails from a queue
//!
//! [lmnr-ai/lmnr](https://github.com/lmnr-ai/lmnr), commit `39a1e595b`, `app-server/src/notifications/delivery.rs`,
//! takes messages from a queue of RabbitMQ and sends mails by Resend's client:
//!
//! ```text
//! inner:  jitter, at most 10 s; a rate limit -> transient, every other error -> permanent
//! middle: every error of inner -> transient
//! outer:  ok -> ack;  transient -> back into the queue, at once;  permanent -> reject
//! ```
//!
//! The inner retry knows that an address is wrong, and the middle calls that transient: the queue delivers the message
//! again at once, until RabbitMQ drops it after 20 returns. After a lost reply the mail is posted again without an
//! idempotency key.
//!
//! The same with this library. `resend` stands for the client's crate, and the queue may take a time before which the
//! message is not delivered:
//!
//! ```
//! use backoff_cloud::{Policy, Verdict};
//! use std::time::Duration;
//! # mod resend {
//! #     #[derive(Debug)]
//! #     pub enum Error { RateLimit { reset: Option<u64> }, Api(u16), Http, Parse }
//! #     impl std::fmt::Display for Error {
//! #         fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{self:?}") }
//! #     }
//! #     #[derive(Clone)]
//! #     pub struct Mail;
//! #     impl Mail { pub fn with_idempotency_key(self, _: &str) -> Mail { self } }
//! #     pub struct Client(pub std::cell::RefCell<Vec<Result<(), Error>>>);
//! #     impl Client {
//! #         pub async fn send(&self, _: Mail) -> Result<(), Error> { self.0.borrow_mut().remove(0) }
//! #     }
//! # }
//!
//! #[derive(Debug)]
//! pub enum HandlerError {
//!     Permanent(String),
//!     Transient { error: String, not_before: Option<Duration> },
//! }
//!
//! const EMAIL: Policy = Policy::exponential()
//!     .deadline(Duration::from_secs(60))
//!     .name("email");
//!
//! fn judge(error: &resend::Error) -> Verdict {
//!     match error {
//!         resend::Error::RateLimit { reset } => {
//!             Verdict::from(true).after(reset.map(Duration::from_secs))
//!         }
//!         resend::Error::Api(status) => Verdict::from(*status >= 500),
//!         // A lost reply, or the page of a proxy. The key makes it safe to send again.
//!         resend::Error::Http | resend::Error::Parse => Verdict::from(true),
//!     }
//! }
//!
//! /// `key` names the message: it is the same whenever the queue delivers the message.
//! pub async fn send(
//!     client: &resend::Client,
//!     mail: resend::Mail,
//!     key: &str,
//! ) -> Result<(), HandlerError> {
//!     let mail = mail.with_idempotency_key(key);
//!     let call = EMAIL
//!         .when_any(judge)
//!         .retry(|| client.send(mail.clone()))
//!         .reported();
//!     let Err(gave_up) = call.await else {
//!         return Ok(());
//!     };
//!     let error = gave_up.to_string();
//!     if gave_up.reason.is_final() {
//!         return Err(HandlerError::Permanent(error));
//!     }
//!     let not_before = gave_up.last_retry_after();
//!     Err(HandlerError::Transient { error, not_before })
//! }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # use resend::Error::{Api, Http, RateLimit};
//! # let sent = async |replies: Vec<Result<(), resend::Error>>| {
//! #     let client = resend::Client(replies.into());
//! #     let outcome = send(&client, resend::Mail, "alert/7").await;
//! #     assert!(client.0.borrow().is_empty(), "{outcome:?}");
//! #     outcome
//! # };
//! # let wrong = sent(vec![Err(Api(422))]).await;
//! # assert!(matches!(wrong, Err(HandlerError::Permanent(_))));
//! # let later = sent(vec![Err(RateLimit { reset: Some(1_800) })]).await;
//! # let Err(HandlerError::Transient { not_before, .. }) = later else { panic!("{later:?}") };
//! # assert_eq!(not_before, Some(Duration::from_secs(1_800)));
//! # assert!(sent(vec![Err(RateLimit { reset: Some(3) }), Ok(())]).await.is_ok());
//! # assert!(sent(vec![Err(Http), Err(Api(503)), Ok(())]).await.is_ok());
//! # }
//! ```
//!
//! | replies | theirs | ours |
//! |---|---|---|
//! | 422, a wrong address | 21 `POST`s in 13.2 s, the first 9 within 6 ms; the message is dropped | 1 `POST`, `Permanent` |
//! | 429 with `ratelimit-reset: 3`, 200 | the second `POST` after 0.8 to 1.4 s | the second `POST` after 3.0 s |
//! | 429 with `ratelimit-reset: 1800` | 10 s of attempts, then back into the queue at once (read) | 1 `POST`, `Transient`, not before 1,800 s |
//! | connection closed, 200 | 2 `POST`s by way of the queue, no key | 2 `POST`s after a wait, the same key |
//!
//! Measured with resend-rs 0.21.1. The inner retry was good. Two things count: the reason is handed up, and the key.
//! The key must come from the message: each delivery is another call, with another
//! [`Attempt::id`](crate::Attempt::id). A queue that returns messages at once stays a retry without backoff:
//! `not_before` helps where the queue can delay a message.
//!
//! # async-openai: requests to an LLM
//!
//! [64bit/async-openai](https://github.com/64bit/async-openai), commit `ca746070f`,
//! `async-openai/src/middleware/retry/openai.rs`, retries every request, unless the program installs a tower service
//! of its own. Each attempt builds its request anew, and a used-up quota is no rate limit:
//!
//! ```text
//! at most 3 retries; own waits: 0.1 s, doubling, at most 8 s, without jitter
//! 429: no error in JSON -> error; insufficient_quota -> error; otherwise retry
//! 5xx, cannot connect -> retry; anything else -> error
//! wait = Retry-After in whole seconds, however long; without it the own wait
//! ```
//!
//! The port installs a service:
//!
//! ```no_run
//! # mod async_openai {
//! #     use {reqwest::{Request, Response}, std::io::Error, tower::Service, middleware::HttpRequestFactory as Factory};
//! #     pub mod config { pub struct OpenAIConfig; } pub mod middleware { pub struct HttpRequestFactory; }
//! #     impl Factory { pub async fn build(&self) -> Result<Request, Error> { todo!() } }
//! #     pub struct Client<C>(pub C);
//! #     impl<C> Client<C> {
//! #         pub fn with_config(config: C) -> Self { Client(config) }
//! #         pub fn with_http_service(self, _: impl Service<Factory, Response = Response, Future: Send> + Sync) -> Self { self }
//! # }}
//! use async_openai::{Client, config::OpenAIConfig, middleware::HttpRequestFactory};
//! use backoff_cloud::{LogLevel, Policy, http::{self, ApiError}, openai};
//! use tower::{BoxError, service_fn};
//!
//! const REQUEST: Policy = openai::REQUEST.max_attempts(4).log_waits(LogLevel::Warn);
//!
//! pub fn client(config: OpenAIConfig, sender: reqwest::Client) -> Client<OpenAIConfig> {
//!     let service = service_fn(move |factory: HttpRequestFactory| {
//!         let sender = sender.clone();
//!         async move {
//!             REQUEST
//!                 .retry(async || {
//!                     let request = factory.build().await?;
//!                     let reply = sender.execute(request).await.map_err(ApiError::from)?;
//!                     Ok::<_, BoxError>(http::check(reply).await?)
//!                 })
//!                 .await
//!         }
//!     });
//!     Client::with_config(config).with_http_service(service)
//! }
//! ```
//!
//! | replies | theirs | ours |
//! |---|---|---|
//! | 429 with `retry-after-ms: 1500`, 200 | the second request after 0.1 s | after 1.5 s |
//! | 429 with `retry-after: 3600`, 200 | waits for an hour (on a paused clock), done | 1 request, error with the hint |
//! | 503 always | 4 requests in 0.7 s, error | 4 requests in 3.2 s, error |
//!
//! The port is short because its numbers, statuses and codes are in [`openai`](crate::openai). After a closed
//! connection the answer may be paid for twice. A program that matches `OpenAIError::ApiError` gets
//! `OpenAIError::Boxed`, and must downcast it to `ApiError`. `.attempt_timeout(..)` after `.retry(..)` ends a server
//! that says nothing.
//!
//! Previous: [Coming from another crate](super::coming_from) · next: [Comparison](super::comparison)
