//! A hook, the caller's own waits, and the last failure of a call with a breaker.

use crate::{
    call::{
        operation::Failed,
        setting::{Setting, surrounds_nothing},
    },
    delay::Delay,
    event::{attempt_event::AttemptEvent, hook::Event},
    opaque::named_in_debug,
    state::Rules,
};

/// Made by [`Retrying::notify`](crate::Retrying::notify).
#[derive(Clone, Copy)]
pub struct Notify<F>(pub(crate) F);

surrounds_nothing!(Notify<F>: F);
surrounds_nothing!(Delays<D>: D);

impl<T, E, F: FnMut(&Event<'_, E>)> Setting<T, E> for Notify<F> {
    const LISTENS: bool = true;
    fn notify(&mut self, event: &AttemptEvent<'_>, error: Option<&E>) {
        (self.0)(&Event::of(event, error));
    }
}

/// Made by [`Retrying::delays`](crate::Retrying::delays).
#[derive(Clone, Copy)]
pub struct Delays<D>(pub(crate) D);

impl<T, E, D: Delay> Setting<T, E> for Delays<D> {
    fn rules<'a>(&'a self, rules: &mut Rules<'a>) {
        rules.wait_by(&self.0);
    }
}

/// Keeps the last failure during a wait, because the breaker may end the call after the wait. Made by `Retrying::breaker`.
#[derive(Clone, Copy, Debug)]
pub struct Kept<E>(pub(crate) Option<Failed<E>>);

surrounds_nothing!(Kept<E>: E);

impl<T, E> Setting<T, E> for Kept<E> {
    fn keep(&mut self, failed: Failed<E>) -> Option<Failed<E>> {
        self.0 = Some(failed);
        None
    }

    fn kept(&mut self) -> Option<Failed<E>> {
        self.0.take()
    }
}

named_in_debug!(Notify, Delays);
