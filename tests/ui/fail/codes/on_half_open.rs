//! A range without its last code.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = [500..505])]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
