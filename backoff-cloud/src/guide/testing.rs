//! Tests of a program that retries, without waiting, and against a service that fails on command or by chance.
//!
//! ```toml
//! [dev-dependencies]
//! tokio = { version = "1", features = ["macros", "rt", "test-util"] }
//! backoff-cloud = { version = "0.1", features = ["http", "testing"] }
//! ```
//!
//! A paused clock needs only tokio's `test-util`. The feature `testing` adds `VirtualTime`, `instant`,
//! `off`, `off_everywhere`, `faults` and `script`.
//!
//! | you test | use |
//! |---|---|
//! | async code on tokio | `#[tokio::test(start_paused = true)]`: waits take no time, and deadlines count them |
//! | a call that hangs | a future that is pending, under the same clock |
//! | an HTTP client, against [a server that fails](#a-server-that-fails) | a `TcpListener`, with `testing::instant()` and `testing::script` |
//! | code of which the waits are not your subject | `testing::instant()`: no wait lasts, but each one counts for the deadline |
//! | each wait exactly, blocking or async | `testing::VirtualTime` as the `.runtime(..)` of the call |
//! | the numbers of a policy | [`Policy::schedule`](crate::Policy::schedule), without any call |
//! | which errors a policy repeats | [`Policy::judge`](crate::Policy::judge), without any call: [Errors](super::errors#facts-and-rules) |
//! | whether a lost reply, a delay or a hang does harm | [`testing::faults`](#a-service-that-fails-by-chance): faults by a seed |
//! | a read-modify-write against a service | [the emulator](#a-service-that-fails-on-command) |
//!
//! # Async code under tokio's paused clock
//!
//! Tokio moves its paused clock forward when every task waits. A minute of retries is over at once, and the
//! deadline, `timeout` and `attempt_timeout` count the minute. A call that hangs is a future that is always pending:
//!
//! ```
//! use backoff_cloud::{TimedOut, retry};
//! use std::{cell::Cell, future::pending};
//! use tokio::time::Instant;
//!
//! /// Takes the call as an argument, so that a test can give another one.
//! #[retry(base = "1s", jitter = none, attempt_timeout = "10s", timeout = "60s")]
//! async fn read(get: impl AsyncFn() -> Result<String, TimedOut>) -> Result<String, TimedOut> {
//!     get().await
//! }
//!
//! // In a test, write #[tokio::test(start_paused = true)] here.
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! async fn ends_a_call_that_hangs() {
//!     let (calls, begin) = (Cell::new(0), Instant::now());
//!     let hangs = async || { calls.set(calls.get() + 1); pending().await };
//!     assert!(read(hangs).await.is_err());
//!     assert_eq!(calls.get(), 5);
//!     assert_eq!(begin.elapsed().as_secs(), 60);
//! }
//! # ends_a_call_that_hangs();
//! ```
//!
//! Do not pause the clock where real sockets answer: tokio thinks that a task that waits for a socket is idle, and
//! moves the clock to the next timer. There use short waits (`POLICY.scaled(0.001)`) or `testing::instant()`.
//!
//! # A server that fails
//!
//! A listener of the standard library answers each connection, unless [`testing::script`](crate::testing::script) says
//! what befalls it; `testing::instant()` leaves the waits out:
//!
//! ```
//! use backoff_cloud::{http::SendExt as _, plain_http, testing::{self, Faults, Injected}};
//! use std::io::{self, BufRead as _, BufReader, Write as _};
//! use std::{net::TcpListener, thread};
//! use tokio::runtime::Handle;
//!
//! fn server(faults: Faults<Option<u16>>) -> io::Result<String> {
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     let url = format!("http://{}/", listener.local_addr()?);
//!     let runtime = Handle::current();
//!     thread::spawn(move || -> io::Result<()> {
//!         loop {
//!             let (mut stream, _) = listener.accept()?;
//!             let head = BufReader::new(&stream).lines();
//!             head.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
//!             // Without a status, the connection closes without a reply.
//!             let reply = faults.around_reply(async { Some(200) });
//!             if let Some(status) = runtime.block_on(reply) {
//!                 let headers = "content-length: 2\r\nconnection: close";
//!                 write!(stream, "HTTP/1.1 {status} \r\n{headers}\r\n\r\nok")?;
//!             }
//!         }
//!     });
//!     Ok(url)
//! }
//!
//! // In a test, write #[tokio::test] here.
//! # #[tokio::main(flavor = "current_thread")]
//! async fn the_third_attempt_succeeds() {
//!     # let _ = rustls::crypto::ring::default_provider().install_default();
//!     let _instant = testing::instant();
//!     let faults = testing::script([Injected::Error(Some(503)), Injected::Lost(None)]);
//!     let request = reqwest::Client::new().get(server(faults.clone()).unwrap());
//!     let reply = plain_http::BY_METHOD.send(request).text().reported().await;
//!     let (text, report) = reply.unwrap();
//!     assert_eq!((text.as_str(), report.attempts), ("ok", 3));
//! }
//! # the_third_attempt_succeeds();
//! ```
//!
//! # Waits that do not last, and no retries
//!
//! While the guard of `let _instant = testing::instant();` lives, no wait lasts. While that of `testing::off()` lives,
//! a call makes one attempt, as if there were no policy. Both hold for the thread that made the guard: test with a
//! runtime of one thread, as `#[tokio::test]` makes it.
//!
//! [`testing::off_everywhere()`](crate::testing::off_everywhere) holds for all threads, until the process ends. The
//! library reads no environment variable; a program that is tested from outside can, behind a feature of its own that turns
//! on `testing`:
//!
//! ```
//! if std::env::var_os("MY_APP_NO_RETRIES").is_some() {
//!     backoff_cloud::testing::off_everywhere();
//! }
//! ```
//!
//! # Each wait exactly
//!
//! `VirtualTime` is clock, timer and random source in one. It draws the longest wait of each range, unless
//! `drawing(0)` asks for the shortest. It needs no runtime.
//!
//! ```
//! use backoff_cloud::{TimedOut, iam, testing::VirtualTime};
//! use std::time::Duration;
//!
//! let time = VirtualTime::new();
//! let down = || Err::<(), _>(TimedOut::new(Duration::ZERO));
//! assert!(iam::REQUEST.blocking(down).runtime(time.clone()).call().is_err());
//!
//! // The formula of IAM's documentation: 2ⁿ s and up to one second more, at most 64 s.
//! assert_eq!(time.waits()[..3], [2, 3, 5].map(Duration::from_secs));
//! assert!(time.elapsed() <= Duration::from_secs(300));
//! ```
//!
//! # A service that fails by chance
//!
//! Some bugs show only after the right fault: a reply that is lost, though the service did what it was asked.
//! [`testing::faults`](fn@crate::testing::faults) puts faults around the calls of your program's service, or of a
//! stand-in: a share of errors, of lost replies, of delays and of hangs, drawn from a seed. This program finds an
//! order that is made twice:
//!
//! ```
//! use backoff_cloud::{Policy, TimedOut, testing};
//! use std::cell::Cell;
//!
//! const ORDER: Policy = Policy::exponential();
//!
//! /// How many orders one call makes.
//! async fn orders(policy: Policy, seed: u64) -> u32 {
//!     let orders = Cell::new(0); // the stand-in
//!     let faults = testing::faults(seed).lost(0.2, || TimedOut::new(Default::default()));
//!     let order = || faults.around(async { Ok(orders.set(orders.get() + 1)) });
//!     let _ = policy.retry(order).await;
//!     orders.get()
//! }
//!
//! // In a test, write #[tokio::test(start_paused = true)] here.
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! async fn one_order_is_made() {
//!     let mut doubled = None;
//!     for seed in 0..100 {
//!         if orders(ORDER, seed).await > 1 { doubled = Some(seed) }
//!         assert_eq!(orders(ORDER.idempotent(false), seed).await, 1);
//!     }
//!     assert!(doubled.is_some());
//! }
//! # one_order_is_made();
//! ```
//!
//! If a test that asserts inside of the loop fails, it prints the faults, and the seed makes them again.
//!
//! # A service that fails on command
//!
//! The emulator answers on a loopback socket as IAM and Memorystore do. A script says what befalls the next
//! calls, and the statistics say what arrived. The emulator is a package of this crate's repository, whose address
//! is on the page of this crate on crates.io:
//!
//! ```toml
//! [dev-dependencies]
//! emulator = { git = ".." } # or `path = "../clone/tests/emulator"`
//! ```
//!
//! ```rust,ignore
//! use backoff_cloud::{http::SendExt as _, iam};
//! use emulator::{Call, Emulator, Reply};
//!
//! let emulator = Emulator::start()?;
//! emulator.script(Call::GetIamPolicy, [Reply::status(503), Reply::status(500)]);
//!
//! let client = reqwest::Client::new();
//! let url = format!("{}/v1/projects/p/secrets/s:getIamPolicy", emulator.url());
//! // The clock is real. `scaled` makes the deadline shorter too; a slow machine needs a longer one.
//! let quick = iam::REQUEST.scaled(0.001).deadline(std::time::Duration::from_secs(60));
//! let policy: serde_json::Value = quick.send(client.get(url)).json().await?;
//!
//! assert!(policy["etag"].is_string());
//! assert_eq!(emulator.stats().faults, 2);
//! ```
//!
//! Previous: [What to watch](super::operations) · next: [Beyond one process](super::jobs)
