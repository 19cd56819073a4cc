//! Any Google API, by AIP-194, "Automatic retry configuration" (<https://google.aip.dev/194>): Google's
//! general rule for what a client may retry by itself.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a request that may be made twice | [`REQUEST`] |
//! | a request that must not be made twice | [`NOT_IDEMPOTENT`] |
//!
//! Neither is for a request inside a transaction, nor for a stream.
//!
#![doc = page_of!(aip194::REQUEST)]
//!
//! # What is retried
//!
//! `UNAVAILABLE`, a 503 without a gRPC code, and failures of the connection. The AIP forbids these codes:
//!
//! | code | why it is not retried |
//! |---|---|
//! | `ABORTED` | a transaction or a check failed. Repeat the whole transaction, as [`iam::READ_MODIFY_WRITE`](crate::iam::READ_MODIFY_WRITE), [`firestore`](crate::firestore) and [`spanner`](crate::spanner) do |
//! | `RESOURCE_EXHAUSTED` | the quota may be used up for hours. If the service means a short limit, add `.also_on(codes![429])` |
//! | `INTERNAL`, `UNKNOWN` | the service has a bug that somebody should see, and the request may have been applied |
//! | `DEADLINE_EXCEEDED`, `CANCELLED` | the application itself ended the request |
//! | `DATA_LOSS` | the data cannot be recovered |
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{GrpcCode, Fault, Verdict, aip194};
//!
//! struct Status(GrpcCode);
//! impl Fault for Status {
//!     fn grpc_code(&self) -> Option<GrpcCode> { Some(self.0) }
//! }
//!
//! let verdict = |code| aip194::REQUEST.judge(&Status(code));
//! assert!(matches!(verdict(GrpcCode::Unavailable), Verdict::Retry { .. }));
//! assert_eq!(verdict(GrpcCode::Internal), Verdict::Permanent);
//! ```

use backoff_core::{Jitter, Policy, codes};
use std::time::Duration;

/// A request that may be made twice. `UNAVAILABLE`, a 503 without a gRPC code, and failures of the
/// connection are retried.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** For any
/// other request use [`NOT_IDEMPOTENT`].
///
/// Source: <https://google.aip.dev/194>; for the waits see [the module](self).
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(60))
    .jitter(Jitter::Full)
    .max_attempts(10)
    .deadline(Duration::from_secs(60))
    .on(codes![503])
    .name("aip194::REQUEST");

/// A request that must not be made twice. It is retried only if it was not sent.
///
/// Source: <https://google.aip.dev/194>.
pub const NOT_IDEMPOTENT: Policy = REQUEST.idempotent(false).name("aip194::NOT_IDEMPOTENT");
