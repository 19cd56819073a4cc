//! Published series and examples, as data. Each source has a module, and each row names its publication.

use backoff_core::{
    Budget, Decision, Delivery, Fault, FaultKind, Jitter, Policy, RetryState, StopReason,
    WaitSource,
};
use std::{cell::Cell, time::Duration};

mod agreement;
mod apue;
mod aws;
mod aws_sdks;
mod celery;
mod ethernet;
mod finagle;
mod google;
mod grpc;
mod iam;
mod memorystore;
mod play;
mod products;
#[cfg(feature = "hint")]
mod retry_after;
mod rfcs;

const SECOND: Duration = Duration::from_secs(1);

/// Random numbers for a draw of 0, of a half and of 1.
const LEAST: u64 = 0;
const HALF: u64 = 1 << 63;
const MOST: u64 = u64::MAX;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What came back from a server, or did not.
#[derive(Clone, Copy, Debug, Default)]
struct Failed {
    status: Option<u16>,
    kind: Option<FaultKind>,
    transport: Option<Delivery>,
    hint: Option<Duration>,
    stop: bool,
}

impl Fault for Failed {
    fn status(&self) -> Option<u16> {
        self.status
    }
    fn kind(&self) -> Option<FaultKind> {
        self.kind
    }
    fn delivery(&self) -> Option<Delivery> {
        self.transport
    }
    fn retry_after(&self) -> Option<Duration> {
        self.hint
    }
    fn must_stop(&self) -> bool {
        self.stop
    }
}

fn status(status: u16) -> Failed {
    Failed {
        status: Some(status),
        ..Failed::default()
    }
}

fn leak(budget: Budget) -> &'static Budget {
    Box::leak(Box::new(budget))
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
    iam::SERIES,
    memorystore::SERIES,
    google::SERIES,
    aws::SERIES,
    grpc::SERIES,
    ethernet::SERIES,
    apue::SERIES,
    celery::SERIES,
    rfcs::SERIES,
    products::SERIES,
];

#[test]
fn published_series() {
    for (source, policy, random, seconds, end) in SERIES.iter().copied().flatten() {
        let now = Cell::new(Duration::from_secs(77));
        let mut retry = RetryState::start(policy, || now.get());
        let mut fail = || {
            let decision = retry.failed(policy, true, || now.get(), || *random);
            if let Decision::Wait(wait) = decision {
                now.set(now.get() + wait.delay);
                assert_eq!(wait.source, WaitSource::Backoff);
            }
            decision
        };
        for (n, seconds) in seconds.iter().enumerate() {
            match fail() {
                Decision::Wait(wait) => {
                    let expected = Duration::from_secs_f64(*seconds);
                    assert!(
                        wait.delay.abs_diff(expected) <= Duration::from_nanos(1),
                        "{}: retry {n}: {:?}, not {expected:?}",
                        source,
                        wait.delay
                    );
                }
                Decision::Stop(reason) => panic!("{}: retry {n}: {reason}", source),
            }
        }
        if let Some(reason) = *end {
            assert_eq!(fail(), Decision::Stop(reason), "{}: the end", source);
        } else {
            assert!(matches!(fail(), Decision::Wait(_)), "{}", source);
        }
    }
}
