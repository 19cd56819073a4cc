//! The state of one call. Policy, stage and runtime are passed in, so that a future stores only 15 bytes.

#[cfg(feature = "metrics")]
use crate::event::metrics::{self, CallMetrics};
use crate::{
    budget::Budget,
    runtime::{Clock, Random},
    state::{Attempt, RequestId, RetryState, Rules},
};
use core::time::Duration;

/// The information that each [`Attempt`](crate::Attempt) has about its call.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct CallInfo {
    pub(crate) id: RequestId,
    pub(crate) maybe_applied: bool,
}

impl CallInfo {
    /// Before the first attempt. The id is drawn.
    #[inline]
    pub(crate) fn new(random: &dyn Random) -> Self {
        CallInfo {
            id: RequestId::random(random),
            maybe_applied: false,
        }
    }
}

/// The state of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallState {
    pub(crate) retry: RetryState,
    /// In a program with metrics, this is stored beside the 15 bytes.
    #[cfg(feature = "metrics")]
    pub(super) metrics: CallMetrics,
}

impl CallState {
    /// Before the first attempt.
    #[inline]
    pub(crate) const fn new() -> Self {
        CallState {
            retry: RetryState::UNTIMED,
            #[cfg(feature = "metrics")]
            metrics: CallMetrics::NEW,
        }
    }

    /// A call that began at `started`, with this number of failed attempts. The beginning of any attempt
    /// after the first one is unknown.
    pub(super) fn resumed(started: Duration, failures: u32) -> Self {
        let mut state = Self::new();
        state.retry = RetryState::resumed(started, failures);
        #[cfg(feature = "metrics")]
        if Self::records() {
            match failures {
                0 => state.metrics.begins(started),
                _ => state.metrics.missed(),
            }
        }
        state
    }

    /// Whether the calls that begin now are recorded.
    #[inline]
    fn records() -> bool {
        #[cfg(feature = "metrics")]
        return metrics::has_recorder();
        #[cfg(not(feature = "metrics"))]
        false
    }

    /// Whether this call is recorded.
    #[inline]
    pub(super) fn is_recorded(&self) -> bool {
        #[cfg(feature = "metrics")]
        return self.metrics.is_on();
        #[cfg(not(feature = "metrics"))]
        false
    }

    /// The first attempt is about to begin. Reads the clock if `timed`, or if calls are recorded.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn start<C: Clock>(&mut self, clock: &C, timed: bool) {
        if cfg!(debug_assertions) {
            clock.check();
        }
        if timed || Self::records() {
            self.start_now(clock);
        }
    }

    /// A function of its own, so that it is compiled once for each clock.
    #[inline(never)]
    fn start_now<C: Clock>(&mut self, clock: &C) {
        let now = clock.now();
        // The time counts from now on.
        self.retry.elapsed_from_now_on(now);
        #[cfg(feature = "metrics")]
        if Self::records() {
            self.metrics.begins(now);
        }
    }

    /// The attempt that is about to begin or is running: its number, its time, and what the call remembers.
    #[inline]
    pub(crate) fn attempt(&self, rules: &Rules<'_>, clock: &dyn Clock, info: &CallInfo) -> Attempt {
        let attempt = self.retry.attempt_under(rules, info.id, || clock.now());
        attempt.remembering(info.maybe_applied)
    }

    /// The time that remains.
    #[inline]
    pub(crate) fn remaining(&self, rules: &Rules<'_>, clock: &dyn Clock) -> Duration {
        self.retry.remaining_under(rules, || clock.now())
    }

    /// The beginning of the next attempt is unknown until [`begins`](Self::begins).
    pub(super) fn forget_beginning(&mut self) {
        #[cfg(feature = "metrics")]
        self.metrics.forget_beginning();
    }

    /// The attempt after the wait begins.
    #[inline]
    pub(crate) fn begins<C: Clock>(&mut self, clock: &C) {
        self.retry.begins();
        #[cfg(feature = "metrics")]
        if self.metrics.is_on() {
            self.metrics.begins(clock.now());
        }
        let _ = clock;
    }

    /// No attempt follows the wait: the budget gets back the tokens that the wait has taken.
    #[inline]
    pub(super) fn cancelled(&mut self, budget: Option<&Budget>) {
        if let Some(budget) = budget.filter(|_| self.retry.is_held()) {
            self.retry.give_back(budget);
            #[cfg(feature = "metrics")]
            metrics::level(Some(budget));
        }
    }

    /// An operation succeeded: the budget gets its tokens back, without an event for a success.
    #[inline]
    pub(crate) fn return_tokens(&self, budget: Option<&Budget>) {
        if let Some(budget) = budget {
            self.retry.return_tokens(budget);
            #[cfg(feature = "metrics")]
            metrics::level(Some(budget));
        }
    }
}
