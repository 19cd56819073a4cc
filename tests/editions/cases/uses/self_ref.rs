//! `&self` is borrowed at each attempt.

use backoff_core::retry;
use ui::{ApiError, Flaky};

struct Client(Flaky);

impl Client {
    #[retry(base = "1ms")]
    async fn get(&self, _id: u64) -> Result<u32, ApiError> {
        self.0.call()
    }
}

#[tokio::test]
async fn works() {
    assert_eq!(Client(Flaky::failing(2)).get(1).await, Ok(3));
}
