//! Memorystore for Redis: exponential backoff.

use super::{HALF, LEAST, MOST, SECOND, Series};
use backoff_core::{Jitter, Policy, StopReason::Attempts, codes};
use std::time::Duration;

const MEMORYSTORE: Policy = Policy::exponential()
    .max_backoff(Duration::from_secs(32))
    .jitter(Jitter::Additive(SECOND))
    .max_attempts(8)
    .on(codes![429, 500..=599]);

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    ("Memorystore for Redis, exponential backoff: 0 ms drawn",
        MEMORYSTORE, LEAST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0], Some(Attempts)),
    ("Memorystore for Redis, exponential backoff: 500 ms drawn",
        MEMORYSTORE, HALF,
        &[1.5, 2.5, 4.5, 8.5, 16.5, 32.0, 32.0], Some(Attempts)),
    ("Memorystore for Redis, exponential backoff: 1000 ms drawn",
        MEMORYSTORE, MOST,
        &[2.0, 3.0, 5.0, 9.0, 17.0, 32.0, 32.0], Some(Attempts)),
];
