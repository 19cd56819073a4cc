//! Google Cloud Memorystore for Redis: requests to its API, its operations, and commands to the Redis of
//! an instance.
//!
//! # Presets
//!
//! | request | policy |
//! |---|---|
//! | a request to the API: get, list, create, update or delete an instance | [`REQUEST`] |
//! | polling an operation of the API until it is done | [`OPERATION`] |
//! | a command to the Redis of an instance | [`DATA`], with a `Reconnect` (feature `reconnect`) |
//!
#![doc = page_of!(memorystore::REQUEST)]
//!
//! # What is retried
//!
//! [`REQUEST`] and [`OPERATION`] judge a reply by its gRPC code. A reply without a gRPC code is judged by
//! its status:
//!
//! | the reply names | retried |
//! |---|---|
//! | no gRPC code | 429, and every status from 500 to 599 |
//! | `UNKNOWN`, `INTERNAL`, `DATA_LOSS` (500), `UNIMPLEMENTED` (501), `UNAVAILABLE` (503), `DEADLINE_EXCEEDED` (504), `RESOURCE_EXHAUSTED` (429) | yes, whatever the status is |
//! | `CANCELLED`, `INVALID_ARGUMENT`, `NOT_FOUND`, `ALREADY_EXISTS`, `PERMISSION_DENIED`, `FAILED_PRECONDITION`, `ABORTED`, `OUT_OF_RANGE`, `UNAUTHENTICATED` | no, even with a 5xx: Google's services send these codes with a 4xx, and the code says more than the status |
//!
//! `DATA_LOSS` and `UNIMPLEMENTED` are retried because the document says every 5xx. A retry rarely helps
//! there, and [AIP-194](https://google.aip.dev/194), a rule for all of Google's services, never retries
//! `DATA_LOSS`. To follow AIP-194 in this, write `memorystore::REQUEST.on(codes![429, 500..=599])`: a set
//! of statuses does not contain `DATA_LOSS`.
//!
//! [`DATA`] retries lost connections, and the replies of Redis that pass: `READONLY`, `LOADING`, `BUSY` and
//! others. The feature `redis-1` reads them from a `redis::RedisError`.
//!
//! # After the last retry
//!
//! The document says: if the last retry fails too, report or log the error by one of the methods under
//! [Getting support](https://cloud.google.com/memorystore/docs/redis/getting-support). The event
//! [`GaveUp`](crate::Event) and its log line are the place for that. Who uses the Google Cloud console needs no
//! retries: the console makes them.
//!
//! # Example
//!
//! ```
//! use backoff_cloud::{memorystore, retry};
//! # use backoff_cloud::TimedOut as ApiError;
//! # struct Instance;
//! # struct Client;
//! # impl Client { async fn get(&self, _: &str) -> Result<Instance, ApiError> { Ok(Instance) } }
//!
//! #[retry(policy = memorystore::REQUEST, max_attempts = 5)]
//! async fn instance(client: &Client, name: &str) -> Result<Instance, ApiError> {
//!     client.get(name).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() { instance(&Client, "a").await.unwrap(); }
//! ```

use backoff_core::{Codes, Jitter, Policy, codes};
use std::time::Duration;

/// 429 and every 5xx. A set of statuses does not contain `DATA_LOSS`, which Google sends with a 500, so
/// the code is named.
const DOCUMENTED: Codes = codes![429, 500..=599, Codes::DATA_LOSS];

/// One request to the Memorystore API, as its documentation asks. 429, every 5xx and failures of the
/// connection are retried.
///
/// **In an attribute or a closure the policy assumes that everything inside may run twice.** A create there
/// is repeated too: give it a `requestId` ([`Attempt::id`](crate::Attempt::id)), or write
/// `idempotent = false`.
///
/// The policy has no deadline, so it obeys a `Retry-After` of up to 5 minutes. If each reply asks for 5
/// minutes, the call takes 45 minutes. Use `.deadline(..)` or `.max_retry_after(..)` to limit this.
///
/// After the last attempt the failure should be reported: with the feature `tracing` the call writes one
/// event of the level WARN.
///
/// [The module](self) has the sources, what is retried, and an example.
pub const REQUEST: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .factor(2.0)
    .max_backoff(Duration::from_secs(64))
    .jitter(Jitter::Additive(Duration::from_millis(1000)))
    .max_attempts(10)
    .on(DOCUMENTED)
    .name("memorystore::REQUEST");

/// Polls a long-running operation of the Memorystore API until it is done. The API starts such an
/// operation when an instance is created, changed or deleted.
///
/// The number of polls is not limited. A poll that fails is repeated after the same failures as
/// [`REQUEST`]. [The module](self) has the sources.
///
/// An operation that is done may have failed, so look at its `error`. The deadline limits the polling, not
/// the operation: the operation goes on without its caller.
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
/// # assert!((12.5..14.51).contains(&start.elapsed().as_secs_f64()));
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

/// One command to the Redis of a Memorystore instance. [The module](self) has the sources and our
/// choices.
///
/// A retry alone is not enough. A connection that was closed stays closed, and a connection to a primary
/// that has become a replica answers `READONLY` to every write. So take the connection from a `Reconnect`
/// (feature `reconnect`), which opens a new one. The feature `redis-1` says which errors of redis need a new
/// connection.
///
/// The policy assumes that the command may be made twice, as `GET`, `SET`, `DEL`, `HSET` and `SADD` may.
/// `INCR`, `APPEND`, `LPUSH` and `SPOP` may not. For those use `DATA.idempotent(false)`: then a command is
/// repeated only after a refusal (`READONLY`, `LOADING`, `BUSY`, …) or if no connection was made, and any
/// other failure of the connection ends with
/// [`StopReason::MaybeApplied`](backoff_core::StopReason::MaybeApplied). For a transaction under `WATCH` use
/// [`Policy::update`].
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
pub const DATA: Policy = Policy::exponential()
    .base(Duration::from_millis(20))
    .max_backoff(Duration::from_secs(1))
    .jitter(Jitter::Full)
    .deadline(Duration::from_secs(60))
    .name("memorystore::DATA");
