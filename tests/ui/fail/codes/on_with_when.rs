//! Two judges.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = [429], when = |error| error.0 == 429)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
