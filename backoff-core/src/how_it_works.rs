//! How a retry works, and what the library guarantees.
//!
//! ```text
//! operation ─ error ─▶ Fault ─ facts ─▶ Policy ─ verdict ─▶ RetryState
//!     ▲                                                          │
//!     └────── sleep, call again ◀─ a loop ◀─ wait or stop ───────┘
//! ```
//!
//! An error states facts ([`Fault`](trait@crate::Fault)). A [`Policy`](crate::Policy), a constant, holds the
//! rules and judges the facts. [`RetryState`](crate::RetryState) decides whether to wait or to stop. It has no
//! I/O, no clock and no random source of its own, and nothing else decides. A loop sleeps and calls again.
//!
//! # Guarantees
//!
//! - A wait never exceeds `max_backoff`, jitter included, unless the server asks for more.
//! - No wait begins that would end after the deadline, whatever a server's hint or a judge says. The
//!   deadline does not cut an attempt that is running; [`timeout`](crate::Retrying::timeout) does.
//! - [`attempt_timeout`](crate::Retrying::attempt_timeout) cuts each attempt. Nothing cuts a blocking function: it has
//!   the deadline, and the limits of its own client.
//! - A wait that a server asks for is not longer than [`max_retry_after`](crate::Policy::max_retry_after) (by default
//!   the deadline, else five minutes): a longer one ends the call.
//! - A policy does not retry an error that states nothing, and a log line says what to write. A bare `#[retry]` has no
//!   policy and no codes, and retries such an error too.
//! - Where a service answers each call, a reply that suddenly says that its [quota](crate::Rate#quotas) is used up delays
//!   the others for at most two seconds and one call. A service that is down gets one attempt a second from all calls that
//!   an open [`Breaker`](crate::Breaker) can refuse.
//! - Nothing is allocated, except by a call that waits in the queue of a rate, and by each async wait where the features
//!   `tokio` and `smol` are both on.
//! - A success reads the clock only for a deadline, a report, an [`Attempt`](crate::Attempt), a rate or a
//!   recorder of metrics. It draws a random number only for the [id](crate::Attempt::id) of an `Attempt`.
//! - Every form returns the operation's own `Result`. Only [`reported`](crate::Retrying::reported), the last
//!   method of a call, returns `Ok((value, report))` or a [`RetryError`](crate::RetryError) with the error, the reason
//!   and the report.
//!
//! Property tests check the times for random policies and random failures.
//!
//! # Late timers
//!
//! A call decides before the wait whether another attempt fits. If an async timer wakes late, the attempt
//! begins late too, perhaps after the deadline. The call cannot return the last error at that point, because
//! its future does not keep the error while it waits: the future would be as large as the error, and could
//! not be `Send` where the error is not. Tokio's timer rounds up to a millisecond. A blocking retry reads the
//! clock again after the wait.

#![cfg_attr(feature = "macros", doc = include_str!("expansion.md"))]
