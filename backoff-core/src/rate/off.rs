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

#[allow(dead_code, reason = "only a rate asks for the fields")]
pub(crate) enum Reply {
    Admitted,
    Refused { hint: u64 },
}

impl Rate {
    pub(crate) const fn label(&self) -> Option<&'static str> {
        match *self {}
    }

    pub(crate) fn begins_if_off(&self) -> Option<u8> {
        match *self {}
    }

    pub(crate) fn turn_after(&self, _wait: Duration, _clock: Duration) -> Duration {
        match *self {}
    }

    pub(crate) fn replied(
        &self,
        _reply: Reply,
        _epoch: u8,
        _clock: impl FnOnce() -> Duration,
    ) -> Option<RateChange> {
        match *self {}
    }

    pub(crate) fn dropped(&self) {
        match *self {}
    }
}

/// A place in a queue, without an allocation.
pub(crate) struct Queued<S>(Rate, PhantomData<fn() -> S>);

impl<S> Queued<S> {
    pub(crate) fn enter(rate: &Rate, _clock: Duration, _limit: Duration) -> Result<u8, Self> {
        match *rate {}
    }

    pub(crate) fn poll<R>(
        &mut self,
        _rate: &Rate,
        _runtime: &R,
        _cx: &mut Context<'_>,
    ) -> Poll<Result<u8, TimedOut>> {
        match self.0 {}
    }
}

#[allow(dead_code, reason = "only a queue makes them")]
pub enum Left {
    Over(TimedOut),
    Stopped,
}

pub(crate) fn stand_blocking<R>(
    rate: &Rate,
    _runtime: &R,
    _limit: Duration,
    _stopped: Option<&dyn Fn() -> bool>,
) -> Result<u8, Left> {
    match *rate {}
}
