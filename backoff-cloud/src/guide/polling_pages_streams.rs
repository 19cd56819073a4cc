//! You will be able to wait for a value that takes its time, to read a long list without beginning anew, and
//! to keep a watch or a stream open.
//!
//! | what you have | use |
//! |---|---|
//! | an operation that answers "not yet" | `.until(..)` |
//! | a system in which a read may still show the old value after one that showed the new one | `.until(..).consecutive(n)` |
//! | many pages, or a download in parts | [`resuming()`](crate::Policy::resuming), with `progress()` after each part |
//! | a watch or a stream that breaks now and then | `resuming()`, with `progress()` after each message |
//!
//! # A value that takes its time
//!
//! A request that succeeds with a value that is not yet the awaited one is no failure of the request. Still
//! the call waits and asks again. Such a value counts as an attempt and costs no budget. So the policy needs
//! a deadline or enough attempts, and waits that fit the operation:
//! [`memorystore::OPERATION`](crate::memorystore::OPERATION) begins with 5 s, and ends after two hours.
//! This program needs the feature `http`, and serde with `derive`:
//!
//! ```no_run
//! use backoff_cloud::{Jitter, Policy, http::SendExt as _};
//! use serde::Deserialize;
//! use std::{error::Error, time::Duration};
//!
//! const POLLING: Policy = Policy::exponential()
//!     .base(Duration::from_secs(2))
//!     .factor(1.5)
//!     .max_backoff(Duration::from_secs(30))
//!     .jitter(Jitter::Equal) // full jitter would ask again at once now and then
//!     .deadline(Duration::from_secs(600));
//!
//! #[derive(Deserialize)]
//! struct Operation {
//!     #[serde(default)] // Google leaves `done` out until it is true
//!     done: bool,
//!     error: Option<serde_json::Value>,
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn Error>> {
//!     let url = std::env::args().nth(1).ok_or("the address of an operation")?;
//!     let operation = POLLING
//!         .send(reqwest::Client::new().get(url))
//!         .json::<Operation>()
//!         .attempt_timeout(Duration::from_secs(10))
//!         .until(|operation| operation.done)
//!         .await?;
//!     // Done does not mean well done.
//!     match operation.error {
//!         Some(error) => Err(format!("the operation failed: {error}").into()),
//!         None => Ok(()),
//!     }
//! }
//! ```
//!
//! The same loop takes care of both: a 503 is a failure and follows the policy's codes; "not yet" is waited
//! for. At the deadline the call ends with an `ApiError` made from [`NotYet`](crate::NotYet), of the kind
//! [`Pending`](crate::FaultKind::Pending). `until` after `retry` needs `From<NotYet>` for your own error. The
//! deadline bounds the polling and not the operation, which goes on without its caller.
//!
//! The request that *begins* the operation is a call of its own. A begin that is repeated may begin two
//! operations: use `.idempotent(false)` there, or send a request id ([`Attempt::id`](crate::Attempt::id)).
//!
//! # A system that shows writes late
//!
//! One read that shows the write proves little, because the next read may be answered by a replica that
//! does not know the write. Ask for several such reads in a row:
//!
//! ```
//! use backoff_cloud::{NotYet, retry};
//! use std::cell::RefCell;
//!
//! #[retry(base = "1s", deadline = "5m", until = |seen| *seen, consecutive = 3)]
//! async fn is_visible(replicas: &RefCell<Vec<bool>>) -> Result<bool, NotYet> {
//!     Ok(replicas.borrow_mut().pop().unwrap_or(true))
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), NotYet> {
//! // Read from the end: no, yes, no (another replica), then yes.
//! let replicas = RefCell::new(vec![false, true, false]);
//! assert!(is_visible(&replicas).await?);
//! # assert!(replicas.borrow().is_empty());
//! # Ok(()) }
//! ```
//!
//! # A list of many pages
//!
//! A retry around the whole list begins anew at each failure: a list of 40 pages from a service where every
//! fifth call fails is seldom read in five attempts. A retry around each page repeats too, but its policy
//! knows nothing of the list, and a loop that keeps a page's cursor is needed around it. `resuming()`
//! counts the failures since the last progress, and the loop goes on behind the pages that it has:
//!
//! ```
//! use backoff_cloud::{Policy, Resuming, TimedOut};
//! use std::{cell::Cell, time::Duration};
//!
//! /// Three attempts at each page.
//! const POLICY: Policy = Policy::exponential().max_attempts(3);
//!
//! struct Page { rows: Vec<u64>, next: Option<u64> }
//!
//! /// Your client; of this one, two calls of three fail.
//! struct Client(Cell<u64>);
//! impl Client {
//!     async fn page(&self, number: u64) -> Result<Page, TimedOut> {
//!         self.0.set(self.0.get() + 1);
//!         if self.0.get() % 3 != 0 { return Err(TimedOut::new(Duration::ZERO)) }
//!         Ok(Page { rows: vec![number], next: (number < 39).then_some(number + 1) })
//!     }
//! }
//!
//! /// What was read so far, and the page that comes next, if there is one.
//! struct List { rows: Vec<u64>, next: Option<u64> }
//!
//! impl List {
//!     async fn read_on(&mut self, client: &Client, resuming: &mut Resuming<'_, TimedOut>) -> Result<(), TimedOut> {
//!         while let Some(number) = self.next {
//!             let page = client.page(number).await?;
//!             self.rows.extend(page.rows);
//!             self.next = page.next;
//!             resuming.progress(); // the next failure is the first one
//!         }
//!         Ok(())
//!     }
//! }
//!
//! async fn read(client: &Client) -> Result<Vec<u64>, TimedOut> {
//!     let (mut list, mut resuming) = (List { rows: vec![], next: Some(0) }, POLICY.resuming());
//!     while let Err(error) = list.read_on(client, &mut resuming).await {
//!         resuming.failed(error).await?; // waits, or gives the error back
//!     }
//!     Ok(list.rows)
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), TimedOut> {
//! let client = Client(Cell::new(0));
//! assert_eq!(read(&client).await?, (0..40).collect::<Vec<_>>());
//! # Ok(()) }
//! ```
//!
//! Both ways over real HTTP: `cargo run -p examples --example pages`.
//!
//! # A watch, or a stream
//!
//! The loop is the same. The state is the last message that was handled: its offset, its resource version, its
//! token. Three rules keep such a loop from calling a broken server for ever:
//!
//! - **Progress is a message that is handled**, not a connection that was opened. A server that accepts and
//!   closes at once makes no progress.
//! - **A stream that ends without an error is opened again, too.** Make an error of the end, and hand that
//!   error to `failed`: then the wait grows if the stream ends at once each time.
//! - **A position that the server does not know any more** (HTTP 410, `OUT_OF_RANGE`) is not cured by a
//!   repetition. Read the whole state anew, then watch from there.
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut};
//! use std::time::Duration;
//!
//! /// Your stream; the server closes this one after two messages.
//! struct Stream { from: u64, left: u64 }
//! impl Stream {
//!     async fn open(from: u64) -> Result<Self, TimedOut> { Ok(Stream { from, left: 2 }) }
//!     async fn next(&mut self) -> Option<Result<u64, TimedOut>> {
//!         self.left = self.left.checked_sub(1)?;
//!         self.from += 1;
//!         Some(Ok(self.from - 1))
//!     }
//! }
//!
//! const WATCH: Policy = Policy::exponential().deadline(Duration::from_secs(600));
//!
//! async fn watch(mut handle: impl FnMut(u64) -> bool) -> Result<(), TimedOut> {
//!     let (mut next, mut resuming) = (0, WATCH.resuming());
//!     loop {
//!         let ended = async {
//!             let mut stream = Stream::open(next).await?;
//!             while let Some(offset) = stream.next().await {
//!                 let offset = offset?;
//!                 if !handle(offset) { return Ok(()) }
//!                 next = offset + 1;
//!                 resuming.progress();
//!             }
//!             Err(TimedOut::new(Duration::ZERO)) // the server has closed the stream
//!         };
//!         match ended.await {
//!             Ok(()) => return Ok(()),
//!             Err(error) => resuming.failed(error).await?,
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), TimedOut> {
//! let mut seen = Vec::new();
//! watch(|offset| { seen.push(offset); offset < 6 }).await?;
//! assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
//! # Ok(()) }
//! ```
//!
//! `.stop_on(..)` on the `Resuming` ends its waits when the program shuts down; the attempt is your own loop,
//! so look at the signal there as well. For a limit of the whole, put `tokio::time::timeout` around the loop.
