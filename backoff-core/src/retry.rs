//! The state machine: no I/O, no clock, no random source of its own. The only place that decides.

use crate::{
    Policy, StopReason, Verdict,
    policy::NEVER,
    time::{duration, nanos},
};
use core::time::Duration;

/// Where one retried operation stands: 20 bytes, driven by any loop.
///
/// What it needs, the time and a random number, is passed in, and asked for only when needed.
/// Hand the same policy to every call.
///
/// ```
/// use backoff_core::{codes, Decision, Fault, Policy, Retry};
/// use std::time::Duration;
///
/// struct Busy;
/// impl Fault for Busy {
///     fn status(&self) -> Option<u16> { Some(503) }
/// }
///
/// const POLICY: Policy = Policy::exponential().max_attempts(2);
/// let now = || Duration::ZERO; // a clock that stands still
/// let random = || u64::MAX; // the longest wait that can be drawn
///
/// let mut retry = Retry::start(&POLICY, now);
/// match retry.failed(&POLICY, POLICY.judge(&Busy), now, random) {
///     Decision::Wait(wait) => assert_eq!(wait.delay, Duration::from_secs(1)),
///     Decision::Stop(reason) => unreachable!("{reason}"),
/// }
/// assert!(matches!(
///     retry.failed(&POLICY, POLICY.judge(&Busy), now, random),
///     Decision::Stop(_)
/// ));
/// ```
// It stands in every annotated future: packed, it spares the padding behind `failed`.
#[repr(packed(4))]
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// When the first attempt began, in nanoseconds of the caller's clock; `NEVER` if not asked.
    started: u64,
    /// The backoff drawn last, for decorrelated jitter.
    previous: u64,
    failed: u32,
}

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
pub enum WaitSource {
    /// The policy's backoff.
    Backoff,
    /// The server, by a hint longer than the backoff.
    RetryAfter,
}

/// Which attempt this is, and what time remains for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    elapsed: u64,
    remaining: u64,
}

impl Attempt {
    /// From 1.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Since before the first attempt.
    pub const fn elapsed(&self) -> Duration {
        duration(self.elapsed)
    }

    /// What remains of the deadline; [`Duration::MAX`] where there is none.
    pub const fn remaining(&self) -> Duration {
        duration(self.remaining)
    }
}

impl Retry {
    /// Begins, just before the first attempt. The clock is read only if the policy has a deadline.
    #[inline]
    pub fn start(policy: &Policy, now: impl FnOnce() -> Duration) -> Self {
        let started = if policy.deadline == NEVER {
            NEVER
        } else {
            nanos(now())
        };
        Retry {
            started,
            previous: 0,
            failed: 0,
        }
    }

    /// Begins at this time, so that attempts and reports can say what time has passed, with or
    /// without a deadline.
    #[inline]
    pub const fn start_at(now: Duration) -> Self {
        Retry {
            started: nanos(now),
            previous: 0,
            failed: 0,
        }
    }

    /// How many attempts have failed so far.
    pub const fn failures(&self) -> u32 {
        self.failed
    }

    /// The time since the start; zero if the start was not timed.
    pub fn elapsed(&self, now: impl FnOnce() -> Duration) -> Duration {
        duration(self.elapsed_nanos(now))
    }

    #[inline]
    fn elapsed_nanos(&self, now: impl FnOnce() -> Duration) -> u64 {
        if self.started == NEVER {
            0
        } else {
            nanos(now()).saturating_sub(self.started)
        }
    }

    /// The attempt that is about to begin.
    #[inline]
    pub fn attempt(&self, policy: &Policy, now: impl FnOnce() -> Duration) -> Attempt {
        let elapsed = self.elapsed_nanos(now);
        let remaining = match policy.deadline {
            NEVER => NEVER,
            deadline => deadline.saturating_sub(elapsed),
        };
        Attempt {
            number: self.failed.saturating_add(1),
            elapsed,
            remaining,
        }
    }

    /// An attempt failed: wait, or stop?
    ///
    /// The wait is the longer one of the policy's backoff and the server's hint. A wait that would
    /// end after the deadline is not begun. Neither a verdict nor a hint gets past the limits.
    #[inline]
    pub fn failed(
        &mut self,
        policy: &Policy,
        verdict: impl Into<Verdict>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision {
        let retry = self.failed;
        self.failed = retry.saturating_add(1);
        let hint = match verdict.into() {
            Verdict::Permanent => return Decision::Stop(StopReason::Permanent),
            Verdict::Refused => return Decision::Stop(StopReason::Refused),
            Verdict::Retry { retry_after, .. } => retry_after.map_or(0, nanos),
        };
        if self.failed >= policy.attempts() {
            return Decision::Stop(StopReason::Attempts);
        }
        let backoff = policy.backoff_nanos(retry, self.previous, random);
        self.previous = backoff;
        let (delay, source, too_late) = if hint > backoff {
            (hint, WaitSource::RetryAfter, StopReason::RetryAfter)
        } else {
            (backoff, WaitSource::Backoff, StopReason::Deadline)
        };
        if hint > policy.longest_hint() {
            return Decision::Stop(StopReason::RetryAfter);
        }
        if policy.deadline != NEVER
            && self.elapsed_nanos(now).saturating_add(delay) > policy.deadline
        {
            return Decision::Stop(too_late);
        }
        Decision::Wait(Wait {
            delay: duration(delay),
            source,
        })
    }
}
