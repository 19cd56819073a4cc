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
//! | another one | a policy of your own | [`Fault`](trait@crate::Fault) for your error |
//!
//! # A transaction is repeated as a whole
//!
//! After a serialization failure (`40001`) or a deadlock (`40P01`) the server has rolled back. What was read
//! is old: a write that is sent alone would write what follows from old values. So the function under the
//! policy begins the transaction, reads, decides, writes and commits.
//!
//! PostgreSQL looks for such conflicts only where you ask: two transactions of the default level
//! `READ COMMITTED` that read a balance and write it back overwrite one another, and no error says so. Use
//! `SERIALIZABLE` or `REPEATABLE READ`, or `SELECT … FOR UPDATE`.
//!
//! With sqlx, for SQLite, where you can try the program without a server; its comments say what to write for PostgreSQL:
//!
//! ```ignore
#![doc = include_str!("examples/sqlx.rs")]
//! ```
//!
//! The deadline of the policy does not cut a statement that hangs. The `timeout` cuts it.
//!
//! - If each `?` stands before `COMMIT`, an `impl From<sqlx::Error>` that makes `Before(NotApplied(..))` saves the
//!   `map_err(before)`; `COMMIT` keeps its `map_err`. A function may also return `sqlx::Error` itself. Then a connection
//!   that is lost during a statement ends the call.
//! - SQLite: set `.busy_timeout(Duration::from_millis(20))` of `SqliteConnectOptions`, and let the policy wait. In one
//!   measurement 16 writers of one row took 0.2 s, and 0.8 s with sqlx's 5 s. And a lock that is never freed ends the call
//!   as `database is locked`, not as a cut attempt that may have been applied.
//!
//! What the function does outside of the transaction is not rolled back: send the mail, publish the message
//! and change the cache after the function has returned.
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
//! 1. Report the doubt. The caller looks whether the work was done: [`reported`](crate::Retrying::reported)
//!    gives the reason.
//! 2. Let the transaction recognise its own effect, and say `idempotent = true`. Its first statement inserts
//!    an id of the call, which is made *outside* of the repeated function. If the id exists, the work is done.
//! 3. Write so that a second time changes nothing (`SET colour = 'blue'`, an upsert of the whole row), and say
//!    `idempotent = true`.
//!
//! The second way, with tokio-postgres:
//!
//! ```ignore
#![doc = include_str!("examples/tokio_postgres.rs")]
//! ```
//!
//! # Connections and pools
//!
//! - **sqlx's pool waits by itself**: for 30 s (`acquire_timeout`) it asks a server that refuses connections
//!   again and again. Set `acquire_timeout` to a second or two, and leave the rest to the policy.
//! - **A pool keeps a connection whose server has become a replica.** Each write on it fails with `25006`.
//!   `PgPoolOptions::before_acquire` can refuse such a connection.
//! - **deadpool and bb8 wrap the client's error.** Put theirs into an error of your own, which hands the inner
//!   one on by `#[fault(forward)]`, and says `#[fault(throttled)]` where the pool had no connection in time.
//! - **Keep the attempts short.** A `statement_timeout` in the database bounds a statement, and its error
//!   (`57014`) is not repeated, because the same statement takes as long again.
//! - **Lock in one order.** Transactions that lock rows in the order of their keys have no deadlocks. The
//!   retry cures a deadlock, and the order avoids it.
//!
//! The names of the attributes that a derived `Fault` takes are on the page of `derive(Fault)`; the SQLSTATEs
//! are in the table of each
//! client's error, among the [implementations of `Fault`](trait@crate::Fault#foreign-impls).
//!
//! # Many writers of one row
//!
//! A row that everybody changes makes everybody wait, and no policy changes that. Add by one statement
//! (`SET n = n + 1`), which locks the row and has no conflict; combine the changes of a process; or give each
//! writer a row of its own, and sum up when reading. [Many writers](super::many_writers) has
//! figures.
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
//! - Eight tasks log about a hundred lines in an outage of three seconds:
//!   [`.log_waits(LogLevel::Debug)`](crate::Policy::log_waits) makes them fewer.
//! - Take a `MultiplexedConnection`, as above. The client's `ConnectionManager` reconnects and retries by
//!   itself, which is a second loop, and it keeps a connection that answers `READONLY`.
//! - Which commands may be made twice: `GET`, `SET`, `DEL`, `HSET`, `SADD`, `EXPIRE`. Which may not: `INCR`,
//!   `APPEND`, `LPUSH`, `SPOP`. For these, either accept `MaybeApplied`, or send a script that remembers the
//!   id of the call beside the change.
//! - Under `WATCH`, an `EXEC` that gives nothing is a conflict: a read-modify-write by
//!   [`Policy::update`](crate::Policy::update), with `.conflict_if(|reply| reply.is_none())`.
