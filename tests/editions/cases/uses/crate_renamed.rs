//! The library under another name.

extern crate backoff_core as renamed;

mod inner {
    pub mod again {
        pub use backoff_core::*;
    }
}

use ui::{ApiError, Flaky};

#[renamed::retry(crate = renamed, base = "1ms", jitter = full, on = [503])]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[renamed::retry(crate = crate::uses::crate_renamed::inner::again, base = "1ms", jitter = equal)]
fn blocking(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(blocking(&Flaky::failing(2)), Ok(3));
}
