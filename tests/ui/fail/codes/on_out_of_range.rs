//! Codes that are no failures.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = [200, 302, 14, 600])]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
