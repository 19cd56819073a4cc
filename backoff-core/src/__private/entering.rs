//! The turn of an attempt at the rate of its call.

use super::{context::Context, outcome::Outcome, step::ended};
use crate::{
    call::{call_state::CallState, parts::End, setting::Setting},
    facts::fault::{Fault, TimedOut},
    rate::{Left, Queued},
    runtime::{BlockingSleep, Clock, Sleep},
};
#[cfg(not(feature = "rate"))]
use core::future;
use core::{
    future::{Future, poll_fn},
    pin::Pin,
    task,
    task::Poll,
    time::Duration,
};
#[cfg(feature = "rate")]
use pin_project_lite::pin_project;

/// A call in the queue of its rate. Ready when the attempt may begin, or when the time of the call is over.
pub struct Entering<'a, C: Sleep> {
    runtime: &'a C,
    state: &'a mut CallState,
    queued: Queued<C::Sleep>,
}

/// No field is pinned in place: the queue has a box of its own.
impl<C: Sleep> Unpin for Entering<'_, C> {}

impl<C: Clock + Sleep> Future for Entering<'_, C> {
    type Output = Option<TimedOut>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.state.turn(&mut this.queued, this.runtime, cx)
    }
}

/// The pause of a function, without rates.
#[cfg(not(feature = "rate"))]
pub use super::step::sleep as wait;

/// Without rates, no attempt waits for its turn.
#[cfg(not(feature = "rate"))]
#[inline]
pub fn turn<C: Sleep>(_: Option<Entering<'_, C>>) -> future::Ready<Option<TimedOut>> {
    future::ready(None)
}

#[cfg(feature = "rate")]
pin_project! {
    /// The future that an annotated function awaits between two attempts. One type for both, so that dropping the
    /// function's future is one comparison and one call for each.
    #[project = WaitProjection]
    pub enum Wait<'a, C: Sleep> {
        Until { #[pin] sleep: C::Sleep },
        Turn { entering: Entering<'a, C> },
        // The attempt may begin.
        Over,
    }
}

#[cfg(feature = "rate")]
impl<C: Clock + Sleep> Future for Wait<'_, C> {
    type Output = Option<TimedOut>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            WaitProjection::Until { sleep } => sleep.poll(cx).map(|()| None),
            WaitProjection::Turn { entering } => Pin::new(entering).poll(cx),
            WaitProjection::Over => Poll::Ready(None),
        }
    }
}

/// The pause of a function whose policy may have a rate.
#[cfg(feature = "rate")]
#[inline]
#[track_caller]
pub fn wait<C: Sleep>(runtime: &C, wait: Duration) -> Wait<'static, C> {
    let sleep = runtime.sleep(wait);
    Wait::Until { sleep }
}

/// The wait for a turn.
#[cfg(feature = "rate")]
#[inline]
pub fn turn<C: Sleep>(entering: Option<Entering<'_, C>>) -> Wait<'_, C> {
    entering.map_or(Wait::Over, |entering| Wait::Turn { entering })
}

/// Whether the call has a rate.
#[inline]
pub fn has_rate(context: &Context<'_>) -> bool {
    context.policy.shared_rate().is_some()
}

/// Before an attempt. Returns the future of its turn, if the call has to wait.
#[inline]
pub fn enters<'a, C: Clock + Sleep>(
    context: &Context<'a>,
    runtime: &'a C,
    state: &'a mut CallState,
    max_wait: Option<Duration>,
) -> Option<Entering<'a, C>> {
    let rate = context.policy.shared_rate()?;
    let mut rules = context.rules();
    rules.max_wait = max_wait;
    let queued = state.enters(rate, &rules, runtime)?;
    Some(Entering {
        runtime,
        state,
        queued,
    })
}

/// The same before the first attempt.
#[inline]
pub fn enters_first<'a, C: Clock + Sleep>(
    context: &Context<'a>,
    runtime: &'a C,
    state: &'a mut CallState,
    max_wait: Option<Duration>,
) -> Option<Entering<'a, C>> {
    match state.retry.failures() {
        0 => enters(context, runtime, state, max_wait),
        _ => None,
    }
}

/// Waits for the turn of a first attempt, or until the signal comes: then the attempt is made at once, or the call
/// ends without an attempt.
pub async fn turn_or_signal<C, F>(
    entering: Option<Entering<'_, C>>,
    stop: Pin<&mut F>,
) -> Option<TimedOut>
where
    C: Clock + Sleep,
    F: Future<Output = ()>,
{
    let mut entering = entering?;
    match enters_or_stops(&mut entering, stop).await? {
        Left::Over(late) => Some(late),
        Left::Stopped => {
            entering.state.goes(None, entering.runtime);
            None
        }
    }
}

/// Waits for the turn of an attempt, unless the signal comes or the turn comes too late.
pub async fn enters_or_stops<C, F>(
    entering: &mut Entering<'_, C>,
    mut stop: Pin<&mut F>,
) -> Option<Left>
where
    C: Clock + Sleep,
    F: Future<Output = ()>,
{
    poll_fn(|cx| match stop.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(Some(Left::Stopped)),
        Poll::Pending => Pin::new(&mut *entering)
            .poll(cx)
            .map(|late| late.map(Left::Over)),
    })
    .await
}

/// A retry left the queue without an attempt: hooks and logs get the end of the call.
#[cold]
pub fn left<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    left: Left,
    outcome: &R,
    value: Option<&dyn Fault>,
    settings: &mut H,
) where
    R: Outcome,
    H: Setting<(), R::Error>,
    C: Clock,
{
    let end = match left {
        Left::Over(_) => End::Queued,
        Left::Stopped => End::Stopped,
    };
    ended(context, runtime, state, outcome, value, settings, end);
}

/// Before an attempt of a sync function. The first attempt waits here for its turn, and a retry in
/// [`pause`](super::pause).
#[inline]
pub fn enters_blocking<C: Clock + BlockingSleep>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    max_wait: Option<Duration>,
) -> Option<TimedOut> {
    let rate = context.policy.shared_rate()?;
    if state.retry.failures() > 0 {
        return None;
    }
    let mut rules = context.rules();
    rules.max_wait = max_wait;
    match state.enters_blocking(rate, &rules, &|| false, runtime) {
        Err(Left::Over(late)) => Some(late),
        _ => None,
    }
}
