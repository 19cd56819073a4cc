//! Times that contradict each other.

use backoff_core::retry;
use ui::ApiError;

#[retry(base = "2m", max_backoff = "64s", deadline = 1s)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
