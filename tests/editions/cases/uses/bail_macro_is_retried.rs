//! A `return` that a macro writes is retried too.

use backoff_core::retry;
use ui::{ApiError, Flaky};

macro_rules! bail {
    ($error:expr) => {
        return Err($error)
    };
}

#[retry(base = "1ms")]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    match flaky.call() {
        Ok(call) => Ok(call),
        Err(error) => bail!(error),
    }
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2)).await, Ok(3));
}
