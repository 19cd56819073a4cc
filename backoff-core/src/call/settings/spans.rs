//! A span of `tracing` for each attempt, if a call asks for spans.

use crate::{
    call::setting::{Setting, Surrounds, surrounds_nothing},
    event::attempt_event::{AttemptEvent, ErrorType, Step, display_name},
};
use core::{convert::Infallible, mem, pin::Pin, time::Duration};
use tracing::{
    Instrument as _, Span,
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
fn record(span: &Span, event: &AttemptEvent<'_>) {
    if span.is_disabled() || !event.is_of_an_attempt() {
        return;
    }
    match event.error_type() {
        ErrorType::Name(name) => span.record("error.type", name),
        status @ ErrorType::Status(_) => span.record("error.type", field::display(status)),
    };
}

/// The span of the running attempt. Made by
/// [`Retrying::attempt_spans`](crate::Retrying::attempt_spans).
#[derive(Clone, Debug)]
#[doc(hidden)]
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

impl Surrounds for Spans {
    type Timer<S> = Infallible;
    type Wrapped<A> = Instrumented<A>;
    type Scope<'s> = Entered<'s>;

    fn enter(&self) -> Entered<'_> {
        self.span.enter()
    }

    fn around<A>(&self, attempt: A) -> Instrumented<A> {
        attempt.instrument(self.span.clone())
    }

    #[inline]
    fn inner<'s, A>(&'s self, attempt: Pin<&'s mut Instrumented<A>>) -> Pin<&'s mut A> {
        attempt.inner_pin_mut()
    }
}

surrounds_nothing!(&mut Spans);

impl<T, E> Setting<T, E> for Spans {
    const MEASURES: bool = true;
    fn begins(&mut self, operation: &'static str, failures: u32, _elapsed: Duration) {
        self.begin(display_name(operation), failures);
    }

    /// Records the failure and gives up this handle. The span closes when the attempt is dropped, too.
    fn ended(&mut self, event: &AttemptEvent<'_>) {
        let span = mem::replace(&mut self.span, Span::none());
        if let Step::Waits(_) | Step::GaveUp(_) = event.step {
            record(&span, event);
        }
    }
}

/// The span of an annotated function's attempt.
impl<T, E> Setting<T, E> for &mut Spans {
    const MEASURES: bool = true;
    fn ended(&mut self, event: &AttemptEvent<'_>) {
        Setting::<T, E>::ended(*self, event);
    }
}
