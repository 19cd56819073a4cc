//! A key as other libraries call it.

use backoff_core::retry;
use ui::ApiError;

#[retry(max_retries = 3)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
