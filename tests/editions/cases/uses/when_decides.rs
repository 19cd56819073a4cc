//! A closure or a function decides, with generics and arguments in it.

use backoff_core::retry;
use ui::{ApiError, Flaky};

fn is<const CODE: u16, T>(error: &ApiError) -> bool {
    error.0 == CODE
}

#[retry(base = "1ms", when = |error| error.0 == code)]
async fn closure(flaky: &Flaky, code: u16) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(when = is::<503, ()>, base = "1ms")]
fn path(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[tokio::test]
async fn works() {
    assert_eq!(closure(&Flaky::failing(2), 503).await, Ok(3));
    assert_eq!(closure(&Flaky::failing(2), 500).await, Err(ApiError(503)));
    assert_eq!(path(&Flaky::failing(2)), Ok(3));
}
