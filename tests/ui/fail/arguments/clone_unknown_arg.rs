//! A copy of what is no argument.

use backoff_core::retry;
use ui::ApiError;

#[retry(clone(bdy, other))]
async fn f(body: Vec<u8>) -> Result<Vec<u8>, ApiError> {
    Ok(body)
}
