//! An argument that the body consumes.

use backoff_core::retry;
use ui::ApiError;

#[retry]
async fn f(name: String) -> Result<(), ApiError> {
    drop(name);
    Ok(())
}

fn main() {}
