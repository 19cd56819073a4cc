//! After this page you can keep conflicts few and the time short where many writers change one resource.
//!
//! The writers change an allow policy, a row or a file by a [read-modify-write](super::read_modify_write): read the
//! value, change it, write it back under its version. A write whose version is old is refused: a *conflict*. No change
//! is lost, but each conflict costs a read, a write and a wait. One write succeeds at a time, so the time for N
//! writers grows at least as N, and their calls grow as N² if all of them try again at once. Only combined changes
//! avoid that.
//!
//! | situation | use | calls for 100 changes | time |
//! |---|---|---|---|
//! | many tasks in one process | [`Policy::combine`](crate::Policy::combine); for IAM, [`iam::Members`](crate::iam::Members) | 2 | 14 ms, measured |
//! | 10 processes with 10 tasks each | [`combine`](crate::combine::Combining) in each process, with the [`version`](crate::Retrying::version) | 59 | 0.5 s |
//! | 100 processes with one change each | [`update`](crate::Policy::update) with [`version`](crate::Retrying::version); in a loop of your own, [`delay::Pace`](crate::delay::Pace) | 1,426 | 3.5 s |
//! | the same; the value has no version that you can read | `update` or [`retry`](crate::Policy::retry), with full jitter, the default | 1,592 | 4.9 s |
//! | for comparison: backoff without jitter | never use this | 3,716 | 63.6 s |
//!
//! Calls are reads and writes together. [Measurements](super::measurements#many-writers) says how the figures were
//! found.
//!
//! # One process: combine
//!
//! The library joins the changes that wait at the same time into one read and one write. No other way needs so few
//! calls. Make one [`iam::Members`](crate::iam::Members) for the process, and give a clone to each task; its page has
//! the example. For any other resource there is `combine`, as in the next section. A task that the runtime spawns
//! makes the read and the write, and ends when no change waits.
//!
//! # Several processes: combine, and keep a pace
//!
//! Changes of different processes cannot be combined; the version keeps them in order. Let each process combine the
//! changes of its own tasks, and name the version, so that the waits after a conflict follow from how long an attempt
//! takes:
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut, combine::{Combining, Group}};
//! use std::sync::Mutex;
//!
//! #[derive(Clone)]
//! struct Row { names: Vec<String>, etag: String }
//!
//! // Your database; this one has one row, and does not look at the etag.
//! static STORED: Mutex<Row> = Mutex::new(Row { names: Vec::new(), etag: String::new() });
//! async fn read_row(_id: u32) -> Result<Row, TimedOut> { Ok(STORED.lock().unwrap().clone()) }
//! async fn write_row(_id: u32, row: Row) -> Result<(), TimedOut> { Ok(*STORED.lock().unwrap() = row) }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! // Make it once in a process, and share it between the tasks.
//! let rows = Combining::new(|id, group: Group<Row, (), TimedOut>| async move {
//!     Policy::exponential()
//!         .update(
//!             || group.read(read_row(id)),
//!             |_| group.has_changed(),
//!             |row| group.write(write_row(id, row)),
//!         )
//!         .version(|row: &Row| row.etag.clone())
//!         .reported()
//!         .await
//! });
//!
//! rows.update(7, |row| row.names.push("ann".to_owned())).await.unwrap();
//! # assert_eq!(STORED.lock().unwrap().names, ["ann"]);
//! # }
//! ```
//!
//! `iam::Members`, `iam::add` and `iam::remove` name the etag by themselves.
//!
//! # What a pace is
//!
//! Doubling uses one fact: how often this writer has failed. A *pace* uses one more: how long an attempt takes, from
//! the read to the refusal of its write (the *window*). After conflict n the wait is drawn from zero to 2.5 · window ·
//! n^1.25. [`delay::Pace`](crate::delay::Pace) has the rules. Any version will do that can be compared: a number, an
//! etag, a time. A pace needs less time than full jitter and about as many calls.
//!
//! - With a pace writers make many attempts. Give the policy a `deadline` rather than a small `max_attempts`. (A
//!   policy that has neither makes up to 100 attempts after such conflicts.)
//! - A 429 is no conflict. Each throttled failure lengthens the wait after the next one, whatever succeeded meanwhile.
//! - Under a limit of N calls a second, let the longest wait be at least about 2 · writers / N seconds: 128 writers
//!   under 60 calls a second make 3,566 calls in 15.3 s with a longest wait of 1.28 s, and 1,618 calls in 9.1 s with
//!   5.12 s.
//! - If all writers are told the same `Retry-After`, they must not come back together. The presets `READ_MODIFY_WRITE`
//!   have [`spread_retry_after`](crate::Policy::spread_retry_after) for this, and a policy of your own needs it too.
//!
//! # When no wait helps
//!
//! A resource takes at most one write in each window: 50 a second where a window is 20 ms. Where changes come faster
//! for long, no wait helps.
//!
//! - **Let one process write.** Put the changes into a queue, and let one consumer apply many of them with one write.
//!   Or let the processes take turns by a lease. Keep writing under the version, so that a process that has lost its
//!   lease unnoticed is refused.
//! - **Limit the number of writers** of one process by a semaphore, where changes cannot be combined.
//! - **Cut the resource into pieces** that are changed separately: a policy for each bucket, a row for each user.
//!
//! # When not to read, modify and write
//!
//! - **A counter**, a maximum, a flag: let the database change the value. `UPDATE t SET n = n + 1`, Redis' `INCR`,
//!   Firestore's `increment` and DynamoDB's `ADD` are one call without a conflict. (But a repeated call counts twice:
//!   see [Idempotency](super::idempotency).)
//! - **Data that is only appended, a member of a set**: insert a row, or write an object under a name of its own.
//!
//! # After the write
//!
//! A write that succeeded may not be visible everywhere at once; IAM says that a change may take minutes. Ask
//! [`until`](crate::Retrying::until) the effect is visible, several times [in a row](crate::Retrying::consecutive):
//! `.until(|granted| *granted).consecutive(3)`. A stale read before a write does no harm: its old version makes the
//! write conflict. If the read after a conflict shows the version that was refused, the pace ignores that read, and
//! the policy's own wait follows.
//!
//! Previous: [Read, modify, write](super::read_modify_write) · next: [Configuration](super::configuration)
