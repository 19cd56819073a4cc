//! What is borrowed from a mutable argument would have to be given back.

use backoff_core::retry;
use ui::ApiError;

#[retry(base = "1ms")]
async fn f(numbers: &mut Vec<u32>) -> Result<&mut u32, ApiError> {
    numbers.last_mut().ok_or(ApiError(503))
}

fn main() {}
