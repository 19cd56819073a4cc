//! The limits of time, of each attempt, of the whole call, and of the wait for a turn at a rate; and the caller's own waits.

use crate::{
    call::{
        setting::{Setting, surrounds_nothing},
        timer::Limit,
    },
    delay::Delay,
    facts::fault::TimedOut,
    named_debug::named_in_debug,
    runtime::nanos,
    state::Rules,
};
use core::time::Duration;

/// Made by [`Retrying::attempt_timeout`](crate::Retrying::attempt_timeout).
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct AttemptTimeout(pub(crate) Duration);

/// Made by [`Retrying::timeout`](crate::Retrying::timeout).
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Timeout(pub(crate) Duration);

/// Made by [`Retrying::max_queue_time`](crate::Retrying::max_queue_time).
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct MaxQueueTime(pub(crate) Duration);

surrounds_nothing!(AttemptTimeout, Limit<Sleep>);
surrounds_nothing!(Timeout, Limit<Sleep>);
surrounds_nothing!(MaxQueueTime);

/// A limit. A call with one also waits in the queue of its rate, because an error says when that takes too long.
macro_rules! limits {
    ($setting:ident, |$self:ident, $rules:ident| $change:expr) => {
        #[diagnostic::do_not_recommend]
        impl<T, E: From<TimedOut>> Setting<T, E> for $setting {
            #[inline]
            fn rules<'a>(&'a $self, $rules: &mut Rules<'a>) {
                $change;
                $rules.max_queue_time.get_or_insert(Duration::MAX);
            }

            fn expired(late: TimedOut) -> Option<E> {
                Some(late.into())
            }
        }
    };
}

limits!(AttemptTimeout, |self, rules| {
    rules.attempt_timeout = rules.attempt_timeout.min(nanos(self.0));
    rules.cuts = true;
});
limits!(Timeout, |self, rules| rules.limit(self.0));
limits!(MaxQueueTime, |self, rules| {
    let before = rules.max_queue_time.unwrap_or(Duration::MAX);
    rules.max_queue_time = Some(before.min(self.0));
});

/// Made by [`Retrying::delays`](crate::Retrying::delays).
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Delays<D>(pub(crate) D);

impl<T, E, D: Delay> Setting<T, E> for Delays<D> {
    fn rules<'a>(&'a self, rules: &mut Rules<'a>) {
        rules.delays = Some(&self.0);
    }
}

surrounds_nothing!(Delays<D>: D);
named_in_debug!(Delays);
