//! After this page you can keep conflicts few and the time short where many writers change one resource.
//!
//! The writers change an allow policy, a row or a file by a
//! [read-modify-write](super::read_modify_write): they read the value, change it, and write it back under
//! its version (an etag, a generation, a number). A write whose version is old is refused: a *conflict*.
//! No change is lost, but each conflict costs a read, a write and a wait. One write succeeds at a time, so the
//! time for N writers grows at least as N, and their calls grow as N² if all of them try again at once. Backoff
//! with jitter makes the calls fewer; the time grows as N all the same. Only combined changes avoid that.
//!
//! | situation | use | calls for 100 changes | time | figures |
//! |---|---|---|---|---|
//! | many tasks in one process | [`Policy::combine`](crate::Policy::combine); for IAM, [`iam::Members`](crate::iam::Members) | 2 | 14 ms | measured |
//! | several processes (here 10) with many tasks each (10) | [`combine`](crate::combine::Combining) in each process, with the [`version`](crate::Retrying::version) | 59 | 0.5 s | simulated |
//! | many processes (100) with one change each | [`update`](crate::Policy::update) with [`version`](crate::Retrying::version) | 1,426 | 3.5 s | simulated |
//! | the same, in a loop of your own | [`delay::Pace`](crate::delay::Pace) | as in the row above | | |
//! | the same; the value has no version that you can read | `update` or [`retry`](crate::Policy::retry), with full jitter, the default | 1,592 | 4.9 s | simulated |
//! | for comparison: backoff without jitter | never use this | 3,716 | 63.6 s | simulated |
//!
//! Calls are reads and writes together. *Simulated* means AWS' model of "Exponential Backoff And Jitter":
//! all writers start at once, a call takes two hops of about 10 ms, the base is 5 ms and the cap is 2 s.
//! The figures are means of 1,000 runs with different random numbers. *Measured* means the example `iam`, over
//! HTTP on one machine, where the service takes 5 ms for each call.
//!
//! ```sh
//! cargo run --release -p examples --example simulation -- contention
//! cargo run --release -p examples --example iam -- --tasks 100 --runs 5
//! ```
//!
//! # One process: combine
//!
//! Tasks of one process need not conflict with each other. The library joins the changes that wait at the
//! same time into one read and one write. No other way needs so few calls. In the example `iam`, with all
//! waits shortened a hundredfold, 100 tasks add one member each to one policy:
//!
//! | what the tasks do | calls | time | tasks that give up |
//! |---|---|---|---|
//! | the loop of IAM's guide, each task alone | 1,700 | 2.7 s | 61 |
//! | full jitter (`iam::READ_MODIFY_WRITE`), each task alone | 1,400 | 1.7 s | 0 |
//! | the same policy with `update(..).version(..)`, each task alone | 1,400 | 1.2 s | 0 |
//! | combined (`iam::Members`) | 2 | 14 ms | 0 |
//!
//! A task that the runtime spawns makes the read and the write, and ends when no change waits. So a crowd costs little:
//! about 3,900 instructions for each caller, the same for 2,000 callers and for 38,000 (callgrind, a read and a write
//! that cost nothing, with the tasks of the callers).
//!
//! Make one [`iam::Members`](crate::iam::Members) for the process, and give a clone to each task; its page
//! has this example. For any other resource there is `combine`, as in the next section.
//!
//! The first table of the example has sixteen writers, each with a member to add, while the service throttles, fails and
//! conflicts. Means of five runs:
//!
//! | way | members that arrive, of 16 | time |
//! |---|---|---|
//! | no retry | 1 | 0.02 s |
//! | the write alone is retried | 1 | 3.0 s |
//! | the whole function is retried, without jitter | about 12 | 2.7 s |
//! | the whole function, with jitter of another library (backon) | 16 | 0.5 to 0.9 s |
//! | the whole function, `iam::READ_MODIFY_WRITE` | 16 | 0.5 to 0.6 s |
//! | combined (`iam::Members`), two calls | 16 | 0.02 s |
//!
//! Jitter decides, not the library. In a debug build the writers meet less often.
//!
//! # Several processes: combine, and keep a pace
//!
//! Changes of different processes cannot be combined; the version keeps them in order. Let each process
//! combine the changes of its own tasks. Then the writers are the processes, and no longer the tasks. Name
//! the version too, so that the waits after a conflict follow from how long an attempt takes. The changes that are combined
//! are one `update`, which you write yourself where it needs such a setting:
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
//! With a pace the waits are short, so writers in a crowd make many attempts. Give the policy a `deadline`
//! rather than a small `max_attempts`. (A policy that has neither makes up to 100 attempts after such
//! conflicts.)
//!
//! A pace needs less time than full jitter and about as many calls: a wait of a second is long where a read
//! and a write take 14 ms. At the speed of IAM itself the difference is smaller. Simulated with hops of
//! 250 ms, 100 clients make 7.1 writes each at a pace and 6.3 with full jitter; 99 of 100 have succeeded
//! after 81 s and after 125 s (`simulation -- iam`).
//!
//! # What a pace is worth
//!
//! Doubling uses one fact: how often this writer has failed. A *pace* uses one more: how long an attempt
//! takes, from the read to the refusal of its write (the *window*). After conflict n the wait is drawn from
//! zero to 2.5 · window · n^1.25, because a writer that has met n conflicts has met about n others. Doubling goes
//! past that number soon, and then all sleep while nobody writes. [`delay::Pace`](crate::delay::Pace) has the
//! rules. They use the version for one question: has the value changed since this writer's write was refused?
//! So any version will do that can be compared: a number, an etag, a time.
//!
//! A 429 is no conflict. It says what the service can take from all writers together, so each throttled
//! failure lengthens the wait after the next one, whether a read or a write was refused, and whatever
//! succeeded meanwhile. If each answered read restarted that count, hardly any writer of a crowd would arrive.
//!
//! Under a limit of N calls a second, let the longest wait be at least about 2 · writers / N seconds. If it is shorter, all
//! writers wait as long as they may and still call more often than the limit allows. 128 writers under 60 calls a second
//! (`simulation -- contention --check` has the first and the last row):
//!
//! | longest wait, with a base of 20 ms | calls | time |
//! |---|---|---|
//! | 1.28 s | 3,566 | 15.3 s |
//! | 2.56 s | 1,854 | 9.4 s |
//! | 5.12 s | 1,618 | 9.1 s |
//! | 64 s, with a base of 1 s (`iam::READ_MODIFY_WRITE`) | 838 | 16.6 s |
//!
//! If all are told the same `Retry-After`, they must not come back together. The presets `READ_MODIFY_WRITE` have
//! [`spread_retry_after`](crate::Policy::spread_retry_after) for this, and a policy of your own needs it too.
//!
//! The shorter all writers together wait, the
//! more of them write within one window, and only one of these writes succeeds. The longer they wait, the
//! more windows stay empty. So a way to wait saves calls or time, and a good one wastes little of both. For
//! writers without memory, who write at random moments, the two wastes multiply to one:
//!
//! ```text
//! (writes / changes − 1) · (time / (changes · window) − 1) ≈ 1
//! ```
//!
//! (Say that all writers together try *a* times in a window. After a success, the *a* writers who read
//! before that success fail, so a change costs 1 + *a* writes. The next success comes 1/*a* windows later
//! on average, so a change takes 1 + 1/*a* windows. And *a* · 1/*a* = 1.) If the waits are too short at
//! first and too long later, the product is larger. So a small product means a good way to wait, whether
//! patient or hasty. In the simulation, with 100 writers and a window of 20 ms:
//!
//! | waits | writes for each change | windows for each change | product |
//! |---|---|---|---|
//! | at a pace | 7.1 | 1.76 | 4.7 |
//! | full jitter | 8.0 | 2.46 | 10.2 |
//! | decorrelated jitter | 10.0 | 2.30 | 11.7 |
//! | equal jitter | 8.1 | 3.33 | 16.6 |
//! | exponential backoff without jitter | 18.6 | 31.8 | 542 |
//!
//! (A crowd that never waits does not write at random moments, because the fastest calls win. Its product
//! is 0.3, with 24.2 writes for each change.)
//!
#![doc = include_str!("../../doc/contention-completion.svg")]
//!
//! `simulation -- contention --check` compares a pace with full jitter for 1 to 200 writers, near and far,
//! who start at once or within two seconds. With a pace they make at most as many calls; only 200 writers
//! at once make more, by 0.7 %. Crowds are done sooner, and a few writers who start at once later: where three
//! far ones (a window of 200 ms) start at once, each waits 1.3 times as long on average, and the last is done
//! after 1.4 times the time. Full jitter's first wait of 10 ms is far shorter than their window there, and costs
//! calls.
//!
//! # When no wait helps
//!
//! Changes of one resource happen one after the other, and each takes a window. So a resource takes at most
//! one write in each window: 50 a second where a window is 20 ms. Where changes come faster than that for
//! long, no wait helps.
//!
//! - **Let one process write.** Put the changes into a queue (Pub/Sub, SQS, a table of jobs), and let one
//!   consumer apply many of them with one write. Or let the processes take turns, by a lease or a lock of a
//!   database, etcd or Kubernetes. The holder writes without conflicts while the others sleep. Keep writing
//!   under the version all the same, so that a process that has lost its lease unnoticed is refused.
//! - **Limit the number of writers.** Within one process, a semaphore limits changes that cannot be
//!   combined.
//! - **Cut the resource into pieces** that are changed separately: a policy for each bucket instead of one
//!   for the project, a row for each user.
//!
//! # When not to read, modify and write
//!
//! - **A counter**, a maximum, a flag: let the database change the value itself.
//!   `UPDATE t SET n = n + 1`, Redis' `INCR` and Firestore's `increment` are one call without a conflict.
//!   (But a repeated call counts twice: see [Idempotency](super::idempotency).)
//! - **DynamoDB**: an update expression (`ADD` to a number or to a set, `SET` with `list_append`) changes an
//!   item without a read. A condition is needed only where the change depends on the current value.
//! - **Data that is only appended**: insert a row, write an object under a name of its own, send a message.
//!   The writers need not know each other.
//! - **A member of a set**: make it a row of its own, instead of an entry in a shared document.
//!
//! # After the write
//!
//! A write that succeeded may not be visible everywhere at once. IAM says that a change of a policy may
//! take minutes to have its effect. A read from a replica may show the old value, then the new one, then
//! the old one again. Ask [`until`](crate::Retrying::until) the effect is visible, several times
//! [in a row](crate::Retrying::consecutive): `.until(|granted| *granted).consecutive(3)`. A stale read
//! before a write does no harm: its old version makes the write conflict. If the read after a conflict
//! shows the version that was refused, the pace ignores that read, and the policy's own wait follows.
