//! A policy of the type, and one of the value.

use std::time::Duration;

use backoff_core::{Policy, retry};
use ui::{ApiError, Flaky};

struct Client {
    flaky: Flaky,
    policy: Policy,
    attempts: u32,
}

impl Client {
    const POLICY: Policy = Policy::exponential()
        .base(Duration::from_millis(1))
        .max_attempts(2);

    #[retry(policy = Self::POLICY)]
    async fn of_type(&self) -> Result<u32, ApiError> {
        self.flaky.call()
    }

    #[retry(policy = self.policy, max_attempts = self.attempts)]
    async fn of_value(&self) -> Result<u32, ApiError> {
        self.flaky.call()
    }
}

fn client() -> Client {
    Client {
        flaky: Flaky::failing(2),
        policy: Client::POLICY,
        attempts: 3,
    }
}

#[tokio::test]
async fn works() {
    assert_eq!(client().of_type().await, Err(ApiError(503)));
    assert_eq!(client().of_value().await, Ok(3));
}
