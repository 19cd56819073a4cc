//! What matches every error.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = [error if error.0 == 503, 429 if true, x @ 3 4])]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
