//! Attempts and calls that are cut.

use super::*;
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
