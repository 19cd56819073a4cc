//! You will be able to wait for a value that takes its time, to read a long list without beginning anew, and
//! to keep a watch or a stream open.
//!
//! | what you have | use |
//! |---|---|
//! | an operation that answers "not yet" | `.until(..)` |
//! | a system in which a read may still show the old value after one that showed the new one | `.until(..).consecutive(n)` |
//! | many pages, or a download in parts | [`resuming()`](crate::Policy::resuming), with `progress()` after each part |
//! | a watch or a stream that breaks now and then | `resuming()`, with `progress()` after each message; over HTTP [`open()`](crate::http::Sending::open) and [`events()`](crate::http::OpenReply::events) |
//!
//! # A value that takes its time
//!
//! A request that succeeds with a value that is not yet the awaited one is no failure. The call waits and asks again.
//! Such a value counts as an attempt and costs no budget. So the policy needs a deadline or enough attempts, and waits
//! that fit the operation. This program needs the feature `http`, and serde with `derive`:
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
//! A 503 is a failure and follows the policy's codes; "not yet" is waited for. At the deadline the call ends with an
//! `ApiError` made from [`NotYet`](crate::NotYet), of the kind [`Pending`](crate::FaultKind::Pending). `until` after
//! `retry` needs `From<NotYet>` for your own error. The operation goes on without its caller.
//!
//! The request that *begins* the operation is a call of its own: use `.idempotent(false)` there, or send a request id
//! ([`Attempt::id`](crate::Attempt::id)).
//!
//! # The last value
//!
//! `NotYet` does not say how far the operation has come. The function of `until` gets each value, so keep what you need
//! there:
//!
//! ```
//! use backoff_cloud::{NotYet, Policy};
//!
//! const POLLING: Policy = Policy::exponential().max_attempts(3);
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! // Your request; this one is told 10 %, 20 %, 30 %.
//! let mut percent = 0;
//! let progress = || {
//!     percent += 10;
//!     std::future::ready(Ok::<_, NotYet>(percent))
//! };
//! let mut last = 0;
//! let is_done = |percent: &u32| {
//!     last = *percent;
//!     last == 100
//! };
//! let done = POLLING.retry(progress).until(is_done).await;
//! assert_eq!((done.is_err(), last), (true, 30));
//! # }
//! ```
//!
//! # A system that shows writes late
//!
//! The next read may be answered by a replica that does not know the write. Ask for several such reads in a row:
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
//! A retry around the whole list begins anew at each failure. Where each page is a request of reqwest,
//! `POLICY.send(client.get(url)).reply().await?` in a loop that takes the next URL from the header `link` is the
//! shortest program, and each page has its own attempts. `resuming()` is for other clients, and for one limit over the
//! whole list. It counts the failures since the last progress, and the loop goes on behind the pages that it has:
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut};
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
//! async fn read(client: &Client) -> Result<Vec<u64>, TimedOut> {
//!     let (mut rows, mut next, mut resuming) = (vec![], Some(0), POLICY.resuming());
//!     while let Some(number) = next {
//!         match client.page(number).await {
//!             Ok(page) => {
//!                 rows.extend(page.rows);
//!                 next = page.next;
//!                 resuming.progress(); // the next failure is the first one
//!             }
//!             Err(error) => resuming.failed(error).await?, // waits, or gives the error back
//!         }
//!     }
//!     Ok(rows)
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
//! The loop is the same. The state is the last message that was handled. Three rules keep it from calling a broken
//! server for ever:
//!
//! - **Progress is a message that is handled**, not a connection that was opened. A server that accepts and
//!   closes at once makes no progress.
//! - **A stream that ends without an error is opened again, too.** Make an error of the end, and hand that
//!   error to `failed`: then the wait grows if the stream ends at once each time.
//! - **A position that the server does not know any more** (HTTP 410, `OUT_OF_RANGE`) needs the whole state read anew.
//!
//! This program follows a [response of OpenAI](https://platform.openai.com/docs/guides/background) that was begun with
//! `background` and `stream`. `starting_after` asks for the events behind a number.
//!
//! ```
//! use backoff_cloud::{Policy, http::{ApiError, SendExt as _}, openai};
//! use serde_json::Value;
//!
//! /// Ten attempts for each stretch without progress.
//! const WATCH: Policy = openai::REQUEST.max_attempts(10);
//! /// The loop below repeats the request. With retries of its own they would multiply.
//! const ONCE: Policy = openai::REQUEST.max_attempts(1);
//!
//! /// Hands each event to `handle` once, and returns the last one. The client has the key in its default headers.
//! async fn follow(client: &reqwest::Client, url: &str, mut handle: impl FnMut(&Value)) -> Result<Value, ApiError> {
//!     let (mut from, mut resuming) = (String::new(), WATCH.resuming());
//!     loop {
//!         let ended = async {
//!             let get = client.get(format!("{url}?stream=true{from}"));
//!             let mut events = ONCE.send(get).open().await?.events();
//!             while let Some(event) = events.next().await? {
//!                 let is_last = openai::ends_stream(&event);
//!                 match openai::event_kind(&event) {
//!                     // A `response.failed` is the last event: a repetition would read it again.
//!                     Some(kind) if !is_last => return Err(event.to_error(kind)),
//!                     _ => {}
//!                 }
//!                 let value: Value = event.json()?;
//!                 handle(&value);
//!                 from = format!("&starting_after={}", value["sequence_number"]);
//!                 resuming.progress();
//!                 if is_last {
//!                     return Ok(value);
//!                 }
//!             }
//!             Err(ApiError::ended_early()) // the server has closed the stream
//!         };
//!         match ended.await {
//!             Ok(last) => return Ok(last),
//!             Err(error) => resuming.failed(error).await?, // waits, or gives the error back
//!         }
//!     }
//! }
//! # use std::{io::{BufRead as _, BufReader, Write as _}, net::TcpListener, thread};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let _ = rustls::crypto::ring::default_provider().install_default();
//! # let _instant = backoff_cloud::testing::instant();
//! # let listener = TcpListener::bind("127.0.0.1:0")?;
//! # let url = format!("http://{}/v1/responses/r", listener.local_addr()?);
//! # let server = thread::spawn(move || {
//! #     let (mut asked, mut first) = (Vec::new(), 0);
//! #     let overloaded = "event: error\ndata: {\"type\": \"error\", \"code\": \"server_error\"}\n\n";
//! #     // Cut; an error inside a 200; closed in order; the last event without its empty line.
//! #     for (events, end) in [(2, ""), (1, overloaded), (0, ""), (1, ": ping")] {
//! #         let (mut stream, _) = listener.accept().unwrap();
//! #         let mut head = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
//! #         asked.push(head.next().unwrap());
//! #         head.for_each(drop);
//! #         let mut body = String::new();
//! #         for number in first..first + events {
//! #             let kind = if number == 3 { "response.completed" } else { "response.output_text.delta" };
//! #             body += &format!("event: {kind}\r\ndata: {{\"type\": \"{kind}\", \"sequence_number\": {number}}}\r\n\r\n");
//! #         }
//! #         body.truncate(body.len().saturating_sub(2 * usize::from(first == 3)));
//! #         body += end;
//! #         let length = body.len() + usize::from(first == 0);
//! #         write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
//! #         first += events;
//! #     }
//! #     asked
//! # });
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # let mut seen = Vec::new();
//! # let client = reqwest::Client::new();
//! # let last = runtime.block_on(follow(&client, &url, |event| seen.push(event["sequence_number"].as_u64())))?;
//! # assert_eq!(last["type"], "response.completed");
//! # assert_eq!(seen, [Some(0), Some(1), Some(2), Some(3)]);
//! # let asked = server.join().unwrap();
//! # let ends: Vec<_> = asked.iter().map(|line| line.split(['=', ' ']).rev().nth(1).unwrap()).collect();
//! # assert_eq!(ends, ["true", "1", "2", "2"]);
//! # Ok(()) }
//! ```
//!
//! - [`open()`](crate::http::Sending::open) hands out the reply once its head is checked,
//!   [`events()`](crate::http::OpenReply::events) its server-sent events, and
//!   [`chunk()`](crate::http::OpenReply::chunk) its bytes. A pause of more than 30 s is an error
//!   ([`Limits::read_timeout`](crate::http::Limits::read_timeout) changes this time), and so is a body that ended
//!   early.
//! - After its status 200 a service reports a failure as an event. [`event_kind`](crate::openai::event_kind) knows
//!   these events of OpenAI, Anthropic and gateways, and [`ends_stream`](crate::openai::ends_stream) the last event of
//!   a complete stream.
//! - A stream that cannot be continued, such as a message of Anthropic, is begun anew, if that is worth its price: in
//!   a function with `#[retry]`, as [`Limits::open`](crate::http::Limits::open) shows.
//! - A stream of your own client has the same loop. Let its error be a [`Fault`](crate::Fault), with a variant
//!   for the stream that ended early (`#[fault(transient)]`).
//!
//! `.stop_on(..)` on the `Resuming` ends its waits when the program shuts down. Look at the signal in your own loop as
//! well.
//!
//! Previous: [Databases](super::databases) · next: [tower](mod@super::tower)
