//! The decision after a failed attempt, in the form for callers and in the form for the loops.

use crate::report::StopReason;
use core::time::Duration;

/// The decision after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// Wait, then call again.
    Wait(Wait),
    /// Stop and return the last error.
    Stop(StopReason),
}

/// A wait before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The length of the wait.
    pub delay: Duration,
    /// The origin of the wait.
    pub source: WaitSource,
}

/// The origin of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitSource {
    /// The policy's backoff.
    Backoff,
    /// The server, by a hint longer than the backoff: `Retry-After`, a gRPC pushback, or a hint of
    /// unknown kind.
    RetryAfter,
    /// The server, by a `google.rpc.RetryInfo` longer than the backoff. Only an [`Event`](crate::Event)
    /// has this value, for an error whose [`hint_source`](crate::Fault::hint_source) says so. A
    /// [`RetryState`](crate::RetryState) does not see the error and returns `RetryAfter`.
    RetryInfo,
    /// The client, which opens no connection before the wait is over: a pause of `Reconnect`. Only an
    /// event has this value.
    Pause,
    /// The queue of the call's [`Rate`](crate::Policy), after throttling without a longer hint: the attempt begins
    /// when its turn comes. In an event, the wait is how long that is expected to take; in a decision it is zero.
    Rate,
}

impl WaitSource {
    /// A short name for logs and labels: `"backoff"`, `"retry_after"`, `"retry_info"`, `"pause"`,
    /// `"rate"`.
    pub const fn name(self) -> &'static str {
        match self {
            WaitSource::Backoff => "backoff",
            WaitSource::RetryAfter => "retry_after",
            WaitSource::RetryInfo => "retry_info",
            WaitSource::Pause => "pause",
            WaitSource::Rate => "rate",
        }
    }
}

/// A [`Decision`] that fits into two registers. The hot path passes this form.
#[derive(Clone, Copy)]
#[must_use]
pub struct Next {
    delay: u64,
    kind: Kind,
}

/// One byte, because only one variant holds another enum. That variant is the first, so that one
/// comparison distinguishes it from the others.
#[derive(Clone, Copy)]
enum Kind {
    Stop(StopReason),
    Backoff,
    RetryAfter,
    Rate,
}

impl Next {
    /// Wait in the queue of the rate alone.
    pub(super) const RATE: Self = Next {
        delay: 0,
        kind: Kind::Rate,
    };

    /// Wait for this number of nanoseconds, as the policy says.
    #[inline]
    pub(crate) const fn backoff(delay: u64) -> Self {
        Next {
            delay,
            kind: Kind::Backoff,
        }
    }

    /// Wait for this number of nanoseconds, as the server asks.
    #[inline]
    pub(super) const fn retry_after(delay: u64) -> Self {
        Next {
            delay,
            kind: Kind::RetryAfter,
        }
    }

    #[inline]
    pub(crate) const fn stop(reason: StopReason) -> Self {
        Next {
            delay: 0,
            kind: Kind::Stop(reason),
        }
    }

    /// The length of the wait, in nanoseconds.
    #[inline]
    pub(crate) const fn delay(self) -> u64 {
        self.delay
    }

    /// The length of the wait.
    #[inline]
    pub(crate) const fn wait(self) -> Duration {
        Duration::from_nanos(self.delay)
    }

    /// Whether the server asked for the wait.
    #[inline]
    pub(super) const fn is_hinted(self) -> bool {
        matches!(self.kind, Kind::RetryAfter)
    }

    /// Whether to wait.
    #[inline]
    pub(crate) const fn is_wait(self) -> bool {
        !matches!(self.kind, Kind::Stop(_))
    }

    /// The same decision with another length of the wait.
    pub(crate) const fn lasting(self, delay: u64) -> Self {
        Next { delay, ..self }
    }

    /// The reason to stop, if the decision is to stop.
    #[inline]
    pub(crate) const fn reason(self) -> Option<StopReason> {
        match self.kind {
            Kind::Stop(reason) => Some(reason),
            _ => None,
        }
    }
}

impl From<Next> for Decision {
    #[inline]
    fn from(next: Next) -> Self {
        let source = match next.kind {
            Kind::Backoff => WaitSource::Backoff,
            Kind::RetryAfter => WaitSource::RetryAfter,
            Kind::Rate => WaitSource::Rate,
            Kind::Stop(reason) => return Decision::Stop(reason),
        };
        Decision::Wait(Wait {
            delay: next.wait(),
            source,
        })
    }
}
