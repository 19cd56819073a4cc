//! What hooks and logs are told about a rate.

use core::fmt;

/// The change of a rate, for an [`Event`](crate::Event) and the log.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RateChange {
    /// A reply was a 429. Calls wait, and one after the other probes whether the service takes calls.
    Closed,
    /// The service took a probe: calls go at a rate that starts from this number of calls a second.
    #[non_exhaustive]
    Opened {
        /// The rate that the service admitted, in calls a second.
        per_second: f64,
    },
    /// No call was refused for a long time. Calls no longer wait.
    Off,
}

impl fmt::Display for RateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateChange::Closed => f.write_str("calls wait for the rate of the service"),
            RateChange::Opened { per_second } => write!(f, "calls go at {per_second:.1} a second"),
            RateChange::Off => f.write_str("calls no longer wait"),
        }
    }
}
