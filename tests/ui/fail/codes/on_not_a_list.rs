//! Codes without brackets.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = 429)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = "503")]
async fn g() -> Result<(), ApiError> {
    Ok(())
}
