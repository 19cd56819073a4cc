//! A signal that ends the waits of an annotated function.

use super::{context::Context, outcome::Outcome};
use crate::{
    drive::{
        course::Course,
        handler::{Handle, Lent, Under},
        stopping::Once,
    },
    facts::fault::Fault,
    observe::Failure,
    runtime::{Clock, Sleep},
};
use core::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

/// The signal of a call.
#[inline]
pub fn stop_by<F: Signals>(signal: F) -> Once<F::Signal> {
    Once::new(signal.signal())
}

/// Waits; whether the signal has come.
#[track_caller]
pub fn sleep_or_stop<'s, C, F>(
    runtime: &C,
    wait: Duration,
    mut stop: Pin<&'s mut Once<F>>,
) -> impl Future<Output = bool> + use<'s, C, F>
where
    C: Sleep,
    F: Future,
{
    let sleep = runtime.sleep(wait);
    async move {
        let mut sleep = pin!(sleep);
        poll_fn(|cx| {
            if stop.as_mut().has_come(cx) {
                return Poll::Ready(true);
            }
            sleep.as_mut().poll(cx).map(|()| false)
        })
        .await
    }
}

/// The signal has ended a wait: tells whoever listens.
#[cold]
pub fn stopped<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    course: &Course,
    outcome: &R,
    value: Option<&dyn Fault>,
    judge: &mut H,
) where
    R: Outcome,
    H: Handle<R::Error>,
    C: Clock,
{
    let error = outcome.error();
    let fault = error.map_or(value, |error| judge.fault(error));
    let failure = Failure::new(error, fault);
    let mut handler = Under {
        inner: Lent { inner: judge },
        runtime,
    };
    course.stopped(context.policy, &mut handler, context.name, failure);
}

/// What the key `stop_on` takes.
#[diagnostic::on_unimplemented(
    message = "`stop_on` takes a future, which ends the waits of the call once it is ready",
    label = "`{Self}` is no future",
    note = "of a `CancellationToken` named `token`: `stop_on = token.cancelled()`"
)]
pub trait Signals {
    /// The future.
    type Signal: Future;

    /// The future.
    fn signal(self) -> Self::Signal;
}

impl<F: Future> Signals for F {
    type Signal = F;

    #[inline]
    fn signal(self) -> F {
        self
    }
}
