//! Two ways to look at an error.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = [ApiError(503)], faults(ApiError))]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
