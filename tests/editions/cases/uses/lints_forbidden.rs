//! What the macro writes sets off no lint, not even a forbidden one.

#![forbid(warnings, unused, unreachable_code)]

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms")]
fn unit(flaky: &Flaky) -> Result<(), ApiError> {
    flaky.call()?;
    Ok(())
}

#[retry(base = "1ms")]
async fn never(_flaky: &Flaky) -> Result<std::convert::Infallible, ApiError> {
    Err(ApiError(404))
}

#[test]
fn works() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    assert_eq!(runtime.block_on(get(&Flaky::failing(2))), Ok(3));
    assert_eq!(unit(&Flaky::failing(2)), Ok(()));
    assert_eq!(
        runtime.block_on(never(&Flaky::failing(2))),
        Err(ApiError(404))
    );
}
