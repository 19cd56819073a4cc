//! You will be able to cut the slowest reads of your program by a second request, and you will know where this harms.
//!
//! # The problem
//!
//! A few replies take long although the service is well: a busy server, a lost packet, a pause of a garbage collector.
//! A program that reads from 100 servers for each page waits for the slowest of them, so if 2 % of the replies are
//! slow, 87 % of the pages are. A retry does not help, because nothing has failed.
//!
//! A **hedge** sends the request a second time when the first one is slow, and takes whichever answers first:
//!
//! ```
//! use backoff_cloud::{Hedge, Policy, TimedOut};
//!
//! /// One for the calls that take about the same time.
//! static READS: Hedge = Hedge::p95();
//! const POLICY: Policy = Policy::exponential();
//!
//! async fn get() -> Result<&'static str, TimedOut> { Ok("a page") } // your request
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), TimedOut> {
//! assert_eq!(POLICY.retry(get).hedge(&READS).await?, "a page");
//! # Ok(()) }
//! ```
//!
//! The first hundred calls are only measured.
//!
//! # What you get, and what it costs
//!
//! A simulated read takes 20 ms, and 2 % of the reads take 20 times as long:
//!
//! | | requests for a read | 99 % ended in | 99.9 % ended in |
//! |---|---|---|---|
//! | no hedge | 1 | 398 ms | 492 ms |
//! | `Hedge::after` 40 ms | 1.020 | 60 ms | 65 ms |
//! | `Hedge::p95()` | 1.048 | 46 ms | 210 ms |
//!
//! [Measurements](super::measurements#hedges) has the commands, and other shares of slow reads.
//!
//! - **The load is bounded.** At most one call in 20 sends a second request, and ten more after a quiet time, however
//!   slow the service is. Each second request also takes the tokens of a retry out of the policy's
//!   [`Budget`](crate::Budget). At a moment when a [`Rate`](super::rates) delays calls, none is sent.
//! - **If a fifth of the replies is slow, a hedge does nearly nothing**, because only a twentieth of the calls can have
//!   one. Such a service is overloaded, and more requests would make it slower.
//! - [`Hedge::after`](crate::Hedge::after) sends no second request while the service is quick. Its delay must be near
//!   the 95th percentile, and you must keep it there. [`Hedge::p95`](crate::Hedge::p95) measures, and sends up to
//!   5 % more requests, also while the service is quick.
//!
//! # How to write it
//!
//! | call | write |
//! |---|---|
//! | a function or a closure | `POLICY.retry(get).hedge(&READS)` |
//! | a request of reqwest, with the feature `http` | `POLICY.send(client.get(url)).json::<Page>().hedge(&READS)` |
//! | a layer of tower | `POLICY.layer().hedge(&READS)` |
//! | an attribute or a block | the function form: the body of a function cannot run twice at the same time |
//! | a read-modify-write | its read: `POLICY.update(\|\| RETRY_ONCE.retry(get).hedge(&READS), ..)`, where `RETRY_ONCE` makes one attempt |
//!
//! The second request finds another replica by itself if a load balancer chooses one for each connection. If your
//! program chooses, ask [`Attempt::is_hedge`](crate::Attempt::is_hedge):
//!
//! ```
//! use backoff_cloud::{Hedge, Policy, TimedOut};
//! use std::{future::pending, time::Duration};
//!
//! static READS: Hedge = Hedge::after(Duration::from_millis(50));
//! const POLICY: Policy = Policy::exponential();
//! const REPLICAS: [&str; 2] = ["read-1", "read-2"];
//!
//! /// Your request; here, the first replica hangs.
//! async fn get(replica: &str) -> Result<&str, TimedOut> {
//!     if replica == "read-1" { pending().await }
//!     Ok(replica)
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), TimedOut> {
//! let call = POLICY.retry_with(|attempt| get(REPLICAS[usize::from(attempt.is_hedge())]));
//! assert_eq!(call.hedge(&READS).await?, "read-2");
//! # Ok(()) }
//! ```
//!
//! `send` and the layer send a second request only for `GET`, `HEAD` and the other methods that change nothing, so one
//! layer serves reads and writes. A search by `POST` needs the function form, or
//! [`Idempotent(true)`](crate::tower::Idempotent) in the layer, and a client of gRPC that only reads needs
//! `.layer().idempotent(true)`. Under a policy with [`idempotent(false)`](crate::Policy::idempotent), a function gets
//! no second request.
//!
//! [`Hedge`](crate::Hedge) says which request decides: the first success wins, a 404 decides, and after a 503 the
//! other request goes on. The request that lost is dropped; the server may work on it for a while.
//!
//! # When not
//!
//! - **A fleet that is busy already**, where a server does not stop working on the request that lost. In a simulation
//!   at 80 % of the load, a hedge raised the time in which 99 % of the reads ended from 223 ms to 263 to 293 ms.
//! - **All requests go to one server, or wait for one lock.** The second request waits behind the first one. A hedge
//!   helps where another server, another connection or another replica answers.
//! - **The slow requests are large.** A second request for a large object is as slow. Use one `Hedge` for each kind of
//!   request: a hedge for small reads hedges each large one.
//! - **A request is expensive**: a completion of a language model, a query that scans a table.
//! - **Writes**, also idempotent ones: of two `DELETE`s one is answered with 404, of two writes with an etag one with
//!   412, and a `PUT` that arrives late can overwrite a newer value. In the function form the library does not see
//!   what you send.
//! - **A service with a quota that is nearly used up**: each second request counts.
//!
//! Previous: [Calls to an LLM](super::quotas) · next: [Right and wrong](super::right_and_wrong)
