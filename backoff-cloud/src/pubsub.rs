//! Google Cloud Pub/Sub.
//!
//! Which codes of which call are retried, and how long is waited, stands in the configuration that
//! Google's own clients are made from,
//! <https://github.com/googleapis/googleapis/blob/master/google/pubsub/v1/pubsub_grpc_service_config.json>:
//! first wait 100 ms, factor 1.3, cap 60 s. All calls are retried for 600 s, as the settings of the
//! page "Publish with retry settings"
//! (<https://cloud.google.com/pubsub/docs/samples/pubsub-publisher-retry-settings>) have it; that
//! configuration's five attempts are not used by Google's clients, which count time, and not here.
//! (The C++ client gives up after 60 s, says the same page, and the one for Node.js publishes with
//! a factor of 4: `pubsub::PUBLISH.factor(4.0)`.)
//!
//! The documentation names no jitter. Google's clients draw each wait from zero up to the backoff,
//! and so do these.
//!
//! The same codes are known by their HTTP statuses in the JSON API, where the body names the gRPC
//! code. A bare status, as a proxy sends it, counts where it can mean nothing but codes in the list.

use backoff_core::{Codes, Jitter, Policy, codes};
use std::time::Duration;

const BACKOFF: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .factor(1.3)
    .max_backoff(Duration::from_secs(60))
    .jitter(Jitter::Full)
    .deadline(Duration::from_secs(600));

/// `Publish`: `ABORTED`, `CANCELLED`, `DEADLINE_EXCEEDED`, `INTERNAL`, `RESOURCE_EXHAUSTED`,
/// `UNAVAILABLE` and `UNKNOWN` are retried; 429, 499, 500, 502, 503 and 504 without a code.
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
/// Source: [the module's](self), `Publisher.Publish`.
pub const PUBLISH: Policy = BACKOFF.on(codes![429, 499, 500, 502..=504, Codes::ABORTED]);

/// `Pull`, `Seek`, `CreateSubscription`, and the calls that read: get and list topics,
/// subscriptions and snapshots, `GetIamPolicy`. `ABORTED`, `UNAVAILABLE` and `UNKNOWN` are retried;
/// 502 and 503 without a code.
///
/// Source: [the module's](self).
pub const READ: Policy = BACKOFF.on(codes![502, 503, Codes::ABORTED, Codes::UNKNOWN]);

/// `Acknowledge`, `ModifyAckDeadline`, and the calls that create, update and delete topics and
/// snapshots, update and delete subscriptions, set and test IAM permissions. Only `UNAVAILABLE` is
/// retried; 502 and 503 without a code.
///
/// Source: [the module's](self).
pub const WRITE: Policy = BACKOFF.on(codes![502, 503]);

/// `StreamingPull`: opens the stream anew after `ABORTED`, `DEADLINE_EXCEEDED`, `INTERNAL`,
/// `RESOURCE_EXHAUSTED` and `UNAVAILABLE`; 429, 502, 503 and 504 without a code.
///
/// A stream ends every so often without anything being wrong
/// (<https://cloud.google.com/pubsub/docs/pull#streamingpull_api>), so begin a new retry for each,
/// or the time of all of them counts against one deadline.
///
/// Source: [the module's](self).
pub const STREAMING_PULL: Policy =
    BACKOFF.on(codes![429, 502..=504, Codes::ABORTED, Codes::INTERNAL]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Reply, life, table};
    use backoff_core::GrpcCode::*;

    #[test]
    fn each_call_retries_the_codes_of_its_configuration() {
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
        let read = vec![Unknown, Aborted, Unavailable];
        assert_eq!(table(&READ), (vec![502, 503], read));
        assert_eq!(table(&WRITE), (vec![502, 503], vec![Unavailable]));
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

    #[test]
    fn the_documented_schedule_to_the_nanosecond() {
        for policy in [PUBLISH, READ, WRITE, STREAMING_PULL] {
            let busy = Reply(503, None);
            let micros = [100_000, 130_000, 169_000, 219_700, 285_610, 371_293];
            let (waits, _) = life(&policy, &busy, u64::MAX, micros.len());
            assert_eq!(waits, micros.map(Duration::from_micros));
            assert_eq!(life(&policy, &busy, 0, 3).0, [Duration::ZERO; 3]);
            let (waits, ended) = life(&policy, &busy, u64::MAX, 999);
            assert_eq!(waits.iter().max(), Some(&Duration::from_secs(60)));
            assert_eq!(ended, Some(backoff_core::StopReason::Deadline));
            let slept = waits.iter().sum::<Duration>().as_secs();
            assert!((540..=600).contains(&slept), "{slept}");
        }
        let factor_4 = PUBLISH.factor(4.0);
        let waits = life(&factor_4, &Reply(503, None), u64::MAX, 3).0;
        assert_eq!(waits, [100, 400, 1_600].map(Duration::from_millis));
    }
}
