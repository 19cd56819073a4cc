//! Microsoft Azure: requests to any service, and to Azure Storage.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a request to any service | [`REQUEST`] |
//! | a request to Azure Storage | [`STORAGE`] |
//! | read a resource, change it, write it with `If-Match` on its etag | [`READ_MODIFY_WRITE`] |
//!
//! With the feature `http`, `azure::send(request)` also knows which requests must not be made twice:
//! `azure::is_idempotent` has the table.
//!
#![doc = page_of!(azure::READ_MODIFY_WRITE)]
//!
//! # What is retried
//!
//! 408, 429, 449, 500, 502, 503, 504, failures of the connection, and the codes that [`kind`] knows. 449 is Cosmos DB's
//! `RetryWith`: another write of the same item was running
//! (<https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb>). The hints
//! are `Retry-After` and, from Cosmos DB,
//! [`x-ms-retry-after-ms`](https://learn.microsoft.com/rest/api/cosmos-db/common-cosmosdb-rest-response-headers);
//! with the feature `http` both are read from the reply.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{azure, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Client;
//! # impl Client { async fn secret(&self, _: &str) -> Result<String, ApiError> { Ok("s".into()) } }
//!
//! #[retry(policy = azure::REQUEST, attempt_timeout = "100s")]
//! async fn secret(client: &Client, name: &str) -> Result<String, ApiError> {
//!     client.secret(name).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert_eq!(secret(&Client, "a").await.unwrap(), "s") }
//! ```

#[cfg(feature = "http")]
use crate::http::{IntoOutgoing, SendExt as _, Sending};
pub use crate::services::azure as kind;
#[cfg(feature = "http")]
use backoff_core::__private::{has_etag, has_value, is_safe, may_repeat};
use backoff_core::{Jitter, Policy, codes};
#[cfg(feature = "http")]
use reqwest::Request;
use std::time::Duration;

/// One request to any service. 408, 429, 449, 500, 502, 503, 504 and failures of the connection are retried.
///
/// A jitter of 20 % separates clients that failed at different times. It does not separate many clients
/// that failed in the same moment; for those write `azure::REQUEST.jitter(Jitter::Full)`.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** Azure's
/// clients repeat writes as well. If a second write does harm and the request has no `If-Match`,
/// write `REQUEST.idempotent(false)`. Some `PUT`s of Azure Storage need this, such as *Append Block*
/// (`comp=appendblock`), which appends again. With the feature `http`, `azure::send(request)` knows them.
///
/// `REQUEST.also_on(codes![412])` retries only a 412 without a code. If the error has a code that
/// [`aws::kind`](crate::aws::kind) knows, such as `PreconditionFailed`, the error is a conflict, and its kind
/// counts before its status. If each attempt reads again, use [`READ_MODIFY_WRITE`].
///
/// Sources and an example: [the module](self).
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_millis(800))
    .factor(2.0)
    .max_backoff(Duration::from_secs(60))
    .jitter(Jitter::Proportional(0.2))
    .max_attempts(4)
    .on(codes![408, 429, 449, 500, 502..=504])
    .name("azure::REQUEST");

/// One request to Azure Storage, with the longer waits of its clients. The statuses are those of
/// [`REQUEST`].
///
/// Sources, and which numbers are ours: [the module](self).
pub const STORAGE: Policy = REQUEST
    .base(Duration::from_secs(4))
    .max_backoff(Duration::from_secs(120))
    .jitter(Jitter::Full)
    .name("azure::STORAGE");

/// A whole read-modify-write with `If-Match` on the etag that was read. The failures of [`REQUEST`] and 412
/// are retried.
///
/// Use [`update`](Policy::update). A single request that is sent by this policy is not repeated after a 412.
///
/// Sources, and which numbers are ours: [the module](self).
pub const READ_MODIFY_WRITE: Policy = REQUEST
    .jitter(Jitter::Full)
    .max_attempts(10)
    .also_on(codes![412])
    .retry_conflicts(true)
    .spread_retry_after(true)
    .name("azure::READ_MODIFY_WRITE");

/// Sends a request by [`REQUEST`]. After a failure that may have applied the request, it is sent again only if
/// [`is_idempotent`] returns `true`. For another policy write
/// `azure::STORAGE.send(request).idempotent_if(azure::is_idempotent)`.
///
/// ```no_run
/// use backoff_cloud::{azure, http::ApiError};
///
/// # async fn f(signed: &str) -> Result<(), ApiError> {
/// let client = reqwest::Client::new();
/// // Not sent again after a lost reply, which may have appended the block.
/// azure::send(client.put(format!("{signed}&comp=appendblock")).body("a line\n")).await?;
/// # Ok(()) }
/// ```
#[cfg(feature = "http")]
pub fn send(request: impl IntoOutgoing) -> Sending {
    REQUEST.send(request).idempotent_if(is_idempotent)
}

/// Whether a request to an Azure service may be made twice. For [`Sending::idempotent_if`].
///
/// The [general rule](Sending#which-requests-are-repeated) holds: by the method, by a key, by `If-Match` with an etag.
/// But a `PUT` of Azure Storage whose parameter `comp` is one of these is no usual `PUT`:
///
/// | `comp` | what a second request does | may be made twice |
/// |---|---|---|
/// | `appendblock` | appends again | with `x-ms-blob-condition-appendpos`, or `If-Match` with an etag |
/// | `snapshot` | makes another snapshot | never |
/// | `lease` | fails, because the first one holds the lease or has ended it | with `x-ms-proposed-lease-id` |
///
/// ```
/// use backoff_cloud::azure;
/// use reqwest::{Method, Request};
///
/// let put = |query| {
///     let url = format!("https://account.blob.core.windows.net/logs/today{query}");
///     Request::new(Method::PUT, url.parse().unwrap())
/// };
/// assert!(azure::is_idempotent(&put("")));
/// assert!(!azure::is_idempotent(&put("?comp=appendblock")));
/// ```
///
/// Sources: <https://learn.microsoft.com/rest/api/storageservices/append-block>,
/// <https://learn.microsoft.com/rest/api/storageservices/snapshot-blob>,
/// <https://learn.microsoft.com/rest/api/storageservices/lease-blob>.
#[cfg(feature = "http")]
pub fn is_idempotent(request: &Request) -> bool {
    let mut query = request.url().query_pairs();
    let comp = query.find_map(|(name, value)| name.eq_ignore_ascii_case("comp").then_some(value));
    let headers = request.headers();
    match comp.unwrap_or_default().to_ascii_lowercase().as_str() {
        _ if is_safe(request.method().as_str()) => true,
        "appendblock" => has_etag(headers) || has_value(headers, "x-ms-blob-condition-appendpos"),
        "snapshot" => false,
        "lease" => has_value(headers, "x-ms-proposed-lease-id"),
        _ => may_repeat(request.method().as_str(), headers),
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;
    use crate::reply::headers;

    /// Rows: a header, whether the request may be made twice, and methods with their queries.
    #[test]
    fn an_append_a_snapshot_and_a_lease_must_be_made_once() {
        let etag = ("if-match", "\"e\"");
        let position = ("x-ms-blob-condition-appendpos", "512");
        let proposed = ("x-ms-proposed-lease-id", "1f81");
        let any = ("if-match", "*");
        let writes = "PUT |PUT ?comp=block&blockid=AA|PUT ?comp=page|DELETE ";
        let appends = "PUT ?comp=appendblock|PUT ?timeout=9&Comp=AppendBlock";
        let makes = "POST ?comp=batch|PUT ?comp=snapshot|PUT ?restype=container&comp=lease";
        let rows = [
            (None, true, writes),
            (None, true, "GET ?snapshot=2026|HEAD ?comp=lease"),
            (None, false, appends),
            (None, false, makes),
            (Some(etag), true, "POST |PUT ?comp=appendblock"),
            (Some(etag), false, "PUT ?comp=snapshot"),
            (Some(any), false, "PUT ?comp=appendblock"),
            (Some(position), true, "PUT ?comp=appendblock"),
            (Some(position), false, "PUT ?comp=lease"),
            (Some(proposed), true, "PUT ?comp=lease"),
        ];
        let requests = rows.into_iter().flat_map(|(header, expected, lines)| {
            lines.split('|').map(move |line| (line, header, expected))
        });
        for (line, header, expected) in requests {
            let (method, query) = line.split_once(' ').unwrap();
            let url = format!("https://a.blob.core.windows.net/c/b{query}");
            let mut request = Request::new(method.parse().unwrap(), url.parse().unwrap());
            *request.headers_mut() = headers(header.as_slice());
            assert_eq!(is_idempotent(&request), expected, "{line} {header:?}");
        }
    }
}
