//! Owned arguments that are only read.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
async fn get(flaky: Flaky, name: String) -> Result<usize, ApiError> {
    flaky.call()?;
    Ok(name.len())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    assert_eq!(get(Flaky::failing(2), "four".to_owned()).await, Ok(4));
}
