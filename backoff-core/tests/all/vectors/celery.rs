//! Celery: `get_exponential_backoff_interval`.

use super::{HALF, LEAST, MOST, Series};
use backoff_core::{
    Policy,
    StopReason::Attempts,
    delay::{Celery, Delay},
};
use std::time::Duration;

#[rustfmt::skip]
pub(super) const SERIES: &[Series] = &[
    ("Celery, retry_backoff with its defaults: factor 1, full jitter, 3 retries",
        Policy::celery(1), MOST,
        &[1.0, 2.0, 4.0], Some(Attempts)),
    ("Celery, retry_backoff_max of 600 s",
        Policy::celery(1).max_attempts(13), MOST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 600.0, 600.0], Some(Attempts)),
];

/// Source; factor, retry and maximum; the number drawn, with full jitter; seconds before the retry.
type Row = (&'static str, (i64, u32, i64), Option<u64>, u64);

#[rustfmt::skip]
const CELERY: &[Row] = &[
    ("test_without_jitter", (4, 3, 100), None, 32),
    // The test draws the last but one of 0..=32.
    ("test_with_jitter", (4, 3, 100), Some(u64::MAX / 33 * 32 - 33), 31),
    ("test_bound_by_maximum", (40, 3, 100), None, 100),
    ("test_negative_values", (-40, 3, 100), None, 0),
    ("test_negative_values, drawn", (-40, 3, 100), Some(MOST), 0),
    ("a factor of 0", (0, 10, 600), Some(MOST), 0),
    ("a maximum below 0", (7, 3, -1), None, 0),
    ("a maximum of 0", (7, 3, 0), None, 0),
    // Drawn from 0..=64, then held to 10: half of 65 is above the maximum.
    ("drawn before the maximum", (1, 6, 10), Some(HALF), 10),
    ("drawn before the maximum", (1, 6, 10), Some(LEAST), 0),
    ("the last retry there is", (1, u32::MAX, 600), None, 600),
];

/// Celery, `get_exponential_backoff_interval`, as it stood when it drew before the maximum.
#[test]
fn celery_intervals() {
    for (source, (factor, retry, maximum), random, seconds) in CELERY.iter().copied() {
        let celery = Celery::new(factor, maximum).full_jitter(random.is_some());
        let wait = celery.delay(retry, Duration::ZERO, random.unwrap_or(LEAST));
        assert_eq!(wait, Some(Duration::from_secs(seconds)), "Celery, {source}");
    }
}
