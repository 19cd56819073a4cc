//! Values without keys.

use backoff_core::retry;
use ui::ApiError;

#[retry(5, [429], "1s")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
