//! Values in a row that are not counted, or never come.

use backoff_core::{retry, retry_block};
use ui::ApiError;

#[retry(consecutive = 3)]
async fn without_until() -> Result<bool, ApiError> {
    Ok(true)
}

#[retry(until = |visible| *visible, consecutive = 0)]
async fn none() -> Result<bool, ApiError> {
    Ok(true)
}

#[retry(until = |visible| *visible, consecutive = "three")]
async fn no_number() -> Result<bool, ApiError> {
    Ok(true)
}

#[retry(until = |visible| *visible, consecutive = 3, max_attempts = 2)]
async fn too_few_attempts() -> Result<bool, ApiError> {
    Ok(true)
}

#[retry(until = |visible| *visible, consecutive = 6)]
async fn too_few_attempts_by_default() -> Result<bool, ApiError> {
    Ok(true)
}

fn main() {
    let _ = retry_block!(consecutive = 3, async { Ok::<_, ApiError>(true) });
}
