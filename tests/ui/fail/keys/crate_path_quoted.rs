//! A path in quotes.

use backoff_core::retry;
use ui::ApiError;

#[retry(crate = "backoff_core")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
