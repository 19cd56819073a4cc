//! Amazon Web Services: the "standard" retry mode of the SDKs, revision 2.1.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a request to any service | [`STANDARD`] |
//! | a request to DynamoDB | [`dynamodb::REQUEST`](crate::dynamodb::REQUEST) |
//!
//! [`presets`](crate::presets) has the numbers.
//!
//! # Where the numbers come from
//!
//! - The page "Retry behavior" of the SDKs' reference guide
//!   (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>): the attempts, the waits,
//!   full jitter, and a quota of 500 tokens, of which a retry takes 14, or 5 after throttling.
//! - The announcement of 2026
//!   (<https://aws.amazon.com/blogs/developer/announcing-updated-retry-behavior-for-aws-sdks-and-tools/>) says
//!   what is new in this revision.
//! - The codes: see [`kind`].
//!
//! Sources read on 2026-11-21.
//!
//! # Our choices
//!
//! - 429 is retried, as throttling. It is not among the statuses of the SDKs, because they always know the
//!   code of the error. An error of yours may know only the status.
//! - There is no adaptive mode, which slows down the first attempts too. The page does not recommend it.
//!
//! # What is retried
//!
//! 429, 500, 502, 503, 504, failures of the connection, and the codes that [`kind`] calls throttled or
//! transient.
//!
//! - **Throttling has codes**, and seldom the status 429: a `ThrottlingException` is a 400. So an error
//!   needs the code of the reply, and passes it to [`kind`]. See the example.
//! - **The quota is one for each service and region.** The SDKs keep it in their client. [`BUDGET`] is
//!   shared by all calls of [`STANDARD`]. For several services make several budgets:
//!
//! ```
//! use backoff_cloud::{Budget, Policy, aws};
//!
//! static QUEUES_IN_IRELAND: Budget = Budget::aws();
//! const QUEUES: Policy = aws::STANDARD.budget(&QUEUES_IN_IRELAND);
//! ```
//!
//! - **`x-amz-retry-after`** is in milliseconds. The policy waits as long as the header asks, but at most
//!   5 s longer than the backoff. `http::ApiError` (feature `http`) reads the header; for another error use
//!   `hint::retry_after_ms` (feature `hint`).
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{FaultKind, Fault, aws, retry};
//! use std::time::Duration;
//!
//! # #[derive(Debug)]
//! struct ApiError { status: u16, code: String, retry_after: Option<Duration> }
//!
//! impl Fault for ApiError {
//!     fn status(&self) -> Option<u16> { Some(self.status) }
//!     fn kind(&self) -> Option<FaultKind> { aws::kind(&self.code) }
//!     fn retry_after(&self) -> Option<Duration> { self.retry_after }
//! }
//! # struct Client;
//! # impl Client { async fn get_object(&self, _: &str) -> Result<Vec<u8>, ApiError> { Ok(vec![]) } }
//!
//! #[retry(policy = aws::STANDARD)]
//! async fn object(client: &Client, key: &str) -> Result<Vec<u8>, ApiError> {
//!     client.get_object(key).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert!(object(&Client, "a").await.unwrap().is_empty()) }
//! ```
//!
//! # AWS' SDK for Rust
//!
//! With the feature `aws-smithy-1` the errors of the SDK's clients implement
//! [`Fault`](trait@crate::Fault): their codes, statuses and hints, and whether the request was sent.
//! The feature needs Rust 1.94.1.
//!
#![doc = "```ignore"]
#![doc = include_str!("aws/examples/outside.rs")]
#![doc = "```"]
//!
//! Each client retries by itself: three attempts, unless it is configured otherwise. Retries inside retries
//! multiply: three attempts inside and four outside are twelve, and the errors do not say that the client
//! has retried. So retry at one level only: around a client with `RetryConfig::disabled()`, as above, or
//! inside the client with `aws::inside`. If other code shares the client and needs its retries, switch them
//! off for one request: `.customize().config_override(Builder::new().retry_config(..))`.
//!
//! If the client's own retries are on, the error says only whether the last attempt was sent. So switch
//! them off for a policy with `idempotent(false)`.
//!
//! For some operations the client makes an idempotency token (`ClientRequestToken` and others), by which the
//! service recognises a repeated request. Each `send()` makes a new token, so in a retry around the client
//! each attempt has another token. There are three remedies: set the token yourself once
//! (`.client_request_token(id)`, for example with [`Attempt::id`](crate::Attempt::id)); use `aws::inside`,
//! whose attempts share one token; or write `idempotent(false)`.
//!
//! If an operation's error is inside an `anyhow::Error` or a box, name its type with the key `faults(..)`.
//! Without the key the library recognises a lost connection there, and only a few codes.

#[cfg(feature = "aws-smithy-1")]
mod inside;

#[cfg(feature = "aws-smithy-1")]
pub use inside::{Inside, inside};

use backoff_core::{__private::aws_kind, Budget, FaultKind, Jitter, Policy, codes};
use std::time::Duration;

/// The budget of [`STANDARD`]: 500 tokens. A retry takes 14, or 5 after throttling.
///
/// Source: <https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>.
pub static BUDGET: Budget = Budget::aws().name("aws::BUDGET");

/// One request in standard mode. 429, 500, 502, 503, 504, failures of the connection, and the codes that
/// [`kind`] calls throttled or transient are retried.
///
/// The SDKs repeat every operation in this way. An operation that creates something carries a token by which
/// the service recognises a repeated request. Around the client each attempt has another token, because each
/// `send()` makes one: set the token yourself once (`.client_request_token(id)`), or use `aws::inside`
/// (feature `aws-smithy-1`). If there is no token, write `STANDARD.idempotent(false)`.
///
/// In the Query API (`?Action=..`: SQS, SNS, EC2, IAM) a `GET` may write too. For one request in one call
/// (feature `http`) write `STANDARD.send(request).idempotent(false)`.
///
/// Sources and an example: [the module](self).
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

/// The kind of an AWS error by its code: throttled, transient, a conflict, or `None` for any other code, so
/// that the status decides. For [`Fault::kind`](crate::Fault::kind) of your own error; the errors of AWS' SDK
/// for Rust call it by themselves (feature `aws-smithy-1`).
///
/// A code may have a namespace before it or a URL after it, as services send them in `__type` and in the
/// header `x-amzn-errortype`: `"com.amazonaws.dynamodb.v20120810#ThrottlingException"`.
///
/// A conflict is a condition that does not hold: `ConditionalCheckFailedException` and
/// `TransactionConflictException` of DynamoDB, `PreconditionFailed` and `ConditionalRequestConflict` of
/// S3. [`Policy::update`] retries a conflict, and so does a policy with [`Policy::retry_conflicts`]. The
/// policy's statuses (`.also_on(codes![412])`) do not make it retry a conflict, because the kind counts
/// first.
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
/// <https://docs.rs/aws-runtime/latest/aws_runtime/retries/classifiers/>. Both list
/// `PriorRequestNotComplete` as throttled; the SDK for Python lists it as transient too, which has no
/// effect. `InternalError` is in S3's list of errors
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>), which says to try again. The
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

    /// Runs an operation with the greatest random numbers and its own budget. Returns the wait in
    /// milliseconds and the tokens after each attempt, and why the operation stopped.
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

    /// The header's value in milliseconds, or `None` if it is invalid, and then the wait.
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
