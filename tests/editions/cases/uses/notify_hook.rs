//! A function or a closure is called after every failure, and when a call succeeds after retries.

use std::sync::atomic::{AtomicU32, Ordering};

use backoff_core::{Event, retry};
use ui::{ApiError, Flaky};

static HEARD: AtomicU32 = AtomicU32::new(0);

fn hear(event: &Event<'_, ApiError>) {
    match event {
        Event::Waiting { .. } => assert!(matches!(event.error(), Some(ApiError(503)))),
        Event::Succeeded { attempts, .. } => assert_eq!(*attempts, 3),
        other => unreachable!("{other:?}"),
    }
    HEARD.fetch_add(1, Ordering::Relaxed);
}

#[retry(base = "1ms", on = [503], notify = hear)]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms", max_attempts = 2, notify = |event| log.push(event.to_string()))]
async fn logged(flaky: &Flaky, log: &mut Vec<String>) -> Result<u32, ApiError> {
    log.push("called".to_owned());
    flaky.call()
}

#[retry(base = "1ms", when = |error| error.0 == 503, notify = |_| *heard += 1)]
fn blocking(flaky: &Flaky, heard: &mut u32) -> Result<u32, ApiError> {
    flaky.call()
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(HEARD.load(Ordering::Relaxed), 3);
    let mut log = Vec::new();
    assert_eq!(
        is_send(logged(&Flaky::failing(2), &mut log)).await,
        Err(ApiError(503))
    );
    assert_eq!(log.len(), 4);
    assert!(log[1].starts_with("attempt 1 failed, next in"), "{log:?}");
    assert_eq!(log[3], "gave up after 2 attempts (attempts): status 503");
    let mut heard = 0;
    assert_eq!(blocking(&Flaky::failing(2), &mut heard), Ok(3));
    assert_eq!(heard, 3);
}
