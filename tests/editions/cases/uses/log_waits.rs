//! The level of the log event before each wait: a name, or a `LogLevel`.

use backoff_core::{LogLevel, Policy, retry, retry_block};
use ui::{ApiError, Flaky};

const LOUD: Policy = Policy::exponential().log_waits(LogLevel::Warn);
const QUIET: LogLevel = LogLevel::Debug;

#[retry(base = "1ms", on = [503], log_waits = debug)]
async fn named(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(policy = LOUD, base = "1ms", on = [503], log_waits = QUIET)]
async fn constant(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms", when = |_| true, log_waits = LogLevel::Off)]
fn silent(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms", on = [503], log_waits = level)]
async fn argument(flaky: &Flaky, level: LogLevel) -> Result<u32, ApiError> {
    flaky.call()
}

#[tokio::test]
async fn works() {
    assert_eq!(named(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(constant(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(silent(&Flaky::failing(2)), Ok(3));
    assert_eq!(argument(&Flaky::failing(2), LogLevel::Trace).await, Ok(3));
    let flaky = Flaky::failing(1);
    let outcome: Result<u32, ApiError> =
        retry_block!(base = "1ms", on = [503], log_waits = trace, async {
            flaky.call()
        })
        .await;
    assert_eq!(outcome, Ok(2));
}
