//! After this page you can write a command-line program without async that retries, and that shows its user
//! what it waits for.
//!
//! # A program with a progress line
//!
//! The attribute works on functions without `async`. A wait sleeps on the thread. The hook
//! [`notify`](macro@crate::retry#keys) writes each wait into one line, if stderr is a terminal. `ureq-3` tells the
//! policy what ureq's errors mean:
//!
//! ```ignore
#![doc = include_str!("examples/progress.rs")]
//! ```
//!
//! The trait [`Fault`](trait@crate::Fault) gives a response the method `retry_after`, which reads the headers by
//! [`hint::in_headers`](crate::hint::in_headers). To retry a closure in place of a function, write
//! [`blocking_with`](crate::Policy::blocking_with).
//!
//! # Instead of `attempt_timeout` and `timeout`
//!
//! Nothing can interrupt a blocking call from outside. So `attempt_timeout` and `timeout` do not compile on
//! blocking calls, and the message says what to write. The `deadline` lets a running attempt finish. Let the
//! client end the attempt, as above: [`Attempt::remaining`](crate::Attempt::remaining) is the time until the
//! deadline.
//!
//! | the attempt | its limit |
//! |---|---|
//! | a request of ureq | `timeout_global(Some(limit))` |
//! | a request of `reqwest::blocking` | `.timeout(limit)` on the request |
//! | a `TcpStream` | `connect_timeout`, `set_read_timeout`, `set_write_timeout` |
//! | a statement in a database | the database's limit, such as `statement_timeout` of PostgreSQL |
//! | a call without any limit | use an async client and an [async call](super::waits_and_limits) |
//!
//! An error that shows the end of the limit is judged like other failures: ureq's `Timeout` is retried, and
//! may have been applied.
//!
//! # Stop
//!
//! Ctrl-C ends a program at once, also during a wait. A program that has to finish its work first gives the call a
//! [`Stop`](crate::Stop): [Telemetry and shutdown](super::telemetry_and_shutdown#shut-down) has a snippet. In an async
//! program, a blocking call belongs on a thread of `spawn_blocking`: [Right and
//! wrong](super::right_and_wrong#a-blocking-retry-in-an-async-function).
//!
//! # Tests
//!
//! [`VirtualTime`](crate::testing::VirtualTime) is the clock of a test, and no wait lasts:
//! [Testing](super::testing#each-wait-exactly).
//!
//! Previous: [gRPC](super::grpc) · next: [Executors](super::executors)
