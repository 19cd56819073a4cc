//! A main function in tokio's runtime: its attribute stands below.

use backoff_core::retry;
use ui::{ApiError, Flaky};

static FLAKY: Flaky = Flaky::failing(2);

#[retry(base = "1ms")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ApiError> {
    let calls = FLAKY.call()?;
    assert_eq!(calls, 3);
    Ok(())
}
