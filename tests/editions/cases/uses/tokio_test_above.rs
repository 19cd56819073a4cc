//! The attribute of tokio's runtime stands above: the loop goes into the runtime that it starts.

use std::sync::atomic::{AtomicU32, Ordering};

use backoff_core::retry;
use ui::{ApiError, Flaky};

static FLAKY: Flaky = Flaky::failing(2);
static DONE: AtomicU32 = AtomicU32::new(0);

#[tokio::main(flavor = "current_thread", start_paused = true)]
#[retry(base = "100s", max_backoff = "1000s", jitter = none, attempt = n)]
async fn started() -> Result<(), ApiError> {
    let call = FLAKY.call()?;
    assert_eq!((call, n.number(), n.elapsed().as_secs()), (3, 3, 300));
    assert_eq!(DONE.fetch_add(1, Ordering::Relaxed), 0);
    Ok(())
}

#[test]
fn works() {
    assert_eq!(started(), Ok(()));
    assert_eq!(DONE.load(Ordering::Relaxed), 1);
}
