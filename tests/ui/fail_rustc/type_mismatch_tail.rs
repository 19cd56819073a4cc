//! A tail of another type.

use backoff_core::retry;
use ui::ApiError;

#[retry]
async fn f() -> Result<(), ApiError> {
    Ok("text")
}

fn main() {}
