//! How many spans `#[instrument]` makes: one around all attempts, in either order; one for each attempt where the body
//! calls an instrumented function. And `attempt_spans`, which makes one for each attempt.

use super::*;
use std::sync::{Arc, Mutex, OnceLock};
use tracing::field::{Field, Visit};
use tracing::{Dispatch, Metadata, Subscriber, dispatcher, instrument, span, subscriber};

/// What `tracing` is told in this thread: how many spans, and the name and the error of each event.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<(u32, Vec<String>)>>);

pub(crate) struct Recorder {
    told: Told,
    _subscribed: dispatcher::DefaultGuard,
}

/// This thread has it until it is dropped.
pub(crate) fn recorder() -> Recorder {
    // When an event is first met, and there is one subscriber alone, tracing asks the subscriber of that
    // thread. A thread of another test has none, and the event would be off for all. So there are others.
    static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
    let other = || Dispatch::new(subscriber::NoSubscriber::default());
    OTHERS.get_or_init(|| [other(), other()]);
    let told = Told::default();
    let _subscribed = dispatcher::set_default(&Dispatch::new(told.clone()));
    Recorder { told, _subscribed }
}

impl Recorder {
    /// Those since the last question.
    pub(crate) fn events(&self) -> Vec<String> {
        std::mem::take(&mut self.told.0.lock().unwrap().1)
    }

    fn spans(&self) -> u32 {
        std::mem::take(&mut self.told.0.lock().unwrap().0)
    }
}

impl Subscriber for Told {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        self.0.lock().unwrap().0 += 1;
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.0.lock().unwrap().1.push(fields.0);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if ["operation", "error"].contains(&field.name()) {
            self.0 += &format!("{}={:?} ", field.name(), value);
        }
    }
}

/// Attributes, and how many spans an async and a blocking function have that are tried three times.
macro_rules! spans {
    ($recorder:ident: $([$($hash:tt $attribute:tt)+] => $spans:literal;)*) => {$({
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
        assert_eq!((got, $recorder.spans()), (Ok(4), $spans));
        assert_eq!((blocking(&Flaky::failing(2), "four".to_owned()), $recorder.spans()), (Ok(4), $spans));
    })*};
}

#[test]
fn around_all_attempts_or_around_each() {
    let recorder = recorder();
    spans! { recorder:
        [#[instrument(skip_all)] #[retry(base = "1ms")]] => 1;
        [#[retry(base = "1ms")] #[instrument(skip_all)]] => 1;
        [#[instrument(skip_all, err, ret)] #[retry(base = "1ms", on = [503])]] => 1;
        [#[retry(base = "1ms", on = [503])] #[instrument(skip_all, err)]] => 1;
        [#[retry(base = "1ms", attempt_spans)]] => 3;
        [#[retry(base = "1ms", on = [503], attempt_spans = true)]] => 3;
        [#[retry(base = "1ms", on = [503], attempt_spans = false)]] => 0;
    }
    #[instrument(skip_all)]
    async fn attempt(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    #[retry(base = "1ms")]
    async fn each(flaky: &Flaky) -> Result<u32, ApiError> {
        attempt(flaky).await
    }
    #[instrument(skip_all, err)]
    #[retry(base = "1ms")]
    async fn mutable(flaky: &mut Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
    let got = run(each(&Flaky::failing(2)));
    assert_eq!((got, recorder.spans()), (Ok(3), 3));
    let got = run(sent(mutable(&mut Flaky::failing(2))));
    assert_eq!((got, recorder.spans()), (Ok(3), 1));
}

#[async_trait::async_trait]
trait Call {
    async fn call(&self, text: String) -> Result<String, ApiError>;
}

#[async_trait::async_trait]
impl Call for Flaky {
    #[retry(base = "1ms", clone(text), attempt_spans, when = |_| true)]
    async fn call(&self, text: String) -> Result<String, ApiError> {
        Self::call(self)?;
        Ok(text)
    }
}

/// What can be spawned without spans can be spawned with them, and attempts borrow, return and change what they did
/// before.
#[test]
fn attempts_in_spans() {
    #[retry(base = "1ms", attempt_spans)]
    async fn borrows<'a>(flaky: &Flaky, name: &'a str) -> Result<&'a str, ApiError> {
        tokio::task::yield_now().await;
        flaky.call()?;
        Ok(name)
    }
    #[retry(base = "1ms", on = [503], attempt_spans = true)]
    fn returns<'a>(flaky: &Flaky, name: &'a str) -> Result<&'a str, ApiError> {
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
    let recorder = recorder();
    let flaky = Arc::new(Flaky::failing(2));
    let spawned = async { tokio::spawn(async move { borrows(&flaky, "a").await }).await };
    assert_eq!((run(spawned).unwrap(), recorder.spans()), (Ok("a"), 3));
    let got = returns(&Flaky::failing(2), "a");
    assert_eq!((got, recorder.spans()), (Ok("a"), 3));
    let got = keeps(0, &Flaky::failing(2));
    assert_eq!((got, recorder.spans()), (Ok(3), 3));
    let got = run(Call::call(&Flaky::failing(1), "a".to_owned()));
    assert_eq!((got.as_deref(), recorder.spans()), (Ok("a"), 2));
    let (flaky, mut calls) = (Flaky::failing(1), 0);
    let got = run(async {
        retry_block!(base = "1ms", attempt_spans, async {
            calls += 1;
            flaky.call()
        })
        .await
    });
    assert_eq!((got, calls, recorder.spans()), (Ok(2), 2, 2));
}
