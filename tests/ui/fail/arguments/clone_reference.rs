//! A copy of a reference.

use backoff_core::retry;
use ui::ApiError;

#[retry(clone(name, self))]
async fn f(name: &str) -> Result<usize, ApiError> {
    Ok(name.len())
}
