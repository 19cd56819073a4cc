//! `impl Trait` inside the result.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn numbers(flaky: &Flaky) -> Result<impl Iterator<Item = u32> + use<>, ApiError> {
    let last = flaky.call()?;
    Ok(0..last)
}

#[retry(base = "1ms")]
fn blocking(flaky: &Flaky) -> Result<impl Iterator<Item = u32> + use<>, ApiError> {
    let last = flaky.call()?;
    Ok(0..last)
}

#[tokio::test]
async fn works() {
    assert_eq!(numbers(&Flaky::failing(2)).await.unwrap().count(), 3);
    assert_eq!(blocking(&Flaky::failing(2)).unwrap().count(), 3);
}
