//! Recursion through a box.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn sum(flaky: &Flaky, n: u32) -> Result<u32, ApiError> {
    if n == 0 {
        return Ok(0);
    }
    flaky.call()?;
    let rest = Box::pin(sum(flaky, n - 1)).await?;
    Ok(n + rest)
}

#[tokio::test]
async fn works() {
    assert_eq!(sum(&Flaky::failing(1), 3).await, Ok(6));
}
