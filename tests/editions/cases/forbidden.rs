//! What the macro writes sets off no lint, not even a forbidden one.

#![forbid(warnings, unused, unreachable_code)]

use super::{ApiError, Flaky, retry, run};

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
fn under_forbidden_lints() {
    assert_eq!(run(get(&Flaky::failing(2))), Ok(3));
    assert_eq!(unit(&Flaky::failing(2)), Ok(()));
    assert_eq!(run(never(&Flaky::failing(2))), Err(ApiError(404)));
}
