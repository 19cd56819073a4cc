//! An alias of `Result`.

use backoff_core::retry;
use ui::{ApiError, Flaky};

type Answer<T = u32> = std::result::Result<T, ApiError>;

#[retry(base = "1ms")]
async fn get(flaky: &Flaky) -> Answer {
    flaky.call()
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2)).await, Ok(3));
}
