//! A policy of a type parameter, and one that is an argument.

use std::time::Duration;

use backoff_core::{Policy, retry};
use ui::{ApiError, Flaky};

trait Service {
    const POLICY: Policy;
}

struct Patient;

impl Service for Patient {
    const POLICY: Policy = Policy::exponential()
        .base(Duration::from_millis(1))
        .max_attempts(3);
}

#[retry(policy = S::POLICY)]
async fn of_type<S: Service>(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(policy = rules, base = wait)]
fn of_argument(flaky: &Flaky, rules: Policy, wait: Duration) -> Result<u32, ApiError> {
    flaky.call()
}

#[tokio::test]
async fn works() {
    assert_eq!(of_type::<Patient>(&Flaky::failing(2)).await, Ok(3));
    let rules = Patient::POLICY.max_attempts(2);
    assert_eq!(
        of_argument(&Flaky::failing(1), rules, Duration::ZERO),
        Ok(2)
    );
    assert_eq!(
        of_argument(&Flaky::failing(2), rules, Duration::ZERO),
        Err(ApiError(503))
    );
}
