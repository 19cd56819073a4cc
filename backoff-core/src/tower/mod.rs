//! A layer of [tower](https://docs.rs/tower) that sends each request by a policy, around any client that is
//! a `Service`: hyper-util's, reqwest's, a channel of tonic. Feature `tower`.
//!
//! ```
//! use backoff_core::{Policy, codes};
//! use tower::{Service as _, ServiceBuilder, ServiceExt as _};
//! # use backoff_core::TimedOut;
//! # use http_1::{Request, Response};
//!
//! const POLICY: Policy = Policy::exponential().on(codes![429, 502..=504]);
//!
//! # #[cfg(feature = "tokio")]
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let mut statuses = [503, 429, 200].into_iter().cycle();
//! # let statuses = std::sync::Arc::new(std::sync::Mutex::new(statuses));
//! # let client = tower::service_fn(move |_: Request<String>| {
//! #     let reply = Response::builder().status(statuses.lock().unwrap().next().unwrap());
//! #     std::future::ready(Ok::<_, TimedOut>(reply.body("a page").unwrap()))
//! # });
//! let mut client = ServiceBuilder::new().layer(POLICY.layer()).service(client);
//!
//! let request = Request::get("http://127.0.0.1/").body(String::new()).unwrap();
//! let response = client.ready().await.unwrap().call(request).await.unwrap();
//! assert_eq!(response.status(), 200);
//! # }
//! # #[cfg(not(feature = "tokio"))] fn main() {}
//! ```
//!
//! The layer has no rules of its own: policy, state machine and events are those of [`Policy::retry`](crate::Policy::retry).
//! A response is judged as an error is ([`Retrying::responses`](crate::Retrying::responses)): after a
//! 503 with `Retry-After` the layer waits, and the caller gets the last response unchanged. The
//! deadline counts from the first attempt. Each success refills the budget, even at the first attempt.
//!
//! # What may be sent twice
//!
//! The first line that applies decides.
//!
//! | | may be made twice |
//! |---|---|
//! | the extension [`Idempotent`] of an `http::Request` | as this setting says |
//! | [`RetryLayer::idempotent`] | as this setting says |
//! | a policy with [`idempotent(false)`](crate::Policy::idempotent), but not [`idempotent_by_method`](crate::Policy::idempotent_by_method) | `GET`, `HEAD`, `OPTIONS`, `TRACE`, `QUERY`, which change nothing |
//! | `GET`, `HEAD`, `OPTIONS`, `TRACE`, `QUERY`, `PUT`, `DELETE` | yes ([RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2), section 9.2.2) |
//! | the header `Idempotency-Key`, if it is not empty | yes |
//! | `If-Match` with an etag, `If-None-Match: *` | yes |
//! | everything else: `POST`, `PATCH`, a call of gRPC | no |
//!
//! A request that may not be made twice is sent again only after a failure that surely did nothing: a
//! connection that was refused, 429. For a request type of your own, implement [`Outgoing`].
//!
//! # Which bodies can be sent again
//!
//! | body | write |
//! |---|---|
//! | `Clone`: `Full<Bytes>`, `Empty<Bytes>`, `String` | nothing |
//! | a request of reqwest | nothing; with a stream as its body it is sent once |
//! | tonic's or axum's `Body` | [`.replaying(64 * 1024, Body::new)`](RetryLayer::replaying) |
//! | any other | [`.cloned_by(..)`](RetryLayer::cloned_by) |
//!
//! Without the right method the layer makes no service, and the compiler says what is missing:
//!
//! ```compile_fail,E0277
//! use backoff_core::{Policy, TimedOut};
//! use tower::Layer as _;
//! # use http_1::{Request, Response};
//!
//! struct Stream; // not `Clone`
//! # #[derive(Clone)] struct Client;
//! # impl tower::Service<Request<Stream>> for Client {
//! #     type Response = Response<()>;
//! #     type Error = TimedOut;
//! #     type Future = std::future::Ready<Result<Response<()>, TimedOut>>;
//! #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), TimedOut>> { unreachable!() }
//! #     fn call(&mut self, _: Request<Stream>) -> Self::Future { unreachable!() }
//! # }
//! fn is_service(_: impl tower::Service<Request<Stream>>) {}
//! is_service(Policy::exponential().layer().layer(Client));
//! ```
//!
//! A request that cannot be copied at run time is sent once, and the reason to give up is
//! [`StopReason::Unrepeatable`](crate::StopReason::Unrepeatable).
//!
//! # Which errors are understood
//!
//! The service's error is a [`Fault`](trait@crate::Fault): reqwest's error with the feature
//! `reqwest-013`, the error of hyper-util's client with `hyper-util-01`, tonic's with `tonic-014`.
//! Behind `BoxError`, the error of tower's own layers, the error is found along its sources. Nothing is
//! known about an error of tower itself, such as the `Elapsed` of its `TimeoutLayer`, so such an error
//! is not retried: cut attempts by [`RetryLayer::attempt_timeout`] instead, or judge such errors by
//! [`Policy::when_any`](crate::Policy::when_any): `POLICY.when_any(|error: &BoxError| ..).layer()`.
//!
//! When a gRPC call fails before any message, the code is in the headers of the response. Nearly every
//! server does this for a unary call. The layer does not see a code in the trailers after a message.
//!
//! # As a middleware of reqwest
//!
//! With the feature `reqwest-middleware-05` the same layer is a `Middleware` of reqwest-middleware, with all its
//! settings:
//!
//! ```
//! # #[cfg(all(feature = "reqwest-middleware-05", feature = "tokio"))] {
//! # use reqwest_013 as reqwest;
//! # use reqwest_middleware_05 as reqwest_middleware;
//! # use std::{pin::Pin, sync::atomic::{AtomicUsize, Ordering::Relaxed}};
//! use backoff_core::{Policy, codes};
//! use reqwest_middleware::ClientBuilder;
//! # type Sent<'a> = Pin<Box<dyn Future<Output = reqwest_middleware::Result<reqwest::Response>> + Send + 'a>>;
//! # fn server<'a>(_: reqwest::Request, _: &'a mut http_1::Extensions, _: reqwest_middleware::Next<'a>) -> Sent<'a> {
//! #     static REQUESTS: AtomicUsize = AtomicUsize::new(0);
//! #     let reply = http_1::Response::builder().status([503, 429, 200][REQUESTS.fetch_add(1, Relaxed)]);
//! #     Box::pin(std::future::ready(Ok(reply.body("a page").unwrap().into())))
//! # }
//!
//! const POLICY: Policy = Policy::exponential().on(codes![429, 502..=504]);
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // One loop is enough: reqwest repeats some requests by itself.
//! let client = reqwest::Client::builder().retry(reqwest::retry::never()).build()?;
//! let client = ClientBuilder::new(client).with(POLICY.layer());
//! # let client = client.with(server);
//! let response = client.build().get("http://127.0.0.1/").send().await?;
//! assert_eq!(response.status(), 200);
//! # Ok(()) }
//! # main().unwrap();
//! # }
//! ```
//!
//! - A middleware that is added before the layer sees a call, one that is added after it sees each attempt.
//! - The caller gets the last response, also a 503. Its body is read after the retry.
//! - A request whose body is a stream is sent once.
//! - `.with_extension(Idempotent(true))` says of one request that it may be made twice.
//! - The name of the operation is the method of the request, such as `GET`.
//! - An attempt gets the extensions that the attempt before it has left, unless that was cut.
//! - The error of another middleware is judged by the known error in it. If it has none, it is not retried.
//! - After a redirect, a 429 counts as the reply of the first server. For requests that must not be made twice, build the client
//!   with `redirect::Policy::none()`.
//!
//! # A program that shuts down
//!
//! [`RetryLayer::stop_on`] ends the waits of all requests by one signal, and [`RetryLayer::cut_on`]
//! also cuts the attempts.
//!
//! # Beside `tower::retry`
//!
//! `tower::retry` has no policy: it has a trait, and its user writes the rules. Most people write this
//! first:
//!
//! ```ignore
//! #[derive(Clone)]
//! struct Attempts {
//!     left: u32,
//!     budget: Arc<TpsBudget>,
//!     backoff: ExponentialBackoff,
//! }
//!
//! impl<B: Clone, R, E> retry::Policy<Request<B>, Response<R>, E> for Attempts {
//!     type Future = tokio::time::Sleep;
//!
//!     fn retry(&mut self, _: &mut Request<B>, result: &mut Result<Response<R>, E>) -> Option<Self::Future> {
//!         match result {
//!             Ok(response) if !response.status().is_server_error() => None,
//!             _ if self.left > 0 && self.budget.withdraw() => {
//!                 self.left -= 1;
//!                 Some(self.backoff.next_backoff())
//!             }
//!             _ => None,
//!         }
//!     }
//!
//!     fn clone_request(&mut self, request: &Request<B>) -> Option<Request<B>> {
//!         Some(request.clone())
//!     }
//! }
//! ```
//!
//! This compiles, and its tests pass. Two things go wrong under load:
//!
//! - **Nothing refills the budget.** After a success your code must call `budget.deposit()`. Without
//!   this call the budget has only its reserve (10 retries a second by default), however many requests
//!   succeed. Even with this call, the success of a request whose `clone_request` returns `None` does
//!   not count, because `retry` is not called then.
//! - **All requests wait alike.** Each request gets a clone of the policy, and the generator of its
//!   jitter is cloned with it. So all requests that fail at the same time come back at the same time.
//!
//! Besides, a `POST` whose reply is lost is sent twice, 429 is not retried but a certificate that is
//! not trusted is, `Retry-After` is not read, and there is no deadline. With this library the same
//! layer is `.layer(POLICY.layer())`.

mod copies;
mod layer;
#[cfg(feature = "reqwest-middleware-05")]
mod middleware;
mod outgoing;
mod replay;
mod sends;
mod signal;

pub use copies::{Cloned, ClonedBy, Copies, Prepared, Replaying};
pub use layer::{LayerSettings, Reply, Retry, RetryLayer};
#[cfg(feature = "reqwest-middleware-05")]
#[doc(hidden)]
pub use middleware::Chain;
pub use outgoing::{Idempotent, Outgoing};
pub use replay::Replay;
pub use sends::{Sending, Sends};
pub use signal::{CutOn, Signals, StopOn};

#[cfg(doc)]
use crate::policy::Policy;
