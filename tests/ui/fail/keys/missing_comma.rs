//! Arguments without commas between them.

use backoff_core::retry;
use ui::ApiError;

#[retry(max_attempts = 3 deadline = "30s"; idempotent)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
