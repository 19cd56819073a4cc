//! How many spans `#[instrument]` makes: one around all attempts, in either order; one for each attempt where the body
//! calls an instrumented function. And `attempt_spans`, which makes one for each attempt.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tracing::{Dispatch, Metadata, Subscriber, instrument, span, subscriber};

/// Counts the spans of a thread.
#[derive(Clone, Default)]
struct Spans(Arc<AtomicU32>);

impl Spans {
    /// Those since the last question.
    fn made(&self) -> u32 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Subscriber for Spans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        self.0.fetch_add(1, Ordering::Relaxed);
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Attributes, and how many spans an async and a blocking function have that are tried three times.
macro_rules! spans {
    ($made:ident: $([$($hash:tt $attribute:tt)+] => $spans:literal;)*) => {$({
        $($hash $attribute)+
        async fn awaited(flaky: &Flaky, job: Box<dyn Fn() -> usize + Send>) -> Result<usize, ApiError> {
            flaky.call()?;
            std::future::ready(()).await;
            Ok(job())
        }
        $($hash $attribute)+
        fn blocking(flaky: &Flaky, name: String) -> Result<usize, ApiError> {
            flaky.call()?;
            Ok(name.len())
        }
        let got = run(sent(awaited(&Flaky::failing(2), Box::new(|| 4))));
        assert_eq!((got, $made.made()), (Ok(4), $spans));
        assert_eq!((blocking(&Flaky::failing(2), "four".to_owned()), $made.made()), (Ok(4), $spans));
    })*};
}

#[test]
fn around_all_attempts_or_around_each() {
    let made = Spans::default();
    // With one subscriber alone, a thread without one would turn off for all what it meets first.
    let _other = Dispatch::new(subscriber::NoSubscriber::default());
    let _subscribed = subscriber::set_default(made.clone());
    spans! { made:
        [#[instrument(skip_all)] #[retry(base = "1ms")]] => 1;
        [#[retry(base = "1ms", on = [503])] #[instrument(skip_all, err, ret)]] => 1;
        [#[retry(base = "1ms", attempt_spans)]] => 3;
        [#[retry(base = "1ms", on = [503], attempt_spans = false)]] => 0;
    }
    #[instrument(skip_all)]
    async fn attempt(flaky: &mut Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    #[instrument(skip_all, err)]
    #[retry(base = "1ms")]
    async fn each(flaky: &mut Flaky) -> Result<u32, ApiError> {
        attempt(flaky).await
    }
    let got = run(sent(each(&mut Flaky::failing(2))));
    assert_eq!((got, made.made()), (Ok(3), 1 + 3));
}
