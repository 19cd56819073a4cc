//! The turn of an attempt at the rate of its call.

use super::context::Context;
use crate::{
    call::{
        before::End,
        call_state::CallState,
        plan::{CallPlan, Guard},
        signal::unless_stopped,
    },
    facts::fault::TimedOut,
    policy::Policy,
    rate::{QueueEnd, Queued},
    runtime::{BlockingSleep, Clock, Sleep},
};
use core::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{self, Poll, ready},
    time::Duration,
};
#[cfg(any(feature = "breaker", feature = "rate"))]
use pin_project_lite::pin_project;

/// The pause of a function, without rates.
#[cfg(not(feature = "rate"))]
pub use super::step::sleep as wait;

/// The wait for a turn. Without rates, no attempt waits for one.
#[cfg(not(feature = "rate"))]
#[inline]
pub fn turn<C: Sleep>(admission: Admission<'_, C>) -> Admission<'_, C> {
    admission
}

#[cfg(feature = "rate")]
pin_project! {
    /// The future that an annotated function awaits between two attempts. One type for both, so that dropping the
    /// function's future is one comparison and one call for each.
    #[project = WaitOrTurnProjection]
    pub enum WaitOrTurn<'a, C: Sleep> {
        Until { #[pin] sleep: C::Sleep },
        Turn { admission: Admission<'a, C> },
    }
}

#[cfg(feature = "rate")]
impl<C: Clock + Sleep> Future for WaitOrTurn<'_, C> {
    type Output = Option<TimedOut>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            WaitOrTurnProjection::Until { sleep } => sleep.poll(cx).map(|()| None),
            WaitOrTurnProjection::Turn { admission } => Pin::new(admission).poll(cx),
        }
    }
}

/// The pause of a function whose policy may have a rate.
#[cfg(feature = "rate")]
#[inline]
#[track_caller]
pub fn wait<'a, C: Sleep>(runtime: &C, wait: Duration) -> WaitOrTurn<'a, C> {
    let sleep = runtime.sleep(wait);
    WaitOrTurn::Until { sleep }
}

/// The wait for a turn.
#[cfg(feature = "rate")]
#[inline]
pub fn turn<C: Sleep>(admission: Admission<'_, C>) -> WaitOrTurn<'_, C> {
    WaitOrTurn::Turn { admission }
}

/// An attempt at the rate of its call. Ready when the attempt may begin, or when the time of the call is over.
pub struct Admission<'a, C: Sleep> {
    policy: &'a Policy,
    runtime: &'a C,
    state: &'a mut CallState,
    /// Nothing if the attempt begins at once; an error if the breaker of the call is open.
    queued: Result<Option<Queued<C::Sleep>>, TimedOut>,
    /// Whether an error can be made.
    expires: bool,
}

/// No field is pinned in place: the queue has a box of its own.
impl<C: Sleep> Unpin for Admission<'_, C> {}

impl<C: Clock + Sleep> Future for Admission<'_, C> {
    type Output = Option<TimedOut>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        match &mut this.queued {
            Ok(None) => Poll::Ready(None),
            Ok(Some(queued)) => {
                let gate = (this.policy as &dyn CallPlan, this.expires);
                this.state.poll_turn(gate, queued, this.runtime, cx)
            }
            Err(refused) => Poll::Ready(Some(*refused)),
        }
    }
}

/// Whether an attempt of the call asks a rate or a breaker.
#[inline]
pub fn has_rate(context: &Context<'_>) -> bool {
    context.policy.shared().needs_admission()
}

/// Whether a first attempt is next, and the call has a rate or a breaker. A retry of a loop with a signal has waited for its turn
/// in [`pause_or_stop`].
#[inline]
pub fn has_first_turn(context: &Context<'_>, state: &CallState) -> bool {
    state.retry.failures() == 0 && has_rate(context)
}

/// Before an attempt: the future of its turn.
#[inline]
pub fn admission<'a, C: Clock + Sleep>(
    context: &Context<'a>,
    runtime: &'a C,
    state: &'a mut CallState,
    max_queue_time: Option<Duration>,
) -> Admission<'a, C> {
    let mut rules = context.rules();
    rules.max_queue_time = max_queue_time;
    Admission {
        policy: context.policy,
        queued: state.begin_or_queue(context, &rules, runtime),
        runtime,
        state,
        expires: max_queue_time.is_some(),
    }
}

/// Waits for the turn of a first attempt, or until the signal comes: then the attempt is made at once.
pub async fn first_turn<C, F>(
    mut admission: Admission<'_, C>,
    stop: Pin<&mut F>,
) -> Option<TimedOut>
where
    C: Clock + Sleep,
    F: Future<Output = ()>,
{
    match turn_or_signal(&mut admission, stop).await? {
        QueueEnd::Over(late) => Some(late),
        QueueEnd::Stopped => {
            let Admission {
                policy,
                runtime,
                state,
                expires,
                ..
            } = admission;
            state
                .begin_unless_refused(policy, expires, None, runtime)
                .err()
        }
    }
}

async fn turn_or_signal<C, F>(
    admission: &mut Admission<'_, C>,
    mut stop: Pin<&mut F>,
) -> Option<QueueEnd>
where
    C: Clock + Sleep,
    F: Future<Output = ()>,
{
    poll_fn(|cx| {
        match matches!(admission.queued, Ok(Some(_))) && stop.as_mut().poll(cx).is_ready() {
            true => Poll::Ready(Some(QueueEnd::Stopped)),
            false => Poll::Ready(ready!(Pin::new(&mut *admission).poll(cx)).map(QueueEnd::Over)),
        }
    })
    .await
}

/// Waits before a retry, and for the turn of the retry. Returns why the call ends then: the signal came, or the turn
/// came too late.
#[track_caller]
pub fn pause_or_stop<'a, C, F>(
    context: &'a Context<'a>,
    runtime: &'a C,
    state: &'a mut CallState,
    wait: Duration,
    max_queue_time: Option<Duration>,
    mut stop: Pin<&'a mut F>,
) -> impl Future<Output = Option<End>> + use<'a, C, F>
where
    C: Clock + Sleep,
    F: Future<Output = ()>,
{
    let sleep = runtime.sleep(wait);
    async move {
        if unless_stopped(pin!(sleep), |cx| stop.as_mut().poll(cx).is_ready()).await {
            return Some(End::Stopped);
        }
        if !has_rate(context) {
            return None;
        }
        let mut admission = admission(context, runtime, state, max_queue_time);
        Some(turn_or_signal(&mut admission, stop).await?.end())
    }
}

/// Before an attempt of a sync function. The first attempt waits here for its turn, and a retry in
/// [`pause`](super::pause).
#[inline]
pub fn admit_blocking<C: Clock + BlockingSleep>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    max_queue_time: Option<Duration>,
) -> Option<TimedOut> {
    if !has_rate(context) || state.retry.failures() > 0 {
        return None;
    }
    let mut rules = context.rules();
    rules.max_queue_time = max_queue_time;
    match state.begin_blocking(context, &rules, &|| false, runtime) {
        Err(QueueEnd::Over(late)) => Some(late),
        _ => None,
    }
}

/// An attempt, without a rate and a breaker.
#[cfg(not(any(feature = "breaker", feature = "rate")))]
#[inline(always)]
pub const fn inside<P: CallPlan, A>(_: &Guard<P>, attempt: A) -> A {
    attempt
}

#[cfg(any(feature = "breaker", feature = "rate"))]
pin_project! {
    /// An attempt. The thread that runs the attempt notes this for the rate and the breaker of the call.
    pub struct Inside<'g, P: CallPlan, A> {
        guard: &'g Guard<P>,
        #[pin]
        attempt: A,
    }
}

/// An attempt of the call.
#[cfg(any(feature = "breaker", feature = "rate"))]
#[inline]
pub const fn inside<P: CallPlan, A: Future>(guard: &Guard<P>, attempt: A) -> Inside<'_, P, A> {
    Inside { guard, attempt }
}

#[cfg(any(feature = "breaker", feature = "rate"))]
impl<P: CallPlan, A: Future> Future for Inside<'_, P, A> {
    type Output = A::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<A::Output> {
        let this = self.project();
        let _runs = this.guard.runs();
        this.attempt.poll(cx)
    }
}
