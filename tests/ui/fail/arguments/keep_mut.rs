//! What is kept is declared `mut` in the arguments.

use backoff_core::retry;
use ui::ApiError;

#[retry(keep(mut seen))]
async fn f(seen: u32) -> Result<u32, ApiError> {
    Ok(seen)
}
