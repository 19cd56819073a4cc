//! An argument that the body consumes is cloned there.

use backoff_core::retry;
use ui::{ApiError, Flaky};

async fn send(body: Vec<u8>) -> usize {
    body.len()
}

#[retry(base = "1ms")]
async fn put(flaky: &Flaky, body: Vec<u8>) -> Result<usize, ApiError> {
    let sent = send(body.clone()).await;
    flaky.call()?;
    Ok(sent)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    assert_eq!(put(&Flaky::failing(2), vec![1, 2, 3]).await, Ok(3));
}
