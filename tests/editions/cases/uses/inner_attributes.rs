//! Inner attributes of the function, in front and in the body.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
#[deny(unused_variables)]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    #![allow(unused_variables)]
    let nobody_reads_this = 1;
    flaky.call()
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2)).await, Ok(3));
}
