//! The future is `Send` and can be spawned, with references held over an await.

use std::sync::Arc;

use backoff_core::retry;
use ui::{ApiError, Flaky};

async fn name_of(text: &str) -> &str {
    text
}

#[retry(base = "1ms", attempt_timeout = "10s", when = |_| true)]
async fn get(flaky: &Flaky, name: &str) -> Result<u32, Error> {
    let name = name_of(name).await;
    assert!(!name.is_empty());
    Ok(flaky.call()?)
}

#[derive(Debug)]
struct Error;

impl From<ApiError> for Error {
    fn from(_: ApiError) -> Self {
        Self
    }
}

impl From<backoff_core::TimedOut> for Error {
    fn from(_: backoff_core::TimedOut) -> Self {
        Self
    }
}

#[tokio::test]
async fn works() {
    let flaky = Arc::new(Flaky::failing(2));
    let task = tokio::spawn(async move { get(&flaky, "name").await });
    assert_eq!(task.await.unwrap().unwrap(), 3);
}
