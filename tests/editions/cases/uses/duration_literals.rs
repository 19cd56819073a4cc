//! Every way to write a duration.

use std::time::Duration;

use backoff_core::retry;
use ui::{ApiError, Flaky};

const LONG: Duration = Duration::from_secs(64);

#[retry(base = "1ms", max_backoff = "1m 4s", deadline = "5min", jitter = "1ms")]
async fn texts(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = 1ms, max_backoff = 1.5s, deadline = 1h, jitter = 1us)]
async fn bare(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = Duration::from_millis(1), max_backoff = LONG)]
async fn expressions(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

macro_rules! with {
    ($base:literal, $attempts:expr) => {
        #[retry(base = $base, max_attempts = $attempts)]
        async fn from_macro(flaky: &Flaky) -> Result<u32, ApiError> {
            flaky.call()
        }
    };
}

with!("1ms", 1 + 2);

#[tokio::test]
async fn works() {
    assert_eq!(texts(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(bare(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(expressions(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(from_macro(&Flaky::failing(2)).await, Ok(3));
}
