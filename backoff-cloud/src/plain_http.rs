//! Any HTTP service that documents nothing of its own.
//!
//! What may be repeated depends on the method ("Idempotent Methods", RFC 9110, section 9.2.2,
//! <https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2>): `GET`, `HEAD`, `OPTIONS`, `TRACE`, `PUT`
//! and `DELETE` have the same effect made once or twice, and may be repeated by themselves. So may `QUERY`
//! (<https://datatracker.ietf.org/doc/draft-ietf-httpbis-safe-method-w-body/>), which only reads. `POST`,
//! `PATCH` and `CONNECT` may be only if the client knows that the first was never applied.
//! [`for_method`] chooses; a request that is sent in one call (`http::SendExt`, feature `http`) is judged
//! by itself.
//!
//! The statuses that a repetition can cure, whatever the service:
//!
//! | status | | source |
//! |---|---|---|
//! | 408 | the request did not arrive in time | RFC 9110, 15.5.9 |
//! | 425 | too early, on a connection not yet trusted | RFC 8470, 5.2 |
//! | 429 | too many | RFC 6585, 4 |
//! | 500, 502, 503, 504 | the server, its backend, or a proxy failed | RFC 9110, 15.6 |
//!
//! Not 501 and 505, which stay as they are, and not 409 and 412, where only a new read helps.
//!
//! No RFC names waits. Here they are drawn from zero up to 1 s, doubling up to 64 s, five attempts:
//! the defaults of [`Policy::exponential`]. `Retry-After` is obeyed.
//!
//! Sources read on 2026-11-21.

use backoff_core::{__private::is_idempotent, Policy, codes};

/// A request that may be made twice: 408, 425, 429, 500, 502, 503 and 504 are retried, and failures of
/// the connection.
///
/// ```
/// use backoff_cloud::{plain_http, retry};
/// # use backoff_cloud::TimedOut as ApiError;
/// # struct Client;
/// # impl Client { async fn get(&self, _: &str) -> Result<String, ApiError> { Ok("page".into()) } }
///
/// #[retry(policy = plain_http::IDEMPOTENT, deadline = "30s")]
/// async fn page(client: &Client, url: &str) -> Result<String, ApiError> {
///     client.get(url).await
/// }
/// ```
///
/// Sources: see [the module](self).
pub const IDEMPOTENT: Policy = Policy::exponential()
    .on(codes![408, 425, 429, 500, 502..=504])
    .name("plain_http::IDEMPOTENT");

/// A request that must not be made twice, such as a `POST`: as [`IDEMPOTENT`], but only what was
/// surely not applied is repeated: 408, 425 and 429, and a connection that was refused.
///
/// A `POST` with an idempotency key that the service knows may have [`IDEMPOTENT`].
///
/// Source: <https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2>.
pub const NOT_IDEMPOTENT: Policy = IDEMPOTENT
    .idempotent(false)
    .name("plain_http::NOT_IDEMPOTENT");

/// [`IDEMPOTENT`] for the methods that RFC 9110 calls so and for `QUERY`, [`NOT_IDEMPOTENT`] for every
/// other, also for those that nobody has defined. Methods are told apart by their case, as in HTTP.
///
/// ```
/// use backoff_cloud::plain_http;
///
/// assert_eq!(plain_http::for_method("PUT"), plain_http::IDEMPOTENT);
/// assert_eq!(plain_http::for_method("POST"), plain_http::NOT_IDEMPOTENT);
/// ```
pub fn for_method(method: &str) -> Policy {
    match is_idempotent(method) {
        true => IDEMPOTENT,
        false => NOT_IDEMPOTENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Reply, Says, life, retries, table};
    use backoff_core::{Delivery, GrpcCode, StopReason, Verdict};
    use std::time::Duration;

    #[test]
    fn the_table_of_statuses() {
        let codes = vec![
            GrpcCode::Unknown,
            GrpcCode::DeadlineExceeded,
            GrpcCode::ResourceExhausted,
            GrpcCode::Internal,
            GrpcCode::Unavailable,
        ];
        let statuses = vec![408, 425, 429, 500, 502, 503, 504];
        assert_eq!(table(&IDEMPOTENT), (statuses, codes));
        let expected = (vec![408, 425, 429], vec![GrpcCode::ResourceExhausted]);
        assert_eq!(table(&NOT_IDEMPOTENT), expected);
    }

    #[test]
    fn a_post_is_repeated_only_if_it_was_not_sent() {
        let broken = |transport| Says {
            transport: Some(transport),
            ..Says::default()
        };
        let post = for_method("POST");
        assert!(retries(&post, &broken(Delivery::NotSent)));
        let lost = broken(Delivery::MaybeSent);
        assert_eq!(post.judge(&lost), Verdict::MaybeApplied);
        assert!(retries(&for_method("GET"), &lost));
    }

    #[test]
    fn what_the_rfc_does_not_call_idempotent_is_not() {
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"] {
            assert_eq!(for_method(method), IDEMPOTENT, "{method}");
        }
        for method in ["POST", "PATCH", "CONNECT", "get", "", "PROPFIND", "query"] {
            assert_eq!(for_method(method), NOT_IDEMPOTENT, "{method}");
        }
    }

    #[test]
    fn the_schedule_to_the_nanosecond() {
        let ended = Some(StopReason::Attempts);
        let waits = [1, 2, 4, 8].map(Duration::from_secs).to_vec();
        let played = life(&IDEMPOTENT, &Reply(503, None), u64::MAX, 99);
        assert_eq!(played, (waits, ended));
        let played = life(&NOT_IDEMPOTENT, &Reply(429, None), 0, 99);
        assert_eq!(played, (vec![Duration::ZERO; 4], ended));
    }
}
