//! You will be able to retry without tokio: on another executor, on a plain thread, in a browser, and without
//! the standard library.
//!
//! A call needs three things from outside: a [`Clock`](crate::Clock), a timer ([`Sleep`](crate::Sleep) for
//! async functions, [`BlockingSleep`](crate::BlockingSleep) for others), and [`Random`](crate::Random)
//! numbers for the jitter. The feature `tokio`, on by default, brings all of them for async functions; the
//! feature `std` brings them for blocking functions.
//!
//! | where the program runs | features | write |
//! |---|---|---|
//! | tokio | the defaults | nothing; a debug build panics in each call outside a runtime, a release build at its first wait |
//! | threads, no async | `default-features = false`, `std`, `macros` | nothing |
//! | smol, async-std, embassy, a game loop, … | `default-features = false`, `std`, `macros` | `.runtime(..)`, or `runtime = ..` in the attribute |
//! | wasm in a browser | the same | `.runtime(..)` with the browser's timer and random numbers |
//! | no standard library | `backoff-core` without features | `.runtime(..)` with the board's timer |
//!
//! A client may need tokio whatever the retry uses: reqwest and tonic do.
//!
//! # Another executor
//!
//! Write the three traits once for a type of your own. Clock and random numbers come from the standard
//! library's [`Std`](crate::Std), and only the timer is new. This one is of the crate `futures-timer`
//! (`cargo add futures-timer`), which runs on any executor:
//!
//! ```
//! use backoff_cloud::{Clock, Policy, Random, Sleep, Std, TimedOut, retry};
//! use futures_timer::Delay;
//! use std::time::{Duration, Instant};
//!
//! #[derive(Clone, Copy)]
//! struct AnyExecutor;
//!
//! impl Sleep for AnyExecutor {
//!     type Sleep = Delay;
//!     fn sleep(&self, wait: Duration) -> Delay { Delay::new(wait) }
//! }
//! impl Clock for AnyExecutor {
//!     fn now(&self) -> Duration { Std.now() }
//! }
//! impl Random for AnyExecutor {
//!     fn random(&self) -> u64 { Std.random() }
//! }
//!
//! const POLICY: Policy = Policy::exponential().base(Duration::from_millis(2)).max_attempts(3);
//!
//! #[retry(policy = POLICY, runtime = AnyExecutor)]
//! async fn by_attribute(calls: &mut u32) -> Result<u32, TimedOut> {
//!     *calls += 1;
//!     if *calls < 3 { Err(TimedOut::new(Duration::ZERO)) } else { Ok(*calls) }
//! }
//!
//! async fn by_call() -> Result<(), TimedOut> {
//!     let call = || std::future::ready(Err(TimedOut::new(Duration::ZERO)));
//!     POLICY.retry(call).runtime(AnyExecutor).await
//! }
//!
//! # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Wake}, thread::{self, Thread}};
//! # struct Unpark(Thread);
//! # impl Wake for Unpark { fn wake(self: Arc<Self>) { self.0.unpark() } }
//! # /// The smallest executor.
//! # fn block_on<F: Future>(future: F) -> F::Output {
//! #     let waker = Arc::new(Unpark(thread::current())).into();
//! #     let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
//! #     loop {
//! #         match future.as_mut().poll(&mut context) {
//! #             Poll::Ready(value) => return value,
//! #             Poll::Pending => thread::park(),
//! #         }
//! #     }
//! # }
//! // `block_on` of smol, async-std, pollster or futures.
//! assert_eq!(block_on(by_attribute(&mut 0)), Ok(3));
//! assert!(block_on(by_call()).is_err());
//! ```
//!
//! With smol the timer is smol's own. Its future gives an `Instant`, and a `Sleep` gives `()`:
//!
//! ```ignore
//! use backoff_cloud::Sleep;
//! use std::{pin::Pin, task::{Context, Poll}, time::Duration};
//!
//! #[derive(Clone, Copy)]
//! struct Smol; // with `Clock` and `Random` as above
//!
//! struct Wait(smol::Timer);
//!
//! impl Future for Wait {
//!     type Output = ();
//!     fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
//!         Pin::new(&mut self.0).poll(cx).map(drop)
//!     }
//! }
//! impl Sleep for Smol {
//!     type Sleep = Wait;
//!     fn sleep(&self, wait: Duration) -> Wait { Wait(smol::Timer::after(wait)) }
//! }
//! ```
//!
//! A timer whose future has no name goes into a box: `type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>`.
//! That allocates once for each wait, and nothing where the first attempt succeeds.
//!
//! The runtime also says when the future of a call is `Send`: where the runtime's `Sleep` is. Everything that
//! takes a time limit (`attempt_timeout`, `timeout`) waits by the same timer. Updates, `resuming()`, `combine`
//! and a layer of tower have the method `.runtime(..)` too. `combine` also needs a [`Spawn`](crate::Spawn) of the
//! runtime: one method, which runs a task, as `smol::spawn(task).detach()` does. `Reconnect` and the feature `http`
//! need tokio.
//!
//! # Threads
//!
//! `#[retry]` on a function that is not async, [`retry_blocking`](crate::Policy::retry_blocking) and
//! [`blocking`](crate::Policy::blocking) sleep on their thread. No executor is needed. On a thread of an async
//! runtime such a sleep holds up all tasks of that thread: move the call to `spawn_blocking`.
//!
//! # A browser
//!
//! On `wasm32-unknown-unknown` the standard library has neither a clock nor random numbers: `Std.now()` panics,
//! and `Std.random()` gives each process the same numbers, so that all pages come back at the same time.
//! Take all three from the browser. `gloo-timers` has a future that waits, `js_sys` a clock and random numbers:
//!
//! ```text
//! impl Sleep for Browser {
//!     type Sleep = gloo_timers::future::TimeoutFuture;
//!     fn sleep(&self, wait: Duration) -> Self::Sleep { TimeoutFuture::new(wait.as_millis() as u32) }
//! }
//! impl Clock for Browser {
//!     fn now(&self) -> Duration { Duration::from_secs_f64(js_sys::Date::now() / 1e3) }
//! }
//! impl Random for Browser {
//!     fn random(&self) -> u64 { (js_sys::Math::random() * 2f64.powi(64)) as u64 }
//! }
//! ```
//!
//! `Date::now` follows the user's clock, which may be set back while a call runs. Where the deadline matters, use
//! `performance.now()` instead. On WASI the standard library has a clock and random numbers, and nothing has to
//! be written for blocking calls.
//!
//! # Without the standard library
//!
//! `backoff-core` with `default-features = false` is `no_std` and allocates nothing; the feature `macros` adds
//! the attribute, which needs no standard library either. The board's timer is the runtime, and the random
//! numbers may be those of any generator: they need not be secret, but two boards must not draw the same ones.
//!
//! ```
//! use backoff_cloud::{BlockingSleep, Clock, Fault, FaultKind, Policy, Random};
//! use core::{cell::Cell, time::Duration};
//!
//! struct Board {
//!     ticks: Cell<u64>,  // milliseconds; in a program, a register
//!     seed: Cell<u64>,   // from the serial number
//! }
//!
//! impl Clock for Board {
//!     fn now(&self) -> Duration { Duration::from_millis(self.ticks.get()) }
//! }
//! impl BlockingSleep for Board {
//!     fn sleep_blocking(&self, wait: Duration) {
//!         self.ticks.set(self.ticks.get() + wait.as_millis() as u64);
//!     }
//! }
//! impl Random for Board {
//!     /// SplitMix64: a few instructions, and good enough to spread waits.
//!     fn random(&self) -> u64 {
//!         self.seed.set(self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
//!         let z = self.seed.get();
//!         let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
//!         let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
//!         z ^ (z >> 31)
//!     }
//! }
//!
//! #[derive(Debug)]
//! struct Silent;
//! impl Fault for Silent {
//!     fn kind(&self) -> Option<FaultKind> { Some(FaultKind::Transient) }
//! }
//!
//! const RADIO: Policy = Policy::exponential().base(Duration::from_millis(50)).max_attempts(4);
//!
//! let board = Board { ticks: Cell::new(0), seed: Cell::new(7) };
//! let mut calls = 0;
//! let heard = RADIO
//!     .blocking(|| { calls += 1; if calls < 3 { Err(Silent) } else { Ok(42) } })
//!     .runtime(&board)
//!     .call();
//! assert_eq!(heard.unwrap(), 42);
//! assert!(board.now() <= Duration::from_millis(50 + 100));
//! ```
