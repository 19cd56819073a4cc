//! Bugs that other retry libraries have or had. Each test shows that this library does not have the bug.
//!
//! The name of a test names the bug. The comment above a test names the libraries in which we saw the bug; they
//! may have fixed it since.

use crate::common::{error::TestError, time::Time};
use backoff_core::{Jitter, Policy, Random as _, StopReason};
use std::{future::ready, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
const PLAIN: Policy = Policy::exponential().jitter(Jitter::None);
const MOST: u64 = u64::MAX;

/// Every jitter, each with a part that is long for the policies below.
const JITTERS: [Jitter; 9] = [
    Jitter::None,
    Jitter::Full,
    Jitter::Equal,
    Jitter::Decorrelated,
    Jitter::Additive(Duration::from_secs(7)),
    Jitter::AdditiveWithin(Duration::from_secs(7)),
    Jitter::Proportional(0.5),
    Jitter::Slots,
    Jitter::WholeSeconds,
];

const BUSY: TestError = TestError::status(503);

/// The waits of an operation that always fails so, and why it was given up: by the blocking loop and by the
/// async one, which have to agree.
fn waits(policy: Policy, random: u64) -> (Vec<Duration>, StopReason) {
    let [blocked, time] = [(); 2].map(|()| Time::default().drawing(random));
    let blocking = policy
        .blocking(|| Err::<(), _>(BUSY))
        .runtime(blocked.clone());
    let blocking = blocking.reported().call().unwrap_err();
    let future = policy
        .retry(|| ready(Err::<(), _>(BUSY)))
        .runtime(time.clone());
    let future = time.run(future.reported()).unwrap_err();
    assert_eq!(
        (blocked.waits(), blocking.reason),
        (time.waits(), future.reason)
    );
    (time.waits(), future.reason)
}

/// tower: what is drawn is cut at the maximum, where all clients then wait alike.
///
/// So it is in the formulas that Google and Celery document, which are offered as
/// [`Jitter::Additive`] and [`Jitter::WholeSeconds`]; every other jitter leaves room for chance.
#[test]
fn no_jitter_left_at_the_cap() {
    for jitter in JITTERS {
        let policy = PLAIN
            .base(SECOND / 10)
            .jitter(jitter)
            .max_backoff(10 * SECOND);
        // Not only the ends of the range.
        let waits = [MOST / 8, MOST / 6, MOST / 4].map(|r| policy.backoff(30, 10 * SECOND, r));
        match jitter {
            Jitter::None | Jitter::Additive(_) | Jitter::WholeSeconds => {
                assert_eq!(waits, [10 * SECOND; 3], "{jitter:?}");
            }
            _ => assert!(waits.is_sorted_by(|a, b| a < b), "{jitter:?}: {waits:?}"),
        }
    }
}

/// tokio-retry2, `jitter_range`: the number was drawn when the strategy was made.
#[test]
fn chance_is_drawn_once_for_all_retries() {
    for jitter in JITTERS {
        let time = Time::default().stepping(MOST / 7);
        let policy = Policy::constant(9 * SECOND)
            .base(2 * SECOND)
            .max_backoff(60 * SECOND)
            .jitter(jitter)
            .max_attempts(8);
        let call = policy.blocking(|| Err::<(), _>(BUSY)).runtime(time.clone());
        call.call().unwrap_err();
        let mut different = time.waits();
        different.sort_unstable();
        different.dedup();
        let draws = if jitter == Jitter::None { 0 } else { 7 };
        assert_eq!(different.len() > 1, draws > 0, "{jitter:?}: {different:?}");
        assert_eq!(time.random(), (MOST / 7).wrapping_mul(draws), "{jitter:?}");
    }
}

/// Two crates: `Duration::MAX` from a strategy overflowed when it was added to the time. backon: so did a limit
/// or a sum of waits at the end of what a duration holds.
#[test]
fn the_longest_duration_of_a_strategy_panics() {
    let plain = PLAIN.max_attempts(4);
    for policy in [plain, plain.deadline(Duration::MAX), plain.deadline(SECOND)] {
        let time = Time::default();
        let fails = policy.blocking(|| Err::<(), _>(BUSY)).runtime(time.clone());
        assert!(fails.delays(|_: u32| Duration::MAX).call().is_err());
        let fails = policy
            .retry(|| ready(Err::<(), _>(BUSY)))
            .runtime(time.clone());
        assert!(time.run(fails.delays(|_: u32| Duration::MAX)).is_err());
    }
    for long in [Duration::MAX, Duration::from_secs(400 * 365 * 86_400)] {
        let endless = Policy::custom(|_| Duration::MAX)
            .base(long)
            .max_backoff(long)
            .max_attempts(4);
        for jitter in JITTERS {
            for random in [0, MOST] {
                let (waits, reason) = waits(endless.jitter(jitter), random);
                assert_eq!(
                    (waits.len(), reason),
                    (3, StopReason::Attempts),
                    "{jitter:?}"
                );
            }
        }
        // A deadline counts as a year at most.
        let ended = waits(endless.jitter(Jitter::None).deadline(long), 0);
        assert_eq!(ended, (vec![], StopReason::Deadline));
    }
}

/// And with a real timer: tokio's.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn the_longest_duration_of_a_strategy_panics_in_tokio() {
    let fails = || ready(Err::<(), _>(BUSY));
    let endless = PLAIN.retry(fails).delays(|_: u32| Duration::MAX);
    let year = Duration::from_secs(365 * 86_400);
    assert!(tokio::time::timeout(year, endless).await.is_err());
}
