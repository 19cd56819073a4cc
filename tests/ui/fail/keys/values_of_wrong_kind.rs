//! Values of the wrong kind.

use backoff_core::retry;
use ui::ApiError;

#[retry(attempt = 3, notify = "log", sleep = 3, budget = 10, name = 3, clone = a, faults, keep())]
async fn f() -> Result<(), ApiError> {
    Ok(())
}
