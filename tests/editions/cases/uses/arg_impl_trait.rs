//! `impl Trait` as an argument.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn get(flaky: &Flaky, name: impl AsRef<str>) -> Result<usize, ApiError> {
    flaky.call()?;
    Ok(name.as_ref().len())
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2), "four").await, Ok(4));
}
