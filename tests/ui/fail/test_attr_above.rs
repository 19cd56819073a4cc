//! An attribute above has made the function start a runtime of its own.

use backoff_core::retry;
use ui::ApiError;

#[tokio::test]
#[retry(base = "1ms")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
#[retry(base = "1ms")]
async fn other() -> Result<(), ApiError> {
    Ok(())
}

fn main() {}
