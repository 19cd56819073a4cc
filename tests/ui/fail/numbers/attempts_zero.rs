//! No attempt at all.

use backoff_core::retry;
use ui::ApiError;

#[retry(max_attempts = 0)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
