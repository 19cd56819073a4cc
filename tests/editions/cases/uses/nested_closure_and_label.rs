//! Labels, loops and closures in the body are its own.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    let call = || flaky.call();
    let found = 'outer: loop {
        for number in 0.. {
            if number == 3 {
                break 'outer number;
            }
            if number > 5 {
                continue 'outer;
            }
        }
    };
    Ok(call()? + found)
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2)).await, Ok(6));
}
