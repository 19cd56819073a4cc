//! A rule that nobody asks.

use backoff_core::retry;
use ui::ApiError;

#[retry(idempotent = false)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(when = |_| true, retry_conflicts)]
async fn g() -> Result<(), ApiError> {
    Ok(())
}
