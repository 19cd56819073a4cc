//! The level of a log event.

/// The level of a log event, for [`Policy::log_waits`](crate::Policy::log_waits). The type exists with
/// and without the feature `tracing`, so that a policy is written the same way.
///
/// ```
/// use backoff_core::{LogLevel, Policy};
///
/// const QUIET: Policy = Policy::exponential().log_waits(LogLevel::Debug);
/// const SILENT: Policy = QUIET.log_waits(LogLevel::Off);
/// assert_eq!(LogLevel::default(), LogLevel::Info);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LogLevel {
    /// No event.
    Off,
    /// `ERROR`.
    Error,
    /// `WARN`.
    Warn,
    /// `INFO`.
    #[default]
    Info,
    /// `DEBUG`.
    Debug,
    /// `TRACE`.
    Trace,
}
