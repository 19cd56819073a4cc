//! `self: Arc<Self>` stays owned by the function.

use std::sync::Arc;

use backoff_core::retry;
use ui::{ApiError, Flaky};

struct Client(Flaky);

impl Client {
    #[retry(base = "1ms")]
    async fn get(self: Arc<Self>) -> Result<u32, ApiError> {
        self.0.call()
    }
}

#[tokio::test]
async fn works() {
    assert_eq!(Arc::new(Client(Flaky::failing(2))).get().await, Ok(3));
}
