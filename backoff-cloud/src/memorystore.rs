//! Google Cloud Memorystore for Redis: the requests that manage instances.
//!
//! Sources read on 2026-11-21.

use backoff_core::{Codes, Jitter, Policy, codes};
use std::time::Duration;

/// 429 and every 5xx. A set of statuses leaves out `DATA_LOSS`, which Google sends with a 500, so it
/// is named.
const DOCUMENTED: Codes = codes![429, 500..=599, Codes::DATA_LOSS];

/// One request to the Memorystore API, as its documentation asks: 429 and every 5xx retried; the
/// wait before retry *n*, counted from 0, is `min(2ⁿ s + up to 1000 ms, maximum backoff)`, with a
/// maximum backoff of 64 s, and the number of retries is limited.
///
/// # Which replies are retried
///
/// A reply that names a gRPC code is judged by that code, and a reply that names none by its status:
///
/// | the reply names | retried |
/// |---|---|
/// | no gRPC code | 429, and every status from 500 to 599 |
/// | `UNKNOWN`, `INTERNAL`, `DATA_LOSS` (500), `UNIMPLEMENTED` (501), `UNAVAILABLE` (503), `DEADLINE_EXCEEDED` (504), `RESOURCE_EXHAUSTED` (429) | yes, whatever the status |
/// | `CANCELLED`, `INVALID_ARGUMENT`, `NOT_FOUND`, `ALREADY_EXISTS`, `PERMISSION_DENIED`, `FAILED_PRECONDITION`, `ABORTED`, `OUT_OF_RANGE`, `UNAUTHENTICATED` | no, even with a 5xx: Google sends these codes with a 4xx, and the code is the service's own word |
///
/// `DATA_LOSS` and `UNIMPLEMENTED` are retried because the document says every 5xx. A repetition
/// rarely cures them, and [AIP-194](https://google.aip.dev/194), a rule for all of Google's services,
/// never repeats `DATA_LOSS`. To follow AIP-194 in this, write
/// `memorystore::REQUEST.on(codes![429, 500..=599])`: such a set does not hold `DATA_LOSS`.
///
/// # A server that asks for a pause
///
/// A `Retry-After` of up to 5 minutes is waited for, as in every policy without a deadline. If each
/// reply asks for 5 minutes, the call takes 45 minutes. Say `.deadline(..)` or `.max_retry_after(..)`
/// to bound it.
///
/// # What the document leaves to the client
///
/// The document names 32 s as another usual maximum: `memorystore::REQUEST.max_backoff(Duration::from_secs(32))`.
/// A phone may need more retries and longer waits than a desktop:
/// `memorystore::REQUEST.scaled(2.0).max_attempts(12)`.
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
    .on(DOCUMENTED)
    .name("memorystore::REQUEST");

/// Polling a long-running operation of the Memorystore API until it is done: what creates,
/// changes or deletes an instance.
///
/// [AIP-151](https://google.aip.dev/151) has a service answer such a call with an operation at
/// once, and its client ask for that operation until it is `done`; how often is left to the client.
/// Google's client libraries wait
/// [5 s before the second poll, 1.5 times as long before each further one, and 45 s at the most](https://github.com/googleapis/googleapis/blob/master/google/api/client.proto)
/// where a service does not say otherwise, and so does this. They give up after 5 minutes; for
/// Memorystore for Redis, Google sets
/// [7,200 s for a creation or a change](https://github.com/googleapis/googleapis/blob/master/google/cloud/redis/v1/redis_v1.yaml),
/// and that is the deadline here. (That file also asks for a first wait of 60 s, and for 360 s at
/// the most; 45 s notices the end sooner, at a price of about 160 polls in two hours.) The number
/// of attempts is not limited.
///
/// A poll that fails is repeated after exactly what [`REQUEST`] retries: 429, every 5xx, and the gRPC
/// codes in the table there. As there, up to 1000 ms is added to each wait.
///
/// An operation that is done may have failed: look at its `error`. And a deadline bounds the
/// polling, not the operation, which goes on without its caller.
///
/// ```
/// use backoff_cloud::{NotYet, memorystore};
///
/// struct Operation { done: bool }
/// # struct Client(std::cell::Cell<u32>);
/// # impl Client {
/// #     async fn operation(&self, _: &str) -> Result<Operation, NotYet> {
/// #         self.0.set(self.0.get() + 1);
/// #         Ok(Operation { done: self.0.get() == 3 })
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), NotYet> {
/// # let client = Client(std::cell::Cell::new(0));
/// # let start = tokio::time::Instant::now();
///
/// let name = "projects/p/locations/l/operations/o";
/// let operation = memorystore::OPERATION
///     .retry(|| client.operation(name))
///     .until(|operation| operation.done)
///     .await?;
/// assert!(operation.done);
/// # assert!((12.5..14.5).contains(&start.elapsed().as_secs_f64()));
/// # Ok(())
/// # }
/// ```
pub const OPERATION: Policy = Policy::exponential()
    .base(Duration::from_secs(5))
    .factor(1.5)
    .max_backoff(Duration::from_secs(45))
    .jitter(Jitter::Additive(Duration::from_millis(1000)))
    .deadline(Duration::from_secs(7200))
    .on(DOCUMENTED)
    .name("memorystore::OPERATION");

/// One command to the Redis behind a Memorystore instance.
///
/// What Google documents: a failover drops the connections to the primary, the instance is
/// unavailable for a few seconds, and the same address then leads to the new primary; so do scaling,
/// upgrades and maintenance, and a client shall have "retry logic with exponential backoff" in place
/// for them. No numbers are given for commands, those of [`REQUEST`] are for the API. So these are
/// this crate's own: a first wait of up to 20 ms, since a command takes a millisecond and many
/// failures pass as fast; full jitter, since a failover strikes all clients in the same moment; no
/// wait above 1 s, so that nobody notices the end of a failover much later than it ends; and a
/// deadline of 60 s, ten times a few seconds and more.
///
/// Calling again is not enough: a connection that was dropped stays dropped, and one to a primary that
/// has become a replica answers `READONLY` for ever. So commands take their connection from a
/// `Reconnect` (feature `reconnect`). The feature `redis-1` of `backoff-core` says of
/// `redis::RedisError` which failures ask for a new one.
///
/// As every policy, it takes the command for idempotent: `GET`, `SET`, `DEL`, `HSET`, `SADD`. After a
/// connection that broke, it may then be made twice, which changes nothing. `INCR`, `APPEND`,
/// `LPUSH`, `SPOP` are not: with `DATA.idempotent(false)` they are repeated only after a refusal
/// (`READONLY`, `LOADING`, `BUSY`, …) or where no connection was made, and otherwise end with
/// [`StopReason::MaybeApplied`](backoff_core::StopReason::MaybeApplied). A transaction under
/// `WATCH` goes with [`Policy::update`].
///
/// ```
/// use backoff_cloud::{Policy, memorystore};
///
/// const COUNTER: Policy = memorystore::DATA.idempotent(false);
/// ```
///
#[cfg_attr(feature = "reconnect", doc = "```")]
#[cfg_attr(not(feature = "reconnect"), doc = "```ignore")]
/// use backoff_cloud::{Reconnect, memorystore};
/// # use backoff_cloud::{Fault, NotOpened};
/// # #[derive(Clone, Debug)] struct RedisError;
/// # impl From<NotOpened<RedisError>> for RedisError {
/// #     fn from(error: NotOpened<RedisError>) -> Self { error.error }
/// # }
/// # impl Fault for RedisError {}
/// # #[derive(Clone)] struct Connection;
/// # impl Connection {
/// #     async fn get(&mut self, _: &str) -> Result<String, RedisError> { Ok("blue".to_owned()) }
/// # }
/// # struct Client;
/// # impl Client {
/// #     async fn get_multiplexed_async_connection(&self) -> Result<Connection, RedisError> { Ok(Connection) }
/// # }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), RedisError> {
/// # let client = Client;
/// let redis = Reconnect::new(|| client.get_multiplexed_async_connection());
/// let colour = memorystore::DATA
///     .retry(|| redis.with(|mut connection| async move { connection.get("colour").await }))
///     .await?;
/// # assert_eq!(colour, "blue");
/// # Ok(())
/// # }
/// ```
///
/// Sources: <https://cloud.google.com/memorystore/docs/redis/high-availability-for-memorystore-for-redis>,
/// <https://cloud.google.com/memorystore/docs/redis/general-best-practices>.
pub const DATA: Policy = Policy::exponential()
    .base(Duration::from_millis(20))
    .max_backoff(Duration::from_secs(1))
    .jitter(Jitter::Full)
    .deadline(Duration::from_secs(60))
    .name("memorystore::DATA");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Reply, Says, life, retries, table};
    use backoff_core::{Decision, GrpcCode, RetryState, StopReason, TimedOut, Verdict};

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

    /// "All requests that return 5xx and 429": a reply that names a code is judged by the code, and
    /// each code that stands for such a status in Google's replies is retried.
    #[test]
    fn every_grpc_code_behind_a_5xx_is_judged_by_the_status_it_stands_for() {
        for status in 500..600 {
            for code in GrpcCode::ALL {
                let documented = matches!(code.http_status(), 429 | 500..=599);
                for policy in [REQUEST, OPERATION] {
                    let reply = Reply(status, Some(code));
                    assert_eq!(retries(&policy, &reply), documented, "{status} {code}");
                }
            }
        }
        let (_, codes) = table(&REQUEST);
        use GrpcCode::*;
        let expected = [
            Unknown,
            DeadlineExceeded,
            ResourceExhausted,
            Unimplemented,
            Internal,
            Unavailable,
            DataLoss,
        ];
        assert_eq!(codes, expected);
    }

    #[test]
    fn the_other_advice_of_the_document_is_one_call_each() {
        let waits = |policy: Policy| -> Vec<u64> {
            let planned = policy.schedule();
            planned.map(|it| it.least.as_secs()).collect()
        };
        let shorter = REQUEST.max_backoff(Duration::from_secs(32));
        assert_eq!(waits(shorter), [1, 2, 4, 8, 16, 32, 32, 32, 32]);
        let phone = REQUEST.scaled(2.0).max_attempts(12);
        let expected = [2, 4, 8, 16, 32, 64, 128, 128, 128, 128, 128];
        assert_eq!(waits(phone), expected);
    }

    #[test]
    fn hints_keep_a_request_for_three_quarters_of_an_hour_at_most() {
        let hinted = |seconds| Says {
            retry_after: Some(Duration::from_secs(seconds)),
            status: Some(429),
            ..Says::default()
        };
        let (waits, ended) = life(&REQUEST, &hinted(300), 0, 99);
        assert_eq!(ended, Some(StopReason::Attempts));
        assert_eq!(waits.iter().sum::<Duration>(), Duration::from_secs(45 * 60));
        let ended = Some(StopReason::RetryAfter);
        assert_eq!(life(&REQUEST, &hinted(3_599), 0, 99), (vec![], ended));
    }

    #[test]
    fn a_command_waits_up_to_a_second_for_a_minute() {
        let waits = |random| {
            let at = |n| DATA.backoff(n, Duration::ZERO, random).as_millis();
            [0, 1, 2, 3, 4, 5, 6, 7].map(at)
        };
        assert_eq!(waits(u64::MAX), [20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        assert_eq!(waits(0), [0; 8]);

        let mut retry = RetryState::start(&DATA, || Duration::ZERO);
        let lost = TimedOut::new(Duration::ZERO);
        let mut now = Duration::ZERO;
        let reason = loop {
            match retry.failed(&DATA, DATA.judge(&lost), || now, || u64::MAX) {
                Decision::Wait(wait) => now += wait.delay,
                Decision::Stop(reason) => break reason,
            }
        };
        assert_eq!(reason, StopReason::Deadline);
        assert!((59..=60).contains(&now.as_secs()), "{now:?}");
    }

    #[test]
    fn what_may_have_been_counted_is_not_counted_twice() {
        let lost = TimedOut::new(Duration::ZERO);
        assert_eq!(DATA.judge(&lost), Verdict::from(true));
        let counter = DATA.idempotent(false);
        assert_eq!(counter.judge(&lost), Verdict::MaybeApplied);
    }

    #[test]
    fn a_poll_is_retried_as_a_request_is() {
        for status in 400..600 {
            let reply = Reply(status, None);
            assert_eq!(OPERATION.judge(&reply), REQUEST.judge(&reply), "{status}");
        }
    }

    #[test]
    fn an_operation_is_polled_for_two_hours_at_the_most() {
        let waits = |random| {
            let at = |n| OPERATION.backoff(n, Duration::ZERO, random).as_millis();
            [0, 1, 2, 5, 6, 7, 100].map(at)
        };
        assert_eq!(
            waits(0),
            [5_000, 7_500, 11_250, 37_968, 45_000, 45_000, 45_000]
        );
        assert_eq!(waits(u64::MAX)[..4], [6_000, 8_500, 12_250, 38_968]);

        let mut retry = RetryState::start(&OPERATION, || Duration::ZERO);
        let mut now = Duration::ZERO;
        let verdict = OPERATION.judge(&Reply(503, None));
        let reason = loop {
            match retry.failed(&OPERATION, verdict, || now, || 0) {
                Decision::Wait(wait) => now += wait.delay,
                Decision::Stop(reason) => break reason,
            }
        };
        assert_eq!(reason, StopReason::Deadline);
        assert!((7_155..=7_200).contains(&now.as_secs()), "{now:?}");
        assert!((160..170).contains(&retry.failures()));
    }

    /// The whole life of a request that never succeeds, least and greatest waits.
    #[test]
    fn the_documented_schedule_ends_after_its_retries() {
        for (random, expected) in [
            (0, [1, 2, 4, 8, 16, 32, 64, 64, 64]),
            (u64::MAX, [2, 3, 5, 9, 17, 33, 64, 64, 64]),
        ] {
            let mut retry = RetryState::start(&REQUEST, || unreachable!("there is no deadline"));
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
