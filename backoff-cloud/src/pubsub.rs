//! Google Cloud Pub/Sub.
//!
//! Which codes of which call are retried, how long is waited and when it ends are those of the
//! newest client that Google generates, for Python, checked with `google-cloud-pubsub` 2.44.0:
//! `transports/base.py` of the
//! [publisher](https://github.com/googleapis/google-cloud-python/blob/main/packages/google-cloud-pubsub/google/pubsub_v1/services/publisher/transports/base.py)
//! and of the
//! [subscriber](https://github.com/googleapis/google-cloud-python/blob/main/packages/google-cloud-pubsub/google/pubsub_v1/services/subscriber/transports/base.py).
//!
//! | | first wait | factor | cap | ends |
//! |---|---|---|---|---|
//! | [`PUBLISH`] | 100 ms | 4 | 60 s | after 600 s |
//! | [`TOPIC_READ`], [`TOPIC_WRITE`] | 100 ms | 1.3 | 60 s | after 600 s |
//! | [`PULL`], [`SUBSCRIPTION_READ`], [`SUBSCRIPTION_WRITE`] | 100 ms | 1.3 | 60 s | after 60 s |
//! | [`STREAMING_PULL`] | 100 ms | 4 | 60 s | after 1,800 s |
//!
//! The service configuration that is published beside the API,
//! <https://github.com/googleapis/googleapis/blob/master/google/pubsub/v1/pubsub_grpc_service_config.json>,
//! has the same codes, but for `INTERNAL` of a pull, with a factor of 1.3 throughout and five
//! attempts. Google's clients count time instead, and so do these. A factor of 4 for publishing is
//! also on the page "Publish with retry settings"
//! (<https://cloud.google.com/pubsub/docs/samples/pubsub-publisher-retry-settings>), for Node.js;
//! there, the C++ client gives up after 60 s: `pubsub::PUBLISH.deadline(Duration::from_secs(60))`.
//!
//! The documentation names no jitter. Google's clients draw each wait from zero up to the backoff,
//! and so do these.
//!
//! The same codes are known by their HTTP statuses in the JSON API, where the body names the gRPC
//! code. A bare status, as a proxy sends it, counts where it can mean nothing but codes in the list.
//!
//! The calls for IAM are not here, for these clients do not retry them: see [`iam`](crate::iam).
//!
//! Sources read on 2026-11-21.

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

/// `Publish`: `ABORTED`, `CANCELLED`, `DEADLINE_EXCEEDED`, `INTERNAL`, `RESOURCE_EXHAUSTED`,
/// `UNAVAILABLE` and `UNKNOWN` are retried; 429, 499, 500, 502, 503 and 504 without a code. Waits of
/// up to 100 ms, 400 ms, 1.6 s and so on, 60 s at most, for 600 s.
///
/// That is nearly everything, and a message whose acknowledgement was lost is published twice. The
/// service delivers at least once anyway, so a subscriber has to bear it; where it cannot, put an
/// identifier of your own into the message, or publish with `PUBLISH.idempotent(false)`.
///
/// ```
/// use backoff_cloud::{pubsub, retry};
/// # use backoff_cloud::TimedOut as ApiError;
/// # struct Client;
/// # impl Client { async fn publish(&self, _: &str) -> Result<String, ApiError> { Ok("1".into()) } }
///
/// #[retry(policy = pubsub::PUBLISH, deadline = "60s")]
/// async fn publish(client: &Client, text: &str) -> Result<String, ApiError> {
///     client.publish(text).await
/// }
/// ```
///
/// Source: [the module's](self), the publisher's `publish`.
pub const PUBLISH: Policy = TOPIC
    .factor(4.0)
    .on(codes![429, 499, 500, 502..=504, Codes::ABORTED])
    .name("pubsub::PUBLISH");

/// The publisher's calls that read: get and list topics, list a topic's subscriptions and
/// snapshots. `ABORTED`, `UNAVAILABLE` and `UNKNOWN` are retried; 502 and 503 without a code. For
/// 600 s.
///
/// Source: [the module's](self), the publisher.
pub const TOPIC_READ: Policy = TOPIC.on(READ).name("pubsub::TOPIC_READ");

/// The publisher's other calls: create, update and delete topics, `DetachSubscription`. Only
/// `UNAVAILABLE` is retried; 502 and 503 without a code. For 600 s.
///
/// Source: [the module's](self), the publisher.
pub const TOPIC_WRITE: Policy = TOPIC.on(WRITE).name("pubsub::TOPIC_WRITE");

/// `Pull`: `ABORTED`, `INTERNAL`, `UNAVAILABLE` and `UNKNOWN` are retried; 500, 502 and 503 without
/// a code. For 60 s.
///
/// Source: [the module's](self), the subscriber's `pull`.
pub const PULL: Policy = SUBSCRIPTION
    .on(codes![500, 502, 503, Codes::ABORTED])
    .name("pubsub::PULL");

/// The subscriber's calls that read, and two more: get and list subscriptions and snapshots,
/// `CreateSubscription`, `Seek`. `ABORTED`, `UNAVAILABLE` and `UNKNOWN` are retried; 502 and 503
/// without a code. For 60 s.
///
/// Source: [the module's](self), the subscriber.
pub const SUBSCRIPTION_READ: Policy = SUBSCRIPTION.on(READ).name("pubsub::SUBSCRIPTION_READ");

/// The subscriber's other calls: `Acknowledge`, `ModifyAckDeadline`, `ModifyPushConfig`, update and
/// delete subscriptions, create, update and delete snapshots. Only `UNAVAILABLE` is retried; 502
/// and 503 without a code. For 60 s.
///
/// The calls for schemas are retried alike.
///
/// Source: [the module's](self), the subscriber.
pub const SUBSCRIPTION_WRITE: Policy = SUBSCRIPTION.on(WRITE).name("pubsub::SUBSCRIPTION_WRITE");

/// `StreamingPull`: opens the stream anew after `ABORTED`, `DEADLINE_EXCEEDED`, `INTERNAL`,
/// `RESOURCE_EXHAUSTED` and `UNAVAILABLE`; 429, 502, 503 and 504 without a code. Waits as
/// [`PUBLISH`], for 1,800 s.
///
/// A stream ends every so often without anything being wrong
/// (<https://cloud.google.com/pubsub/docs/pull#streamingpull_api>), so begin a new retry for each,
/// or the time of all of them counts against one deadline.
///
/// Source: [the module's](self), the subscriber's `streaming_pull`.
pub const STREAMING_PULL: Policy = BACKOFF
    .factor(4.0)
    .deadline(Duration::from_secs(1_800))
    .on(codes![429, 502..=504, Codes::ABORTED, Codes::INTERNAL])
    .name("pubsub::STREAMING_PULL");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Reply, life, table};
    use backoff_core::GrpcCode::*;
    use backoff_core::StopReason;

    #[test]
    fn each_call_retries_the_codes_of_the_generated_client() {
        let publish = [
            Cancelled,
            Unknown,
            DeadlineExceeded,
            ResourceExhausted,
            Aborted,
            Internal,
            Unavailable,
        ];
        let statuses = vec![429, 499, 500, 502, 503, 504];
        assert_eq!(table(&PUBLISH), (statuses, publish.to_vec()));
        for policy in [TOPIC_READ, SUBSCRIPTION_READ] {
            let read = vec![Unknown, Aborted, Unavailable];
            assert_eq!(table(&policy), (vec![502, 503], read));
        }
        for policy in [TOPIC_WRITE, SUBSCRIPTION_WRITE] {
            assert_eq!(table(&policy), (vec![502, 503], vec![Unavailable]));
        }
        let pull = vec![Unknown, Aborted, Internal, Unavailable];
        assert_eq!(table(&PULL), (vec![500, 502, 503], pull));
        let stream = [
            DeadlineExceeded,
            ResourceExhausted,
            Aborted,
            Internal,
            Unavailable,
        ];
        let statuses = vec![429, 502, 503, 504];
        assert_eq!(table(&STREAMING_PULL), (statuses, stream.to_vec()));
    }

    /// The first waits at most, and the seconds that it may last.
    fn runs(policy: &Policy, micros: [u64; 6], seconds: u64) {
        let busy = Reply(503, None);
        let (waits, _) = life(policy, &busy, u64::MAX, micros.len());
        assert_eq!(waits, micros.map(Duration::from_micros));
        assert_eq!(life(policy, &busy, 0, 3).0, [Duration::ZERO; 3]);
        let (waits, ended) = life(policy, &busy, u64::MAX, 999);
        assert_eq!(ended, Some(StopReason::Deadline));
        let cap = Duration::from_secs(60);
        assert!(waits.iter().all(|&wait| wait <= cap), "{waits:?}");
        assert!(seconds <= 60 || waits.contains(&cap), "{waits:?}");
        let slept = waits.iter().sum::<Duration>();
        let (limit, last) = (Duration::from_secs(seconds), waits[waits.len() - 1]);
        assert!(slept <= limit, "{slept:?}");
        assert!(slept + cap.min(last.mul_f64(4.0)) >= limit, "{slept:?}");
    }

    #[test]
    fn the_generated_clients_schedule_to_the_nanosecond() {
        let slow = [100_000, 130_000, 169_000, 219_700, 285_610, 371_293];
        let fast = [
            100_000, 400_000, 1_600_000, 6_400_000, 25_600_000, 60_000_000,
        ];
        runs(&PUBLISH, fast, 600);
        runs(&TOPIC_READ, slow, 600);
        runs(&TOPIC_WRITE, slow, 600);
        runs(&PULL, slow, 60);
        runs(&SUBSCRIPTION_READ, slow, 60);
        runs(&SUBSCRIPTION_WRITE, slow, 60);
        runs(&STREAMING_PULL, fast, 1_800);
    }
}
