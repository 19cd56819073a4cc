//! An unknown key, and a mistake in the types of the body: both are said.

use backoff_core::retry;
use ui::ApiError;

#[retry(colour = 3, attempt = n)]
async fn f() -> Result<u64, ApiError> {
    let number: u64 = n.number();
    Ok(number)
}

fn main() {}
