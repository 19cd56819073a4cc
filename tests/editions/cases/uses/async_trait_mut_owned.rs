//! `#[async_trait]` with `&mut self`, owned and consumed arguments.

use async_trait::async_trait;
use backoff_core::retry;
use ui::{ApiError, Flaky};

#[async_trait]
trait Store {
    async fn put(&mut self, name: String, body: Vec<u8>) -> Result<usize, ApiError>;
    async fn push(&mut self, body: Vec<u8>) -> Result<Vec<u8>, ApiError>;
}

#[derive(Default)]
struct Client {
    flaky: Option<Flaky>,
    attempts: u32,
}

#[async_trait]
impl Store for Client {
    #[retry(base = "1ms", clone(body))]
    async fn put(&mut self, name: String, body: Vec<u8>) -> Result<usize, ApiError> {
        self.attempts += 1;
        let body: Box<[u8]> = body.into();
        self.flaky.as_ref().unwrap().call()?;
        Ok(body.len() + name.len())
    }

    #[retry(base = "1ms", clone(body))]
    async fn push(&mut self, mut body: Vec<u8>) -> Result<Vec<u8>, ApiError> {
        body.push(1);
        self.flaky.as_ref().unwrap().call()?;
        Ok(body)
    }
}

#[tokio::test]
async fn works() {
    let mut client = Client {
        flaky: Some(Flaky::failing(2)),
        attempts: 0,
    };
    assert_eq!(client.put("four".to_owned(), vec![1, 2]).await, Ok(6));
    assert_eq!(client.attempts, 3);
    client.flaky = Some(Flaky::failing(2));
    assert_eq!(client.push(vec![]).await, Ok(vec![1]));
}
