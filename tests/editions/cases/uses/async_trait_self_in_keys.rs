//! `self` in the values of keys, where `#[async_trait]` has given it another name: on both sides of
//! `#[instrument]`, in a method that a trait provides, and in a block.

use std::time::Duration;

use async_trait::async_trait;
use backoff_core::{TimedOut, retry, retry_block};
use tracing::instrument;
use ui::{ApiError, Flaky};

#[derive(Debug, PartialEq)]
enum Error {
    Api(ApiError),
    Late,
}

impl From<ApiError> for Error {
    fn from(error: ApiError) -> Self {
        Error::Api(error)
    }
}

impl From<TimedOut> for Error {
    fn from(_: TimedOut) -> Self {
        Error::Late
    }
}

#[async_trait]
trait Service: Sync {
    fn attempts(&self) -> u32;
    fn flaky(&self) -> &Flaky;

    #[retry(base = "1ms", max_attempts = self.attempts())]
    async fn provided(&mut self) -> Result<u32, ApiError> {
        self.flaky().call()
    }

    async fn mutable(&mut self, body: Vec<u8>) -> Result<usize, Error>;
    async fn shared(&self) -> Result<u32, ApiError>;
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
        notify = |_| assert_eq!(self.attempts, 3), clone(body)
    )]
    async fn mutable(&mut self, mut body: Vec<u8>) -> Result<usize, Error> {
        self.pushed += 1;
        body.push(1);
        self.flaky.call()?;
        Ok(body.len())
    }

    #[retry(base = "1ms", max_attempts = self.attempts, when = |error| self.is_busy(error))]
    async fn shared(&self) -> Result<u32, ApiError> {
        self.flaky.call()
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

#[tokio::test]
async fn works() {
    assert_eq!(client().provided().await, Ok(3));
    let mut changed = client();
    assert_eq!(changed.mutable(vec![]).await, Ok(1));
    assert_eq!(changed.pushed, 3);
    assert_eq!(client().shared().await, Ok(3));
    assert_eq!(Box::new(client()).owned().await, Ok(3));
    assert_eq!(client().above().await, Ok(3));
    assert_eq!(client().below().await, Ok(3));
    assert_eq!(client().block().await, Ok(3));
    let few = Client {
        attempts: 2,
        ..client()
    };
    assert_eq!(Box::new(few).owned().await, Err(ApiError(503)));
}
