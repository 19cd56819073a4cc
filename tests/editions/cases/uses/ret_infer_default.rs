//! Types that only the signature knows.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn get(flaky: &Flaky, text: &str) -> Result<Vec<u8>, ApiError> {
    flaky.call()?;
    let numbers = text
        .split(' ')
        .map(|word| word.parse().unwrap_or_default())
        .collect();
    Ok(numbers)
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2), "1 2").await, Ok(vec![1, 2]));
}
