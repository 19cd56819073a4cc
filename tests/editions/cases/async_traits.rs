//! Methods that `#[async_trait]` has rewritten before: `self` has another name there, also in the values of keys, on
//! both sides of `#[instrument]`, in a method that a trait provides, and in a block.

use super::*;
use async_trait::async_trait;
use tracing::instrument;

type Job = Box<dyn Fn() -> u32 + Send>;
type Boxed = Box<dyn std::error::Error + Send + Sync>;

#[async_trait]
trait Service: Sync {
    fn client(&self) -> &Client;

    #[retry(base = "1ms", max_attempts = self.client().attempts)]
    async fn provided(&mut self) -> Result<u32, ApiError> {
        self.client().flaky.call()
    }

    async fn mutable(&mut self, name: String, body: Vec<u8>) -> Result<usize, Error>;
    async fn not_sync(&self, job: Job, list: Vec<Cell<u32>>) -> Result<u32, Boxed>;
    async fn owned(self: Box<Self>) -> Result<u32, ApiError>;
    async fn above(&mut self, job: Cell<u32>) -> Result<u32, ApiError>;
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
    fn client(&self) -> &Client {
        self
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
        return Ok(body.len() + name.len());
    }

    #[retry(base = "1ms", clone(list))]
    async fn not_sync(&self, job: Job, mut list: Vec<Cell<u32>>) -> Result<u32, Boxed> {
        list.push(Cell::new(0));
        let first = job();
        tokio::task::yield_now().await;
        self.flaky.call()?;
        Ok(first + job() + list.len() as u32)
    }

    #[retry(base = "1ms", max_attempts = self.attempts)]
    async fn owned(self: Box<Self>) -> Result<u32, ApiError> {
        self.flaky.call()
    }

    #[instrument(skip_all)]
    #[retry(base = "1ms", max_attempts = self.attempts, clone(job))]
    async fn above(&mut self, job: Cell<u32>) -> Result<u32, ApiError> {
        job.set(job.get() + 1);
        self.flaky.call()?;
        Ok(job.get())
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

#[test]
fn methods() {
    let client = || Client {
        flaky: Flaky::failing(2),
        attempts: 3,
        pushed: 0,
    };
    let mut changed = client();
    let got = run(changed.mutable("four".to_owned(), vec![2]));
    assert_eq!((got, changed.pushed), (Ok(6), 3));
    let got = run(client().not_sync(Box::new(|| 1), Vec::new()));
    assert_eq!(got.ok(), Some(3));
    assert_eq!(run(client().above(Cell::new(1))), Ok(2));
    assert_eq!(run(client().below()), Ok(3));
    assert_eq!(run(client().block()), Ok(3));
    assert_eq!(run(client().provided()), Ok(3));
    let mut few = client();
    few.attempts = 2;
    let few: Box<dyn Service> = Box::new(few);
    assert_eq!(run(few.owned()), Err(ApiError(503)));
}
