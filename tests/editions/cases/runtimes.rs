//! Attributes above that run the function in a runtime of its own.

use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

static TESTS: AtomicU32 = AtomicU32::new(0);

#[tokio::test(flavor = "current_thread", start_paused = true)]
#[retry(base = "100s", max_backoff = "1000s", jitter = none, attempt = n, timeout = "1h")]
async fn a_paused_test() -> Result<(), Box<dyn std::error::Error>> {
    static FLAKY: Flaky = Flaky::failing(2);
    let before = tokio::time::Instant::now();
    FLAKY.call()?;
    assert_eq!(n.number(), 3);
    // Both waits are over, and took no time.
    assert_eq!(n.elapsed().as_secs(), 300);
    assert_eq!(before.elapsed().as_secs(), 0);
    Ok(())
}

#[retry(base = "1ms")]
#[tokio::test]
async fn a_test_below() -> Result<(), ApiError> {
    static FLAKY: Flaky = Flaky::failing(2);
    FLAKY.call().map(drop)
}

#[tokio::main(flavor = "current_thread")]
#[retry(base = "1ms", clone(text), on = [503])]
async fn in_main(flaky: &Flaky, text: String) -> Result<usize, ApiError> {
    let _local = D("local");
    flaky.call()?;
    TESTS.fetch_add(1, Ordering::Relaxed);
    drop(text);
    D("tail").name().map(str::len)
}

#[tokio::main(flavor = "current_thread")]
async fn in_main_plain(flaky: &Flaky, text: String) -> Result<usize, ApiError> {
    let _local = D("local");
    flaky.call()?;
    drop(text);
    D("tail").name().map(str::len)
}

#[test]
fn a_main() {
    same(
        |flaky| in_main_plain(flaky, "text".to_owned()),
        |flaky| in_main(flaky, "text".to_owned()),
    );
    assert_eq!(TESTS.load(Ordering::Relaxed), 2);
}

#[tokio::test]
#[tracing::instrument]
#[retry(base = "1ms")]
async fn a_test_in_a_span() -> Result<(), ApiError> {
    static FLAKY: Flaky = Flaky::failing(2);
    FLAKY.call()?;
    assert_eq!(FLAKY.calls(), 3);
    Ok(())
}

#[tokio::test(flavor = "current_thread")]
#[retry(base = "1ms")]
#[tracing::instrument(err)]
async fn a_test_around_a_span() -> Result<(), ApiError> {
    static FLAKY: Flaky = Flaky::failing(2);
    FLAKY.call()?;
    assert_eq!(FLAKY.calls(), 3);
    Ok(())
}

/// A runtime of the user's own is a part of the body.
#[retry(base = "1ms")]
fn own_runtime(flaky: &Flaky) -> Result<u32, ApiError> {
    let body = async { flaky.call() };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(body)
}

#[test]
fn an_own_runtime() {
    assert_eq!(own_runtime(&Flaky::failing(2)), Ok(3));
}
