//! Published series and examples, as data. Each source has a module, and each row names its publication.

use crate::common::error::TestError;
use backoff_core::{Decision, Jitter, Policy, RetryState, StopReason, WaitSource};
use std::{cell::Cell, time::Duration};

mod agreement;
mod aws;
mod aws_sdks;
mod celery;
mod ethernet;
mod finagle;
mod google;
mod grpc;
mod play;
mod products;
mod rfcs;

const SECOND: Duration = Duration::from_secs(1);

/// Random numbers for a draw of 0, of a half and of 1.
const LEAST: u64 = 0;
const HALF: u64 = 1 << 63;
const MOST: u64 = u64::MAX;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A series: the source, the policy, the number that is drawn each time, the waits in seconds of an
/// operation that always fails, and why there is no further one, or `None` where the source's series
/// goes on.
type Series = (
    &'static str,
    Policy,
    u64,
    &'static [f64],
    Option<StopReason>,
);

const EXPONENTIAL: Policy = Policy::exponential()
    .jitter(Jitter::None)
    .max_attempts(1_000);

const SERIES: &[&[Series]] = &[
    google::SERIES,
    aws::SERIES,
    grpc::SERIES,
    ethernet::SERIES,
    celery::SERIES,
    rfcs::SERIES,
    products::SERIES,
];

#[test]
fn published_series() {
    for (source, policy, random, seconds, end) in SERIES.iter().copied().flatten() {
        let now = Cell::new(Duration::from_secs(77));
        let mut retry = RetryState::start(policy, || now.get());
        let mut fail = || match retry.failed(policy, true, || now.get(), || *random) {
            Decision::Wait(wait) => {
                now.set(now.get() + wait.delay);
                assert_eq!(wait.source, WaitSource::Backoff);
                Ok(wait.delay)
            }
            Decision::Stop(reason) => Err(reason),
        };
        for (n, seconds) in seconds.iter().enumerate() {
            let wait = fail().unwrap_or_else(|reason| panic!("{source}: retry {n}: {reason}"));
            let expected = Duration::from_secs_f64(*seconds);
            assert!(
                wait.abs_diff(expected) <= Duration::from_nanos(1),
                "{source}: retry {n}: {wait:?}, not {expected:?}"
            );
        }
        assert_eq!(fail().err(), *end, "{source}: the end");
    }
}
