//! A key given twice.

use backoff_core::retry;
use ui::ApiError;

#[retry(base = "1s", factor = 2.0, base = "2s")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
