//! A const parameter in the body and in the policy.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms", max_attempts = N)]
async fn get<const N: u32>(flaky: &Flaky) -> Result<u32, ApiError> {
    Ok(flaky.call()? + N)
}

#[tokio::test]
async fn works() {
    assert_eq!(get::<3>(&Flaky::failing(2)).await, Ok(6));
    assert_eq!(get::<2>(&Flaky::failing(2)).await, Err(ApiError(503)));
}
