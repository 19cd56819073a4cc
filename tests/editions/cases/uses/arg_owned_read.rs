//! Owned arguments that are only read.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn get(flaky: Flaky, name: String) -> Result<usize, ApiError> {
    flaky.call()?;
    Ok(name.len())
}

#[tokio::test]
async fn works() {
    assert_eq!(get(Flaky::failing(2), "four".to_owned()).await, Ok(4));
}
