//! Methods that `#[async_trait]` has rewritten before: `self` has another name there, also in the values of keys, on
//! both sides of `#[instrument]`, in a method that a trait provides, and in a block.

use super::*;
use async_trait::async_trait;
use tracing::instrument;

#[async_trait]
trait Service: Sync {
    fn attempts(&self) -> u32;
    fn flaky(&self) -> &Flaky;

    #[retry(base = "1ms", max_attempts = self.attempts())]
    async fn provided(&mut self) -> Result<u32, ApiError> {
        self.flaky().call()
    }

    async fn mutable(&mut self, name: String, body: Vec<u8>) -> Result<usize, Error>;
    async fn shared(&self, name: &str) -> Result<u32, ApiError>;
    async fn limited(&self, limit: u32) -> Result<u32, Box<dyn std::error::Error + Send + Sync>>;
    async fn owned(self: Box<Self>) -> Result<u32, ApiError>;
    async fn above(&mut self) -> Result<u32, ApiError>;
    async fn below(&mut self) -> Result<u32, ApiError>;
    async fn block(&mut self) -> Result<u32, ApiError>;
}

#[derive(Debug)]
struct Client {
    flaky: Flaky,
    attempts: u32,
    pushed: u32,
}

impl Client {
    fn is_busy(&self, error: &ApiError) -> bool {
        error.0 == 503
    }
}

#[async_trait]
impl Service for Client {
    fn attempts(&self) -> u32 {
        self.attempts
    }

    fn flaky(&self) -> &Flaky {
        &self.flaky
    }

    #[retry(
        base = "1ms", max_attempts = self.attempts, attempt_timeout = Duration::from_secs(self.attempts.into()),
        notify = |_| assert_eq!(self.attempts, 3), clone(body),
        until = |length| *length == 6, consecutive = self.attempts - 2
    )]
    async fn mutable(&mut self, name: String, mut body: Vec<u8>) -> Result<usize, Error> {
        self.pushed += 1;
        body.push(1);
        let body: Box<[u8]> = body.into();
        self.flaky.call()?;
        Ok(body.len() + name.len())
    }

    #[retry(base = "1ms", max_attempts = self.attempts, when = |error| self.is_busy(error))]
    async fn shared(&self, name: &str) -> Result<u32, ApiError> {
        assert_eq!(name, "name");
        if self.flaky.calls() == 0 {
            self.flaky.call()?;
        }
        return self.flaky.call();
    }

    #[retry(base = "1ms", max_attempts = limit)]
    async fn limited(&self, limit: u32) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
        tokio::task::yield_now().await;
        Ok(self.flaky.call()?)
    }

    #[retry(base = "1ms", max_attempts = self.attempts)]
    async fn owned(self: Box<Self>) -> Result<u32, ApiError> {
        self.flaky.call()
    }

    #[instrument(skip_all)]
    #[retry(base = "1ms", max_attempts = self.attempts)]
    async fn above(&mut self) -> Result<u32, ApiError> {
        self.pushed += 1;
        self.flaky.call()
    }

    #[retry(base = "1ms", max_attempts = self.attempts, when = |error| self.is_busy(error))]
    #[instrument(skip_all)]
    async fn below(&mut self) -> Result<u32, ApiError> {
        self.pushed += 1;
        self.flaky.call()
    }

    async fn block(&mut self) -> Result<u32, ApiError> {
        retry_block!(base = "1ms", max_attempts = self.attempts, async {
            self.pushed += 1;
            self.flaky.call()
        })
        .await
    }
}

fn client() -> Client {
    Client {
        flaky: Flaky::failing(2),
        attempts: 3,
        pushed: 0,
    }
}

#[test]
fn methods() {
    assert_eq!(run(client().provided()), Ok(3));
    let mut changed = client();
    let got = run(changed.mutable("four".to_owned(), vec![2]));
    assert_eq!((got, changed.pushed), (Ok(6), 3));
    assert_eq!(run(sent(client().shared("name"))), Ok(3));
    assert_eq!(run(client().limited(3)).unwrap(), 3);
    let limited = client();
    assert!(run(limited.limited(2)).is_err());
    assert_eq!(limited.flaky.calls(), 2);
    assert_eq!(run(Box::new(client()).owned()), Ok(3));
    assert_eq!(run(client().above()), Ok(3));
    assert_eq!(run(client().below()), Ok(3));
    assert_eq!(run(client().block()), Ok(3));
    let mut few = Box::new(client());
    few.attempts = 2;
    let few: Box<dyn Service> = few;
    assert_eq!(run(few.owned()), Err(ApiError(503)));
}
