//! `return` and `?` end an attempt, not the loop.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn get(flaky: &Flaky, early: bool) -> Result<u32, ApiError> {
    if early {
        return flaky.call();
    }
    let call = flaky.call()?;
    Ok(call)
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2), true).await, Ok(3));
    assert_eq!(get(&Flaky::failing(2), false).await, Ok(3));
}
