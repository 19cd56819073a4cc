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
