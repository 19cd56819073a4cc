//! A number alone is no duration.

use backoff_core::retry;
use ui::ApiError;

#[retry(base = "64", deadline = 300)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
