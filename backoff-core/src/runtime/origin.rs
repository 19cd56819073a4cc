//! The origin of the clocks of a process.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

/// An instant as the time since the origin of the process. The origin is 100 years before the first
/// instant, so that the paused clock of an older runtime is not before the origin.
#[cfg_attr(feature = "wasm", allow(dead_code, reason = "only for tokio there"))]
#[inline]
pub(super) fn since_origin(instant: Instant) -> Duration {
    const LEAD: Duration = Duration::from_secs(100 * 365 * 86_400);
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(|| instant);
    match instant.checked_duration_since(first) {
        Some(later) => LEAD.saturating_add(later),
        None => LEAD.saturating_sub(first.duration_since(instant)),
    }
}
