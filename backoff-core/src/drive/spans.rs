//! A span of `tracing` for each attempt, if a call asks for spans.

use super::{
    around::Around,
    attempt_failure::{AttemptFailure, ErrorType},
    blocking::Blocking,
    context::Context,
    future::Retrying,
    limit::Limit,
    operation::Operation,
    plan::Plan,
    settings::Settings,
    watch::Watch,
};
use crate::runtime::Sleep;
use core::{mem, pin::Pin};
use tracing::{
    Instrument, Span,
    field::{self, Empty},
    instrument::Instrumented,
    span::Entered,
};

/// The span of the attempt that is about to begin.
#[inline(never)]
fn of_attempt(operation: &'static str, failures: u32) -> Span {
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
fn record(span: &Span, failure: AttemptFailure<'_>) {
    if span.is_disabled() || !failure.is_of_an_attempt() {
        return;
    }
    match failure.error_type() {
        ErrorType::Name(name) => span.record("error.type", name),
        status @ ErrorType::Status(_) => span.record("error.type", field::display(status)),
    };
}

/// The span of the running attempt. Made by
/// [`Retrying::attempt_spans`](super::future::Retrying::attempt_spans) and
/// [`Blocking::attempt_spans`](super::blocking::Blocking::attempt_spans).
///
#[derive(Clone, Debug)]
pub struct Spans {
    span: Span,
}

impl Spans {
    /// No attempt has begun.
    pub(crate) const NONE: Self = Spans { span: Span::none() };

    /// An attempt of this operation is about to begin, after so many failures.
    pub(crate) fn begin(&mut self, operation: &'static str, failures: u32) {
        self.span = of_attempt(operation, failures);
    }

    /// The span of the running attempt.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }
}

impl Around for Spans {
    type Attempt<A> = Instrumented<A>;
    type Entered<'a> = Entered<'a>;

    fn begins(&mut self, context: &Context<'_>, failures: u32) {
        self.begin(context.operation(), failures);
    }

    fn around<A>(&self, attempt: A) -> Instrumented<A> {
        attempt.instrument(self.span.clone())
    }

    fn enter(&self) -> Entered<'_> {
        self.span.enter()
    }

    #[inline]
    fn inner<A>(attempt: Pin<&Instrumented<A>>) -> Pin<&A> {
        attempt.inner_pin_ref()
    }

    #[inline]
    fn inner_mut<A>(attempt: Pin<&mut Instrumented<A>>) -> Pin<&mut A> {
        attempt.inner_pin_mut()
    }
}

/// Records the failure and gives up this handle. The span closes when the attempt is dropped, too.
impl<E> Watch<E> for Spans {
    fn ended(&mut self, failure: Option<AttemptFailure<'_>>) {
        let span = mem::replace(&mut self.span, Span::none());
        if let Some(failure) = failure {
            record(&span, failure);
        }
    }
}

/// The span of an annotated function's attempt.
impl<E> Watch<E> for &mut Spans {
    fn ended(&mut self, failure: Option<AttemptFailure<'_>>) {
        Watch::<E>::ended(*self, failure);
    }
}

impl<P, O, J, N, D, X, L, C, M, R, S> Retrying<P, O, Settings<J, N, D, X, L, C, M>, R, S>
where
    P: Plan,
    O: Operation,
    L: Limit,
    C: Around,
    R: Sleep,
{
    /// Makes a span of `tracing` for each attempt, in which the operation runs. The log events and spans of
    /// the operation are inside; the waits, and the [events](crate::telemetry) that this library logs, are
    /// outside.
    ///
    /// The span has the target `backoff`, the level `INFO` and the name `attempt`. Its fields:
    ///
    /// | field | value |
    /// |---|---|
    /// | `operation` | the [name of the operation](crate::telemetry#the-name-of-an-operation) |
    /// | `http.request.resend_count` | how many attempts were made before: 1 in the second one. The first attempt has no such field |
    /// | `error.type` | how the attempt failed, as in the [metrics](crate::telemetry#metrics-feature-metrics); never an error's text. An attempt that succeeds has no such field |
    ///
    /// An attempt of an update is the read, the change and the write together.
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
    pub fn attempt_spans(self) -> Retrying<P, O, Settings<J, N, D, X, L, Spans, M>, R, S> {
        self.with(|settings| settings.around(|_| Spans::NONE))
    }
}

impl<P, O, J, N, D, X, L, C, M, R, S> Blocking<P, O, Settings<J, N, D, X, L, C, M>, R, S> {
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
    pub fn attempt_spans(self) -> Blocking<P, O, Settings<J, N, D, X, L, Spans, M>, R, S> {
        self.with(|settings| settings.around(|_| Spans::NONE))
    }
}
