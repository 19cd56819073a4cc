//! Functions whose attempts run in spans: what can be spawned without spans can be spawned with them,
//! and attempts borrow, return and change what they did before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use backoff_core::{retry, retry_block};
use tracing::{Event, Metadata, Subscriber, span};
use ui::{ApiError, Flaky};

static SPANS: AtomicU32 = AtomicU32::new(0);

struct Counting;

impl Subscriber for Counting {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(u64::from(SPANS.fetch_add(1, Ordering::Relaxed)) + 1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[retry(base = "1ms", attempt_spans)]
async fn borrows<'a>(flaky: &Flaky, name: &'a str) -> Result<&'a str, ApiError> {
    tokio::task::yield_now().await;
    flaky.call()?;
    Ok(name)
}

#[retry(base = "1ms", on = [503], attempt_spans = true)]
fn blocking<'a>(flaky: &Flaky, name: &'a str) -> Result<&'a str, ApiError> {
    if flaky.call()? > 0 {
        return Ok(name);
    }
    Ok("")
}

#[retry(base = "1ms", keep(calls), attempt_spans)]
fn keeps(mut calls: u32, flaky: &Flaky) -> Result<u32, ApiError> {
    calls += 1;
    flaky.call().map(|_| calls)
}

#[async_trait]
trait Call {
    async fn call(&self, text: String) -> Result<String, ApiError>;
}

#[async_trait]
impl Call for Flaky {
    #[retry(base = "1ms", clone(text), attempt_spans, when = |_| true)]
    async fn call(&self, text: String) -> Result<String, ApiError> {
        Self::call(self)?;
        Ok(text)
    }
}

#[tokio::test]
async fn works() {
    let _subscribed = super::subscribed(Counting);
    let spans = || SPANS.swap(0, Ordering::Relaxed);
    let flaky = Arc::new(Flaky::failing(2));
    let task = tokio::spawn(async move { borrows(&flaky, "a").await });
    assert_eq!((task.await.unwrap(), spans()), (Ok("a"), 3));
    assert_eq!((blocking(&Flaky::failing(2), "a"), spans()), (Ok("a"), 3));
    assert_eq!((keeps(0, &Flaky::failing(2)), spans()), (Ok(3), 3));
    let called = Call::call(&Flaky::failing(1), "a".to_owned()).await;
    assert_eq!((called.as_deref(), spans()), (Ok("a"), 2));
    let flaky = Flaky::failing(1);
    let mut calls = 0;
    let block = retry_block!(base = "1ms", attempt_spans, async {
        calls += 1;
        flaky.call()
    });
    assert_eq!((block.await, calls, spans()), (Ok(2), 2, 2));
}
