//! A main function in tokio's runtime: its attribute stands below.

use backoff_core::retry;
use ui::{ApiError, Flaky};

static FLAKY: Flaky = Flaky::failing(2);

#[retry(base = "1ms")]
#[tokio::test]
async fn works() -> Result<(), ApiError> {
    let calls = FLAKY.call()?;
    assert_eq!(calls, 3);
    Ok(())
}
