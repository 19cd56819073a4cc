//! A key for async functions.

use backoff_core::retry;
use ui::ApiError;

#[retry(attempt_timeout = "1s")]
fn f() -> Result<(), ApiError> {
    Ok(())
}
