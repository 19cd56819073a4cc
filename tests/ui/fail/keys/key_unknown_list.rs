//! A key that is like none.

use backoff_core::retry;
use ui::ApiError;

#[retry(colour = "blue")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
