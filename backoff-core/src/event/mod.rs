//! The one event of a call, and those who read it: hooks, the log, and metrics. Spans and reports are settings of a call.

pub(crate) mod hook;
#[cfg(feature = "tracing")]
pub(crate) mod log;
/// No log.
#[cfg(not(feature = "tracing"))]
pub(crate) mod log {
    #[inline(always)]
    pub(crate) fn log(_event: &super::attempt_event::AttemptEvent<'_>) {}
}
pub(crate) mod attempt_event;
#[cfg(feature = "metrics")]
pub(crate) mod metrics;

/// The second request of an attempt begins, or has the first success.
#[cold]
#[allow(unused_variables, reason = "without these features, nobody is told")]
pub(crate) fn hedged(operation: &'static str, policy: &crate::policy::Policy, wins: bool) {
    let operation = attempt_event::display_name(operation);
    #[cfg(feature = "tracing")]
    if !wins {
        tracing::debug!(target: "backoff", operation, "slow attempt, sending a second request");
    }
    #[cfg(feature = "metrics")]
    metrics::hedged(operation, policy, wins);
}
