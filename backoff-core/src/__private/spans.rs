//! The code of the key `attempt_spans`.

use super::context::Context;
use crate::call::call_state::CallState;
#[cfg(feature = "tracing")]
use crate::call::settings::spans::Spans;
#[cfg(feature = "tracing")]
use core::{future::Future, pin::Pin, task, task::Poll};
#[cfg(feature = "tracing")]
use pin_project_lite::pin_project;
#[cfg(feature = "tracing")]
use tracing::{Instrument, instrument::Instrumented, span::EnteredSpan};

/// The span of an attempt, after the attempt has begun.
#[derive(Debug)]
pub struct AttemptSpan {
    #[cfg(feature = "tracing")]
    spans: Spans,
}

/// Spans can be made: the feature `tracing` is on.
#[diagnostic::on_unimplemented(
    message = "`attempt_spans` makes spans of `tracing`: turn on the feature `tracing` of `backoff-core` or `backoff-cloud`",
    label = "the feature `tracing` is off",
    note = "in Cargo.toml: `backoff-core = {{ version = \"..\", features = [\"tracing\"] }}`"
)]
pub trait MakesSpans {}

#[cfg(feature = "tracing")]
impl MakesSpans for Context<'_> {}

/// No attempt has begun.
#[cfg_attr(
    all(feature = "macros", feature = "std", not(feature = "tracing")),
    doc = r#"
Without the feature the key does not compile:

```compile_fail
# use backoff_core::{TimedOut, retry};
#[retry(attempt_spans)]
fn get() -> Result<u32, TimedOut> {
    Ok(1)
}
```

But without the key the function does:

```
# use backoff_core::{TimedOut, retry};
#[retry(attempt_spans = false)]
fn get() -> Result<u32, TimedOut> {
    Ok(1)
}
```
"#
)]
#[inline]
#[must_use]
pub fn attempt_span<C: MakesSpans>(_context: &C) -> AttemptSpan {
    AttemptSpan {
        #[cfg(feature = "tracing")]
        spans: Spans::NONE,
    }
}

#[cfg(feature = "tracing")]
pin_project! {
    /// Made by [`in_span`].
    pub struct InSpan<'s, A> {
        #[pin]
        phase: Phase<'s, A>,
    }
}

#[cfg(feature = "tracing")]
pin_project! {
    #[project = PhaseProjection]
    enum Phase<'s, A> {
        New { span: &'s mut AttemptSpan, operation: &'static str, failures: u32, attempt: Option<A> },
        Begun { #[pin] attempt: Instrumented<A> },
    }
}

#[cfg(feature = "tracing")]
impl<A: Future> Future for InSpan<'_, A> {
    type Output = A::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<A::Output> {
        let mut phase = self.project().phase;
        if let PhaseProjection::New {
            span,
            operation,
            failures,
            attempt,
        } = phase.as_mut().project()
        {
            span.spans.begin(operation, *failures);
            let span = span.spans.span();
            let Some(attempt) = attempt.take() else {
                unreachable!("an attempt begins once")
            };
            let attempt = attempt.instrument(span);
            phase.set(Phase::Begun { attempt });
        }
        match phase.project() {
            PhaseProjection::Begun { attempt } => attempt.poll(cx),
            PhaseProjection::New { .. } => unreachable!("the attempt has begun"),
        }
    }
}

/// The attempt of an async function, in a span that begins when the attempt is first polled. An attempt
/// that is never made, because a signal came before it, has no span.
#[cfg(feature = "tracing")]
pub fn in_span<'s, A>(
    span: &'s mut AttemptSpan,
    context: &Context<'_>,
    state: &CallState,
    attempt: A,
) -> InSpan<'s, A> {
    let phase = Phase::New {
        span,
        operation: context.display_name(),
        failures: state.retry.failures(),
        attempt: Some(attempt),
    };
    InSpan { phase }
}

/// Begins a span. This thread is in the span until the returned value is dropped.
#[cfg(feature = "tracing")]
pub fn enter_span(span: &mut AttemptSpan, context: &Context<'_>, state: &CallState) -> EnteredSpan {
    span.spans
        .begin(context.display_name(), state.retry.failures());
    span.spans.span().entered()
}

/// The same settings; they record in the span how the attempt ended.
#[cfg(feature = "tracing")]
#[inline]
pub fn spanned<S>(span: &mut AttemptSpan, settings: S) -> (S, &mut Spans) {
    (settings, &mut span.spans)
}

/// Does nothing: [`attempt_span`] reports that the feature `tracing` is off.
#[cfg(not(feature = "tracing"))]
pub fn in_span<A>(_: &mut AttemptSpan, _: &Context<'_>, _: &CallState, attempt: A) -> A {
    attempt
}

/// Does nothing: [`attempt_span`] reports that the feature `tracing` is off.
#[cfg(not(feature = "tracing"))]
pub fn enter_span(_: &mut AttemptSpan, _: &Context<'_>, _: &CallState) {}

/// Does nothing: [`attempt_span`] reports that the feature `tracing` is off.
#[cfg(not(feature = "tracing"))]
pub fn spanned<K>(_: &mut AttemptSpan, settings: K) -> K {
    settings
}
