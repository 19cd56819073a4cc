//! How many calls a policy makes if every call fails at once.
use backoff_core::{Jitter, Policy, TimedOut, Tokio};
use rand::{SeedableRng as _, rngs::SmallRng};
use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

const SECOND: Duration = Duration::from_secs(1);
const NEVER_WAITS: Policy = Policy::constant(Duration::ZERO);

/// Fails at once, and counts. More calls than these would go on for ever.
fn fail(calls: &Cell<u32>) -> Result<(), TimedOut> {
    calls.set(calls.get() + 1);
    assert!(calls.get() < 1_000_000, "it is called without end");
    Err(TimedOut::new(Duration::ZERO))
}

#[tokio::test(start_paused = true)]
async fn without_a_pause_five_calls_are_made_within_a_deadline() {
    let calls = Cell::new(0);
    let policy = NEVER_WAITS.deadline(300 * SECOND);
    policy.retry(async || fail(&calls)).await.unwrap_err();
    assert_eq!(calls.replace(0), 5);
    policy.retry_blocking(|| fail(&calls)).unwrap_err();
    assert_eq!(calls.replace(0), 5);
    let policy = policy.max_attempts(9);
    policy.retry(async || fail(&calls)).await.unwrap_err();
    assert_eq!(calls.get(), 9);
}

#[tokio::test(start_paused = true)]
async fn without_a_pause_five_calls_are_made_within_a_timeout() {
    for policy in [NEVER_WAITS, NEVER_WAITS.deadline(600 * SECOND)] {
        let calls = Cell::new(0);
        let call = policy.retry(async || fail(&calls)).timeout(300 * SECOND);
        call.await.unwrap_err();
        assert_eq!(calls.replace(0), 5);
        let policy = policy.max_attempts(9);
        let call = policy.retry(async || fail(&calls)).timeout(300 * SECOND);
        call.await.unwrap_err();
        assert_eq!(calls.get(), 9);
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_pause_the_time_alone_limits_them() {
    let calls = Cell::new(0);
    let policy = NEVER_WAITS.base(SECOND).jitter(Jitter::None);
    let call = policy.retry(async || fail(&calls)).timeout(300 * SECOND);
    call.await.unwrap_err();
    // A call that is cut at 300 s needs some time before it.
    assert_eq!(calls.replace(0), 300);
    let policy = policy.deadline(300 * SECOND);
    policy.retry(async || fail(&calls)).await.unwrap_err();
    assert_eq!(calls.get(), 301);
}

/// What the page of `deadline` says. Tokio's timer rounds each wait up to a millisecond.
#[tokio::test(start_paused = true)]
async fn short_waits_make_many_calls_within_a_deadline() {
    let policy = Policy::exponential()
        .max_backoff(Duration::from_millis(10))
        .deadline(300 * SECOND);
    let calls = Cell::new(0);
    let runtime = (Tokio, RefCell::new(SmallRng::seed_from_u64(7)));
    let call = policy.retry(async || fail(&calls)).runtime(runtime);
    call.await.unwrap_err();
    let made = f64::from(calls.get());
    assert!((made / 54_545.0 - 1.0).abs() < 0.03, "{made}");
    assert!((made / 60_000.0 - 1.0).abs() < 0.15, "{made}");
}
