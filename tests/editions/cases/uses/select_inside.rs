//! `select!` in the body, whose arms use `?`, `return` and a loop's label.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    'outer: loop {
        tokio::select! {
            biased;
            call = async { flaky.call() } => {
                let call = call?;
                if call > 100 {
                    break 'outer;
                }
                return Ok(call);
            }
            () = std::future::pending() => unreachable!(),
        }
    }
    Ok(0)
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn works() {
    assert_eq!(is_send(get(&Flaky::failing(2))).await, Ok(3));
}
