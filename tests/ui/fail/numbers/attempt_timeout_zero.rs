//! No time for an attempt.

use backoff_core::retry;
use ui::ApiError;

#[retry(attempt_timeout = "0s")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
