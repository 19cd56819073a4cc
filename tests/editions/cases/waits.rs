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
    let (limit, calls) = (Duration::from_secs(7), Cell::new(0));
    macro_rules! over {
        ($([$($keys:tt)*] $($limit:ident)? => $seconds:literal, $calls:literal;)*) => {$({
            #[retry($($keys)*)]
            async fn hang(calls: &Cell<u32> $(, $limit: Duration)?) -> Result<(), Lost> {
                calls.set(calls.get() + 1);
                pending().await
            }
            let block = retry_block!($($keys)*, async {
                calls.set(calls.get() + 1);
                pending::<Result<(), Lost>>().await
            });
            let forms: [Pin<Box<dyn Future<Output = _> + '_>>; 2] = [Box::pin(hang(&calls $(, $limit)?)), Box::pin(block)];
            for call in forms {
                let start = Instant::now();
                assert_eq!(call.await, Err(Lost));
                let seen = (start.elapsed(), calls.take());
                assert_eq!(seen, (Duration::from_secs($seconds), $calls), "{}", stringify!($($keys)*));
            }
        })*};
    }
    over! {
        [timeout = "60s"] => 60, 1;
        // 10 + 1 + 10 + 2 + 10 + 4 + 10 + 8: 5 s remain for the fifth.
        [timeout = "60s", attempt_timeout = "10s", jitter = none, on = [503]] => 60, 5;
        [attempt_timeout = "10s", max_attempts = 3, idempotent = false, on = [503]] => 10, 1;
        [timeout = limit] limit => 7, 1;
    }
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
    let got = asked(|flaky| run(sent(argument(flaky, "four", Duration::from_millis(20)))));
    assert_eq!(got, (3, Ok(7)));
}
