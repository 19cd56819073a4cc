//! Google Cloud IAM: the retry strategy of its documentation.

use super::{HALF, LEAST, MOST, SECOND, Series};
use backoff_core::{Jitter, Policy, StopReason::Deadline, codes};
use std::time::Duration;

const IAM: Policy = Policy::exponential()
    .max_backoff(Duration::from_secs(64))
    .jitter(Jitter::Additive(SECOND))
    .deadline(Duration::from_secs(300))
    .on(codes![500, 502, 503, 504]);

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    ("Google Cloud IAM, retry strategy: least random fraction",
        IAM, LEAST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0], Some(Deadline)),
    ("Google Cloud IAM, retry strategy: a random fraction of a half",
        IAM, HALF,
        &[1.5, 2.5, 4.5, 8.5, 16.5, 32.5, 64.0, 64.0, 64.0], Some(Deadline)),
    ("Google Cloud IAM, retry strategy: greatest random fraction",
        IAM, MOST,
        &[2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 64.0, 64.0, 64.0], Some(Deadline)),
];
