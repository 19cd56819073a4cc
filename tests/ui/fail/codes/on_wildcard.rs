//! A pattern for everything.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = [_])]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
