//! A return of another type.

use backoff_core::retry;
use ui::ApiError;

#[retry]
async fn f() -> Result<(), ApiError> {
    if true {
        return Ok("text");
    }
    Ok(())
}

fn main() {}
