//! The attribute behind a condition.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[cfg_attr(all(), retry(base = "1ms"))]
async fn repeated(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[cfg_attr(any(), retry(colour = "blue"))]
async fn once(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[tokio::test]
async fn works() {
    assert_eq!(repeated(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(once(&Flaky::failing(2)).await, Err(ApiError(503)));
}
