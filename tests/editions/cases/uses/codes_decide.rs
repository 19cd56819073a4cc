//! `on` and the policy decide what is retried, and any error is without them.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms", on = [429, 500..=502])]
async fn others(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms", on = [429, 500..=504])]
async fn these(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms")]
async fn all(flaky: &Flaky) -> Result<u32, String> {
    flaky.call().map_err(|error| error.to_string())
}

#[retry(base = "1ms", max_attempts = 2)]
async fn few(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[tokio::test]
async fn works() {
    let flaky = Flaky::failing(2);
    assert_eq!(others(&flaky).await, Err(ApiError(503)));
    assert_eq!(flaky.calls(), 1);
    assert_eq!(these(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(all(&Flaky::failing(2)).await, Ok(3));
    let flaky = Flaky::failing(9);
    assert_eq!(few(&flaky).await, Err(ApiError(503)));
    assert_eq!(flaky.calls(), 2);
}
