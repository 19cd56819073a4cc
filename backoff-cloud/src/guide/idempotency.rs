//! After this page you can retry a request that creates or changes something, and nothing is created
//! twice.
//!
//! # The problem
//!
//! A request may arrive, be carried out, and its reply may be lost. The client sees a failure. If it sends the request
//! again, the work is done twice. So the first question about a failure is whether the request was applied:
//!
//! | failure | applied? |
//! |---|---|
//! | no such name, connection refused, connect timeout | no |
//! | 429, 408, 425, 449, 403; a conflict (409, 412, `ABORTED`) | no: the server says so |
//! | 500, 502, 503, 504 | perhaps: a proxy may answer for a server that did the work |
//! | connection reset, reply cut, attempt timed out | perhaps |
//!
//! A request is *idempotent* if it does no harm when it is applied twice: a read, a `PUT` of the same
//! value, a `DELETE`, a write with a precondition. For such a request, all these failures may be
//! retried, as far as the policy names them.
//!
//! # What the library assumes
//!
//! | form | a request is idempotent |
//! |---|---|
//! | `POLICY.send(request)` (feature `http`), as with [`plain_http::BY_METHOD`](crate::plain_http::BY_METHOD) | by its method and headers: a `GET`, `PUT` or `DELETE` is, a `POST` or `PATCH` is not; [all rules](crate::http::Sending#which-requests-are-repeated) |
//! | a layer of tower | by the same rules; see [tower](mod@super::tower) |
//! | `#[retry]`, `retry_block!`, a closure: nobody sees the request | always, unless the policy says otherwise |
//! | `update`, `iam::add`, `iam::Members` | the write has a precondition, and the update reads again before it writes |
//!
//! So a function that sends a `POST` has to say so. Write `idempotent = false` in the attribute,
//! [`.idempotent(false)`](crate::Policy::idempotent) on the policy, or take a preset for such requests:
//! [`plain_http::NOT_IDEMPOTENT`](crate::plain_http::NOT_IDEMPOTENT),
//! [`iam::NOT_IDEMPOTENT`](crate::iam::NOT_IDEMPOTENT),
//! [`storage::NOT_IDEMPOTENT`](crate::storage::NOT_IDEMPOTENT),
//! [`aip194::NOT_IDEMPOTENT`](crate::aip194::NOT_IDEMPOTENT). The page of each module says what its `REQUEST`
//! assumes in an attribute.
//!
//! # A request that must not be made twice
//!
//! Such a call repeats only what was surely not applied. After any other failure that the policy would repeat, the
//! call ends at once, and the reason is [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied).
//! [`reported`](crate::Retrying::reported) puts the reason into the error. Then look whether the thing is there. The
//! service here is [the emulator](super::testing#a-service-that-fails-on-command).
//!
//! A failure that the policy would not repeat ends with `Permanent`, and that does not mean "not applied": only a 4xx
//! says no. If the service answers 201 without JSON, read the reply by `.json::<()>()` or `.reply()`.
//!
//! ```rust,ignore
//! use backoff_cloud::{StopReason, http::SendExt as _, plain_http};
//! use emulator::{Call, Emulator, Reply};
//! use serde_json::Value;
//!
//! let emulator = Emulator::start()?;
//! // The instance is created, and then the reply is a 503.
//! emulator.script(Call::CreateInstance, [Reply::status(503).applied()]);
//!
//! let client = reqwest::Client::new();
//! let instances = format!("{}/v1/projects/p/locations/l/instances", emulator.url());
//!
//! let create = client.post(format!("{instances}?instanceId=cache")).body("{}");
//! let created = plain_http::BY_METHOD.send(create).json::<Value>().reported().await;
//! let gave_up = created.unwrap_err();
//! assert_eq!((gave_up.reason, gave_up.report.attempts), (StopReason::MaybeApplied, 1));
//! ```
//!
//! An annotated function keeps its error type. There a closure in `notify` sees the reason, in
//! [`Event::GaveUp`](crate::Event::GaveUp).
//!
//! Sometimes the code around an error knows more than the error. A database rolls a transaction back if
//! its connection breaks before `COMMIT`. Put such an error into
//! [`NotApplied`](crate::NotApplied), and the call goes on.
//!
//! # A key for each call
//!
//! Many services take a key with a request. A second request with the same key is not carried out: the service answers
//! as it answered the first one. Then the request may be retried after any failure. Use a key only if the service
//! documents the key: a service that does not read it makes a second order.
//!
//! | service | where the key goes |
//! |---|---|
//! | Stripe, and APIs that follow the draft of the IETF | header `Idempotency-Key` |
//! | Google Cloud ([AIP-155](https://google.aip.dev/155)) | field or query parameter `requestId` |
//! | AWS | `ClientToken`, `ClientRequestToken`, by service |
//!
//! [`Attempt::id`](crate::Attempt::id) is such a key: a random UUID, the same in all attempts of a call,
//! and another one in the next call. For the header there is
//! [`idempotency_key`](crate::http::Sending::idempotency_key):
//!
//! ```no_run
//! use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
//! use serde_json::Value;
//!
//! async fn order(client: &reqwest::Client, url: &str) -> Result<Value, ApiError> {
//!     let order = client.post(url).header("content-type", "application/json").body(r#"{"book": 7}"#);
//!     plain_http::BY_METHOD.send(order).idempotency_key().json().await
//! }
//! ```
//!
//! If the service still makes the order, it answers the second attempt with 409, and the call goes on:
//! [the rules](crate::http::Sending#the-reply-to-a-repeated-request).
//!
//! For any other place, ask for the attempt, by `attempt = n` in the attribute or by
//! [`retry_with`](crate::Policy::retry_with):
//!
//! ```no_run
//! use backoff_cloud::{http::{self, ApiError}, memorystore, retry};
//! use serde_json::Value;
//!
//! #[retry(policy = memorystore::REQUEST, attempt = n)]
//! async fn create(client: &reqwest::Client, instances: &str) -> Result<Value, ApiError> {
//!     let url = format!("{instances}?instanceId=cache&requestId={}", n.id());
//!     http::json(client.post(url).body("{}").send().await?).await
//! }
//! ```
//!
//! # The id of a call ends with the call
//!
//! A program that takes its work from a queue gets a message again after a crash. The second delivery is a new call
//! with a new id. So the key has to come from the message:
//!
//! ```no_run
//! use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
//!
//! struct Message { id: String, body: String }
//!
//! async fn handle(client: &reqwest::Client, message: &Message) -> Result<(), ApiError> {
//!     let order = client
//!         .post("https://shop.example.com/orders")
//!         .header("Idempotency-Key", format!("orders/{}", message.id))
//!         .body(message.body.clone());
//!     // The header says that the request may be repeated; `idempotency_key()` would leave it as it is.
//!     plain_http::BY_METHOD.send(order).json::<()>().await
//! }
//! ```
//!
//! The same holds for a user who presses a button again. Know also how long the service remembers a key: after that
//! time a copy counts as a new request.
//!
//! Previous: [Waits and limits](super::waits_and_limits) · next: [Read, modify, write](super::read_modify_write)
