//! A range from the higher to the lower code.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = [504..=500])]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
