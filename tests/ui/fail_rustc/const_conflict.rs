//! Constants that contradict each other.

use backoff_core::retry;
use ui::ApiError;

const NONE: u32 = 0;

#[retry(max_attempts = NONE)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

fn main() {}
