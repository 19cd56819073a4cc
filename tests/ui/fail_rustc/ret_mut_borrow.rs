//! A mutable borrow cannot leave the attempt.

use backoff_core::retry;
use ui::ApiError;

#[retry]
async fn f(numbers: &mut Vec<u32>) -> Result<&mut u32, ApiError> {
    numbers.first_mut().ok_or(ApiError(404))
}

fn main() {}
