//! GitHub's REST API.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | any request | [`REQUEST`] |
//!
#![doc = page_of!(github::REQUEST)]
//!
//! # What is retried
//!
//! 408, 429, 500, 502, 503, 504, failures of the connection, and a 403 that is a limit: see [`kind`]. Any other 403 is
//! final. Under this policy a 403 needs no mark of GitHub, so that a server for tests and GitHub Enterprise behind a
//! proxy are understood; under other policies `http::ApiError` knows GitHub by the header `x-github-request-id`.
//!
//! | limit | sign | wait |
//! |---|---|---|
//! | primary | 403 or 429 with `x-ratelimit-remaining: 0` | until `x-ratelimit-reset` |
//! | secondary | 403 or 429 with `retry-after` | as it says |
//! | secondary | 403 or 429 whose message names a secondary rate limit or an abuse detection mechanism | a minute, doubling |
//!
//! **A primary limit is refilled after an hour at most.** A hint of more than five minutes ends the call, as with
//! every policy of this library, and `last_retry_after` has the time. A batch waits for it outside of the call:
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut, github};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), TimedOut> {
//! # let mut pages = vec![(); 3];
//! # let fetch = async |_: ()| Ok::<_, TimedOut>(());
//! while let Some(page) = pages.pop() {
//!     let Err(gave_up) = github::REQUEST.retry(|| fetch(page)).reported().await else { continue };
//!     match gave_up.last_retry_after() {
//!         Some(reset) if reset <= Duration::from_secs(3_600) => tokio::time::sleep(reset).await,
//!         _ => return Err(gave_up.error),
//!     }
//!     pages.push(page);
//! }
//! # Ok(()) }
//! ```
//!
//! Or one call may wait so long: `github::REQUEST.max_retry_after(Duration::from_secs(3_600))`. With a `Rate`, all calls
//! wait for the next window before the first 403: see [the program of the guide](crate::guide::quotas#github).
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{github, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Client;
//! # impl Client { async fn stars(&self, _: &str) -> Result<u32, ApiError> { Ok(7) } }
//!
//! #[retry(policy = github::REQUEST, timeout = "10m")]
//! async fn stars(client: &Client, repository: &str) -> Result<u32, ApiError> {
//!     client.stars(repository).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert_eq!(stars(&Client, "a/b").await.unwrap(), 7) }
//! ```

use backoff_core::{Fault, FaultKind, Jitter, Policy, codes};
use std::time::Duration;

/// One request. 408, 429, 500, 502, 503, 504, failures of the connection and limits are retried: four attempts.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** For a `POST` write
/// `idempotent = false`; `REQUEST.send(request)` (feature `http`) knows it by the method.
///
/// Sources and an example: [the module](self).
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .throttled_base(Duration::from_secs(60))
    .factor(2.0)
    .max_backoff(Duration::from_secs(240))
    .jitter(Jitter::Additive(Duration::from_secs(1)))
    .max_attempts(4)
    .on(codes![408, 429, 500, 502..=504])
    .throttled_if(is_limit)
    .retry_after_alone(true)
    .name("github::REQUEST");

/// The kind of an error by its status, its headers and its message: throttled, if a limit was met; `None` otherwise, so
/// that the status decides. For [`Fault::kind`] of your own error. [`REQUEST`] calls this function
/// for every error that knows its headers, such as `http::ApiError` (feature `http`) and the responses of the crate
/// `http`. Under other policies `http::ApiError` calls this function only for a reply with the header
/// `x-github-request-id`.
///
/// ```
/// use backoff_cloud::{FaultKind, github};
///
/// let none = |_: &str| None;
/// let used_up = |name: &str| (name == "x-ratelimit-remaining").then_some("0");
/// let secondary = "You have exceeded a secondary rate limit. Please wait a few minutes.";
/// assert_eq!(github::kind(403, used_up, ""), Some(FaultKind::Throttled));
/// assert_eq!(github::kind(403, none, secondary), Some(FaultKind::Throttled));
/// assert_eq!(github::kind(403, none, "Resource not accessible by integration"), None);
/// ```
pub fn kind<'h>(
    status: u16,
    header: impl Fn(&str) -> Option<&'h str>,
    message: &str,
) -> Option<FaultKind> {
    let is_limit = match status {
        429 => true,
        403 => {
            let left = header("x-ratelimit-remaining").unwrap_or_default().trim();
            let message = message.to_ascii_lowercase();
            left.starts_with('0') && left.trim_matches(['0', '.']).is_empty()
                || header("retry-after").is_some()
                || message.contains("secondary rate")
                || message.contains("abuse detection")
        }
        _ => false,
    };
    is_limit.then_some(FaultKind::Throttled)
}

/// The same for an error that knows its headers.
fn is_limit(fault: &dyn Fault) -> bool {
    let message = fault.message().map(ToString::to_string).unwrap_or_default();
    let kind = |status| kind(status, |name| fault.header(name), &message);
    fault.status().and_then(kind).is_some()
}
