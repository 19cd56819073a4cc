//! The operation that every library retries. It does as little as possible, so that the figures show the
//! cost of the retry.

use std::{
    cell::Cell,
    error::Error,
    fmt,
    future::{Future, Ready, ready},
    hint::black_box,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// The policy of every library: 1 ms, doubled each time, at most 64 s, ten retries, jitter.
pub const BASE: Duration = Duration::from_millis(1);
pub const CAP: Duration = Duration::from_secs(64);
pub const RETRIES: u32 = 10;

/// How many failures a call has when a retry is measured.
pub const FAILURES: u32 = 5;

/// The status that a server would answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiError {
    pub code: u16,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.code)
    }
}

impl Error for ApiError {}

pub const UNAVAILABLE: ApiError = ApiError { code: 503 };

/// Succeeds. The compiler cannot know this, so it keeps the code for failures.
#[inline(always)]
pub fn succeed(n: u64) -> Result<u64, ApiError> {
    match black_box(n) {
        u64::MAX => Err(UNAVAILABLE),
        n => Ok(n),
    }
}

/// An error of four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u32);

/// As [`succeed`], as a call of its own.
#[inline(never)]
pub fn called(n: u64) -> Result<u64, Code> {
    match black_box(n) {
        u64::MAX => Err(Code(503)),
        n => Ok(n),
    }
}

/// Pending once.
#[derive(Default)]
pub struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Fails until the number of failures is used up.
#[inline(always)]
pub fn flaky(left: &Cell<u32>) -> Result<u64, ApiError> {
    match black_box(left).get() {
        0 => Ok(0),
        some => {
            left.set(some - 1);
            Err(UNAVAILABLE)
        }
    }
}

/// Always fails. The compiler cannot know this either.
#[inline(always)]
pub fn fail(n: u64) -> Result<u64, ApiError> {
    succeed(n | u64::MAX)
}

/// A timer that is ready at once. The wait must still be computed.
#[inline(always)]
pub fn ready_sleep(wait: Duration) -> Ready<()> {
    black_box(wait);
    ready(())
}

/// Like [`ready_sleep`], for a thread.
#[inline(always)]
pub fn no_pause(wait: Duration) {
    black_box(wait);
}
