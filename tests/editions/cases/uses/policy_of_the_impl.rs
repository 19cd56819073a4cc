//! A policy of a parameter of the `impl` around, which the macro cannot see.

use std::marker::PhantomData;
use std::time::Duration;

use backoff_core::{Policy, retry, retry_block};
use ui::{ApiError, Flaky};

trait Rules {
    const POLICY: Policy;
}

struct Client<Rule>(PhantomData<Rule>);

impl<Rule: Rules> Client<Rule> {
    #[retry(policy = Rule::POLICY)]
    async fn named(&self, flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }

    #[retry(policy = <Rule as Rules>::POLICY, max_attempts = 2)]
    async fn qualified(&self, flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }

    async fn block(&self, flaky: &Flaky) -> Result<u32, ApiError> {
        retry_block!(policy = Rule::POLICY, async { flaky.call() }).await
    }
}

struct Own;

impl Rules for Own {
    const POLICY: Policy = Policy::exponential()
        .base(Duration::from_millis(1))
        .max_attempts(3);
}

#[tokio::test]
async fn works() {
    let client = Client::<Own>(PhantomData);
    assert_eq!(client.named(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(client.block(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(client.qualified(&Flaky::failing(1)).await, Ok(2));
    assert_eq!(
        client.qualified(&Flaky::failing(2)).await,
        Err(ApiError(503))
    );
}
