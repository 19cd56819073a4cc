//! You will be able to repeat a whole transaction, to know what happened when the reply to
//! `COMMIT` is lost, and to keep commands to Redis going through a failover.
//!
//! | database | policy | what tells the errors |
//! |---|---|---|
//! | PostgreSQL by sqlx, or by tokio-postgres | [`postgres::TRANSACTION`](crate::postgres::TRANSACTION) | feature `sqlx-08`, `sqlx-09` or `tokio-postgres-07` |
//! | MySQL, MariaDB by sqlx | [`mysql::TRANSACTION`](crate::mysql::TRANSACTION) | feature `sqlx-08-mysql` or `sqlx-09-mysql` |
//! | SQLite by sqlx | [`sqlite::TRANSACTION`](crate::sqlite::TRANSACTION) | feature `sqlx-08` or `sqlx-09` |
//! | Redis, Valkey, Memorystore | [`memorystore::DATA`](crate::memorystore::DATA), with [`Reconnect`](crate::Reconnect) | features `redis-1` and `reconnect` |
//! | Spanner, Firestore, DynamoDB | [`spanner`](crate::spanner), [`firestore`](crate::firestore), [`dynamodb`](crate::dynamodb) | the features of their clients |
//! | sea-orm, diesel | those above | [an error of your own](#sea-orm-and-diesel) |
//!
//! # A transaction is repeated as a whole
//!
//! After a serialization failure (`40001`) or a deadlock (`40P01`) the server has rolled back. So the function under
//! the policy begins the transaction, reads, decides, writes and commits.
//!
//! PostgreSQL looks for such conflicts only where you ask: two transactions of the default level `READ COMMITTED` can
//! overwrite one another, and no error says so. Use `SERIALIZABLE` or `REPEATABLE READ`, or `SELECT … FOR UPDATE`.
//!
//! With sqlx, for SQLite; the comments say what to write for PostgreSQL:
//!
//! ```ignore
#![doc = include_str!("examples/sqlx.rs")]
//! ```
//!
//! The deadline of the policy does not cut a statement that hangs. The `timeout` cuts it.
//!
//! - SQLite: set `.busy_timeout(Duration::from_millis(20))` of `SqliteConnectOptions`, and let the policy wait. Then a
//!   lock that is never freed ends the call as `database is locked`, not as a cut attempt that may have been applied.
//!
//! What the function does outside of the transaction is not rolled back: send the mail after the function has returned.
//!
//! # Around `COMMIT`
//!
//! | what failed | what happened to the transaction | `postgres::TRANSACTION` |
//! |---|---|---|
//! | no connection; the pool had none in time | nothing was begun | repeats |
//! | a statement, by a conflict, or a lock that was not free | rolled back | repeats |
//! | a statement, by a constraint, a type, a permission | rolled back | gives the error back |
//! | the connection, during a statement | rolled back, but the error does not say so | repeats, **if the error is in [`NotApplied`](crate::NotApplied)** |
//! | `COMMIT`, by a conflict | rolled back | repeats |
//! | the connection, during `COMMIT` | **committed or not** | ends with [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied) |
//! | `timeout` or `attempt_timeout` cut the attempt | committed or not | ends with `MaybeApplied` |
//!
//! The last two lines leave three ways:
//!
//! 1. Report the doubt: [`reported`](crate::Retrying::reported) gives the reason, and the caller looks.
//! 2. Let the transaction recognise its own effect, and say `idempotent = true`. Its first statement inserts an id of
//!    the call, which is made *outside* of the repeated function. If the id exists, the work is done.
//! 3. Write so that a second time changes nothing (an upsert of the whole row), and say `idempotent = true`.
//!
//! The second way, with tokio-postgres:
//!
//! ```ignore
#![doc = include_str!("examples/tokio_postgres.rs")]
//! ```
//!
//! # Connections and pools
//!
//! - **sqlx's pool waits by itself**: for 30 s (`acquire_timeout`) it asks a server that refuses connections again and
//!   again. Set a second or two, and leave the rest to the policy.
//! - **A pool keeps a connection whose server has become a replica.** Each write on it fails with `25006`.
//!   `PgPoolOptions::before_acquire` can refuse such a connection.
//! - **deadpool and bb8 wrap the client's error.** Put theirs into an error of your own, with `#[fault(forward)]`, or
//!   `#[fault(throttled)]` where the pool had no connection in time.
//! - **Keep the attempts short.** A `statement_timeout` in the database bounds a statement; its error (`57014`) is not
//!   repeated.
//!
//! The SQLSTATEs are in the table of each client's error, among the [implementations of
//! `Fault`](trait@crate::Fault#foreign-impls).
//!
//! # sea-orm and diesel
//!
//! An error of sea-orm 1.1 has the error of sqlx 0.8 among its sources, where the feature `sqlx-08` finds it.
//! (`DbErr::sql_err` names only violations of constraints; the SQLSTATE is `code()` of the `sqlx::Error::Database`
//! inside of `DbErr::Exec` and `DbErr::Query`.) An error of diesel 2.2 has no SQLSTATE, but a kind:
//! `SerializationFailure` is `40001`, and with MySQL a deadlock. A deadlock of PostgreSQL has no kind of its own; its
//! message is the server's.
//!
//! ```
//! # mod sea_orm {
//! #     #[derive(Debug)] pub struct DbErr(pub std::io::Error);
//! #     impl std::fmt::Display for DbErr { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{self:?}") } }
//! #     impl std::error::Error for DbErr { fn source(&self) -> Option<&(dyn std::error::Error + 'static)> { Some(&self.0) } }
//! # }
//! # mod diesel { pub mod result {
//! #     #[derive(Debug)] pub enum DatabaseErrorKind { SerializationFailure, ClosedConnection, Unknown }
//! #     pub trait DatabaseErrorInformation { fn message(&self) -> &str; }
//! #     impl DatabaseErrorInformation for String { fn message(&self) -> &str { self } }
//! #     pub enum Error { DatabaseError(DatabaseErrorKind, Box<dyn DatabaseErrorInformation + Send + Sync>), BrokenTransactionManager, NotFound }
//! # }}
//! use backoff_cloud::{Delivery, Fault, FaultKind, known_fault};
//! use diesel::result::{DatabaseErrorKind, Error};
//!
//! struct SeaOrm(sea_orm::DbErr);
//!
//! impl Fault for SeaOrm {
//!     fn inner(&self) -> Option<&dyn Fault> { known_fault(&self.0) }
//! }
//!
//! struct Diesel(Error);
//!
//! /// For `connection.transaction(..)`.
//! impl From<Error> for Diesel {
//!     fn from(error: Error) -> Self { Diesel(error) }
//! }
//!
//! impl Fault for Diesel {
//!     fn kind(&self) -> Option<FaultKind> {
//!         match &self.0 {
//!             Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => Some(FaultKind::Conflict),
//!             Error::DatabaseError(_, said) if said.message() == "deadlock detected" => Some(FaultKind::Conflict),
//!             _ => None,
//!         }
//!     }
//!     fn delivery(&self) -> Option<Delivery> {
//!         match &self.0 {
//!             Error::DatabaseError(DatabaseErrorKind::ClosedConnection, _) => Some(Delivery::MaybeSent),
//!             Error::BrokenTransactionManager => Some(Delivery::MaybeSent),
//!             _ => None,
//!         }
//!     }
//! }
//! # use backoff_cloud::{Verdict, postgres::TRANSACTION};
//! # let is_retried = |error: Error| matches!(TRANSACTION.judge(&Diesel::from(error)), Verdict::Retry { .. });
//! # let of_database = |kind, said: &str| Error::DatabaseError(kind, Box::new(said.to_owned()));
//! # assert!(is_retried(of_database(DatabaseErrorKind::SerializationFailure, "")));
//! # assert!(is_retried(of_database(DatabaseErrorKind::Unknown, "deadlock detected")));
//! # assert!(!is_retried(of_database(DatabaseErrorKind::ClosedConnection, "")));
//! # assert!(!is_retried(Error::BrokenTransactionManager) && !is_retried(Error::NotFound));
//! # let refused = SeaOrm(sea_orm::DbErr(std::io::ErrorKind::ConnectionRefused.into()));
//! # assert!(matches!(TRANSACTION.judge(&refused), Verdict::Retry { .. }));
//! ```
//!
//! sea-orm's pool that had no connection in time (`DbErr::ConnectionAcquire`) has no source: say
//! `#[fault(throttled)]`, or `Delivery::NotSent`, in an enum of your own. diesel blocks its thread, so annotate a
//! function that is not async.
//!
//! # Redis
//!
//! A command takes a millisecond, and a failover a few seconds. [`memorystore::DATA`](crate::memorystore::DATA)
//! begins with waits of up to 20 ms and goes on for 60 s. Calling again is not enough, because a connection
//! to a primary that has become a replica stays open and answers `READONLY`; `Reconnect` opens another one.
//!
//! ```ignore
#![doc = include_str!("examples/redis.rs")]
//! ```
//!
//! - With an error of your own, let `with` return a `RedisResult`, and write `?` after it.
//! - Take a `MultiplexedConnection`, as above. The client's `ConnectionManager` retries by itself, which is a second
//!   loop, and it keeps a connection that answers `READONLY`.
//!
//! - Which commands may be made twice: `GET`, `SET`, `DEL`, `HSET`, `SADD`, `EXPIRE`. Which may not: `INCR`,
//!   `APPEND`, `LPUSH`, `SPOP`. For these, either accept `MaybeApplied`, or send a script that remembers the
//!   id of the call beside the change.
//! - Under `WATCH`, an `EXEC` that gives nothing is a conflict: a read-modify-write by
//!   [`Policy::update`](crate::Policy::update), with `.conflict_if(|reply| reply.is_none())`.
//!
//! Previous: [The cookbook](super::cookbook) · next: [Polling, pages and streams](super::polling_pages_streams)
