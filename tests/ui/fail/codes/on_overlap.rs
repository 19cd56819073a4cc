//! Codes named twice.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = [429, 500..=504, 503, 502..=509, 429])]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
