//! Amazon Web Services: the SDKs' "standard" mode, revision 2.1.
//!
//! The page "Retry behavior" of the SDKs' reference guide
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>) describes it, and
//! the announcement of 2026
//! (<https://aws.amazon.com/blogs/developer/announcing-updated-retry-behavior-for-aws-sdks-and-tools/>)
//! what is new: three attempts; each wait drawn from zero up to `min(base · 2ⁿ, 20 s)`, with a base
//! of 50 ms, and of 1 s after throttling; a quota of 500 tokens, of which a retry takes 14, or 5
//! after throttling; and the header `x-amz-retry-after`.
//!
//! - **Throttling has names**, and seldom the status 429: a `ThrottlingException` is a 400. So an
//!   error has to read the code of the reply, and hand it to [`kind`].
//! - **The quota is one for each service and region.** The SDKs keep it in their client.
//!   [`BUDGET`] is shared by all that use [`STANDARD`] as it is; bring your own for each service:
//!
//! ```
//! use backoff_cloud::{Budget, Policy, aws};
//!
//! static QUEUES_IN_IRELAND: Budget = Budget::aws();
//! const QUEUES: Policy = aws::STANDARD.budget(&QUEUES_IN_IRELAND);
//! ```
//!
//! - **`x-amz-retry-after`** is in milliseconds. What it asks is waited up to 5 s beyond the backoff.
//!   `http::ApiError` (feature `http`) has read it; for another error `hint::retry_after_ms` does
//!   (feature `hint` of `backoff-core`).
//!
//! ```
//! use backoff_cloud::{FaultKind, Fault, aws};
//! use std::time::Duration;
//!
//! struct ApiError { status: u16, code: String, retry_after: Option<Duration> }
//!
//! impl Fault for ApiError {
//!     fn status(&self) -> Option<u16> { Some(self.status) }
//!     fn kind(&self) -> Option<FaultKind> { aws::kind(&self.code) }
//!     fn retry_after(&self) -> Option<Duration> { self.retry_after }
//! }
//! ```
//!
//! # AWS' SDK for Rust
//!
//! With the feature `aws-smithy-1` the errors of its clients are [`Fault`](trait@crate::Fault)s as they
//! are: codes, statuses, hints, and whether a request was sent.
//!
#![doc = "```ignore"]
#![doc = include_str!("aws/examples/outside.rs")]
#![doc = "```"]
//!
//! Each client retries by itself: three attempts, if nothing else is configured. Two retries multiply:
//! three attempts inside and four outside are twelve, and the errors of the client's own retries do not tell
//! that they have been repeated. So retry at one level: around a client with `RetryConfig::disabled()`, as above, or by a
//! policy inside the client, `aws::inside`. A client that is shared with code that relies on its retries
//! is switched off for one request: `.customize().config_override(Builder::new().retry_config(..))`.
//!
//! With the client's own retries on, "not sent" is said of the last attempt only, so a policy that is not
//! idempotent needs them off.
//!
//! For some operations the client makes an idempotency token (`ClientRequestToken` and its relatives), by
//! which the service knows a repeated request. Each `send()` makes a new token. So around the client each
//! attempt has a token of its own: set the token yourself once (`.client_request_token(id)`, where
//! [`Attempt::id`](crate::Attempt::id) is one), or use `aws::inside`, whose attempts share one, or write
//! `idempotent(false)`.
//!
//! Inside an `anyhow::Error` or a box the type of an operation's error has to be named by the key
//! `faults(..)`. Without the key a lost connection is known there, and few codes.
//!
//! AWS' crates need Rust 1.94.1.
//!
//! # Not offered
//!
//! Adaptive mode, which slows the first attempts too: the page does not recommend it.
//!
//! Sources read on 2026-11-21.

#[cfg(feature = "aws-smithy-1")]
mod inside;

#[cfg(feature = "aws-smithy-1")]
pub use inside::{Inside, inside};

use backoff_core::{__private::aws_kind, Budget, FaultKind, Jitter, Policy, codes};
use std::time::Duration;

/// The quota that [`STANDARD`] draws from: 500 tokens; 14 for a retry, 5 after throttling.
///
/// Source: <https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>.
pub static BUDGET: Budget = Budget::aws().name("aws::BUDGET");

/// One request in standard mode: 500, 502, 503, 504 retried, and failures of the connection; by
/// their codes what [`kind`] knows.
///
/// 429 is retried too, as throttling. It is not among the statuses of the SDKs, which always know the
/// code; an error that has only the status should not be given up for that.
///
/// The SDKs repeat every operation like this, and have those that create something send a token by
/// which the service knows it again. Around the client each attempt has a token of its own, because each
/// `send()` makes one: set the token yourself once (`.client_request_token(id)`), or use `aws::inside`
/// (feature `aws-smithy-1`). Where there is no token, write `STANDARD.idempotent(false)`.
/// In the Query API (`?Action=..`: SQS, SNS, EC2, IAM) a `GET` may write too: for one request in one call
/// (feature `http`) write `STANDARD.send(request).idempotent(false)`.
///
/// ```
/// use backoff_cloud::{aws, retry};
/// # use backoff_cloud::TimedOut as ApiError;
/// # struct Client;
/// # impl Client { async fn get_object(&self, _: &str) -> Result<Vec<u8>, ApiError> { Ok(vec![]) } }
///
/// #[retry(policy = aws::STANDARD, attempt_timeout = "10s")]
/// async fn object(client: &Client, key: &str) -> Result<Vec<u8>, ApiError> {
///     client.get_object(key).await
/// }
/// ```
///
/// Sources: see [the module](self).
pub const STANDARD: Policy = Policy::exponential()
    .base(Duration::from_millis(50))
    .throttled_base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(20))
    .jitter(Jitter::Full)
    .max_attempts(3)
    .retry_after_slack(Duration::from_secs(5))
    .budget(&BUDGET)
    .on(codes![429, 500, 502..=504])
    .name("aws::STANDARD");

/// What the code of an AWS error says: throttled, transient, a conflict, or nothing known (`None`), so
/// that the status decides. For [`Fault::kind`](crate::Fault::kind) of an error of your own; the errors
/// of AWS' SDK for Rust know it by themselves (feature `aws-smithy-1`).
///
/// A code may come with the namespace before it or a URL behind it, as services send them in
/// `__type` and in the header `x-amzn-errortype`: `"com.amazonaws.dynamodb.v20120810#ThrottlingException"`.
///
/// A conflict is a condition that does not hold: `ConditionalCheckFailedException` and
/// `TransactionConflictException` of DynamoDB, `PreconditionFailed` and `ConditionalRequestConflict` of
/// S3. It is repeated by [`Policy::update`], and where [`Policy::retry_conflicts`] says so. The status of a
/// conflict among the policy's codes (`.also_on(codes![412])`) does not repeat it, for its kind counts first.
///
/// ```
/// use backoff_cloud::{FaultKind, aws};
///
/// assert_eq!(aws::kind("SlowDown"), Some(FaultKind::Throttled));
/// assert_eq!(aws::kind("RequestTimeout"), Some(FaultKind::Transient));
/// assert_eq!(aws::kind("PreconditionFailed"), Some(FaultKind::Conflict));
/// assert_eq!(aws::kind("AccessDenied"), None);
/// ```
///
/// The lists are those of the SDKs for Python and Rust:
/// <https://github.com/boto/botocore/blob/develop/botocore/retries/standard.py>,
/// <https://docs.rs/aws-runtime/latest/aws_runtime/retries/classifiers/>. Both have
/// `PriorRequestNotComplete` among the throttled, the former among the transient as well, where it
/// has no effect. `InternalError` is in S3's list of errors
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>), which asks to try again. The
/// conflicts are those of
/// [DynamoDB](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)
/// and of [S3](https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html).
pub fn kind(code: &str) -> Option<FaultKind> {
    aws_kind(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Says, life, table};
    use backoff_core::{Decision, Delivery, Fault, GrpcCode, RetryState, StopReason};

    const MOST: u64 = u64::MAX;

    /// A failed attempt, or one that succeeded.
    type Said = Option<Says>;

    const SUCCESS: Said = None;

    fn status(status: u16) -> Said {
        Some(Says {
            status: Some(status),
            ..Says::default()
        })
    }

    fn code(name: &str) -> Said {
        Some(Says {
            status: Some(400),
            kind: kind(name),
            ..Says::default()
        })
    }

    /// Plays an operation with the greatest random numbers on a quota of its own: the wait in
    /// milliseconds and the tokens left after each attempt, and why it stopped.
    fn play(
        policy: &Policy,
        budget: Budget,
        outcomes: &[Said],
    ) -> (Vec<(u128, f64)>, Option<StopReason>) {
        let budget: &'static Budget = Box::leak(Box::new(budget));
        let policy = policy.budget(budget);
        let clock = || unreachable!("there is no deadline");
        let mut retry = RetryState::start(&policy, clock);
        let mut steps = Vec::new();
        for outcome in outcomes {
            let Some(fault) = outcome else {
                retry.succeeded(&policy);
                steps.push((0, budget.tokens()));
                continue;
            };
            match retry.failed(&policy, policy.judge(fault), clock, || MOST) {
                Decision::Wait(wait) => steps.push((wait.delay.as_millis(), budget.tokens())),
                Decision::Stop(reason) => {
                    steps.push((0, budget.tokens()));
                    return (steps, Some(reason));
                }
            }
        }
        (steps, None)
    }

    #[test]
    fn the_published_statuses_and_429() {
        let codes = [
            GrpcCode::Unknown,
            GrpcCode::DeadlineExceeded,
            GrpcCode::ResourceExhausted,
            GrpcCode::Internal,
            GrpcCode::Unavailable,
        ];
        let statuses = vec![429, 500, 502, 503, 504];
        assert_eq!(table(&STANDARD), (statuses, codes.to_vec()));
    }

    #[test]
    fn the_first_waits_to_the_nanosecond() {
        let policy = STANDARD.without_budget().max_attempts(12);
        let transient = status(503).unwrap();
        let doubled = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 20_000];
        let (waits, _) = life(&policy, &transient, MOST, 10);
        assert_eq!(waits, doubled.map(Duration::from_millis));
        let throttled = code("SlowDown").unwrap();
        let (waits, _) = life(&policy, &throttled, MOST, 7);
        assert_eq!(waits, [1, 2, 4, 8, 16, 20, 20].map(Duration::from_secs));
        assert_eq!(life(&policy, &throttled, 0, 3).0, [Duration::ZERO; 3]);
    }

    #[test]
    fn the_vectors_of_revision_2_1() {
        let full = Budget::aws;
        let retried = play(&STANDARD, full(), &[status(500), status(500), SUCCESS]);
        assert_eq!(retried, (vec![(50, 486.0), (100, 472.0), (0, 486.0)], None));

        let few = Budget::aws().starting_with(20);
        let spent = play(&STANDARD, few, &[status(500), status(500)]);
        let steps = vec![(50, 6.0), (0, 6.0)];
        assert_eq!(spent, (steps, Some(StopReason::Budget)));

        let throttled = play(&STANDARD, full(), &[code("ThrottlingException"), SUCCESS]);
        assert_eq!(throttled, (vec![(1_000, 495.0), (0, 500.0)], None));

        let failed = play(&STANDARD, full(), &[status(502), status(502), status(502)]);
        let steps = vec![(50, 486.0), (100, 472.0), (0, 472.0)];
        assert_eq!(failed, (steps, Some(StopReason::Attempts)));

        let short = STANDARD
            .max_backoff(Duration::from_millis(200))
            .max_attempts(5);
        let (steps, _) = play(&short, full(), &[status(500); 4]);
        let waits: Vec<_> = steps.iter().map(|(wait, _)| *wait).collect();
        assert_eq!(waits, [50, 100, 200, 200]);

        let first_try = play(&STANDARD, Budget::aws().starting_with(498), &[SUCCESS]);
        assert_eq!(first_try, (vec![(0, 499.0)], None));

        let cut = Some(Says {
            transport: Some(Delivery::MaybeSent),
            ..Says::default()
        });
        let timed_out = play(&STANDARD, full(), &[cut, SUCCESS]);
        assert_eq!(timed_out, (vec![(50, 486.0), (0, 500.0)], None));
    }

    /// The header's value in milliseconds, or nothing where it is invalid; then the wait.
    #[test]
    fn the_header_is_obeyed_within_5_s() {
        let vectors = [
            (Some(1_500), 1_500),
            (Some(0), 50),
            (Some(10_000), 5_050),
            (None, 50),
        ];
        for (header, wait) in vectors {
            let hinted = Some(Says {
                status: Some(500),
                retry_after: header.map(Duration::from_millis),
                ..Says::default()
            });
            let (steps, _) = play(&STANDARD, Budget::aws(), &[hinted]);
            assert_eq!(steps, [(wait, 486.0)], "{header:?}");
        }
        #[cfg(feature = "http")]
        for invalid in ["invalid", "-100"] {
            assert_eq!(backoff_core::hint::retry_after_ms(invalid), None);
        }
    }

    #[test]
    fn a_400_is_retried_for_its_code_alone() {
        let judged = |fault: Said| crate::reply::retries(&STANDARD, &fault.unwrap());
        assert!(!judged(status(400)) && !judged(code("ValidationException")));
        assert!(judged(code("RequestTimeout")) && judged(code("RequestLimitExceeded")));
        assert_eq!(code("SlowDown").unwrap().status(), Some(400));
    }

    #[test]
    fn the_quota_is_the_presets_own() {
        assert_eq!((BUDGET.capacity(), BUDGET.tokens()), (500.0, 500.0));
        assert_eq!(STANDARD.budget(&BUDGET), STANDARD);
        assert_ne!(STANDARD.without_budget(), STANDARD);
    }
}
