//! Attempts and calls that are cut, and calls that may have been applied.

use super::*;
use backoff_core::{RequestId, RetryError};
use std::future::pending;
use tokio::time::Instant;

/// A policy does not retry it, whatever it is made from.
#[derive(Debug, PartialEq, Fault)]
#[fault(permanent)]
struct Lost;

impl From<TimedOut> for Lost {
    fn from(_: TimedOut) -> Self {
        Lost
    }
}

/// The call is over by then, whatever the server does; a cut attempt is judged as cut, whatever it is put into.
#[tokio::test(start_paused = true)]
async fn calls_that_hang() {
    #[retry(timeout = "60s")]
    async fn once(calls: &Cell<u32>) -> Result<(), Lost> {
        calls.set(calls.get() + 1);
        pending().await
    }
    #[retry(timeout = "60s", attempt_timeout = "10s", jitter = none, on = [503])]
    async fn often(calls: &Cell<u32>) -> Result<(), Lost> {
        calls.set(calls.get() + 1);
        pending().await
    }
    #[retry(attempt_timeout = "10s", max_attempts = 3, idempotent = false, on = [503])]
    async fn careful(calls: &Cell<u32>) -> Result<(), Lost> {
        calls.set(calls.get() + 1);
        pending().await
    }
    #[retry(timeout = limit)]
    async fn argument(limit: Duration) -> Result<(), Lost> {
        pending().await
    }
    macro_rules! over {
        ($($call:expr => $seconds:literal;)*) => {$(
            let start = Instant::now();
            assert_eq!($call.await, Err(Lost));
            assert_eq!(start.elapsed(), Duration::from_secs($seconds), "{}", stringify!($call));
        )*};
    }
    let calls = Cell::new(0);
    over! {
        once(&calls) => 60;
        // 10 + 1 + 10 + 2 + 10 + 4 + 10 + 8: 5 s remain for the fifth.
        often(&calls) => 60;
        careful(&calls) => 10;
        argument(Duration::from_secs(7)) => 7;
        retry_block!(timeout = "5s", async { pending::<Result<(), Lost>>().await }) => 5;
    }
    assert_eq!(calls.get(), 1 + 5 + 1);
}

#[test]
fn attempts_that_hang() {
    #[retry(base = "1ms", attempt_timeout = "20ms")]
    async fn literal(flaky: &Flaky) -> Result<u32, Error> {
        match flaky.call() {
            Ok(call) => Ok(call),
            Err(_) => pending().await,
        }
    }
    #[retry(base = "1ms", attempt_timeout = limit, when = |_| true)]
    async fn argument(flaky: &Flaky, name: &str, limit: Duration) -> Result<u32, Error> {
        async fn itself(text: &str) -> &str {
            text
        }
        let name = itself(name).await;
        if flaky.call().is_err() {
            pending::<()>().await;
        }
        Ok(flaky.calls() + name.len() as u32)
    }
    assert_eq!(run(sent(literal(&Flaky::failing(2)))), Ok(3));
    let limit = Duration::from_millis(20);
    assert_eq!(
        run(sent(argument(&Flaky::failing(1), "four", limit))),
        Ok(6)
    );
}

/// A server that takes orders, and whose replies are lost.
#[derive(Default)]
struct Server {
    orders: RefCell<Vec<u32>>,
    keys: RefCell<Vec<RequestId>>,
}

impl Server {
    fn lost() -> TimedOut {
        TimedOut::new(Duration::from_secs(1))
    }

    async fn post(&self, order: u32) -> Result<(), TimedOut> {
        self.orders.borrow_mut().push(order);
        Err(Self::lost())
    }

    /// The third reply arrives.
    async fn post_once(&self, order: u32, key: RequestId) -> Result<(), TimedOut> {
        let mut keys = self.keys.borrow_mut();
        if !keys.contains(&key) {
            self.orders.borrow_mut().push(order);
        }
        keys.push(key);
        if keys.len() < 3 {
            Err(Self::lost())
        } else {
            Ok(())
        }
    }
}

/// It is told to the hook of the attribute, and in the error of the function form. The id of the call goes to the
/// server.
#[tokio::test(start_paused = true)]
async fn calls_that_may_have_been_applied() {
    #[retry(base = "1ms", idempotent = false, notify = |event| {
        if let Event::GaveUp { reason: StopReason::MaybeApplied, .. } = event {
            doubts.borrow_mut().push(order);
        }
    })]
    async fn order(
        server: &Server,
        order: u32,
        doubts: &RefCell<Vec<u32>>,
    ) -> Result<(), TimedOut> {
        server.post(order).await
    }
    async fn reported(server: &Server, order: u32) -> Result<(), RetryError<TimedOut>> {
        const ORDERS: Policy = Policy::exponential().idempotent(false);
        let ((), _report) = ORDERS.retry(|| server.post(order)).reported().await?;
        Ok(())
    }
    #[retry(base = "1ms", attempt = n)]
    async fn with_a_key(server: &Server, order: u32) -> Result<(), TimedOut> {
        server.post_once(order, n.id()).await
    }
    let (server, doubts) = (Server::default(), RefCell::default());
    order(&server, 7, &doubts).await.unwrap_err();
    assert_eq!((server.orders.take(), doubts.take()), (vec![7], vec![7]));
    let gave_up = reported(&server, 8).await.unwrap_err();
    assert_eq!(gave_up.reason, StopReason::MaybeApplied);
    assert_eq!(server.orders.take(), [8]);
    with_a_key(&server, 9).await.unwrap();
    assert_eq!(
        (server.orders.take(), server.keys.take().len()),
        (vec![9], 3)
    );
}
