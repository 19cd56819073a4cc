//! A unit that is none.

use backoff_core::retry;
use ui::ApiError;

#[retry(base = "64sec", deadline = 5parsecs)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
