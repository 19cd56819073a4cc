//! The call is over by then, whatever the server does; a cut attempt is judged as cut, whatever it is
//! put into.

use backoff_core::{Fault, FaultKind, TimedOut, retry, retry_block};
use std::{cell::Cell, time::Duration};
use tokio::time::Instant;

#[derive(Debug, PartialEq)]
enum Error {
    Other(&'static str),
}

/// A variant that a policy does not retry.
impl From<TimedOut> for Error {
    fn from(_: TimedOut) -> Self {
        Error::Other("late")
    }
}

impl Fault for Error {
    fn kind(&self) -> Option<FaultKind> {
        Some(FaultKind::Permanent)
    }
}

#[retry(timeout = "60s")]
async fn hangs() -> Result<(), Error> {
    std::future::pending().await
}

#[retry(timeout = "60s", attempt_timeout = "10s", jitter = none, on = [503])]
async fn hangs_often(calls: &Cell<u32>) -> Result<(), Error> {
    calls.set(calls.get() + 1);
    std::future::pending().await
}

#[retry(timeout = limit)]
async fn argument(limit: Duration) -> Result<(), Error> {
    std::future::pending().await
}

#[retry(attempt_timeout = "10s", max_attempts = 3, idempotent = false, on = [503])]
async fn careful(calls: &Cell<u32>) -> Result<(), Error> {
    calls.set(calls.get() + 1);
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn works() {
    let start = Instant::now();
    assert_eq!(hangs().await, Err(Error::Other("late")));
    assert_eq!(start.elapsed(), Duration::from_secs(60));

    let (start, calls) = (Instant::now(), Cell::new(0));
    assert_eq!(hangs_often(&calls).await, Err(Error::Other("late")));
    // 10 + 1 + 10 + 2 + 10 + 4 + 10 + 8: 5 s remain for the fifth.
    assert_eq!((start.elapsed(), calls.get()), (Duration::from_secs(60), 5));

    let start = Instant::now();
    assert!(argument(Duration::from_secs(7)).await.is_err());
    assert_eq!(start.elapsed(), Duration::from_secs(7));

    let calls = Cell::new(0);
    assert!(careful(&calls).await.is_err());
    assert_eq!(calls.get(), 1);

    let start = Instant::now();
    let block = retry_block!(timeout = "5s", async {
        std::future::pending::<Result<(), Error>>().await
    });
    assert!(block.await.is_err());
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}
