//! A key with a mistake in it.

use backoff_core::retry;
use ui::ApiError;

#[retry(dedline = "300s")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
