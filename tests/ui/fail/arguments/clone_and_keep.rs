//! Copied and kept, or kept without being changed.

use backoff_core::retry;
use ui::ApiError;

#[retry(clone(a, a), keep(a, b))]
async fn f(mut a: Vec<u8>, b: u32) -> Result<usize, ApiError> {
    a.push(1);
    Ok(a.len() + b as usize)
}
