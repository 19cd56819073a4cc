//! A connection that fails, in virtual time.

use super::{current::SECOND, *};
use crate::{facts::fault::FaultKind, test_error::TestError};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

mod dies;
mod hangs;
mod opening;

/// Why a connection was not opened. By itself it says that something may have been sent.
const REFUSED: TestError = TestError::LOST.number(1);

#[derive(Clone, Debug, PartialEq)]
enum Failure {
    /// Whether it asks for a new connection.
    Of(TestError, bool),
    NotOpened(NotOpened<TestError>),
}

const RESET: Failure = Failure::Of(TestError::LOST.and_kind(FaultKind::Transient), true);
const READ_ONLY: Failure = Failure::Of(TestError::kind(FaultKind::Transient), true);
const BUSY: Failure = Failure::Of(TestError::kind(FaultKind::Transient), false);

impl From<NotOpened<TestError>> for Failure {
    fn from(error: NotOpened<TestError>) -> Self {
        Failure::NotOpened(error)
    }
}

impl Fault for Failure {
    fn inner(&self) -> Option<&dyn Fault> {
        Some(match self {
            Failure::Of(error, _) => error,
            Failure::NotOpened(error) => error,
        })
    }
    fn must_reconnect(&self) -> bool {
        matches!(self, Failure::Of(_, true))
    }
}

const POLICY: Policy = Policy::exponential().max_attempts(5);

#[tokio::test(start_paused = true)]
async fn a_new_connection_after_what_asks_for_it_and_only_then() {
    for (failure, opened) in [(RESET, 2), (READ_ONLY, 2), (BUSY, 1)] {
        let connections = AtomicU32::new(0);
        let open = || async { Ok::<_, TestError>(connections.fetch_add(1, Relaxed)) };
        let source = Reconnect::new(open).least_age(Duration::ZERO);
        let mut failures = Some(failure);
        let answer = POLICY
            .retry(|| {
                let failure = failures.take();
                source.with(|_| async { failure.map_or(Ok(42), Err) })
            })
            .await;
        assert_eq!((answer, source.opened()), (Ok(42), opened));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_everybody_elsewhere_is_not_flooded() {
    let source = Reconnect::new(|| async { Ok::<_, TestError>(()) });
    let call = |failure| source.with(|()| async { Err::<(), _>(failure) });
    for _ in 0..100 {
        tokio::time::advance(Duration::from_millis(10)).await;
        assert_eq!(call(READ_ONLY).await, Err(READ_ONLY));
    }
    assert_eq!(source.opened(), 10);
    // The last connection was opened just now, but it is broken, so it is dropped.
    assert_eq!(call(RESET).await, Err(RESET));
    assert_eq!(call(RESET).await, Err(RESET));
    assert_eq!(source.opened(), 11);
}

#[tokio::test(start_paused = true)]
async fn many_who_fail_on_one_connection_open_the_next_one_once() {
    let source = Reconnect::new(|| async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok::<_, TestError>(())
    });
    let source = &source;
    let task = |n: u64| async move {
        let mut first = true;
        POLICY
            .retry(|| {
                let fails = core::mem::take(&mut first);
                source.with(move |()| async move {
                    tokio::time::sleep(Duration::from_millis(n)).await;
                    if fails { Err(RESET) } else { Ok(n) }
                })
            })
            .await
    };
    // All begin on the first connection. The last one to find it broken must not drop the
    // second one, which the others may use already.
    let outcome = tokio::join!(task(1), task(2), task(2), task(3_000));
    assert_eq!(outcome, (Ok(1), Ok(2), Ok(2), Ok(3_000)));
    assert_eq!(source.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_one_asks_to_be_dropped_is_also_what_is_being_opened() {
    let source = Reconnect::new(|| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, TestError>(())
    });
    let use_it = || source.with(|()| async { Ok::<_, Failure>(()) });
    let reset = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        source.reset();
    };
    let (first, ()) = tokio::join!(use_it(), reset);
    assert_eq!((first, source.opened()), (Ok(()), 1));
    for opened in [2, 3] {
        use_it().await.unwrap();
        use_it().await.unwrap();
        assert_eq!(source.opened(), opened);
        source.reset();
    }
}

#[test]
fn a_future_on_it_can_be_spawned() {
    fn is_send<T: Send>(_: T) {}
    let source = Reconnect::new(|| async { Ok::<_, TestError>(7_u32) });
    is_send(POLICY.retry(|| source.with(|n| async move { Ok::<_, Failure>(n) })));
}
