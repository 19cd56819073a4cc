//! A judge of another error.

use backoff_core::retry;
use ui::ApiError;

#[retry(when = |error: &String| error.is_empty())]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

fn main() {}
