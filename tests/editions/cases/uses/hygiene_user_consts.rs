//! The user's own constants, locals and labels do not meet the macro's.

use backoff_core::{Policy, retry};
use ui::{ApiError, Flaky};

const POLICY: Policy = Policy::exponential().base(std::time::Duration::from_millis(1));

#[retry(policy = POLICY)]
async fn get(__retry: &Flaky, __wait: u32, __policy: u32) -> Result<u32, ApiError> {
    const POLICY: u32 = 10;
    let __outcome = __retry.call()?;
    Ok(__outcome + POLICY + __wait + __policy)
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2), 100, 1000).await, Ok(1113));
}
