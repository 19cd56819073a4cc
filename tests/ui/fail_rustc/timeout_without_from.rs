//! A timeout needs an error made of it.

use backoff_core::retry;
use ui::ApiError;

#[retry(attempt_timeout = "1s")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

fn main() {}
