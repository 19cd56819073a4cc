//! A block that is not async runs at once.

use backoff_core::retry_block;
use ui::{ApiError, Flaky};

fn around(flaky: &Flaky) -> Result<u32, ApiError> {
    let mut attempts = 0;
    let calls = retry_block!(base = "1ms", on = [503], max_attempts = 4, {
        attempts += 1;
        if attempts == 1 {
            return Err(ApiError(503));
        }
        flaky.call()
    })?;
    assert_eq!(calls + 1, attempts);
    Ok(attempts)
}

#[test]
fn works() {
    assert_eq!(around(&Flaky::failing(2)), Ok(4));
    let mut seen = Vec::new();
    let flaky = Flaky::failing(9);
    let end = retry_block!(
        base = "1ms",
        max_attempts = 3,
        when = |error: &ApiError| { error.0 == 503 },
        attempt = n,
        {
            seen.push(n.number());
            flaky.call()
        },
    );
    assert_eq!(end, Err(ApiError(503)));
    assert_eq!(seen, [1, 2, 3]);
}
