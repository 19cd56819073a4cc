//! The decision after a failed attempt.

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
    /// The policy's backoff. With a rate, the delay may be longer: it includes the queue.
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

impl Decision {
    /// Waits so many nanoseconds.
    #[inline]
    pub(crate) const fn after(nanos: u64, source: WaitSource) -> Self {
        let delay = Duration::from_nanos(nanos);
        Decision::Wait(Wait { delay, source })
    }

    #[inline]
    pub(crate) const fn is_wait(self) -> bool {
        matches!(self, Decision::Wait(_))
    }

    /// The length of the wait; zero for a stop.
    #[inline]
    pub(crate) const fn wait(self) -> Duration {
        match self {
            Decision::Wait(wait) => wait.delay,
            Decision::Stop(_) => Duration::ZERO,
        }
    }

    /// The length of the wait; nothing for a stop.
    #[inline]
    pub(crate) fn wait_if_any(self) -> Option<Duration> {
        self.is_wait().then(|| self.wait())
    }

    /// The same decision with another length of the wait.
    pub(crate) const fn lasting(self, delay: Duration) -> Self {
        match self {
            Decision::Wait(wait) => Decision::Wait(Wait { delay, ..wait }),
            stop => stop,
        }
    }

    #[inline]
    pub(crate) const fn reason(self) -> Option<StopReason> {
        match self {
            Decision::Wait(_) => None,
            Decision::Stop(reason) => Some(reason),
        }
    }
}
