//! The attribute asks again until the awaited value has come, once or several times in a row.

use super::*;

/// No token can be taken of it, and none has to be.
static EMPTY: Budget = Budget::costs(10, 5, 5).starting_with(0);

fn nobody_asks(_: &Error) -> bool {
    unreachable!()
}

fn is_fourth(call: &u32) -> bool {
    *call == 4
}

const VALUES: u32 = 3;

#[test]
fn the_awaited_value() {
    rows! {
        [base = "1ms", until = |_| true] => 3;
        [base = "1ms", until = |call| *call >= least] least: u32 = 5 => 5;
        [base = "1ms", on = [503], until = is_fourth] => 4;
        [base = "1ms", max_attempts = 9, until = |call| *call == 3, consecutive = 1] => 3;
        [base = "1ms", until = |_| true, consecutive = VALUES] => 5;
        // The third call is the first in a row, and the fifth begins another.
        [base = "1ms", max_attempts = 9, until = |call| *call != 4, consecutive = values + 1] values: u32 = 1 => 6;
    }
    async_rows! {
        [base = "1s", on = [503], attempt_timeout = "10s", until = is_fourth] => 4;
        [base = "1s", deadline = "5m", on = [503], until = |_| true, consecutive = VALUES] => 5;
        [base = "1s", timeout = "5m", on = [503], until = |_| true, consecutive = VALUES] => 5;
    }
    // To ask again is not to repeat a call that must not be made twice.
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
