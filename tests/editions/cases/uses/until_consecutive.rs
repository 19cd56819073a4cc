//! The awaited value several times in a row.

use std::cell::Cell;

use backoff_core::{Fault, NotYet, TimedOut, retry, retry_block};
use tokio::time::Instant;

#[derive(Debug, PartialEq, Fault, thiserror::Error)]
enum Error {
    #[error("status {0}")]
    #[fault(status = self.0)]
    Api(u16),
    #[error(transparent)]
    #[fault(forward)]
    NotYet(#[from] NotYet),
    #[error(transparent)]
    #[fault(forward)]
    Late(#[from] TimedOut),
}

/// Replicas that know of the write or do not, and one that fails.
fn read(calls: &Cell<usize>) -> Result<bool, Error> {
    const REPLICAS: [bool; 9] = [false, true, true, false, true, true, false, true, true];
    calls.set(calls.get() + 1);
    match calls.get() {
        3 => Err(Error::Api(503)),
        call => REPLICAS.get(call - 1).copied().map_or(Ok(true), Ok),
    }
}

fn is_visible(visible: &bool) -> bool {
    *visible
}

const VALUES: u32 = 3;

struct Client {
    calls: Cell<usize>,
    values: u32,
}

impl Client {
    #[retry(base = "1s", jitter = none, deadline = "5m", on = [503], until = is_visible, consecutive = self.values)]
    async fn method(&self) -> Result<bool, Error> {
        read(&self.calls)
    }
}

#[retry(base = "1s", jitter = none, max_attempts = 20, on = [503], until = |visible| *visible, consecutive = 3)]
async fn literal(calls: &Cell<usize>) -> Result<bool, Error> {
    read(calls)
}

#[retry(base = "1s", jitter = none, timeout = "5m", on = [503], until = |visible| *visible, consecutive = VALUES)]
async fn cut(calls: &Cell<usize>) -> Result<bool, Error> {
    read(calls)
}

#[retry(base = "1ms", max_attempts = 20, until = is_visible, consecutive = values + 1)]
fn blocking(calls: &Cell<usize>, values: u32) -> Result<bool, Error> {
    read(calls)
}

#[retry(base = "1s", jitter = none, until = |visible| *visible, consecutive = 5, notify = |event| heard.push(event.to_string()))]
async fn too_short(calls: &Cell<usize>, heard: &mut Vec<String>) -> Result<bool, Error> {
    read(calls)
}

#[tokio::test(start_paused = true)]
async fn works() {
    // no yes error no yes yes no yes yes yes: the waits are 1, 1, 2, 4, 1, 1, 8, 1, 1 s.
    let (calls, begun) = (Cell::new(0), Instant::now());
    assert_eq!(literal(&calls).await, Ok(true));
    assert_eq!((calls.get(), begun.elapsed().as_secs()), (10, 20));

    let (calls, begun) = (Cell::new(0), Instant::now());
    assert_eq!(cut(&calls).await, Ok(true));
    assert_eq!((calls.get(), begun.elapsed().as_secs()), (10, 20));

    let client = Client {
        calls: Cell::new(0),
        values: 3,
    };
    assert_eq!(client.method().await, Ok(true));
    assert_eq!(client.calls.get(), 10);

    let calls = Cell::new(0);
    assert_eq!(blocking(&calls, 2), Ok(true));
    assert_eq!(calls.get(), 10);

    let (calls, mut heard) = (Cell::new(0), Vec::new());
    let Err(Error::NotYet(not_yet)) = too_short(&calls, &mut heard).await else {
        panic!("five attempts do not give five values in a row");
    };
    assert_eq!((not_yet.consecutive(), heard.len()), (1, 5));
    assert!(heard[1].contains("has come once"), "{heard:?}");

    let calls = Cell::new(0);
    let answer: Result<bool, Error> = retry_block!(
        deadline = "5m",
        until = |visible| *visible,
        consecutive = VALUES,
        async { read(&calls) }
    )
    .await;
    assert_eq!((answer, calls.get()), (Ok(true), 10));
}
