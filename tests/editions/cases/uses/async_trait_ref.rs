//! Methods that `#[async_trait]` has rewritten before.

use async_trait::async_trait;
use backoff_core::retry;
use ui::{ApiError, Flaky};

#[async_trait]
trait Store {
    async fn get(&self, name: &str) -> Result<u32, ApiError>;
    async fn question(&self) -> Result<String, Box<dyn std::error::Error + Send + Sync>>;
    async fn limited(&self, limit: u32) -> Result<u32, ApiError>;
}

struct Client(Flaky);

#[async_trait]
impl Store for Client {
    #[retry(base = "1ms", on = [503])]
    async fn get(&self, name: &str) -> Result<u32, ApiError> {
        assert_eq!(name, "name");
        if self.0.calls() == 0 {
            self.0.call()?;
        }
        return self.0.call();
    }

    #[retry(base = "1ms")]
    async fn question(&self) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        tokio::task::yield_now().await;
        Ok(self.0.call()?.to_string())
    }

    #[retry(base = "1ms", max_attempts = limit)]
    async fn limited(&self, limit: u32) -> Result<u32, ApiError> {
        self.0.call()
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn works() {
    let client = Client(Flaky::failing(2));
    assert_eq!(is_send(client.get("name")).await, Ok(3));
    assert_eq!(Client(Flaky::failing(2)).question().await.unwrap(), "3");
    let client = Client(Flaky::failing(9));
    assert_eq!(client.limited(2).await, Err(ApiError(503)));
    assert_eq!(client.0.calls(), 2);
    let boxed: Box<dyn Store> = Box::new(Client(Flaky::failing(1)));
    assert_eq!(boxed.get("name").await, Ok(2));
}
