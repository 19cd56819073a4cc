//! A duration below zero.

use backoff_core::retry;
use ui::ApiError;

#[retry(base = "-1s", deadline = -300s)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
