//! Google Cloud Identity and Access Management.
//!
//! The IAM documentation ("Retry strategy", <https://cloud.google.com/iam/docs/retry-strategy>)
//! asks for truncated exponential backoff with jitter: before retry *n*, counted from 0, wait
//! `min(2ⁿ s + random fraction of a second, maximum backoff)`, and stop after a deadline.
//! 500, 502, 503 and 504 are to be retried, 404 may be. A 409 whose status is `ABORTED` is a
//! conflict with another writer: there the whole read-modify-write is to be repeated, because the
//! write alone would fail for ever.
//!
//! # Why `READ_MODIFY_WRITE` does not use the documented jitter
//!
//! The documented fraction is added before the cap, so clients that have reached the cap all wait
//! exactly alike, and it never exceeds a second, however long the wait. Under contention that is
//! costly: simulated on one policy with hops of 250 ms, a base of 1 s, a cap of 64 s and a deadline
//! of 300 s, 22 of 100 clients give up when 50 write at once, and 50 of 100 when 100 do. With full
//! jitter nobody does (`cargo run --release -p examples --example simulation -- iam`, 1,000 seeds):
//!
#![doc = include_str!("../../doc/iam-contention.svg")]
//!
//! So [`READ_MODIFY_WRITE`] draws the whole wait; the documented formula is one
//! call away:
//!
//! ```
//! use backoff_cloud::{iam, Policy};
//!
//! const AS_DOCUMENTED: Policy = iam::READ_MODIFY_WRITE.jitter(iam::DOCUMENTED_JITTER);
//! ```
//!
//! # Members of roles
//!
//! What is changed most often in an allow policy is who has a role. [`add`] and [`remove`] do that
//! as a whole read-modify-write, over Google's own clients, plain REST, or
//! [any client of yours](PolicyStore). They are there with the feature `tokio`.
//!
#![cfg_attr(feature = "google-cloud-secretmanager-v1", doc = "```no_run")]
#![cfg_attr(not(feature = "google-cloud-secretmanager-v1"), doc = "```ignore")]
//! use backoff_cloud::iam;
//! use google_cloud_secretmanager_v1::client::SecretManagerService;
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let client = SecretManagerService::builder().build().await?;
//! iam::add(&client, "projects/p/secrets/s", "roles/viewer", "user:ann@example.com").await?;
//! # Ok(()) }
//! ```

mod allow;
#[cfg(feature = "tokio")]
mod change;
mod condition;
#[cfg(feature = "tokio")]
mod grant;
#[cfg(any(feature = "tokio", feature = "emulator"))]
pub(crate) mod member;
#[cfg(feature = "google-cloud-iam-v1")]
mod official;
mod plain;
#[cfg(any(feature = "http", feature = "google-cloud-iam-v1"))]
mod resource;
#[cfg(feature = "http")]
mod rest;
mod store;
#[cfg(feature = "http")]
mod url;

pub use allow::{AllowPolicy, Binding, POLICY_VERSION};
#[cfg(feature = "tokio")]
pub use change::{Change, ReportedChange, add, remove};
pub use condition::Condition;
pub use plain::{PlainBinding, PlainPolicy};
#[cfg(feature = "http")]
pub use rest::Rest;
pub use store::{Error, Failure, PolicyStore};

use backoff_core::{Codes, Jitter, Policy, codes};
use std::time::Duration;

/// The jitter of the documented formula: up to one second more, added before the cap.
pub const DOCUMENTED_JITTER: Jitter = Jitter::Additive(Duration::from_secs(1));

/// One request to IAM, with the documented formula to the letter: base 1 s, factor 2, cap 64 s, a
/// random fraction of a second added, a deadline of 300 s, and 500, 502, 503, 504 retried.
///
/// 429 is not in the documented list, and a conflict is not retried: see [`READ_MODIFY_WRITE`].
/// Reads are eventually consistent, so a resource just created may be missing for a while. Where
/// that is expected, add 404:
///
/// ```
/// use backoff_cloud::{codes, iam, Policy};
///
/// const JUST_CREATED: Policy = iam::REQUEST.also_on(codes![404]);
/// ```
///
/// Source: <https://cloud.google.com/iam/docs/retry-strategy>.
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(64))
    .jitter(DOCUMENTED_JITTER)
    .deadline(Duration::from_secs(300))
    .on(codes![500, 502..=504]);

/// A whole read-modify-write of an allow policy: read it, change it, write it back with its etag.
///
/// As [`REQUEST`], and a conflict (`ABORTED`) starts the series anew; a 409 that says
/// `ALREADY_EXISTS`, or nothing, does not. Because such retries compete with each other, the
/// jitter is full: see [the module](self) for the figures.
///
/// Whatever is retried with it must read before it writes.
///
/// ```
/// use backoff_cloud::{iam, retry};
/// # use backoff_cloud::TimedOut as ApiError;
/// # #[derive(Default)] struct IamPolicy;
/// # impl IamPolicy { fn add(&mut self, _: &str, _: &str) {} }
/// # struct Client;
/// # impl Client {
/// #     async fn get_iam_policy(&self, _: &str) -> Result<IamPolicy, ApiError> { Ok(IamPolicy) }
/// #     async fn set_iam_policy(&self, _: &str, p: IamPolicy) -> Result<IamPolicy, ApiError> { Ok(p) }
/// # }
///
/// #[retry(policy = iam::READ_MODIFY_WRITE)]
/// async fn grant(client: &Client, resource: &str, member: &str) -> Result<IamPolicy, ApiError> {
///     let mut policy = client.get_iam_policy(resource).await?;
///     policy.add("roles/viewer", member);
///     client.set_iam_policy(resource, policy).await
/// }
/// ```
///
/// Source: <https://cloud.google.com/iam/docs/retry-strategy>.
pub const READ_MODIFY_WRITE: Policy = REQUEST
    .jitter(Jitter::Full)
    .also_on(codes![Codes::ABORTED])
    .retry_conflicts(true);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Reply;
    use backoff_core::{FaultKind, GrpcCode, Verdict};

    fn retried(policy: &Policy, reply: Reply) -> bool {
        policy.judge(&reply) != Verdict::Permanent
    }

    #[test]
    fn the_documented_statuses_are_retried_and_no_other() {
        for status in 400..600 {
            let listed = matches!(status, 500 | 502 | 503 | 504);
            assert_eq!(retried(&REQUEST, Reply(status, None)), listed, "{status}");
            assert_eq!(
                retried(&READ_MODIFY_WRITE, Reply(status, None)),
                listed,
                "{status}"
            );
        }
        assert!(retried(
            &REQUEST.also_on(codes![404]),
            Reply(404, Some(GrpcCode::NotFound))
        ));
    }

    #[test]
    fn as_google_sends_them_with_a_code_in_the_body() {
        for (status, code) in [
            (500, GrpcCode::Internal),
            (500, GrpcCode::Unknown),
            (503, GrpcCode::Unavailable),
            (504, GrpcCode::DeadlineExceeded),
        ] {
            assert!(retried(&REQUEST, Reply(status, Some(code))), "{code}");
        }
        for (status, code) in [
            (501, GrpcCode::Unimplemented),
            (429, GrpcCode::ResourceExhausted),
            (400, GrpcCode::FailedPrecondition),
            (500, GrpcCode::DataLoss),
        ] {
            assert!(
                !retried(&READ_MODIFY_WRITE, Reply(status, Some(code))),
                "{code}"
            );
        }
    }

    #[test]
    fn only_a_conflict_that_says_aborted_starts_the_series_anew() {
        let of = |code| Reply(409, code);
        assert!(!retried(&REQUEST, of(Some(GrpcCode::Aborted))));
        assert!(!retried(
            &READ_MODIFY_WRITE,
            of(Some(GrpcCode::AlreadyExists))
        ));
        assert!(!retried(&READ_MODIFY_WRITE, of(None)));
        assert_eq!(
            READ_MODIFY_WRITE.judge(&of(Some(GrpcCode::Aborted))),
            Verdict::Retry {
                kind: FaultKind::Conflict,
                retry_after: None
            }
        );
    }

    #[test]
    fn the_documented_schedule_to_the_nanosecond() {
        let waits = |random| -> Vec<_> {
            (0..9)
                .map(|n| REQUEST.backoff(n, Duration::ZERO, random).as_nanos())
                .collect()
        };
        let second = 1_000_000_000;
        assert_eq!(
            waits(0),
            [1, 2, 4, 8, 16, 32, 64, 64, 64].map(|s| s * second)
        );
        assert_eq!(
            waits(u64::MAX),
            [2, 3, 5, 9, 17, 33, 64, 64, 64].map(|s| s * second)
        );
        let half = waits(u64::MAX / 2 + 1);
        assert_eq!(half[..3], [1_500_000_000, 2_500_000_000, 4_500_000_000]);
    }

    #[test]
    fn the_documented_formula_is_one_call_away() {
        let documented = READ_MODIFY_WRITE.jitter(DOCUMENTED_JITTER);
        for n in 0..10 {
            for random in [0, 1 << 40, 1 << 63, u64::MAX] {
                let wait = |policy: Policy| policy.backoff(n, Duration::ZERO, random);
                assert_eq!(wait(documented), wait(REQUEST));
            }
        }
    }
}
