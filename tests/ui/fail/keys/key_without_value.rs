//! Keys without values.

use backoff_core::retry;
use ui::ApiError;

#[retry(base, deadline = , jitter: full)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
