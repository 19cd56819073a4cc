//! The body sees which attempt it is.

use std::time::Duration;

use backoff_core::{retry, retry_block};
use ui::{ApiError, Flaky};

#[retry(base = "1ms", deadline = "10s", attempt = n)]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    assert_eq!(n.number(), flaky.calls() + 1);
    assert!(n.remaining() <= Duration::from_secs(10) && n.remaining() > Duration::from_secs(5));
    assert!(n.number() == 1 || n.elapsed() > Duration::ZERO);
    flaky.call()
}

#[retry(base = "1ms", attempt = attempt)]
fn blocking(flaky: &Flaky) -> Result<u32, ApiError> {
    assert_eq!(attempt.remaining(), Duration::MAX);
    flaky.call().map(|call| call * 10 + attempt.number())
}

#[tokio::test]
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
