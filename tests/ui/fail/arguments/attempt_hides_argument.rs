//! The attempt's name must not hide an argument.

use backoff_core::retry;
use ui::ApiError;

#[retry(attempt = page)]
async fn f(page: u32) -> Result<u32, ApiError> {
    Ok(page)
}

#[retry(attempt = attempt)]
fn g((attempt, _): (u32, u32), n: u32) -> Result<u32, ApiError> {
    Ok(attempt + n)
}
