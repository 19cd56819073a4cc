//! An attempt that hangs is cut short and retried.

use std::time::Duration;

use backoff_core::{Delivery, Fault, TimedOut, retry};
use ui::Flaky;

#[derive(Debug)]
struct Late;

impl Fault for Late {
    fn delivery(&self) -> Option<Delivery> {
        Some(Delivery::MaybeSent)
    }
}

impl From<TimedOut> for Late {
    fn from(_: TimedOut) -> Self {
        Self
    }
}

#[retry(base = "1ms", attempt_timeout = "20ms")]
async fn get(flaky: &Flaky, hang: Duration) -> Result<u32, Late> {
    match flaky.call() {
        Ok(call) => Ok(call),
        Err(_) => {
            tokio::time::sleep(hang).await;
            Ok(0)
        }
    }
}

#[retry(base = "1ms", attempt_timeout = limit)]
async fn of_argument(flaky: &Flaky, limit: Duration) -> Result<u32, Late> {
    if flaky.call().is_err() {
        std::future::pending::<()>().await;
    }
    Ok(flaky.calls())
}

#[tokio::test(start_paused = true)]
async fn works() {
    let hour = Duration::from_secs(3600);
    assert_eq!(get(&Flaky::failing(2), hour).await.unwrap(), 3);
    assert_eq!(
        of_argument(&Flaky::failing(1), Duration::from_millis(20))
            .await
            .unwrap(),
        2
    );
}
