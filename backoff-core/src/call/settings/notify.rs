//! A hook.

use crate::{
    call::setting::{Setting, surrounds_nothing},
    event::{attempt_event::AttemptEvent, hook::Event},
    named_debug::named_in_debug,
};

/// Made by [`Retrying::notify`](crate::Retrying::notify).
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Notify<F>(pub(crate) F);

surrounds_nothing!(Notify<F>: F);
named_in_debug!(Notify);

impl<T, E, F: FnMut(&Event<'_, E>)> Setting<T, E> for Notify<F> {
    const LISTENS: bool = true;
    fn notify(&mut self, event: &AttemptEvent<'_>, error: Option<&E>) {
        (self.0)(&Event::of(event, error));
    }
}
