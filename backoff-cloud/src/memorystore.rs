//! Google Cloud Memorystore for Redis: the requests that manage instances.

use backoff_core::{Jitter, Policy, codes};
use std::time::Duration;

/// One request to the Memorystore API, as its documentation asks: 429 and every 5xx retried; the
/// wait before retry *n*, counted from 0, is `min(2ⁿ s + up to 1000 ms, maximum backoff)`, with a
/// maximum backoff of 64 s, and the number of retries is limited. (A 500 whose body says
/// `DATA_LOSS` is not retried: no repetition brings it back.)
///
/// The documentation leaves that number to the client. Here it is 9, so 10 attempts: the waits
/// then sum up to 255 to 262 seconds. When they are used up the failure is to be reported: with
/// the feature `tracing` that is one WARN event.
///
/// ```
/// use backoff_cloud::{memorystore, retry};
/// # use backoff_cloud::TimedOut as ApiError;
/// # struct Instance;
/// # struct Client;
/// # impl Client { async fn get(&self, _: &str) -> Result<Instance, ApiError> { Ok(Instance) } }
///
/// #[retry(policy = memorystore::REQUEST, max_attempts = 5)]
/// async fn instance(client: &Client, name: &str) -> Result<Instance, ApiError> {
///     client.get(name).await
/// }
/// ```
///
/// Source: <https://cloud.google.com/memorystore/docs/redis/exponential-backoff>.
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(64))
    .jitter(Jitter::Additive(Duration::from_millis(1000)))
    .max_attempts(10)
    .on(codes![429, 500..=599]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Reply;
    use backoff_core::{Decision, GrpcCode, Retry, StopReason, Verdict};

    #[test]
    fn too_many_requests_and_every_server_error_are_retried() {
        for status in 400..600 {
            let retried = REQUEST.judge(&Reply(status, None)) != Verdict::Permanent;
            assert_eq!(retried, status == 429 || status >= 500, "{status}");
        }
        for code in [
            GrpcCode::ResourceExhausted,
            GrpcCode::Unavailable,
            GrpcCode::Internal,
        ] {
            let reply = Reply(code.http_status(), Some(code));
            assert_ne!(REQUEST.judge(&reply), Verdict::Permanent, "{code}");
        }
    }

    /// The whole life of a request that never succeeds, least and greatest waits.
    #[test]
    fn the_documented_schedule_ends_after_its_retries() {
        for (random, expected) in [
            (0, [1, 2, 4, 8, 16, 32, 64, 64, 64]),
            (u64::MAX, [2, 3, 5, 9, 17, 33, 64, 64, 64]),
        ] {
            let mut retry = Retry::start(&REQUEST, || unreachable!("there is no deadline"));
            let mut waits = Vec::new();
            let reason = loop {
                let verdict = REQUEST.judge(&Reply(503, None));
                match retry.failed(&REQUEST, verdict, || Duration::ZERO, || random) {
                    Decision::Wait(wait) => waits.push(wait.delay),
                    Decision::Stop(reason) => break reason,
                }
            };
            assert_eq!(waits, expected.map(Duration::from_secs));
            assert_eq!(reason, StopReason::Attempts);
            assert_eq!(retry.failures(), 10);
        }
    }
}
