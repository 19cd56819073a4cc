//! What to do after a failed attempt, as callers see it and as the loops pass it on.

use crate::report::StopReason;
use core::time::Duration;

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// Wait, then call again.
    Wait(Wait),
    /// Hand back the last error.
    Stop(StopReason),
}

/// A wait before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// How long.
    pub delay: Duration,
    /// Who asked for it.
    pub source: WaitSource,
}

/// Who asked for a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitSource {
    /// The policy's backoff.
    Backoff,
    /// The server, by a hint longer than the backoff.
    RetryAfter,
}

/// A [`Decision`] in two registers, which is how the hot path hands it on.
#[derive(Clone, Copy)]
#[must_use]
pub struct Next {
    delay: u64,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Wait(WaitSource),
    Stop(StopReason),
}

impl Next {
    #[inline]
    pub(super) const fn wait(delay: u64, source: WaitSource) -> Self {
        Next {
            delay,
            kind: Kind::Wait(source),
        }
    }

    #[inline]
    pub(crate) const fn stop(reason: StopReason) -> Self {
        Next {
            delay: 0,
            kind: Kind::Stop(reason),
        }
    }

    /// How long to wait, in nanoseconds.
    #[inline]
    pub(crate) const fn delay(self) -> u64 {
        self.delay
    }

    /// Who asked for the wait, if it is one.
    #[inline]
    pub(super) const fn source(self) -> Option<WaitSource> {
        match self.kind {
            Kind::Wait(source) => Some(source),
            Kind::Stop(_) => None,
        }
    }

    /// Why it stops, if it does.
    #[inline]
    pub(crate) const fn reason(self) -> Option<StopReason> {
        match self.kind {
            Kind::Wait(_) => None,
            Kind::Stop(reason) => Some(reason),
        }
    }
}

impl From<Next> for Decision {
    #[inline]
    fn from(next: Next) -> Self {
        match next.kind {
            Kind::Wait(source) => Decision::Wait(Wait {
                delay: Duration::from_nanos(next.delay),
                source,
            }),
            Kind::Stop(reason) => Decision::Stop(reason),
        }
    }
}
