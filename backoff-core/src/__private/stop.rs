//! A signal that ends the waits of an annotated function, or its attempts too.

use super::{
    context::Context,
    ending::Ending,
    made_errors::FromStopped,
    outcome::{Outcome, placeholder},
    step::failed,
};
use crate::{
    call::{
        call_state::CallState,
        setting::Setting,
        signal::{Once, Stopped},
    },
    runtime::{Clock, Random},
};
use core::{
    future::{Future, Ready},
    ops::Deref,
    pin::Pin,
    task,
    task::Poll,
};
use pin_project_lite::pin_project;

/// The value of a key that takes a signal. The method exists for futures. For any other type the
/// compiler goes on to the type behind `Deref`, whose signal has a type of its own, so that the value
/// is refused only once.
pub struct SignalOf<F>(NoSignal<F>);

/// A value that is no future.
pub struct NoSignal<F>(F);

impl<F> SignalOf<F> {
    /// The value.
    #[inline]
    pub const fn of(value: F) -> Self {
        SignalOf(NoSignal(value))
    }
}

impl<F: Future> SignalOf<F> {
    /// The signal. It can be polled again after it has come.
    #[inline]
    pub fn __backoff_signal(self) -> Once<F> {
        Once::new(self.0.0)
    }
}

impl<F> Deref for SignalOf<F> {
    type Target = NoSignal<F>;

    #[inline]
    fn deref(&self) -> &NoSignal<F> {
        &self.0
    }
}

impl<F> NoSignal<F> {
    /// Never called.
    pub fn __backoff_signal(&self) -> Once<Ready<()>>
    where
        F: IsSignal,
    {
        placeholder()
    }
}

pin_project! {
    /// An attempt that the signal cuts.
    // `R` is the output of `A`. If the field named it `A::Output`, rustc would ask for `A: Future` without lifetimes, and find
    // that a function with a constant policy is not `Send`.
    pub struct CutOn<'a, A, F, R> {
        #[pin]
        attempt: A,
        stop: Pin<&'a mut F>,
        is_first: bool,
        cut: &'a mut Option<Ending>,
        made: fn(Stopped) -> R,
    }
}

/// An attempt that the signal cuts. Then `cut` is set.
#[inline]
pub fn cut_on<'a, A, F, T, E>(
    stop: Pin<&'a mut F>,
    state: &CallState,
    cut: &'a mut Option<Ending>,
    attempt: A,
) -> CutOn<'a, A, F, Result<T, E>>
where
    A: Future<Output = Result<T, E>>,
    F: Future<Output = ()>,
    E: FromStopped,
{
    CutOn {
        attempt,
        stop,
        is_first: state.retry.failures() == 0,
        cut,
        made: |stopped| Err(E::made_from(stopped)),
    }
}

impl<A, F, R> Future for CutOn<'_, A, F, R>
where
    A: Future<Output = R>,
    F: Future<Output = ()>,
{
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<R> {
        let this = self.project();
        let has_come = this.stop.as_mut().poll(cx).is_ready();
        let is_begun = !core::mem::take(this.is_first);
        // An attempt that is ready together with the signal counts.
        let ended = match has_come && !is_begun {
            true => Err(Ending::Stopped),
            false => match this.attempt.poll(cx) {
                Poll::Ready(outcome) => Ok(outcome),
                Poll::Pending if has_come => Err(Ending::Signal),
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(ended.unwrap_or_else(|ending| {
            **this.cut = Some(ending);
            (this.made)(Stopped)
        }))
    }
}

/// Whether the signal has cut the attempt, or ended the call before it. If so, this is reported to
/// hooks and logs.
#[inline]
pub fn is_cut<C, R, H>(
    context: &Context<'_>,
    runtime: &C,
    state: &mut CallState,
    cut: Option<Ending>,
    outcome: &R,
    settings: &mut H,
) -> bool
where
    R: Outcome,
    H: Setting<(), R::Error>,
    C: Clock + Random,
{
    let (Some(ending), Some(error)) = (cut, outcome.error()) else {
        return false;
    };
    let _stop = failed(context, runtime, state, ending, error, settings);
    true
}

/// The values that the keys `stop_on` and `cut_on` accept.
#[diagnostic::on_unimplemented(
    message = "`stop_on` and `cut_on` take a future that ends the call when it is ready",
    label = "`{Self}` is not a future",
    note = "for a `CancellationToken` named `token` write `token.cancelled()`"
)]
pub trait IsSignal {}

impl<F: Future> IsSignal for F {}
