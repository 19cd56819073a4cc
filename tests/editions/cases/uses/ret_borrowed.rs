//! The result borrows from an argument.

use backoff_core::retry;
use ui::{ApiError, Flaky};

struct Client {
    flaky: Flaky,
    name: String,
}

impl Client {
    #[retry(base = "1ms")]
    async fn name(&self) -> Result<&str, ApiError> {
        self.flaky.call()?;
        Ok(&self.name)
    }
}

#[tokio::test]
async fn works() {
    let client = Client {
        flaky: Flaky::failing(2),
        name: "name".to_owned(),
    };
    assert_eq!(client.name().await, Ok("name"));
}
