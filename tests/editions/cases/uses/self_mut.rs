//! `&mut self` is borrowed anew at each attempt, and keeps what was changed.

use backoff_core::retry;
use ui::{ApiError, Flaky};

struct Client {
    flaky: Flaky,
    seen: u32,
}

impl Client {
    #[retry(base = "1ms")]
    async fn get(&mut self) -> Result<u32, ApiError> {
        self.seen += 1;
        self.flaky.call()
    }
}

#[tokio::test]
async fn works() {
    let mut client = Client {
        flaky: Flaky::failing(2),
        seen: 0,
    };
    assert_eq!(client.get().await, Ok(3));
    assert_eq!(client.seen, 3);
}
