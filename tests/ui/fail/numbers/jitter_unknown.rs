//! A jitter that is none.

use backoff_core::retry;
use ui::ApiError;

#[retry(jitter = fulll)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
