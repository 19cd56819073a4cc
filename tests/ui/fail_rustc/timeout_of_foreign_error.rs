//! The error of another crate cannot be made from a timeout.

use backoff_core::retry;

#[retry(attempt_timeout = "1s")]
async fn f() -> Result<(), std::fmt::Error> {
    Ok(())
}

fn main() {}
