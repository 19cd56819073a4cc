//! You will be able to test a program that retries without waiting, to check each wait of a policy, and to
//! let your program meet a service that fails on command or by chance.
//!
//! ```toml
//! [dev-dependencies]
//! tokio = { version = "1", features = ["macros", "rt", "test-util"] }
//! backoff-cloud = { version = "0.1", features = ["http", "testing"] }
//! ```
//!
//! A paused clock needs only tokio's `test-util`. The feature `testing` adds `VirtualTime`, `instant`,
//! `off`, `faults` and `script`.
//!
//! | you test | use |
//! |---|---|
//! | async code on tokio | `#[tokio::test(start_paused = true)]`: waits take no time, and deadlines count them |
//! | a call that hangs | a future that is pending, under the same clock |
//! | an HTTP client, against [a server that fails](#a-server-that-fails) | a `TcpListener`, with `testing::instant()` and `testing::script` |
//! | code of which the waits are not your subject | `testing::instant()`: no wait lasts, but each one counts for the deadline, for the pauses of `Reconnect` and for the queue of a `Rate` |
//! | what the program does with the first error | `testing::off()`: one attempt |
//! | each wait exactly, blocking or async | `testing::VirtualTime` as the `.runtime(..)` of the call |
//! | the numbers of a policy | [`Policy::schedule`](crate::Policy::schedule), without any call |
//! | which errors a policy repeats | [`Policy::judge`](crate::Policy::judge), without any call |
//! | whether a lost reply, a delay or a hang does harm | [`testing::faults`](#a-service-that-fails-by-chance): faults by a seed |
//! | a service of tower | [`Faults::around_reply`](crate::testing::Faults::around_reply) |
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
//!     // Four attempts of 10 s, waits of 1 + 2 + 4 + 8 s between them, and a fifth attempt until the 60th second.
//!     assert_eq!(calls.get(), 5);
//!     assert_eq!(begin.elapsed().as_secs(), 60);
//! }
//! # ends_a_call_that_hangs();
//! ```
//!
//! Do not pause the clock where real sockets answer: tokio thinks that a task that waits for a socket is idle,
//! and moves the clock to the next timer. A timeout of 10 s then ends the attempt at once: "the attempt was
//! cut after 10s". There use real time and
//! short waits (`POLICY.scaled(0.001)`), or `testing::instant()`.
//!
//! # A server that fails
//!
//! A listener of the standard library answers each connection, unless [`testing::script`](crate::testing::script) says
//! what befalls it; `testing::instant()` leaves the waits out. So a test stands before `POLICY.send(..)`,
//! `openai::send(..)` or any other client that takes an address:
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
//! A listener that accepts no connection is a server that hangs: test it with an `attempt_timeout` of some
//! milliseconds.
//!
//! # Waits that do not last, and no retries
//!
//! ```
//! use backoff_cloud::{StopReason, TimedOut, retry, storage, testing};
//!
//! #[retry(policy = storage::REQUEST, max_attempts = 8)]
//! fn fetch(calls: &mut u32) -> Result<(), TimedOut> {
//!     *calls += 1;
//!     if *calls < 4 { Err(TimedOut::new(Default::default())) } else { Ok(()) }
//! }
//!
//! let mut calls = 0;
//! {
//!     let _instant = testing::instant();
//!     assert!(fetch(&mut calls).is_ok()); // 3 waits of a second and more, in no time
//!     assert_eq!(calls, 4);
//! }
//!
//! let _off = testing::off();
//! assert!(fetch(&mut 0).is_err()); // the first error, as if there were no policy
//! ```
//!
//! Both hold for the thread that made the guard, until the guard is dropped. Tasks on other threads of a
//! runtime do not see it: test with a runtime of one thread, as `#[tokio::test]` makes it.
//!
//! # Each wait exactly
//!
//! `VirtualTime` is clock, timer and random source in one. It draws the longest wait of each range, unless
//! `drawing(0)` asks for the shortest. It needs no runtime, so a blocking test can check async numbers.
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
//! The bounds of the waits, without a call and without a feature:
//!
//! ```
//! use backoff_cloud::plain_http;
//! use std::time::Duration;
//!
//! let waits: Vec<_> = plain_http::IDEMPOTENT.schedule().map(|wait| wait.greatest).collect();
//! assert_eq!(waits, [1, 2, 4, 8].map(Duration::from_secs));
//! ```
//!
//! # A policy and an error of your own
//!
//! A policy decides by what an error says. So a test of a policy is a table of errors and verdicts, and
//! needs neither a call nor a clock:
//!
//! ```
//! use backoff_cloud::{Delivery, Fault, Policy, Verdict, codes};
//!
//! const ORDERS: Policy = Policy::exponential().on(codes![429, 503]).idempotent(false);
//!
//! enum OrderError { Status(u16), Lost }
//!
//! impl Fault for OrderError {
//!     fn status(&self) -> Option<u16> {
//!         match self { OrderError::Status(status) => Some(*status), OrderError::Lost => None }
//!     }
//!     fn delivery(&self) -> Option<Delivery> {
//!         match self { OrderError::Lost => Some(Delivery::MaybeSent), OrderError::Status(_) => None }
//!     }
//! }
//!
//! assert!(matches!(ORDERS.judge(&OrderError::Status(429)), Verdict::Retry { .. }));
//! assert_eq!(ORDERS.judge(&OrderError::Status(404)), Verdict::from(false));
//! // The order may have been made: it is not sent again.
//! assert_eq!(ORDERS.judge(&OrderError::Status(503)), Verdict::MaybeApplied);
//! assert_eq!(ORDERS.judge(&OrderError::Lost), Verdict::MaybeApplied);
//! ```
//!
//! A function that you give to `when` is a function: call it with the errors that matter. That the policy
//! uses it is one test with `VirtualTime` more.
//!
//! ```
//! use backoff_cloud::{Policy, testing::VirtualTime};
//! use std::io::{Error, ErrorKind};
//!
//! fn is_busy(error: &Error) -> bool {
//!     error.kind() == ErrorKind::ResourceBusy
//! }
//! assert!(is_busy(&ErrorKind::ResourceBusy.into()) && !is_busy(&ErrorKind::NotFound.into()));
//!
//! let mut errors = [ErrorKind::ResourceBusy, ErrorKind::ResourceBusy, ErrorKind::NotFound].into_iter();
//! let time = VirtualTime::new();
//! let call = || Err::<(), Error>(errors.next().unwrap().into());
//! let error = Policy::exponential().when(is_busy).blocking(call).runtime(time.clone()).call().unwrap_err();
//! assert_eq!((error.kind(), time.waits().len()), (ErrorKind::NotFound, 2));
//! ```
//!
//! # A service that fails by chance
//!
//! Some bugs show only after the right fault: a reply that is lost, though the service did what it was asked.
//! [`testing::faults`](fn@crate::testing::faults) puts faults around the calls of your program's service, or of a stand-in:
//! a share of errors, of lost replies, of delays and of hangs, drawn from a seed. This program finds a change that is
//! made twice:
//!
//! ```
//! use backoff_cloud::{Fault, iam, testing::{self, Faults}};
//! use std::cell::RefCell;
//!
//! #[derive(Debug, Fault)]
//! enum IamError {
//!     #[fault(status = 503)]
//!     Busy,
//!     #[fault(conflict)]
//!     Stale,
//!     #[fault(maybe_sent)]
//!     Reset,
//! }
//!
//! #[derive(Clone, Default)]
//! struct Role { members: Vec<&'static str>, etag: u64 }
//!
//! /// A stand-in for IAM. A write names the etag that was read.
//! struct Iam { role: RefCell<Role>, faults: Faults<IamError> }
//!
//! impl Iam {
//!     async fn get(&self) -> Result<Role, IamError> {
//!         self.faults.around(async { Ok(self.role.borrow().clone()) }).await
//!     }
//!     async fn set(&self, new: Role) -> Result<(), IamError> {
//!         let write = async {
//!             let mut role = self.role.borrow_mut();
//!             if new.etag != role.etag { return Err(IamError::Stale); }
//!             *role = Role { etag: new.etag + 1, ..new };
//!             Ok(())
//!         };
//!         self.faults.around(write).await
//!     }
//! }
//!
//! /// The program: read, change, write, and the whole again after a failure.
//! async fn grant(service: &Iam, change: fn(&mut Vec<&'static str>)) -> Result<(), IamError> {
//!     let attempt = async || {
//!         let mut role = service.get().await?;
//!         change(&mut role.members);
//!         service.set(role).await
//!     };
//!     iam::READ_MODIFY_WRITE.retry(attempt).await
//! }
//!
//! /// The first seed with which a member is in the role twice.
//! async fn doubled(change: fn(&mut Vec<&'static str>)) -> Option<u64> {
//!     for seed in 0..100 {
//!         let faults = testing::faults(seed);
//!         let faults = faults.errors(0.2, || IamError::Busy).lost(0.2, || IamError::Reset);
//!         let service = Iam { role: RefCell::default(), faults };
//!         let _ = grant(&service, change).await;
//!         if service.role.borrow().members.len() > 1 { return Some(seed); }
//!     }
//!     None
//! }
//!
//! // In a test, write #[tokio::test(start_paused = true)] here.
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! async fn a_member_is_added_once() {
//!     // After a lost reply, the member is there already.
//!     assert_eq!(doubled(|members| members.push("ann")).await, Some(5));
//!     // The correct change looks before it adds.
//!     let add = |members: &mut Vec<_>| if !members.contains(&"ann") { members.push("ann") };
//!     assert_eq!(doubled(add).await, None);
//! }
//! # a_member_is_added_once();
//! ```
//!
//! A test of yours asserts inside of the loop. If it fails, it prints the faults, and the seed makes them again:
//!
//! ```text
//! the faults of seed 5, after 8 calls: Lost(Reset), Nothing, Lost(Reset), Error(Busy), Error(Busy), Lost(Reset), Nothing, Nothing
//! ```
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
//! It uses the `backoff-cloud` of the repository. Take yours from there too if a test gives the emulator a `GrpcCode`:
//! the one from crates.io is another type.
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
