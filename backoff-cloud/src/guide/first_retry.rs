//! After this page you can write a program that calls a service and tries again when the service
//! fails. It takes two minutes.
//!
//! # Add the library
//!
//! (Until the crates are published, use a path to a clone of the repository:
//! `cargo add backoff-cloud --path ../backoff/backoff-cloud --features http`.)
//!
//! ```sh
//! cargo add backoff-cloud --features http
//! cargo add reqwest@0.13 --features json # for `.json(..)` of a request
//! cargo add serde_json
//! cargo add tokio --features macros,rt-multi-thread
//! ```
//!
//! The feature `http` sends requests of reqwest 0.13. Without it the library works with any other
//! client, and then the default features suffice.
//!
//! # One request
//!
//! A *policy* holds the rules: which failures are retried, how long to wait, and when to give up.
//! [`plain_http::BY_METHOD`](crate::plain_http::BY_METHOD) is a policy for requests to any HTTP service. Give
//! the request to [`send`](crate::http::SendExt::send), and say what you want of the reply:
//!
//! ```no_run
//! use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), ApiError> {
//!     let client = reqwest::Client::new();
//!     let url = "https://api.github.com/repos/rust-lang/rust";
//!     let request = client.get(url).header("user-agent", "my-program");
//!     let repository: serde_json::Value = plain_http::BY_METHOD.send(request).json().await?;
//!     println!("{} stars", repository["stargazers_count"]);
//!     Ok(())
//! }
//! ```
//!
//! If the service answers 503, or if the connection breaks, the same request is sent again. A status
//! that is not 2xx is an error, so you need no `error_for_status`. A `POST` is not sent twice, unless
//! the first one surely did nothing; [the page on idempotency](super::idempotency) says how to change
//! that.
//!
//! # A whole function
//!
//! An attempt is often more than one request, or your client is not reqwest. Then put
//! [`#[retry]`](macro@crate::retry) on the function. The function keeps its signature, and its body runs
//! from the start in each attempt. [`plain_http::IDEMPOTENT`](crate::plain_http::IDEMPOTENT) is your word that
//! it may: this function only reads. Nobody looks at the requests in it, so a `POST` would be repeated too.
//!
//! ```no_run
//! use backoff_cloud::{http::{self, ApiError}, plain_http, retry};
//! use serde_json::Value;
//!
//! #[retry(policy = plain_http::IDEMPOTENT, max_attempts = 3)]
//! async fn owner(client: &reqwest::Client, repository: &str) -> Result<Value, ApiError> {
//!     let found: Value = http::json(client.get(repository).send().await?).await?;
//!     let owner = found["owner"]["url"].as_str().unwrap_or_default();
//!     http::json(client.get(owner).send().await?).await
//! }
//! ```
//!
//! `max_attempts = 3` changes one rule of the policy. Every rule has a key; the
//! [attribute's page](macro@crate::retry#keys) has the table. The attribute works on blocking functions
//! too, and then needs no runtime: [Blocking programs](super::blocking).
//!
//! # What happens by default
//!
//! [`Policy::explain`](crate::Policy::explain) says what a policy does, in words:
//!
//! ```
//! use backoff_cloud::plain_http;
//!
//! assert_eq!(
//!     plain_http::BY_METHOD.explain().to_string(),
//!     "waits 1s, doubling up to 64s, each drawn from zero up to that; \
//!      retries {408, 425, 429, 500, 502..=504, \
//!      UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL, UNAVAILABLE} \
//!      and failures of the connection, \
//!      but repeats a request that may have been applied only if its HTTP method or headers allow that; \
//!      gives up after 5 attempts, \
//!      or when the server asks for more than 300s",
//! );
//! ```
//!
//! - The first wait is a random time up to 1 s, the next one up to 2 s, then 4 s, then 8 s.
//! - If the service asks for a longer wait by `Retry-After`, the library waits that long, up to five
//!   minutes.
//! - After five attempts your program gets the error of the last one. A `timeout` or a `deadline` replaces this limit:
//!   write `max_attempts(5)` too if you want to keep the five.
//! - An attempt ends if no reply has begun after ten minutes. Add `.attempt_timeout(..)` after `.json()` for a
//!   shorter limit, as below. [Waits and limits](super::waits_and_limits) explains all limits.
//!
//! # See the retries
//!
//! [`notify`](crate::Retrying::notify) takes a closure, which is called with each [`Event`](crate::Event).
//! In this program nobody listens at the address at first:
//!
//! ```
//! use backoff_cloud::{http::SendExt as _, plain_http};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # let _ = rustls::crypto::ring::default_provider().install_default();
//! # // A socket that does not listen holds the port, so that every connection is refused.
//! # let deaf = tokio::net::TcpSocket::new_v4().unwrap();
//! # deaf.bind(([127, 0, 0, 1], 0).into()).unwrap();
//! # let deaf_url = format!("http://{}/", deaf.local_addr().unwrap());
//! # let mut seen = Vec::new();
//! // Waits that are a hundred times shorter, for this demonstration only.
//! let policy = plain_http::BY_METHOD.scaled(0.01);
//! let client = reqwest::Client::new();
//! let url = "http://127.0.0.1:8000/"; // nobody listens there
//! # let url = deaf_url.as_str();
//! let outcome = policy
//!     .send(client.get(url))
//!     .text()
//!     .attempt_timeout(Duration::from_secs(10))
//!     .notify(|event| {
//!         println!("{event}");
//! #       seen.push(event.to_string());
//!     })
//!     .await;
//! assert!(outcome.is_err());
//! # assert!(seen[0].starts_with("attempt 1 of 5 failed, next in "), "{}", seen[0]);
//! # assert!(seen[0].ends_with("Connection refused (os error 111)") || !cfg!(target_os = "linux"), "{}", seen[0]);
//! # assert!(seen[4].starts_with("gave up after 5 attempts (attempts): "), "{}", seen[4]);
//! # assert_eq!(seen.len(), 5);
//! # }
//! ```
//!
//! With the true waits, one run printed this. (The URL is left out here, and the second part of the
//! error after the first line.)
//!
//! ```text
//! attempt 1 of 5 failed, next in 162.6ms: error sending request for url (…): client error (Connect): tcp connect error: Connection refused (os error 111)
//! attempt 2 of 5 failed, next in 1.8s: error sending request for url (…): …
//! attempt 3 of 5 failed, next in 2.2s: error sending request for url (…): …
//! attempt 4 of 5 failed, next in 4.6s: error sending request for url (…): …
//! gave up after 5 attempts (attempts): error sending request for url (…): …
//! ```
//!
//! A larger program uses a log. Turn on the feature `tracing`, add the crate `tracing-subscriber`, and
//! call `tracing_subscriber::fmt::init()` in the first line of `main`. Then every call of the program
//! writes these events, without a closure:
//!
//! ```sh
//! cargo add backoff-cloud --features http,tracing
//! cargo add tracing-subscriber
//! ```
//!
//! ```text
//! INFO backoff: attempt failed, waiting before the next operation="…" attempt=1 delay=0.1626 source="backoff" elapsed=0.0004 code=503 error=HTTP 503
//! INFO backoff: succeeded after retries operation="…" attempts=2 elapsed=0.1647
//! ```
//!
//! # Next steps
//!
//! - The library has more than these two forms: [Which of these do I need](super::which).
//! - You call a service of Google Cloud, AWS or Azure: take the policy of that service from the
//!   [table of presets](crate::presets).
//! - You have an error type of your own: [Errors](super::errors).
//! - You create or change something: [Idempotency](super::idempotency), and
//!   [Read, modify, write](super::read_modify_write).
//! - You want to test it: [Testing](super::testing).
//!
//! Next: [Why retries, and why they hurt](super::why_retries)
