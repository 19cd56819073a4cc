//! A factor that makes waits shrink.

use backoff_core::retry;
use ui::ApiError;

#[retry(factor = 0.5)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
