//! Type parameters and a `where` clause.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn get<T, F>(flaky: &Flaky, make: F) -> Result<T, ApiError>
where
    F: Fn() -> T,
{
    flaky.call()?;
    Ok(make())
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2), || 7).await, Ok(7));
}
