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
    /// The server, by a hint longer than the backoff: `Retry-After`, a gRPC pushback, or a hint about
    /// which nothing else is known.
    RetryAfter,
    /// The server, by a `google.rpc.RetryInfo` longer than the backoff. Only an [`Event`](crate::Event)
    /// says so, of an error whose [`is_retry_info`](crate::Fault::is_retry_info) does; a
    /// [`RetryState`](crate::RetryState) is not given the error, and says `RetryAfter`.
    RetryInfo,
}

impl WaitSource {
    /// A short name for logs and labels: `"backoff"`, `"retry_after"`, `"retry_info"`.
    pub const fn name(self) -> &'static str {
        match self {
            WaitSource::Backoff => "backoff",
            WaitSource::RetryAfter => "retry_after",
            WaitSource::RetryInfo => "retry_info",
        }
    }
}

/// A [`Decision`] in two registers, which is how the hot path hands it on.
#[derive(Clone, Copy)]
#[must_use]
pub struct Next {
    delay: u64,
    kind: Kind,
}

/// One byte: only one variant holds another enum. That variant stands first, so that one comparison
/// tells it from the others.
#[derive(Clone, Copy)]
enum Kind {
    Stop(StopReason),
    Backoff,
    RetryAfter,
}

impl Next {
    /// Wait for so many nanoseconds, which the policy says.
    #[inline]
    pub(crate) const fn backoff(delay: u64) -> Self {
        Next {
            delay,
            kind: Kind::Backoff,
        }
    }

    /// Wait for so many nanoseconds, which the server asks for.
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

    /// How long to wait, in nanoseconds.
    #[inline]
    pub(crate) const fn delay(self) -> u64 {
        self.delay
    }

    /// How long to wait.
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
        matches!(self.kind, Kind::Backoff | Kind::RetryAfter)
    }

    /// The same, without a wait.
    #[cfg(feature = "testing")]
    pub(crate) const fn at_once(self) -> Self {
        Next { delay: 0, ..self }
    }

    /// Why it stops, if it does.
    #[inline]
    pub(crate) const fn reason(self) -> Option<StopReason> {
        match self.kind {
            Kind::Backoff | Kind::RetryAfter => None,
            Kind::Stop(reason) => Some(reason),
        }
    }
}

impl From<Next> for Decision {
    #[inline]
    fn from(next: Next) -> Self {
        let source = match next.kind {
            Kind::Backoff => WaitSource::Backoff,
            Kind::RetryAfter => WaitSource::RetryAfter,
            Kind::Stop(reason) => return Decision::Stop(reason),
        };
        Decision::Wait(Wait {
            delay: next.wait(),
            source,
        })
    }
}
