//! The door of backoff-cloud.

use backoff_cloud::{iam, retry};
use ui::{ApiError, Flaky};

#[retry(policy = iam::REQUEST, base = "1ms", jitter = full, on = [503])]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2)).await, Ok(3));
}
