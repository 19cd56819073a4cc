//! The body sees which attempt it is.

use std::time::Duration;

use backoff_core::{retry, retry_block};
use ui::{ApiError, Flaky};

#[retry(base = "1s", jitter = none, deadline = "10s", attempt = n)]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    assert_eq!(n.number(), flaky.calls() + 1);
    // The waits are 1 and 2 s.
    let elapsed = [0, 1, 3].map(Duration::from_secs)[flaky.calls() as usize];
    let remaining = Duration::from_secs(10) - elapsed;
    assert_eq!((n.elapsed(), n.remaining()), (elapsed, remaining));
    flaky.call()
}

#[retry(base = "1ms", attempt = attempt)]
fn blocking(flaky: &Flaky) -> Result<u32, ApiError> {
    assert_eq!(attempt.remaining(), Duration::MAX);
    flaky.call().map(|call| call * 10 + attempt.number())
}

#[tokio::test(start_paused = true)]
async fn works() {
    assert_eq!(get(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(blocking(&Flaky::failing(2)), Ok(33));
    let flaky = Flaky::failing(1);
    let numbers = retry_block!(base = "1ms", attempt = n, async {
        flaky.call()?;
        Ok::<_, ApiError>(n.number())
    });
    assert_eq!(numbers.await, Ok(2));
}
