//! Many writers of one resource: what to use when.
//!
//! Many programs change one thing by a *read-modify-write*: they read an allow policy, a row or a file,
//! change it, and write it back under its version (an etag, a generation, a number). A write whose
//! version is old is refused: a *conflict*. No change is lost, but each conflict costs a read, a write
//! and a wait. This page says how to keep conflicts few, and the time short.
//!
//! | situation | what to use | calls for 100 changes | time | figures |
//! |---|---|---|---|---|
//! | many tasks in one process | [`Policy::combine`](crate::Policy::combine); for IAM, `iam::Members` of the crate `backoff-cloud` | 2 | 14 ms | measured |
//! | several processes (here 10) with many tasks each (10) | each process combines, and names the [`version`](crate::many::Combining::version) | 72 | 0.5 s | simulated |
//! | many processes (100), one change each; the version is a number that counts | [`update`](crate::Policy::update) with [`version`](crate::Retrying::version) | 1,656 | 2.6 s | simulated |
//! | the same; the version can only be compared (an etag) | `update` with `version` | 1,592 | 3.3 s | simulated |
//! | the same, in a loop of your own | [`delay::Pace`](crate::delay::Pace) | as the two rows above | | |
//! | the same; the value tells no version | `update` or [`retry`](crate::Policy::retry), with full jitter, the default | 1,591 | 4.9 s | simulated |
//! | for comparison: backoff without jitter | never this | 3,713 | 63.6 s | simulated |
//!
//! Calls are reads and writes together. *Simulated* is AWS' model of "Exponential Backoff And Jitter":
//! all writers come at once, a call takes two hops of about 10 ms, the base is 5 ms and the cap 2 s.
//! The figures are means of 1,000 runs with other random numbers. The processes that combine compare
//! etags. *Measured* is the example `iam`, over HTTP on one machine, where the service thinks 5 ms
//! about a call.
//!
//! ```sh
//! cargo run --release -p examples --example simulation -- contention
//! cargo run --release -p examples --example iam -- --tasks 100 --runs 5
//! ```
//!
//! # One process: combine
//!
//! Tasks of one process need not conflict with each other: the changes that wait at the same time
//! become one read and one write. Nothing else comes near this. In the example `iam`, with all waits
//! shortened a hundredfold, 100 tasks that add a member each to one policy need:
//!
//! | what the tasks do | calls | time | tasks that give up |
//! |---|---|---|---|
//! | the loop of IAM's guide, each by itself | 1,682 | 2.8 s | 59 |
//! | full jitter (`iam::READ_MODIFY_WRITE`), each by itself | 1,329 | 1.6 s | 0 |
//! | the same policy with `update(..).version(..)`, each by itself | 1,384 | 1.1 s | 0 |
//! | combined (`iam::Members`) | 2 | 14 ms | 0 |
//!
//! # Several processes: combine, and keep a pace
//!
//! Between processes nothing can be combined, and only the version keeps order. So let each process
//! combine what its own tasks change: then the processes are the writers, and no longer the tasks. And
//! name the version, so that the waits after a conflict follow from how busy the resource is:
//!
#![cfg_attr(feature = "tokio", doc = "```")]
#![cfg_attr(not(feature = "tokio"), doc = "```ignore")]
//! use backoff_core::{Policy, TimedOut};
//! # use std::sync::{Arc, Mutex};
//!
//! #[derive(Clone, Default)]
//! struct Row { names: Vec<String>, etag: String }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let stored = Arc::new(Mutex::new(Row::default()));
//! # let (reading, writing) = (stored.clone(), stored.clone());
//! # let read = move |_row: u32| std::future::ready(Ok::<_, TimedOut>(reading.lock().unwrap().clone()));
//! # let write = move |_row: u32, row: Row| std::future::ready(Ok::<_, TimedOut>(*writing.lock().unwrap() = row));
//! // Once in a process, and shared by its tasks.
//! let rows = Policy::exponential()
//!     .combine(read, write)
//!     .version(|row: &Row| row.etag.clone());
//!
//! rows.update(7, |row| row.names.push("ann".to_owned())).await.unwrap();
//! # assert_eq!(stored.lock().unwrap().names, ["ann"]);
//! # }
//! ```
//!
//! `iam::Members`, `iam::add` and `iam::remove` name the etag by themselves.
//!
//! At a pace the waits are short, so that writers in a crowd make many attempts. Give the policy a
//! `deadline` rather than a small `max_attempts`. (A policy that says neither makes up to 100 attempts
//! after such conflicts.)
//!
//! Measured with the example `iam -- processes --rounds 60`, at true times: 20 processes combine 50
//! changes each of one policy. With full jitter from the base of 1 s these 1,000 changes took 43 writes
//! and 2.4 s; at the pace of the etag they take 54 writes and 0.55 s (medians). So the pace makes more
//! calls there, in much less time, because a wait of a second is long where a read and a write take 14
//! ms. Where calls are what is scarce, as under a small quota, leave out `version`: then the policy's
//! own waits follow. At the speed of IAM itself the difference is small: simulated with hops of 250 ms,
//! 100 clients make 6.9 writes each at the pace and 6.3 with full jitter, and 99 of 100 have succeeded
//! after 79 s and after 125 s (`simulation -- iam`).
//!
//! # What a pace is, and what it is worth
//!
//! Doubling knows one thing: how often this writer has failed. A *pace* knows more: how long an attempt
//! takes, and how much the others wrote while this writer waited. [`delay::Pace`](crate::delay::Pace)
//! says how the wait follows from that. The better the version, the more it tells:
//!
//! - A **number that counts** the writes (a generation that grows by one, a row's counter) tells how
//!   many writes there were.
//! - An **etag** can only be compared. It tells that somebody wrote.
//! - A number that grows by other steps (a time stamp, an offset) counts as an etag, where it grows too
//!   fast for a counter.
//!
//! For *N* changes that are wanted at the same time there is a law, which we have derived. Let *W*, the
//! window, be the time from a read to the write after it. Then for writers without memory, who write at
//! random moments,
//!
//! ```text
//! (calls / N − 1) · (time / (N · W) − 1) ≈ 1
//! ```
//!
//! where calls are the writes. Say that all of them together try *a* times a window. After a success,
//! whoever has read before it fails: these are the writes of the next window, *a* of them. So a change
//! costs 1 + *a* writes. Then the first new write succeeds, on average 1/*a* windows later. So a change
//! takes 1 + 1/*a* windows, and *a* · 1/*a* = 1. Who waits longer saves calls and pays with time; who
//! waits less, the other way round. If *a* changes in the course of time, because writers wait too
//! little at first and too long at last, the product is larger. So the product says how good a way to
//! wait is, however patient it is. In the simulation, with 100 writers:
//!
//! | waits | writes for each change | time in windows of 20 ms for each change | product |
//! |---|---|---|---|
//! | pace of a number that counts | 8.3 | 1.30 | 2.2 |
//! | pace of an etag | 8.0 | 1.63 | 4.4 |
//! | full jitter | 8.0 | 2.45 | 10.1 |
//! | decorrelated jitter | 10.0 | 2.29 | 11.6 |
//! | equal jitter | 8.1 | 3.32 | 16.5 |
//! | exponential backoff without jitter | 18.6 | 31.8 | 541 |
//!
//! (Which of the three jitters makes the fewest calls depends on the crowd: see
//! [`Jitter`](crate::Jitter). A crowd that never waits does not write at random moments: the calls with
//! the fastest ways win. Its product is 0.3, at 24.2 writes for each change.)
//!
#![doc = include_str!("../../doc/contention-completion.svg")]
//!
//! `simulation -- contention --check` compares the pace with full jitter for 1 to 200 writers, near and
//! far, who come at once or over two seconds. In calls and in time, the pace is nowhere more than 15 %
//! worse: the worst cases are 200 writers at once, who make 14 % more calls by etags and 11 % more by
//! numbers, and ten who come at once over a network of very uneven speed, who take 14 % more time by
//! etags. (Two writers by numbers take 14 % more time.)
//!
//! # When no wait helps
//!
//! Even if nobody ever failed, changes of one resource happen one after the other, and each takes a
//! window. So a resource takes at most one write in each window, 50 a second where a window is 20 ms.
//! Where changes come faster than that in the long run, no wait helps.
//!
//! - **Let one process write.** Put the changes into a queue (Pub/Sub, SQS, a table of jobs), and let
//!   one consumer apply many of them with one write. Or let the processes take turns by a lease or a
//!   lock of a database, etcd or Kubernetes: who holds it writes without conflicts, and the others
//!   sleep instead of trying. Keep writing under the version all the same: who has lost a lease without
//!   noticing is then refused.
//! - **Limit who tries.** Within one process, a semaphore does that for whatever cannot be combined.
//! - **Cut the resource into pieces** that are changed apart: a policy for each bucket instead of one
//!   for the project, a row for each user.
//!
//! # When not to read, modify and write
//!
//! - **A counter**, a maximum, a flag: let the database change the value itself.
//!   `UPDATE t SET n = n + 1`, Redis' `INCR`, Firestore's `increment`. One call, no conflict. (But a
//!   repeated call counts twice: see [`Policy::idempotent`](crate::Policy::idempotent).)
//! - **DynamoDB**: an update expression (`ADD` to a number or to a set, `SET` with `list_append`)
//!   changes an item without a read. A condition is needed only where the change depends on what is
//!   there.
//! - **What is only appended**: an insert of a row, an object under a name of its own, a message. No
//!   writer needs to know the others.
//! - **A member of a set** that may be a row of its own, instead of an entry in a shared document.
//!
//! # After the write
//!
//! A write that succeeded may not be visible everywhere at once: IAM says that a change of a policy may
//! take minutes to have its effect, and a read from a replica may show the old value, and then the new
//! one, and then the old one again. Ask [`until`](crate::Retrying::until) the effect is there, several
//! times [in a row](crate::Retrying::consecutive): `.until(|granted| *granted).consecutive(3)`. A stale
//! read before a write is harmless: its old version makes the write conflict. And where a read after a
//! conflict shows the version that was refused, the pace does not count it: the policy's own wait
//! follows.
