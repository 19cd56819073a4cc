//! An order that is sent with retries, and tests of it. No test waits, and no server runs.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["http"] }
//! reqwest = "0.13"
//! serde_json = "1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//!
//! [dev-dependencies]
//! backoff-cloud = { version = "0.1", features = ["testing"] }
//! tokio = { version = "1", features = ["test-util"] }
//! ```

use backoff_cloud::http::{self, ApiError};
use backoff_cloud::{plain_http, retry};
use reqwest::Client;
use serde_json::Value;
use std::{env, error::Error};

/// `send` makes one request. A test gives another `send`.
#[retry(policy = plain_http::IDEMPOTENT, attempt_timeout = "10s", timeout = "60s", attempt = n)]
pub async fn order<T>(send: impl AsyncFn(String) -> Result<T, ApiError>) -> Result<T, ApiError> {
    send(n.id().to_string()).await // the same key in all attempts
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).ok_or("usage: order URL")?;
    let client = Client::new();
    let send = async |key| {
        let post = client.post(&url).header("Idempotency-Key", key);
        http::json::<Value>(post.body("a book").send().await?).await
    };
    println!("{}", order(send).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backoff_cloud::testing::{self, Injected};
    use std::{cell::RefCell, collections::HashSet, time::SystemTime};
    use tokio::time::Instant;

    fn status(status: u16) -> ApiError {
        ApiError::new(status, &Default::default(), b"", SystemTime::now())
    }

    #[tokio::test]
    async fn two_failures_are_retried() {
        let _instant = testing::instant(); // no wait lasts
        let lost = Injected::Lost(status(502));
        let faults = testing::script([Injected::Error(status(503)), lost]);
        assert_eq!(order(|_| faults.around(async { Ok(7) })).await.unwrap(), 7);
    }

    #[tokio::test(start_paused = true)] // a wait takes no time, and the clock goes on
    async fn a_shop_that_hangs_costs_a_minute_at_most() {
        let (faults, begin) = (testing::faults(0).hangs(1.0), Instant::now());
        assert!(order(|_| faults.around(async { Ok(()) })).await.is_err());
        assert!((50..=60).contains(&begin.elapsed().as_secs()));
    }

    #[tokio::test(start_paused = true)]
    async fn no_order_is_made_twice() {
        for seed in 0..100 {
            let faults = testing::faults(seed)
                .errors(0.3, || status(503))
                .lost(0.3, || status(502));
            let made = RefCell::new(HashSet::new());
            let shop = async |key| Ok(made.borrow_mut().insert(key));
            let is_made = order(|key| faults.around(shop(key))).await.is_ok();
            let orders = made.borrow().len();
            assert!(orders == 1 || orders == 0 && !is_made);
        }
    }
}
