//! Without the feature `rate`: no call has a rate, so none of these values exists.

use crate::facts::fault::TimedOut;
use core::{
    convert::Infallible,
    marker::PhantomData,
    task::{Context, Poll},
    time::Duration,
};

/// A value that does not exist.
#[derive(Debug)]
pub enum Rate {}

pub(crate) type RateChange = Infallible;

/// A number that nobody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tokens;

/// An attempt at a rate that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AtRate(Infallible);

#[inline(always)]
pub(crate) const fn is_inside() -> bool {
    false
}

pub(crate) const fn begin_scope_without_rate() -> bool {
    false
}

pub(crate) const fn end_scope() {}

pub(crate) const NO_TOKENS: Tokens = Tokens;
type CountedAttempt = (u16, Tokens);

#[allow(dead_code, reason = "only a rate asks for the fields")]
pub(crate) enum RateReply {
    Admitted,
    Refused { hint: u64 },
}

impl Rate {
    pub(crate) const fn label(&self) -> Option<&'static str> {
        match *self {}
    }

    pub(crate) const fn is_first_warning(&self, _: &'static str) -> bool {
        match *self {}
    }

    pub(crate) const fn waiting(&self) -> usize {
        match *self {}
    }

    pub(crate) fn begins(&self) -> u16 {
        match *self {}
    }

    pub(crate) fn is_off(&self) -> bool {
        match *self {}
    }

    pub(crate) fn has_room(&self, _: Tokens, _: impl FnOnce() -> Duration) -> bool {
        match *self {}
    }

    pub(crate) fn begins_second(&self, _: Tokens, _: impl FnOnce() -> Duration) {
        match *self {}
    }

    pub(crate) fn turn_after(
        &self,
        _wait: Duration,
        _tokens: Tokens,
        _clock: Duration,
    ) -> Duration {
        match *self {}
    }

    pub(crate) fn replied<C>(&self, _: RateReply, _epoch: u16, _clock: C) -> Option<RateChange> {
        match *self {}
    }

    pub(crate) fn begin_scope(&self, _attempt: CountedAttempt) -> bool {
        match *self {}
    }

    pub(crate) fn gives_back(&self, _epoch: u16) {
        match *self {}
    }

    pub(crate) fn attempt(&self, _attempt: CountedAttempt) -> AtRate {
        match *self {}
    }
}

/// A place in a queue, without an allocation.
pub(crate) struct Queued<S>(Rate, PhantomData<fn() -> S>);

impl<S> Queued<S> {
    pub(crate) fn enter(
        rate: &Rate,
        _: Duration,
        _: (Duration, bool),
        _tokens: Tokens,
    ) -> Result<u16, Self> {
        match *rate {}
    }

    pub(crate) fn poll<R>(
        &mut self,
        _: &R,
        _: &mut Context<'_>,
    ) -> Poll<Result<Option<u16>, TimedOut>> {
        match self.0 {}
    }
}

#[allow(dead_code, reason = "only a queue makes them")]
pub(crate) enum QueueEnd {
    Over(TimedOut),
    Stopped,
}

pub(crate) fn wait_blocking<R>(
    rate: &Rate,
    _: &R,
    _: (Duration, bool),
    _tokens: Tokens,
    _: &dyn Fn() -> bool,
) -> Result<Option<u16>, QueueEnd> {
    match *rate {}
}
