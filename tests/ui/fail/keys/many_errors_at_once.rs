//! Every mistake is reported.

use backoff_core::retry;
use ui::ApiError;

#[retry(bse = "1s", max_backoff = "64", max_attempts = 0, on = [504..=500], deadline)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
