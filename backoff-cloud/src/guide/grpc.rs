//! gRPC with tonic 0.14: by attribute, or by a layer around the channel.
//!
//! Turn the feature `tonic-014` on. A `tonic::Status` then states its code, and how long the server asks the client to
//! wait, by `RetryInfo` or `grpc-retry-pushback-ms`.
//!
//! # A function
//!
//! A generated client retries by `#[retry]`, and `?` hands its `Status` on. `attempt_timeout` and `timeout` work with it:
//! a `Status` is made from [`TimedOut`](crate::TimedOut), with the code `DEADLINE_EXCEEDED`:
//!
//! ```ignore
#![doc = include_str!("examples/tonic_attribute.rs")]
//! ```
//!
//! # All calls of a channel
//!
//! With the feature `tower`, [a layer](mod@super::tower) retries each call of a channel:
//!
//! ```ignore
#![doc = include_str!("examples/tonic.rs")]
//! ```
//!
//! # Which codes are repeated
//!
//! The policy names them: `codes![Codes::UNAVAILABLE, Codes::ABORTED]`, or in the attribute `on = [Codes::UNAVAILABLE]`.
//! [`aip194::REQUEST`](crate::aip194::REQUEST) is Google's rule for all of its APIs. A service of Google Cloud may have a
//! [preset](crate::presets) of its own.
//!
//! Previous: [tower](mod@super::tower) · next: [Blocking programs](super::blocking)
