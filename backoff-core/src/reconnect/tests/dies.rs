//! Tests of connections that break soon after they were opened.

use super::*;
use std::sync::Arc;
use tokio::time::{Instant, sleep};

/// Waits exactly 100, 200, 400 ms.
const DOUBLED: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .jitter(Jitter::None);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn connections_that_break_at_once_are_opened_once_a_second_by_a_thousand_tasks() {
    const EAGER: Policy =
        Policy::constant(Duration::from_millis(1)).deadline(SECOND.saturating_mul(60));
    let source = Arc::new(Reconnect::new(|| async { Ok::<_, TestError>(()) }));
    for _ in 0..1_000 {
        let source = source.clone();
        tokio::spawn(async move {
            let call = || source.with(|()| async { Err::<(), _>(RESET) });
            EAGER.retry(call).await
        });
    }
    let mut opened = 0;
    for second in 1..=20 {
        sleep(SECOND).await;
        let before = core::mem::replace(&mut opened, source.opened());
        // The short pauses at the beginning are over after at most three seconds.
        let most = if second <= 3 { 12 } else { 2 };
        assert!(
            opened - before <= most,
            "{} in second {second}",
            opened - before
        );
    }
    assert!(opened >= 20, "{opened} in 20 seconds");
}

/// The pauses of the connection are shorter than its own waits.
#[tokio::test(start_paused = true)]
async fn one_task_opens_a_connection_for_each_attempt() {
    let source = Reconnect::new(|| async { Ok::<_, TestError>(()) });
    let began = Instant::now();
    let mut seconds = Vec::new();
    let call = || {
        seconds.push(began.elapsed().as_secs());
        source.with(|()| async { Err::<(), _>(RESET) })
    };
    let policy = Policy::exponential().jitter(Jitter::None).max_attempts(5);
    assert_eq!(policy.retry(call).await, Err(RESET));
    assert_eq!(began.elapsed(), SECOND * 15);
    assert_eq!((seconds, source.opened()), (vec![0, 1, 3, 7, 15], 5));
}

/// In the pause there is no error of opening to fail with, so calls wait.
#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_end_of_the_pause_after_a_connection_that_broke_at_once() {
    let source = Reconnect::new(|| async { Ok::<_, TestError>(()) }).opening_backoff(DOUBLED);
    let call = |outcome: Result<(), Failure>| source.with(|()| async { outcome });
    let began = Instant::now();
    let mut opened = 0;
    for waited in [0, 100, 300, 700] {
        opened += 1;
        assert_eq!(call(Err(RESET)).await, Err(RESET));
        assert_eq!((source.opened(), began.elapsed()), (opened, millis(waited)));
    }
    // The pause is 800 ms, and begins with the opening.
    sleep(millis(500)).await;
    let both = tokio::join!(call(Ok(())), call(Ok(())));
    assert_eq!(both, (Ok(()), Ok(())));
    assert_eq!((source.opened(), began.elapsed()), (5, millis(1_500)));
}

#[tokio::test(start_paused = true)]
async fn a_reset_ends_the_pause_of_calls_that_wait() {
    let hour = Policy::constant(SECOND * 3_600).jitter(Jitter::None);
    let source = Reconnect::new(|| async { Ok::<_, TestError>(()) }).opening_backoff(hour);
    let call = |outcome: Result<(), Failure>| source.with(|()| async { outcome });
    let began = Instant::now();
    assert_eq!(call(Err(RESET)).await, Err(RESET));
    let reset = async {
        sleep(SECOND).await;
        source.reset();
    };
    let waits = async { (call(Ok(())).await, began.elapsed()) };
    let (waited, ()) = tokio::join!(waits, reset);
    assert_eq!(waited, (Ok(()), SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_served_a_call_is_opened_again_at_once() {
    let source = Reconnect::new(|| async { Ok::<_, TestError>(()) }).least_age(Duration::ZERO);
    let call = |outcome: Result<(), Failure>| source.with(|()| async { outcome });
    let began = Instant::now();
    // A server that sends its clients to another server has answered too.
    for served in [Ok(()), Err(BUSY), Err(READ_ONLY)] {
        for _ in 0..100 {
            let opened = source.opened();
            assert_eq!(call(served.clone()).await, served);
            if served != Err(READ_ONLY) {
                assert_eq!(call(Err(RESET)).await, Err(RESET));
            }
            assert_eq!(source.opened(), opened + 1);
        }
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
}

/// For example a connection with one long call.
#[tokio::test(start_paused = true)]
async fn a_connection_that_has_lived_for_a_second_is_opened_again_at_once() {
    let pauses = DOUBLED.base(SECOND * 3_600).max_backoff(SECOND * 3_600);
    let source = Reconnect::new(|| async { Ok::<_, TestError>(()) }).opening_backoff(pauses);
    for opened in 1..=3 {
        let call = source.with(|()| async {
            sleep(SECOND).await;
            Err::<(), _>(RESET)
        });
        assert_eq!((call.await, source.opened()), (Err(RESET), opened));
    }
}
