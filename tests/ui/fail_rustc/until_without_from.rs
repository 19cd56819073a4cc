//! What is still awaited at the end needs an error made of it.

use backoff_core::retry;
use ui::ApiError;

#[retry(until = |done| *done)]
async fn f() -> Result<bool, ApiError> {
    Ok(true)
}

fn main() {}
