//! An `async fn` in the implementation of a trait.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[allow(async_fn_in_trait)]
trait Get {
    async fn get(&self) -> Result<u32, ApiError>;

    #[retry(base = "1ms")]
    async fn get_or_default(&self) -> Result<u32, ApiError> {
        self.get().await
    }
}

struct Client(Flaky);

impl Get for Client {
    #[retry(base = "1ms")]
    async fn get(&self) -> Result<u32, ApiError> {
        self.0.call()
    }
}

#[tokio::test]
async fn works() {
    assert_eq!(Client(Flaky::failing(2)).get().await, Ok(3));
    assert_eq!(Client(Flaky::failing(2)).get_or_default().await, Ok(3));
}
