//! Mistakes (✗) that are easy to make with retries, and the right code (✓).
//!
//! # A write that is made twice
//!
//! The reply can be lost after the shop has made the order. `#[retry]`, with `on` or without, assumes that the
//! function may run twice.
//!
//! ```
//! use backoff_cloud::{http::{self, ApiError}, retry};
//! use reqwest::{Client, RequestBuilder};
//!
//! async fn sent(order: RequestBuilder) -> Result<(), ApiError> {
//!     http::success(order.send().await?).await.map(drop)
//! }
//!
//! // ✗ Two orders, also with `on = [429, 503]`.
//! #[retry]
//! async fn bare(client: &Client, shop: &str) -> Result<(), ApiError> {
//!     sent(client.post(shop).body("7")).await
//! }
//!
//! // ✓ Repeats only a request that surely did nothing.
//! #[retry(idempotent = false)]
//! async fn once(client: &Client, shop: &str) -> Result<(), ApiError> {
//!     sent(client.post(shop).body("7")).await
//! }
//!
//! // ✓ The shop recognises the second request by its key.
//! #[retry(attempt = n)]
//! async fn with_key(client: &Client, shop: &str) -> Result<(), ApiError> {
//!     let order = client.post(shop).header("Idempotency-Key", n.id().to_string());
//!     sent(order.body("7")).await
//! }
//! # use std::io::{BufRead as _, BufReader, Read as _, Write as _};
//! # use std::{net::TcpListener, sync::mpsc, thread};
//! # /// A shop that loses its first reply, and the keys of the orders that it has made.
//! # fn shop() -> (String, mpsc::Receiver<Option<String>>) {
//! #     let listener = TcpListener::bind("127.0.0.1:0").unwrap();
//! #     let url = format!("http://{}/", listener.local_addr().unwrap());
//! #     let (order, orders) = mpsc::channel();
//! #     thread::spawn(move || {
//! #         for is_lost in [true, false] {
//! #             let (mut stream, _) = listener.accept().unwrap();
//! #             let mut request = BufReader::new(&stream);
//! #             let head = request.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty());
//! #             let mut keys: Vec<_> = head.filter(|line| line.starts_with("idempotency-key")).collect();
//! #             request.read_exact(&mut [0]).unwrap();
//! #             order.send(keys.pop()).unwrap();
//! #             if !is_lost {
//! #                 stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
//! #             }
//! #         }
//! #     });
//! #     (url, orders)
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # let _ = rustls::crypto::ring::default_provider().install_default();
//! # let _instant = backoff_cloud::testing::instant();
//! # let client = Client::new();
//! # let (url, orders) = shop();
//! # bare(&client, &url).await.unwrap();
//! # assert_eq!(orders.try_iter().count(), 2);
//! # let (url, orders) = shop();
//! # once(&client, &url).await.unwrap_err();
//! # assert_eq!(orders.try_iter().count(), 1);
//! # let (url, orders) = shop();
//! # with_key(&client, &url).await.unwrap();
//! # let keys: Vec<_> = orders.try_iter().collect();
//! # assert!(keys.len() == 2 && keys[0].is_some() && keys[0] == keys[1], "{keys:?}");
//! # }
//! ```
//!
//! `POLICY.send(request)` looks at the method, and does not repeat such a `POST`: [Idempotency](super::idempotency).
//!
//! # An error that has lost its headers
//!
//! `error_for_status` drops the headers, and `Retry-After` with them. `http::success` and `http::json` keep them.
//!
//! ```
//! use backoff_cloud::{http::{self, ApiError}, retry};
//! use reqwest::Client;
//!
//! // ✗
//! #[retry(on = [429, 503])]
//! async fn without_headers(client: &Client, url: &str) -> reqwest::Result<String> {
//!     client.get(url).send().await?.error_for_status()?.text().await
//! }
//!
//! // ✓
//! #[retry(on = [429, 503])]
//! async fn with_headers(client: &Client, url: &str) -> Result<Vec<u8>, ApiError> {
//!     http::success(client.get(url).send().await?).await
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # use backoff_cloud::Fault as _;
//! # let busy = || {
//! #     let busy = http_1::Response::builder().status(429).header("retry-after", "20").body("");
//! #     reqwest::Response::from(busy.unwrap())
//! # };
//! # assert_eq!(busy().error_for_status().unwrap_err().retry_after(), None);
//! # let kept = http::success(busy()).await.unwrap_err();
//! # assert_eq!(kept.retry_after(), Some(std::time::Duration::from_secs(20)));
//! # }
//! ```
//!
//! # A write alone, repeated after a conflict
//!
//! Its version stays old, so every attempt is refused. Repeat the read too.
//!
//! ```
//! use backoff_cloud::{Fault, retry};
//! use std::cell::Cell;
//!
//! #[derive(Debug, Fault)]
//! #[fault(status = 409)]
//! struct Stale;
//!
//! /// A count and its version.
//! type Row = (u32, u64);
//! async fn write(stored: &Cell<Row>, (count, version): Row) -> Result<(), Stale> {
//!     # tokio::task::yield_now().await;
//!     if version != stored.get().1 { return Err(Stale) }
//!     Ok(stored.set((count, version + 1)))
//! }
//!
//! // ✗
//! #[retry(on = [409])]
//! async fn write_again(stored: &Cell<Row>, row: Row) -> Result<(), Stale> {
//!     write(stored, row).await
//! }
//!
//! // ✓
//! #[retry(on = [409])]
//! async fn add_one(stored: &Cell<Row>) -> Result<(), Stale> {
//!     let (count, version) = stored.get();
//!     write(stored, (count + 1, version)).await
//! }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # let stored = Cell::new((0, 7));
//! # assert!(write_again(&stored, (1, 6)).await.is_err());
//! # let (first, second) = tokio::join!(add_one(&stored), add_one(&stored));
//! # assert!(first.is_ok() && second.is_ok());
//! # assert_eq!(stored.get(), (2, 9));
//! # }
//! ```
//!
//! [`update`](crate::Policy::update) always goes back to the read: [Read, modify, write](super::read_modify_write).
//!
//! # A change that always says `true`
//!
//! The `bool` says whether the change has changed the value. After a lost reply, `update` and `combine` read again, and
//! `true` means that the write did not arrive.
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut};
//! use std::{cell::RefCell, time::Duration};
//!
//! type Names = Vec<&'static str>;
//!
//! async fn update(
//!     stored: &RefCell<Names>,
//!     change: fn(&mut Names) -> bool,
//! ) -> Result<(), TimedOut> {
//!     let read = async || Ok(stored.borrow().clone());
//!     let write = async |names| {
//!         let is_first = stored.replace(names).is_empty();
//!         // The reply of the first write is lost.
//!         if is_first { Err(TimedOut::new(Duration::from_secs(5))) } else { Ok(()) }
//!     };
//!     Policy::exponential().update(read, change, write).await.map(drop)
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let stored = RefCell::default();
//! // ✗
//! update(&stored, |names| { names.push("ann"); true }).await.unwrap();
//! assert_eq!(stored.take(), ["ann", "ann"]);
//! // ✓
//! update(&stored, |names| {
//!     let is_new = !names.contains(&"ann");
//!     if is_new { names.push("ann") }
//!     is_new
//! })
//! .await
//! .unwrap();
//! assert_eq!(stored.take(), ["ann"]);
//! # }
//! ```
//!
//! # A `deadline`, and a server that hangs
//!
//! `#[retry(deadline = "30s")]` ✗ begins no attempt after its end, and lets the running attempt finish: an attempt
//! that hangs for an hour takes an hour. `#[retry(timeout = "30s", attempt_timeout = "10s")]` ✓ cuts it. [Waits and
//! limits](super::waits_and_limits#four-limits) has the program.
//!
//! # Retries inside retries
//!
//! They multiply. Retry at one level: the one that knows whether the whole may be repeated. If an inner level has to
//! retry, let it return its [`RetryError`](crate::RetryError), which is permanent for the outer levels.
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut};
//! use std::{cell::Cell, time::Duration};
//!
//! const FIVE: Policy = Policy::exponential(); // five attempts
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let calls = Cell::new(0);
//! let request = || {
//!     calls.set(calls.get() + 1);
//!     std::future::ready(Err::<(), _>(TimedOut::new(Duration::from_secs(1))))
//! };
//! // ✗
//! let page = || FIVE.retry(request);
//! let report = || FIVE.retry(page);
//! FIVE.retry(report).await.unwrap_err();
//! assert_eq!(calls.replace(0), 125);
//! // ✓
//! let page = || FIVE.retry(request).reported();
//! let report = || FIVE.retry(page);
//! FIVE.retry(report).await.unwrap_err();
//! assert_eq!(calls.replace(0), 5);
//! # }
//! ```
//!
//! An inner loop is one attempt of the outer level, so a `deadline` does not cut it; `timeout` does. Turn off the
//! client's retries:
//!
//! | client | its own retries | turned off by |
//! |---|---|---|
//! | Google's own clients | 10 attempts within 60 s | [`.try_once()`](crate::gax::WithPolicy) on the client's builder or on a request |
//! | reqwest 0.13 | requests that the server surely did not process | `Client::builder().retry(reqwest::retry::never())` |
//! | AWS SDK | 3 attempts | `.retry_config(RetryConfig::disabled())` on the configuration |
//! | tonic 0.14 | none | leave out retry layers of tower around the channel |
//!
//! # A blocking retry in an async function
//!
//! A blocking retry sleeps on its thread, and no other task of that thread runs meanwhile. Nothing warns of this.
//!
//! ```
//! use backoff_cloud::retry;
//! use std::{fs, io};
//!
//! #[retry(base = "1ms", max_attempts = 2, when = |_: &io::Error| true)]
//! fn read() -> io::Result<String> { fs::read_to_string("no such file") }
//!
//! // ✗
//! async fn on_the_runtime() -> io::Result<String> { read() }
//! // ✓ Or an async function.
//! async fn beside_it() -> io::Result<String> {
//!     tokio::task::spawn_blocking(read).await?
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # let other = tokio::spawn(async {});
//! # assert!(on_the_runtime().await.is_err() && !other.is_finished());
//! # assert!(beside_it().await.is_err() && other.is_finished());
//! # }
//! ```
//!
//! # A call made anew in each turn of `select!`
//!
//! Each tick drops the retry, and the next turn begins a new one, so no call ever gives up. Pin one future, and poll
//! `&mut` of it. The same holds for `tokio::time::timeout` in a loop.
//!
//! ```
//! use backoff_cloud::{Jitter, Policy, TimedOut};
//! use std::{cell::Cell, pin::pin, time::Duration};
//!
//! const POLICY: Policy =
//!     Policy::constant(Duration::from_secs(3)).jitter(Jitter::None).max_attempts(4);
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let calls = Cell::new(0);
//! let get = || {
//!     calls.set(calls.get() + 1);
//!     std::future::ready(Err::<(), _>(TimedOut::new(Duration::ZERO)))
//! };
//! let mut tick = tokio::time::interval(Duration::from_secs(2));
//!
//! // ✗
//! for _turn in 0..100 {
//!     tokio::select! {
//!         _ = POLICY.retry(get) => unreachable!("a tick comes before the first retry"),
//!         _ = tick.tick() => {}
//!     }
//! }
//! assert!(calls.replace(0) >= 99);
//!
//! // ✓
//! let mut call = pin!(POLICY.retry(get));
//! let outcome = loop {
//!     tokio::select! {
//!         outcome = &mut call => break outcome,
//!         _ = tick.tick() => {}
//!     }
//! };
//! assert!(outcome.is_err() && calls.get() == 4);
//! # }
//! ```
//!
//! Previous: [Hedging](super::hedging) · next: [Telemetry and shutdown](super::telemetry_and_shutdown)
