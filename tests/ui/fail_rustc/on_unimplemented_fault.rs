//! Codes need an error that tells its status.

use backoff_core::retry;

struct MyError;

#[retry(on = [429])]
async fn f() -> Result<(), MyError> {
    Ok(())
}

fn main() {}
