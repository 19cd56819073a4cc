//! Patterns as arguments.

use backoff_core::retry;
use ui::{ApiError, Flaky};

struct Pair {
    flaky: Flaky,
    extra: u32,
}

#[retry(base = "1ms")]
async fn get(Pair { flaky, extra }: &Pair, (a, _): (u32, u32)) -> Result<u32, ApiError> {
    Ok(flaky.call()? + extra + a)
}

#[tokio::test]
async fn works() {
    let pair = Pair {
        flaky: Flaky::failing(2),
        extra: 10,
    };
    assert_eq!(get(&pair, (100, 0)).await, Ok(113));
}
