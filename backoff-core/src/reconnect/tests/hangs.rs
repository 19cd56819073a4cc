//! Openings that hang, are not polled, or panic.

use super::*;
use core::task::{Context, Waker};

/// The first opening does this, each later one opens.
fn beginning(first: fn() -> Does) -> Arc<Source> {
    Arc::new(source(0, move |n| if n == 0 { first() } else { Opens }))
}

/// The connection that a call gets, and when it gets it.
async fn got(source: Arc<Source>) -> (Result<u32, Failure>, Instant) {
    (call(&source, Ok(())).await, Instant::now())
}

#[tokio::test(start_paused = true)]
async fn after_a_reset_nobody_waits_for_an_opening_that_hangs() {
    let source = beginning(|| Hangs);
    let first = tokio::spawn(got(source.clone()));
    sleep(millis(10)).await;
    let waiting = tokio::spawn(got(source.clone()));
    sleep(millis(10)).await;
    let reset = (Ok(1), Instant::now());
    source.reset();
    assert_eq!(got(source.clone()).await, reset);
    assert_eq!(waiting.await.unwrap(), reset);
    // Its own opening hangs on, but there is a connection.
    assert_eq!(first.await.unwrap(), reset);
    assert_eq!(source.opened(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_opening_that_is_not_polled_holds_the_others_up_for_a_second() {
    let source = beginning(|| Hangs);
    let mut kept = pin!(got(source.clone()));
    let mut no_waker = Context::from_waker(Waker::noop());
    assert!(kept.as_mut().poll(&mut no_waker).is_pending());
    let second = Instant::now() + SECOND;
    let waiting = [(); 3].map(|()| tokio::spawn(got(source.clone())));
    for caller in waiting {
        assert_eq!(caller.await.unwrap(), (Ok(1), second));
    }
    // Nor does the caller whose opening was not polled open another connection.
    assert_eq!(kept.await, (Ok(1), second));
    assert_eq!(source.opened(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_an_opening_that_panics_the_next_caller_opens_at_once() {
    let source = beginning(|| Panics);
    let [first, waiting] = [(); 2].map(|()| tokio::spawn(got(source.clone())));
    let now = Instant::now();
    assert!(first.await.unwrap_err().is_panic());
    assert_eq!(waiting.await.unwrap(), (Ok(1), now));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_tasks_begin_one_opening_a_second_if_each_hangs() {
    let source = Arc::new(source(0, |_| Hangs));
    for _ in 0..1_000 {
        tokio::spawn(got(source.clone()));
    }
    for begun in 1..=10 {
        sleep(SECOND / 2).await;
        assert_eq!(source.current().begun, begun);
        sleep(SECOND / 2).await;
    }
}
