//! Stevens and Rago, Advanced Programming in the UNIX Environment: `connect_retry`.

use super::{HALF, Series};
use backoff_core::{Policy, StopReason::Attempts};

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    ("Stevens and Rago, Advanced Programming in the UNIX Environment, connect_retry",
        Policy::connect_retry(), HALF,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], Some(Attempts)),
];
