//! A value that is not yet what is awaited is asked for again, also until it comes several times in a row.

use super::*;
use tokio::time::Instant;

/// Nothing can be paid from it, and nothing has to be.
static EMPTY: Budget = Budget::costs(10, 5, 5).starting_with(0);

fn nobody_asks(_: &Error) -> bool {
    unreachable!()
}

fn is_done(percent: &u32) -> bool {
    *percent >= 100
}

/// Each call is 40 further; the second fails.
fn ask(calls: &Cell<u32>) -> Result<u32, Error> {
    calls.set(calls.get() + 1);
    match calls.get() {
        2 => Err(BUSY),
        call => Ok(call * 40),
    }
}

#[tokio::test(start_paused = true)]
async fn the_awaited_value() {
    #[retry(base = "1s", jitter = none, on = [503], until = is_done)]
    async fn path(calls: &Cell<u32>) -> Result<u32, Error> {
        ask(calls)
    }
    #[retry(base = "1ms", until = is_done)]
    fn blocking(calls: &Cell<u32>) -> Result<u32, Error> {
        ask(calls)
    }
    #[retry(base = "1s", jitter = none, deadline = "100s", on = [503, Error::NotYet(_)], idempotent = false, attempt_timeout = "10s", until = |call| *call >= 3)]
    async fn cut(calls: &Cell<u32>) -> Result<u32, Error> {
        calls.set(calls.get() + 1);
        Ok(calls.get())
    }
    let (calls, begun) = (Cell::new(0), Instant::now());
    assert_eq!(path(&calls).await, Ok(120));
    assert_eq!((calls.get(), begun.elapsed().as_secs()), (3, 3));
    assert_eq!(blocking(&Cell::new(0)), Ok(120));
    assert_eq!(cut(&Cell::new(0)).await, Ok(3));
    let mut seen = 0;
    let block = retry_block!(base = "1s", until = |seen| *seen == 3, async {
        seen += 1;
        Ok::<u32, Error>(seen)
    });
    assert_eq!(block.await, Ok(3));
}

#[tokio::test(start_paused = true)]
async fn a_value_that_never_comes() {
    #[retry(base = "1s", jitter = none, max_attempts = 2, when = nobody_asks, until = |seen| *seen > least, budget = EMPTY, notify = |event| heard.push(event.to_string()))]
    async fn never(least: u32, heard: &mut Vec<String>) -> Result<u32, Error> {
        Ok(1)
    }
    #[retry(base = "1ms", deadline = "50ms", runtime = late::Late, until = |_| false, notify = |event| given_up.set(matches!(event, Event::GaveUp { .. })))]
    fn wakes_late(given_up: &Cell<bool>) -> Result<(), Error> {
        Ok(())
    }
    let mut heard = Vec::new();
    let got = never(1, &mut heard).await;
    assert!(matches!(got, Err(Error::NotYet(_))));
    assert_eq!(heard.len(), 2);
    let end = "gave up after 2 attempts (attempts)";
    assert!(heard[1].starts_with(end), "{:?}", heard);
    let given_up = Cell::new(false);
    assert!(matches!(wakes_late(&given_up), Err(Error::NotYet(_))));
    assert!(given_up.get());
}

/// Replicas that know of the write or do not, and one that fails.
fn read(calls: &Cell<u32>) -> Result<bool, Error> {
    const REPLICAS: [bool; 9] = [false, true, true, false, true, true, false, true, true];
    calls.set(calls.get() + 1);
    match calls.get() {
        3 => Err(BUSY),
        call => Ok(REPLICAS.get(call as usize - 1).copied().unwrap_or(true)),
    }
}

fn is_visible(visible: &bool) -> bool {
    *visible
}

const VALUES: u32 = 3;

struct Client {
    calls: Cell<u32>,
    values: u32,
}

impl Client {
    #[retry(base = "1s", jitter = none, deadline = "5m", on = [503], until = is_visible, consecutive = self.values)]
    async fn method(&self) -> Result<bool, Error> {
        read(&self.calls)
    }
}

/// no yes error no yes yes no yes yes yes: the waits are 1, 1, 2, 4, 1, 1, 8, 1, 1 s.
#[tokio::test(start_paused = true)]
async fn three_values_in_a_row() {
    #[retry(base = "1s", jitter = none, max_attempts = 20, on = [503], until = |visible| *visible, consecutive = 3)]
    async fn literal(calls: &Cell<u32>) -> Result<bool, Error> {
        read(calls)
    }
    #[retry(base = "1s", jitter = none, timeout = "5m", on = [503], until = |visible| *visible, consecutive = VALUES)]
    async fn cut(calls: &Cell<u32>) -> Result<bool, Error> {
        read(calls)
    }
    #[retry(base = "1ms", max_attempts = 20, until = is_visible, consecutive = values + 1)]
    fn blocking(calls: &Cell<u32>, values: u32) -> Result<bool, Error> {
        read(calls)
    }
    let (calls, begun) = (Cell::new(0), Instant::now());
    assert_eq!((literal(&calls).await, calls.get()), (Ok(true), 10));
    assert_eq!(begun.elapsed().as_secs(), 20);
    let (calls, begun) = (Cell::new(0), Instant::now());
    assert_eq!((cut(&calls).await, calls.get()), (Ok(true), 10));
    assert_eq!(begun.elapsed().as_secs(), 20);
    let (calls, values) = (Cell::new(0), 3);
    let client = Client { calls, values };
    assert_eq!(client.method().await, Ok(true));
    assert_eq!(client.calls.get(), 10);
    let calls = Cell::new(0);
    assert_eq!((blocking(&calls, 2), calls.get()), (Ok(true), 10));
    let calls = Cell::new(0);
    let block = retry_block!(
        deadline = "5m",
        until = |visible| *visible,
        consecutive = VALUES,
        async { read(&calls) }
    );
    assert_eq!((block.await, calls.get()), (Ok(true), 10));
}

#[test]
fn too_few_attempts_for_a_row() {
    #[retry(base = "1s", jitter = none, until = |visible| *visible, consecutive = 5, notify = |event| heard.push(event.to_string()))]
    async fn too_short(calls: &Cell<u32>, heard: &mut Vec<String>) -> Result<bool, Error> {
        read(calls)
    }
    let mut heard = Vec::new();
    let Err(Error::NotYet(not_yet)) = run(too_short(&Cell::new(0), &mut heard)) else {
        panic!("five attempts do not give five values in a row");
    };
    assert_eq!((not_yet.consecutive(), heard.len()), (1, 5));
    assert!(heard[1].contains("has come once"), "{:?}", heard);
}
