//! Google Cloud Pub/Sub: the calls of publishers and subscribers.
//!
//! # Presets
//!
//! | call | policy |
//! |---|---|
//! | `Publish` | [`PUBLISH`] |
//! | `StreamingPull` | [`STREAMING_PULL`] |
//! | `Pull` | [`PULL`] |
//! | the publisher's reads: get and list topics, list a topic's subscriptions and snapshots | [`TOPIC_READ`] |
//! | the publisher's other calls: create, update and delete topics, `DetachSubscription` | [`TOPIC_WRITE`] |
//! | the subscriber's reads: get and list subscriptions and snapshots; `CreateSubscription`, `Seek` | [`SUBSCRIPTION_READ`] |
//! | the subscriber's other calls: `Acknowledge`, `ModifyAckDeadline`, `ModifyPushConfig`, update and delete subscriptions, create, update and delete snapshots; the calls for schemas | [`SUBSCRIPTION_WRITE`] |
//! | the calls for IAM | those of [`iam`](crate::iam), because Google's clients for Pub/Sub do not retry these calls |
//!
#![doc = page_of!(pubsub::PUBLISH)]
//!
//! # What is retried
//!
//! Each call has codes of its own; [`presets`](crate::presets#retried-failures) has them all. Failures of
//! the connection are retried too. A message whose acknowledgement was lost is then published twice. The
//! service delivers a message at least once anyway, so a subscriber must handle a second delivery. If it
//! cannot, put an identifier of your own into the message, or use `PUBLISH.idempotent(false)`.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{pubsub, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Client;
//! # impl Client { async fn publish(&self, _: &str) -> Result<String, ApiError> { Ok("1".into()) } }
//!
//! #[retry(policy = pubsub::PUBLISH, deadline = "60s")]
//! async fn publish(client: &Client, text: &str) -> Result<String, ApiError> {
//!     client.publish(text).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { assert_eq!(publish(&Client, "hello").await.unwrap(), "1") }
//! ```

use backoff_core::{Codes, Jitter, Policy, codes};
use std::time::Duration;

const BACKOFF: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .factor(1.3)
    .max_backoff(Duration::from_secs(60))
    .jitter(Jitter::Full);

const TOPIC: Policy = BACKOFF.deadline(Duration::from_secs(600));
const SUBSCRIPTION: Policy = BACKOFF.deadline(Duration::from_secs(60));

const READ: Codes = codes![502, 503, Codes::ABORTED, Codes::UNKNOWN];
const WRITE: Codes = codes![502, 503];

/// `Publish`. `ABORTED`, `CANCELLED`, `DEADLINE_EXCEEDED`, `INTERNAL`, `RESOURCE_EXHAUSTED`,
/// `UNAVAILABLE` and `UNKNOWN` are retried; without a gRPC code 429, 499, 500, 502, 503 and 504. The waits
/// are up to 100 ms, 400 ms, 1.6 s and so on, at most 60 s, for 600 s.
///
/// A message may be published twice: see [the module](self#what-is-retried).
///
/// Source: [the module's](self), the publisher's `publish`.
pub const PUBLISH: Policy = TOPIC
    .factor(4.0)
    .on(codes![429, 499, 500, 502..=504, Codes::ABORTED])
    .name("pubsub::PUBLISH");

/// The publisher's calls that read: get and list topics, list a topic's subscriptions and snapshots.
/// `ABORTED`, `UNAVAILABLE` and `UNKNOWN` are retried; without a gRPC code 502 and 503.
///
/// Source: [the module's](self), the publisher.
pub const TOPIC_READ: Policy = TOPIC.on(READ).name("pubsub::TOPIC_READ");

/// The publisher's other calls: create, update and delete topics, `DetachSubscription`. `UNAVAILABLE` is
/// retried; without a gRPC code 502 and 503.
///
/// Source: [the module's](self), the publisher.
pub const TOPIC_WRITE: Policy = TOPIC.on(WRITE).name("pubsub::TOPIC_WRITE");

/// `Pull`. `ABORTED`, `INTERNAL`, `UNAVAILABLE` and `UNKNOWN` are retried; without a gRPC code 500, 502
/// and 503.
///
/// Source: [the module's](self), the subscriber's `pull`.
pub const PULL: Policy = SUBSCRIPTION
    .on(codes![500, 502, 503, Codes::ABORTED])
    .name("pubsub::PULL");

/// The subscriber's calls that read, and two more: get and list subscriptions and snapshots,
/// `CreateSubscription`, `Seek`. `ABORTED`, `UNAVAILABLE` and `UNKNOWN` are retried; without a gRPC code
/// 502 and 503.
///
/// Source: [the module's](self), the subscriber.
pub const SUBSCRIPTION_READ: Policy = SUBSCRIPTION.on(READ).name("pubsub::SUBSCRIPTION_READ");

/// The subscriber's other calls: `Acknowledge`, `ModifyAckDeadline`, `ModifyPushConfig`, update and
/// delete subscriptions, create, update and delete snapshots. The calls for schemas have the same rules.
/// `UNAVAILABLE` is retried; without a gRPC code 502 and 503.
///
/// Source: [the module's](self), the subscriber.
pub const SUBSCRIPTION_WRITE: Policy = SUBSCRIPTION.on(WRITE).name("pubsub::SUBSCRIPTION_WRITE");

/// `StreamingPull`: opens the stream again after `ABORTED`, `DEADLINE_EXCEEDED`, `INTERNAL`,
/// `RESOURCE_EXHAUSTED` and `UNAVAILABLE`; without a gRPC code after 429, 502, 503 and 504. The waits are
/// those of [`PUBLISH`], the deadline is longer.
///
/// The service ends a stream from time to time without a fault
/// (<https://cloud.google.com/pubsub/docs/pull#streamingpull_api>). Make a new call with this policy for each
/// stream. Otherwise one deadline counts the time of all streams.
///
/// Source: [the module's](self), the subscriber's `streaming_pull`.
pub const STREAMING_PULL: Policy = BACKOFF
    .factor(4.0)
    .deadline(Duration::from_secs(1_800))
    .on(codes![429, 502..=504, Codes::ABORTED, Codes::INTERNAL])
    .name("pubsub::STREAMING_PULL");
