//! A policy as a layer around an HTTP or gRPC client that is a `Service` of tower, or as a middleware of reqwest.
//!
//! Turn the feature `tower` on, and the feature of your client, whose errors the policy then understands.
//! The snippets need these crates:
//!
//! ```sh
//! cargo add backoff-cloud --features http,tower
//! cargo add tower --features buffer,limit,util
//! cargo add bytes http http-body-util reqwest-middleware thiserror
//! ```
//!
//! | client | feature | the body |
//! |---|---|---|
//! | reqwest 0.13 | `http`, or `reqwest-013` | is copied; a stream is sent once |
//! | hyper-util's `legacy::Client` | `hyper-util-01` | `Full<Bytes>` and `Empty<Bytes>` are copied |
//! | reqwest-middleware 0.5 | `reqwest-middleware-05` | is copied; a stream is sent once |
//! | a channel of tonic 0.14 | `tonic-014` | `.replaying(64 * 1024, Body::new)` |
//! | your own | your error implements [`Fault`](trait@crate::Fault) | `Clone`, or `.cloned_by(..)` |
//!
//! [The module's page](mod@crate::tower) has the tables of requests and bodies. If your program has one client and no
//! other layers, the call form (`POLICY.send(request)`, `#[retry]`) is simpler: it reads the body within the attempt.
//!
//! # Around a client
//!
//! reqwest's client is a service by itself:
//!
//! ```no_run
//! use backoff_cloud::plain_http;
//! use tower::{Service as _, ServiceBuilder, ServiceExt as _};
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! // One loop is enough: reqwest repeats some requests by itself.
//! let client = reqwest::Client::builder().retry(reqwest::retry::never()).build()?;
//! let mut client = ServiceBuilder::new().layer(plain_http::BY_METHOD.layer()).service(client);
//!
//! let request = reqwest::Request::new(reqwest::Method::GET, "https://example.com/a".parse()?);
//! let response = client.ready().await?.call(request).await?;
//! # drop(response); Ok(()) }
//! ```
//!
//! hyper-util. Its client has no time limit, so a server that does not answer holds the call for ever. Give each
//! attempt [a limit](#a-limit-for-each-attempt):
//!
//! ```ignore
#![doc = include_str!("examples/hyper.rs")]
//! ```
//!
//! A channel of tonic: [gRPC](super::grpc).
//!
//! # As a middleware of reqwest
//!
//! With the feature `reqwest-middleware-05` the layer is a `Middleware` of [reqwest-middleware]. Such a program needs no
//! `tower`:
//!
//! ```ignore
#![doc = include_str!("examples/middleware.rs")]
//! ```
//!
//! What this page says of layers holds for middleware, too: the caller gets the last response, and a middleware
//! that is added before this one stands outside of the retry. `attempt_timeout` needs no `map_err` here. To say of one
//! request whether it may be made twice, write `.with_extension(Idempotent(true))`. [The module's
//! page](crate::tower#as-a-middleware-of-reqwest) has the rest.
//!
//! `send` protects more: it reads the body within the attempt, finds errors in a body and the [codes of a
//! service](crate::http::ApiError::service_code), and does not repeat a `POST` because the server after a redirect did nothing.
//!
//! [reqwest-middleware]: https://docs.rs/reqwest-middleware
//!
//! # What the caller gets
//!
//! The service keeps its types. A call that is given up ends with the last error, or with the last response as it
//! came: `Ok` with a 503 is what a caller sees when all attempts were answered by 503. A `POST` is sent once, because
//! a 503 does not say that nothing was done, unless its sender knows better:
//!
//! ```
//! use backoff_cloud::tower::Idempotent;
//! # use http_1 as http;
//! use http::Request;
//!
//! let search = Request::post("http://127.0.0.1/").extension(Idempotent(true)).body("title: 7");
//! # assert!(search.is_ok());
//! ```
//!
//! # The body of the response
//!
//! An attempt ends with the head of the response. A connection that breaks while the body is read gives its error to
//! the reader, and nothing is repeated. Where bodies are short, read them below the retry, by an `and_then` between
//! the layer and the client that collects the body, so that reading is a part of the attempt.
//!
//! # The order of layers
//!
//! In a `ServiceBuilder` the first layer is the outer one. A layer outside of the retry sees a call once;
//! a layer inside sees each attempt.
//!
//! | layer | outside of the retry | inside of the retry |
//! |---|---|---|
//! | a time limit | bounds the call with its waits, and loses the last error: prefer the policy's `deadline` | bounds an attempt; tower's own `Elapsed` is not repeated, so use [`.attempt_timeout(..)`](#a-limit-for-each-attempt) |
//! | `rate_limit` | counts calls; retries are not limited | counts attempts: **inside**, if the quota is the server's |
//! | `concurrency_limit` | a call keeps its place while it waits | a place is held by an attempt alone: **inside** |
//! | `load_shed` | **outside**: refuses calls that were not begun | ends a call that was begun, because the error of a refusal says nothing |
//! | a load balancer | all attempts go to one server | each attempt chooses: **inside** |
//! | a circuit breaker | an outage counts as one failure for each call | each attempt counts: **inside**, or a [`Breaker`](crate::Breaker) in the policy |
//! | authentication, signatures with a time | an old token is sent again | a new one for each attempt: **inside**, or [`.prepare(..)`](crate::tower::RetryLayer::prepare) |
//! | a span or a log line for each request | one for each call | one for each attempt |
//!
//! `.prepare(|attempt, request| ..)` changes the request of each attempt without a layer of your own: it sets a header
//! with the attempt's number or a token that is at hand, and sends the second request of a
//! [hedge](super::hedging#how-to-write-it) to another replica.
//!
//! The layer clones the service inside for each call, because a request that is sent again needs a service
//! that was made ready anew. `rate_limit` and a balancer are not `Clone`: put a `buffer` around them.
//!
//! ```
//! use backoff_cloud::Policy;
//! # use http_1 as http;
//! use http::{Request, Response};
//! use std::{sync::atomic::{AtomicU32, Ordering::Relaxed}, time::Duration};
//! use tower::{BoxError, ServiceBuilder, ServiceExt as _, service_fn};
//!
//! const POLICY: Policy = Policy::exponential().deadline(Duration::from_secs(60));
//! static CALLS: AtomicU32 = AtomicU32::new(0);
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), BoxError> {
//! // Your client; this one answers with 503, 503, 200.
//! let client = service_fn(async |_: Request<String>| {
//!     let status = if CALLS.fetch_add(1, Relaxed) < 2 { 503 } else { 200 };
//!     Ok::<_, BoxError>(Response::builder().status(status).body(())?)
//! });
//! let client = ServiceBuilder::new()
//!     .concurrency_limit(100) // calls at the same time, with those that wait
//!     .layer(POLICY.layer().attempt_timeout(Duration::from_secs(40)))
//!     .buffer(100)            // makes what follows `Clone`; its error is a `BoxError`
//!     .rate_limit(1, Duration::from_secs(10)) // attempts, as the server's quota counts them
//!     .service(client);
//!
//! let begin = tokio::time::Instant::now();
//! let request = Request::get("http://127.0.0.1/").body(String::new())?;
//! assert_eq!(client.oneshot(request).await?.status(), 200);
//! // Three attempts, ten seconds apart.
//! assert_eq!(begin.elapsed().as_secs(), 20);
//! # Ok(()) }
//! ```
//!
//! `attempt_timeout` also counts the time that an attempt waits for its place in the rate limit.
//!
//! # A limit for each attempt
//!
//! An attempt that [`attempt_timeout`](crate::tower::RetryLayer::attempt_timeout) cuts has no error of its own.
//! So **the error of the service below the layer needs `From<TimedOut>`**. `BoxError` has it, and so have
//! the errors of this library. An error of your own gets it by a variant:
//!
//! ```
//! use backoff_cloud::{Fault, TimedOut};
//!
//! #[derive(Debug, thiserror::Error, Fault)]
//! enum ClientError {
//!     #[error("the reply cannot be read")]
//!     #[fault(permanent)]
//!     Malformed,
//!     #[error(transparent)]
//!     #[fault(forward)]
//!     TimedOut(#[from] TimedOut),
//! }
//! # fn is_from<E: From<TimedOut>>() {}
//! # is_from::<ClientError>();
//! ```
//!
//! The error of somebody else's client goes into a `BoxError` by `map_err`, between the layer and the client. Its
//! facts are found in there:
//!
//! ```
//! use backoff_cloud::Policy;
//! # use http_1 as http;
//! use http::{Request, Response};
//! use std::time::Duration;
//! use tower::{BoxError, ServiceBuilder, ServiceExt as _, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! // Your client; this one never replies.
//! let client = service_fn(|_: Request<String>| {
//!     std::future::pending::<Result<Response<()>, std::io::Error>>()
//! });
//! let layer = Policy::exponential().max_attempts(2).layer();
//! let client = ServiceBuilder::new()
//!     .layer(layer.attempt_timeout(Duration::from_secs(10)))
//!     .map_err(|error| BoxError::from(error))
//!     .service(client);
//!
//! let request = Request::get("http://127.0.0.1/").body(String::new()).unwrap();
//! let error = client.oneshot(request).await.unwrap_err();
//! assert!(error.is::<backoff_cloud::TimedOut>());
//! # }
//! ```
//!
//! Without `From<TimedOut>` the layer makes no service, and rustc says only that the trait bounds of `Retry<..>` were
//! not satisfied. With [`cut_on`](crate::tower::RetryLayer::cut_on) `From<Stopped>` is needed, too.
//!
//! # Instead of `tower::retry`
//!
//! One loop is enough: take tower's retry layer out where this layer goes in. [Coming from others](super::coming_from)
//! has a table of names.
//!
//! Previous: [Polling, pages and streams](super::polling_pages_streams) · next: [gRPC](super::grpc)
