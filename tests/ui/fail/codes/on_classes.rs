//! A class of statuses, as other tools name it.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = 5xx)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = [429, 5xx])]
async fn g() -> Result<(), ApiError> {
    Ok(())
}

#[retry(also_on = [4xx, 5XX])]
async fn h() -> Result<(), ApiError> {
    Ok(())
}
