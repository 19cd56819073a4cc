//! A span of `tracing` for each attempt, if a call asks for spans.

use super::{
    attempt::{
        At, Call, Failed, Operation, Reports, Run, failed_inside, kept_inside, reports_inside,
    },
    blocking::Blocking,
    ending::{Ending, ErrorType},
    future::Retrying,
    handler::{Handle, Handler, forward},
    until::Responding,
};
use crate::{
    facts::fault::Fault,
    judge::{Ruling, Stage},
    observe::Event,
    policy::Policy,
    report::Measures,
    runtime::{Clock, Random, Sleep},
    state::{Next, Overrides, RetryState},
};
use core::{
    pin::Pin,
    task::{Context, Poll},
};
use tracing::{
    Instrument, Span,
    field::{self, Empty},
    instrument::Instrumented,
};

/// The span of the attempt that is about to begin.
#[inline(never)]
pub(crate) fn of_attempt(operation: &'static str, failures: u32) -> Span {
    // The first attempt sends nothing again. Exporters write a signed number as a number.
    let resend_count = Some(failures).filter(|failures| *failures > 0);
    tracing::info_span!(
        target: "backoff",
        "attempt",
        operation,
        http.request.resend_count = resend_count.map(i64::from),
        error.type = Empty,
    )
}

/// Records in the span of an attempt how the attempt failed.
#[inline(never)]
pub(crate) fn record(span: &Span, failure: Ending<'_>) {
    if span.is_disabled() || !failure.is_of_an_attempt() {
        return;
    }
    match failure.error_type() {
        ErrorType::Name(name) => span.record("error.type", name),
        status @ ErrorType::Status(_) => span.record("error.type", field::display(status)),
    };
}

/// An operation with a span for each attempt. Made by
/// [`Retrying::attempt_spans`](super::future::Retrying::attempt_spans) and
/// [`Blocking::attempt_spans`](super::blocking::Blocking::attempt_spans).
#[derive(Clone, Debug)]
pub struct Spanned<O> {
    operation: O,
    /// The span of the running attempt. The span outlives the values of the attempt, because the failure is
    /// known only after these are dropped.
    span: Span,
}

impl<O> Spanned<O> {
    const fn new(operation: O) -> Self {
        Spanned {
            operation,
            span: Span::none(),
        }
    }
}

impl<O: Responding> Responding for Spanned<O> {
    type Responses = Spanned<O::Responses>;

    fn responses(self) -> Self::Responses {
        Spanned::new(self.operation.responses())
    }
}

reports_inside!(<O> Spanned<O>);

/// The methods that the async and the blocking form pass on to the operation inside, and the end of the
/// span.
macro_rules! inside {
    () => {
        type Value = O::Value;
        type Error = O::Error;

        #[inline]
        fn fault(value: &O::Value) -> Option<&dyn Fault> {
            O::fault(value)
        }

        #[inline]
        fn overrides(&self) -> Option<Overrides<'static>> {
            self.operation.overrides()
        }

        failed_inside!();
        kept_inside!();

        fn ended(&mut self, failure: Option<Ending<'_>>) {
            let span = core::mem::replace(&mut self.span, Span::none());
            if let Some(failure) = failure {
                record(&span, failure);
            }
            self.operation.ended(failure);
        }
    };
}

impl<R, O: Operation<R>> Operation<R> for Spanned<O> {
    type Running = Instrumented<O::Running>;
    const CUT: bool = O::CUT;
    inside!();

    fn begin(&mut self, run: &Run<'_, R>) -> Self::Running
    where
        R: Clock + Random,
    {
        self.span = of_attempt(O::name(), run.course.failures());
        let running = self.span.in_scope(|| self.operation.begin(run));
        running.instrument(self.span.clone())
    }

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut Self::Running>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<O::Value, Failed<O::Error>>>
    where
        R: Clock,
    {
        let _entered = self.span.enter();
        self.operation.poll(running.inner_pin_mut(), run, cx)
    }

    #[inline]
    fn stage(running: Pin<&Self::Running>) -> Stage {
        O::stage(running.inner_pin_ref())
    }

    #[inline]
    fn expired() -> Option<O::Error> {
        O::expired()
    }

    #[inline]
    fn kept(&mut self) -> Option<O::Error> {
        self.operation.kept()
    }
}

impl<O: Call> Call for Spanned<O> {
    inside!();

    fn call<R: Clock + Random>(&mut self, run: &Run<'_, R>) -> Result<O::Value, Failed<O::Error>> {
        self.span = of_attempt(O::name(), run.course.failures());
        let _entered = self.span.enter();
        self.operation.call(run)
    }
}

/// A judge, and the span of the attempt that it judges: the handler of an annotated function.
#[derive(Debug)]
pub struct Watching<'s, H> {
    inner: H,
    span: &'s mut Span,
}

impl<'s, H> Watching<'s, H> {
    pub(crate) const fn new(inner: H, span: &'s mut Span) -> Self {
        Watching { inner, span }
    }
}

impl<H: Handler> Handler for Watching<'_, H> {
    const MEASURES: bool = H::MEASURES;
    const LISTENS: bool = true;
    forward!(runtime policy rulings overrides decide hold);

    fn measure(&mut self, ending: Ending<'_>, is_conflict: bool, next: Next) {
        record(self.span, ending);
        self.inner.measure(ending, is_conflict, next);
    }

    fn measured(&self) -> Measures {
        self.inner.measured()
    }
}

impl<E, H: Handle<E>> Handle<E> for Watching<'_, H> {
    forward!(judge keep);

    fn notify(&mut self, event: &Event<'_, E>) {
        // The span ends before a hook is called.
        *self.span = Span::none();
        self.inner.notify(event);
    }
}

impl<'p, O, H, S> Retrying<'p, O, H, S>
where
    O: Operation<<H as Handler>::Runtime>,
    H: Handler,
    <H as Handler>::Runtime: Sleep,
{
    /// Makes a span of `tracing` for each attempt, in which the operation runs. The log events and spans of
    /// the operation are inside; the waits, and the [events](crate::telemetry) that this library logs, are
    /// outside.
    ///
    /// The span has the target `backoff`, the level `INFO` and the name `attempt`. Its fields:
    ///
    /// | field | value |
    /// |---|---|
    /// | `operation` | the path of the function or closure |
    /// | `http.request.resend_count` | how many attempts were made before: 1 in the second one. The first attempt has no such field |
    /// | `error.type` | how the attempt failed, as in the [metrics](crate::telemetry#metrics-feature-metrics); never an error's text. An attempt that succeeds has no such field |
    ///
    /// An attempt of an update is the read, the change and the write together. The order among the other
    /// methods does not matter, but [`version`](Self::version) and [`consecutive`](Self::consecutive) keep
    /// their places.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let get = || async {
    ///     // In the span of this attempt.
    ///     tracing::info!("asking");
    ///     Ok::<_, TimedOut>(42)
    /// };
    /// assert_eq!(POLICY.retry(get).attempt_spans().await, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn attempt_spans(self) -> Retrying<'p, Spanned<O>, H, S> {
        self.operation(Spanned::new)
    }
}

impl<'p, O: Call, H> Blocking<'p, O, H> {
    /// Makes a span of `tracing` for each attempt, as
    /// [`Retrying::attempt_spans`](crate::Retrying::attempt_spans) does.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// # #[cfg(feature = "std")] {
    /// const POLICY: Policy = Policy::exponential();
    /// let get = || {
    ///     // In the span of this attempt.
    ///     tracing::info!("asking");
    ///     Ok::<_, TimedOut>(42)
    /// };
    /// assert_eq!(POLICY.blocking(get).attempt_spans().call(), Ok(42));
    /// # }
    /// ```
    pub fn attempt_spans(self) -> Blocking<'p, Spanned<O>, H> {
        self.operation(Spanned::new)
    }
}
