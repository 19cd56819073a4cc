//! Retries without tokio: on another executor, on a plain thread, in a browser, and without the standard library.
//!
//! A call needs three things from outside: a [`Clock`](crate::Clock), a timer ([`Sleep`](crate::Sleep) for
//! async functions, [`BlockingSleep`](crate::BlockingSleep) for others), and [`Random`](crate::Random)
//! numbers for the jitter. A feature brings all of them, or you write them once.
//!
//! | where the program runs | features | write |
//! |---|---|---|
//! | tokio | the defaults | nothing; a debug build panics in each call outside a runtime, a release build at its first wait |
//! | smol, async-std, pollster, Bevy, an executor of your own | `default-features = false`, `smol`, `macros` | nothing |
//! | a browser, Node, Deno, a worker: `wasm32-unknown-unknown` | `wasm`, beside the defaults or beside `macros` | nothing |
//! | an executor with a timer that you prefer: monoio, glommio, compio, … | `default-features = false`, `std`, `macros` | `.runtime(..)`, or `runtime = ..` in the attribute |
//! | embassy | `backoff-core` with `default-features = false`, `macros` | `runtime = ..` with embassy's timer |
//!
//! Features add up: another crate of the program may turn on one that you did not choose. A call that names no runtime
//! then waits by
//!
//! 1. the browser's timer, on `wasm32-unknown-unknown` with `wasm`, which does nothing on other machines;
//! 2. tokio's timer, with `tokio`; where `smol` is on too, only inside a tokio runtime;
//! 3. the timer of `smol` otherwise.
//!
//! A client may need tokio whatever the retry uses: reqwest and tonic do.
//!
//! # smol, and executors without a timer
//!
//! The feature `smol` takes the timer of async-io, on which smol and async-std are built. The timer runs on a thread of
//! its own, so that any executor can poll a call:
//!
//! ```ignore
#![doc = include_str!("examples/smol.rs")]
//! ```
//!
//! # A timer of your own
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
//! async fn read(calls: &mut u32) -> Result<u32, TimedOut> {
//!     *calls += 1;
//!     if *calls < 3 { Err(TimedOut::new(Duration::ZERO)) } else { Ok(*calls) }
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
//! assert_eq!(block_on(read(&mut 0)), Ok(3));
//! ```
//!
//! A call takes `.runtime(AnyExecutor)`. So do updates, `resuming()` and a layer of tower. Everything that takes a
//! time limit waits by the same timer. The future of a call is `Send` where the runtime's `Sleep` is. A timer whose
//! future has no name goes into a box: `type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>`. `Reconnect` and the
//! feature `http` need tokio.
//!
//! # A browser
//!
//! On `wasm32-unknown-unknown` the standard library has no clock, no timer and no random numbers. The feature `wasm`
//! takes them from JavaScript. Functions with `#[retry]`, calls, limits, `combine`, rates and hints in headers work as
//! they stand.
//!
//! - Your own machine has no timer by `wasm`. So that `cargo check` works there, too, add `smol` for it:
//!
//!   ```toml
//!   [target.'cfg(not(target_family = "wasm"))'.dependencies]
//!   backoff-cloud = { version = "0.1", default-features = false, features = ["macros", "smol"] }
//!   ```
//! - `SystemTime::now()` panics there. Give `hint::retry_after` and `SavedRetry` the time
//!   `SystemTime::UNIX_EPOCH + Duration::from_millis(js_sys::Date::now() as u64)`.
//! - An attempt that is cut does not end the browser's `fetch`. A value whose `Drop` calls `abort()` of an
//!   `AbortController` does.
//! - A browser's thread cannot sleep: a blocking function panics at its first wait.
//! - `http`, `smol` and the clients with sockets do not build there, and `Reconnect` panics.
//!
//! # embassy
//!
//! embassy's timer and clock are a runtime. The random numbers are the second part of a pair: those of the chip, or
//! those of any generator that is seeded with something of the board.
//!
//! ```ignore
#![doc = include_str!("examples/embassy.rs")]
//! ```
//!
//! # Without the standard library
//!
//! `backoff-core` with `default-features = false` is `no_std` and allocates nothing. The board's timer is the runtime:
//! a type with [`Clock`](crate::Clock), [`BlockingSleep`](crate::BlockingSleep) or [`Sleep`](crate::Sleep), and
//! [`Random`](crate::Random), by `.runtime(&board)`. Any generator of random numbers will do, but two boards must not
//! draw the same ones.
//!
//! Previous: [Blocking programs](super::blocking) · next: [Beyond retries](super::beyond)
