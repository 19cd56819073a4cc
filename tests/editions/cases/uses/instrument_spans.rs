//! How many spans `#[instrument]` makes: one around all attempts, in either order; one for each
//! attempt where the body calls an instrumented function.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use backoff_core::retry;
use tracing::{Event, Metadata, Subscriber, instrument, span};
use ui::{ApiError, Flaky};

static SPANS: AtomicU32 = AtomicU32::new(0);

struct Counting(AtomicU64);

impl Subscriber for Counting {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        SPANS.fetch_add(1, Ordering::Relaxed);
        span::Id::from_u64(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[instrument(skip_all)]
#[retry(base = "1ms")]
async fn above(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms")]
#[instrument(skip_all)]
async fn below(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[instrument(skip_all)]
#[retry(base = "1ms")]
fn blocking_above(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms")]
#[instrument(skip_all)]
fn blocking_below(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[instrument(skip_all)]
async fn attempt(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "1ms")]
async fn each(flaky: &Flaky) -> Result<u32, ApiError> {
    attempt(flaky).await
}

#[tokio::test]
async fn works() {
    let _subscribed = super::subscribed(Counting(AtomicU64::new(0)));
    let spans = || SPANS.swap(0, Ordering::Relaxed);
    assert_eq!((above(&Flaky::failing(2)).await, spans()), (Ok(3), 1));
    assert_eq!((below(&Flaky::failing(2)).await, spans()), (Ok(3), 1));
    assert_eq!((blocking_above(&Flaky::failing(2)), spans()), (Ok(3), 1));
    assert_eq!((blocking_below(&Flaky::failing(2)), spans()), (Ok(3), 1));
    assert_eq!((each(&Flaky::failing(2)).await, spans()), (Ok(3), 3));
}
