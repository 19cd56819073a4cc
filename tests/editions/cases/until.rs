//! A value that is not yet what is awaited is asked for again, also until it comes several times in a row.

use super::*;

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

#[test]
fn the_awaited_value() {
    #[retry(base = "1s", on = [503], attempt_timeout = "10s", until = is_done)]
    async fn path(calls: &Cell<u32>) -> Result<u32, Error> {
        ask(calls)
    }
    assert_eq!(run(path(&Cell::new(0))), Ok(120));
    let mut seen = 0;
    let block = retry_block!(
        on = [503, Error::NotYet(_)],
        idempotent = false,
        until = |seen| *seen == 3,
        async {
            seen += 1;
            Ok::<u32, Error>(seen)
        }
    );
    assert_eq!(run(block), Ok(3));
}

#[test]
fn a_value_that_never_comes() {
    #[retry(base = "1s", max_attempts = 2, when = nobody_asks, until = |seen| *seen > least, budget = EMPTY, notify = |event| heard.push(event.to_string()))]
    async fn never(least: u32, heard: &mut Vec<String>) -> Result<u32, Error> {
        Ok(1)
    }
    #[retry(base = "1ms", deadline = "50ms", runtime = late::Late, until = |_| false, notify = |event| given_up.set(matches!(event, Event::GaveUp { .. })))]
    fn wakes_late(given_up: &Cell<bool>) -> Result<(), Error> {
        Ok(())
    }
    let mut heard = Vec::new();
    let got = run(never(1, &mut heard));
    assert!(matches!(got, Err(Error::NotYet(_))));
    assert_eq!(heard.len(), 2);
    let end = "gave up after 2 attempts (attempts)";
    assert!(heard[1].starts_with(end), "{:?}", heard);
    let given_up = Cell::new(false);
    assert!(matches!(wakes_late(&given_up), Err(Error::NotYet(_))));
    assert!(given_up.get());
}

/// Replicas that know of the write or do not, and one that fails: no yes error no yes yes no yes yes yes.
fn read(calls: &Cell<u32>) -> Result<bool, Error> {
    calls.set(calls.get() + 1);
    match calls.get() {
        3 => Err(BUSY),
        call => Ok(![1, 4, 7].contains(&call)),
    }
}

const VALUES: u32 = 3;

struct Client {
    calls: Cell<u32>,
    values: u32,
}

impl Client {
    #[retry(base = "1s", deadline = "5m", on = [503], until = |visible| *visible, consecutive = self.values)]
    async fn method(&self) -> Result<bool, Error> {
        read(&self.calls)
    }
}

#[test]
fn three_values_in_a_row() {
    #[retry(base = "1s", timeout = "5m", on = [503], until = |visible| *visible, consecutive = VALUES)]
    async fn cut(calls: &Cell<u32>) -> Result<bool, Error> {
        read(calls)
    }
    #[retry(base = "1ms", max_attempts = 20, until = |visible| *visible, consecutive = values + 1)]
    fn blocking(calls: &Cell<u32>, values: u32) -> Result<bool, Error> {
        read(calls)
    }
    let calls = Cell::new(0);
    assert_eq!((run(cut(&calls)), calls.take()), (Ok(true), 10));
    assert_eq!((blocking(&calls, 2), calls.take()), (Ok(true), 10));
    let values = 3;
    let client = Client { calls, values };
    assert_eq!(run(client.method()), Ok(true));
    assert_eq!(client.calls.get(), 10);
    #[retry(base = "1s", until = |visible| *visible, consecutive = 5)]
    async fn too_few_attempts(calls: &Cell<u32>) -> Result<bool, Error> {
        read(calls)
    }
    let error = run(too_few_attempts(&Cell::new(0))).unwrap_err();
    assert!(matches!(error, Error::NotYet(not_yet) if not_yet.consecutive() == 1));
}
