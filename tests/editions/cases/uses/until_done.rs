//! A value that is not yet what is awaited is asked for again.

use std::cell::Cell;
use std::time::Duration;

use backoff_core::{Budget, Event, Fault, NotYet, TimedOut, retry, retry_block};
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

#[derive(Debug, PartialEq)]
struct Operation {
    percent: u32,
}

fn is_done(operation: &Operation) -> bool {
    operation.percent >= 100
}

/// Each call is 40 further; the second fails.
fn ask(calls: &Cell<u32>) -> Result<Operation, Error> {
    calls.set(calls.get() + 1);
    match calls.get() {
        2 => Err(Error::Api(503)),
        call => Ok(Operation { percent: call * 40 }),
    }
}

fn nobody_asks(_: &Error) -> bool {
    unreachable!()
}

/// Nothing can be paid from it.
static EMPTY: Budget = Budget::costs(10, 5, 5).starting_with(0);

#[retry(base = "1s", jitter = none, on = [503], until = is_done)]
async fn path(calls: &Cell<u32>) -> Result<Operation, Error> {
    ask(calls)
}

#[retry(base = "1s", jitter = none, max_attempts = 2, when = nobody_asks, until = |o| o.percent > least, budget = EMPTY, notify = |event| heard.push(event.to_string()))]
async fn never(calls: &Cell<u32>, least: u32, heard: &mut Vec<String>) -> Result<Operation, Error> {
    calls.set(calls.get() + 1);
    Ok(Operation { percent: 1 })
}

#[retry(base = "1s", jitter = none, deadline = "100s", on = [503, Error::NotYet(_)], idempotent = false, attempt_timeout = "10s", until = |operation| operation.percent >= 3)]
async fn cut(calls: &Cell<u32>) -> Result<Operation, Error> {
    calls.set(calls.get() + 1);
    Ok(Operation {
        percent: calls.get(),
    })
}

#[retry(base = "1ms", until = is_done)]
fn blocking(calls: &Cell<u32>) -> Result<Operation, Error> {
    ask(calls)
}

#[retry(base = "1ms", deadline = "50ms", sleep = |wait| std::thread::sleep(wait + Duration::from_millis(100)), until = |_| false, notify = |event| given_up.set(matches!(event, Event::GaveUp { .. })))]
fn wakes_late(given_up: &Cell<bool>) -> Result<(), Error> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn works() {
    let (calls, begun) = (Cell::new(0), Instant::now());
    assert_eq!(path(&calls).await, Ok(Operation { percent: 120 }));
    assert_eq!((calls.get(), begun.elapsed().as_secs()), (3, 3));

    let (calls, mut heard) = (Cell::new(0), Vec::new());
    assert!(matches!(
        never(&calls, 1, &mut heard).await,
        Err(Error::NotYet(_))
    ));
    assert_eq!((calls.get(), heard.len()), (2, 2));
    assert!(
        heard[1].starts_with("gave up after 2 attempts (attempts)"),
        "{heard:?}"
    );

    assert_eq!(cut(&Cell::new(0)).await, Ok(Operation { percent: 3 }));
    assert_eq!(blocking(&Cell::new(0)), Ok(Operation { percent: 120 }));
    let given_up = Cell::new(false);
    assert!(matches!(wakes_late(&given_up), Err(Error::NotYet(_))));
    assert!(given_up.get());

    let mut seen = 0;
    let answer: Result<u32, Error> = retry_block!(base = "1s", until = |seen| *seen == 3, async {
        seen += 1;
        Ok(seen)
    })
    .await;
    assert_eq!(answer, Ok(3));
}
