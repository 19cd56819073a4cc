//! Amazon Web Services: the "standard" retry mode of the SDKs, revision 2.1.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a request to any service | [`STANDARD`] |
//! | a request to DynamoDB | [`dynamodb::REQUEST`](crate::dynamodb::REQUEST) |
//! | a request to S3 | [`s3::REQUEST`](crate::s3::REQUEST) |
//! | a long poll (SQS, Step Functions, SWF) | [`long_poll`] with [`STANDARD`] |
//!
#![doc = page_of!(aws::STANDARD)]
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
//! ```ignore
#![doc = include_str!("aws/examples/outside.rs")]
//! ```
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
#[cfg(test)]
mod models;

#[cfg(feature = "aws-smithy-1")]
pub use inside::{Inside, inside};

use backoff_core::{__private::aws_kind, Budget, FaultKind, Jitter, Policy, codes};
#[cfg(feature = "tokio")]
use backoff_core::{Decision, Random as _, RetryState, Sleep as _, StopReason, Tokio};
use std::time::Duration;

/// The budget of [`STANDARD`]: 500 tokens. A retry takes 14, or 5 after throttling.
///
/// Source: <https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>.
pub static BUDGET: Budget = Budget::aws().name("aws::BUDGET");

/// One request in standard mode. 429, 500, 502, 503, 504, failures of the connection, and the codes that
/// [`kind`] calls throttled or transient are retried.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** The SDKs
/// repeat every operation in this way. An operation that creates something carries a token by which
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

/// Receives by a long poll: `ReceiveMessage` of SQS, `GetActivityTask` of Step Functions, `PollForActivityTask` and
/// `PollForDecisionTask` of SWF. A program calls such an operation in a loop, so an error that comes back at once makes
/// the loop spin while the service is down and the budget is empty. Where the budget allows no retry, this function
/// waits as long as the retry would have waited, and then returns the error. Otherwise it is
/// [`policy.retry(receive)`](Policy::retry).
///
/// # Errors
/// The last error of `receive`, when no further attempt is made.
///
/// # Panics
/// If a wait is needed and no tokio runtime with a timer is running.
///
/// ```
/// use backoff_cloud::{TimedOut, aws};
///
/// # async fn receive() -> Result<Vec<String>, TimedOut> { Ok(vec!["hello".into()]) }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let messages = aws::long_poll(&aws::STANDARD, receive).await.unwrap();
/// assert_eq!(messages, ["hello"]);
/// # }
/// ```
///
/// Source: as [`STANDARD`].
#[cfg(feature = "tokio")]
pub async fn long_poll<T, E, F>(policy: &Policy, receive: impl FnMut() -> F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
    E: backoff_core::Fault,
{
    let gave_up = match policy.retry(receive).reported().await {
        Ok((value, _)) => return Ok(value),
        Err(gave_up) => gave_up,
    };
    if gave_up.reason == StopReason::Budget {
        let patient = policy.without_budget();
        let mut state = RetryState::resumed(Duration::ZERO, gave_up.report.attempts - 1);
        let verdict = patient.judge(&gave_up.error);
        let next = state.failed(&patient, verdict, || Duration::ZERO, || Tokio.random());
        if let Decision::Wait(wait) = next {
            Tokio.sleep(wait.delay).await;
        }
    }
    Err(gave_up.error)
}

/// The kind of an AWS error by its code: throttled, transient, a conflict, or `None` for any other code, so
/// that the status decides. For [`Fault::kind`](crate::Fault::kind) of your own error; the errors of AWS' SDK
/// for Rust call it by themselves (feature `aws-smithy-1`).
///
/// A code may have a namespace before it or a URL after it, as services send them in `__type` and in the
/// header `x-amzn-errortype`: `"com.amazonaws.dynamodb.v20120810#ThrottlingException"`.
///
/// A code may have `Exception` at its end or not: DynamoDB's `CancellationReasons` leave it out.
///
/// A conflict is a condition that does not hold: `ConditionalCheckFailedException` and
/// `TransactionConflictException` of DynamoDB, `PreconditionFailed` of S3. [`Policy::update`] retries a conflict, and so does a policy with [`Policy::retry_conflicts`]. The
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
/// Sources:
///
/// - The lists of the SDKs for Python and Rust:
///   <https://github.com/boto/botocore/blob/develop/botocore/retries/standard.py>,
///   <https://docs.rs/aws-runtime/latest/aws_runtime/retries/classifiers/>. Both list `PriorRequestNotComplete` as
///   throttled; the SDK for Python lists it as transient too, which has no effect.
/// - The models of the services (<https://github.com/boto/botocore/tree/develop/botocore/data>): the errors with
///   `retryable`, such as `InternalServerException` and `RetryableConflictException`. A test compares them. Ten codes
///   that a single service calls retryable are left out, such as `ValidationException` and `ConflictException`, because
///   they are final in all others.
/// - `InternalError`, `ConditionalRequestConflict` and `OperationAborted`: S3's list of errors
///   (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>), which says to try again.
///   `IDPCommunicationError` is an error of STS that the SDKs repeat.
/// - The conflicts are those of
///   [DynamoDB](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)
///   and of [S3](https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html).
pub fn kind(code: &str) -> Option<FaultKind> {
    aws_kind(code)
}

#[cfg(all(test, feature = "tokio"))]
mod tests {
    use super::*;
    use crate::reply::{Says, http};
    use std::future::ready;
    use tokio::time::Instant;

    /// Rows: the tokens, the error if there is one, the attempts, and the milliseconds that they take.
    #[tokio::test(start_paused = true)]
    async fn a_long_poll_waits_where_the_budget_is_empty() {
        static FULL: Budget = Budget::aws();
        static EMPTY: Budget = Budget::aws().starting_with(0);
        static ONE: Budget = Budget::aws().starting_with(14);
        for (budget, error, attempts, millis) in [
            (&FULL, None, 1, 0),
            (&EMPTY, None, 1, 0),
            (&EMPTY, Some(http(503)), 1, 50),
            (&EMPTY, Some(http(429)), 1, 1_000),
            (&EMPTY, Some(http(404)), 1, 0),
            (&ONE, Some(http(503)), 2, 50 + 100),
            (&FULL, Some(http(503)), 3, 50 + 100),
        ] {
            let policy = STANDARD.jitter(Jitter::None).budget(budget);
            let (mut calls, start) = (0, Instant::now());
            let receive = || {
                calls += 1;
                ready(error.map_or(Ok(()), Err::<(), Says>))
            };
            let ended = long_poll(&policy, receive).await;
            assert_eq!(ended.err(), error);
            let took = start.elapsed().as_millis();
            assert_eq!((calls, took), (attempts, millis), "{budget:?} {error:?}");
        }
    }
}
