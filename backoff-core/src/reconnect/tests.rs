//! A connection that fails, in virtual time. The same openings and calls serve all tests.

use super::{current::SECOND, *};
use crate::{facts::fault::FaultKind, test_error::TestError};
use core::{future::pending, sync::atomic::AtomicU32};
use std::sync::Arc;
use tokio::time::{Instant, sleep};

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
/// Waits exactly 100, 200, 400 ms.
const DOUBLED: Policy = Policy::exponential().base(millis(100)).jitter(Jitter::None);
/// Has so short waits of its own that only the connection slows it down.
const EAGER: Policy = Policy::constant(millis(1)).deadline(SECOND.saturating_mul(60));

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What an opening does.
enum Does {
    Opens,
    Fails,
    Hangs,
    Panics,
}
use Does::{Fails, Hangs, Opens, Panics};

type Opening = Pin<Box<dyn Future<Output = Result<u32, TestError>> + Send>>;
type Source = Reconnect<u32, Box<dyn Fn() -> Opening + Send + Sync>, TestError>;

/// Openings that take so many milliseconds. A connection is the number of its opening, from 0.
fn source(takes: u64, does: impl Fn(u32) -> Does + Send + Sync + 'static) -> Source {
    let begun = AtomicU32::new(0);
    Reconnect::new(Box::new(move || {
        let number = begun.fetch_add(1, Relaxed);
        let does = does(number);
        Box::pin(async move {
            if takes > 0 {
                sleep(millis(takes)).await;
            }
            match does {
                Opens => Ok(number),
                Fails => Err(REFUSED),
                Hangs => pending().await,
                Panics => panic!("in an opening"),
            }
        })
    }))
}

/// A call that gets the number of its connection, if it succeeds.
async fn call(source: &Source, outcome: Result<(), Failure>) -> Result<u32, Failure> {
    source
        .with(|number| async move { outcome.map(|()| number) })
        .await
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_after_what_asks_for_it_and_only_then() {
    for (failure, number) in [(RESET, 1), (READ_ONLY, 1), (BUSY, 0)] {
        let source = source(0, |_| Opens).least_age(Duration::ZERO);
        let mut failures = Some(failure);
        let answer = POLICY.retry(|| call(&source, failures.take().map_or(Ok(()), Err)));
        assert_eq!(answer.await, Ok(number));
        assert_eq!(source.opened(), u64::from(number) + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_everybody_elsewhere_is_not_flooded() {
    let source = source(0, |_| Opens);
    for _ in 0..100 {
        tokio::time::advance(millis(10)).await;
        assert_eq!(call(&source, Err(READ_ONLY)).await, Err(READ_ONLY));
    }
    assert_eq!(source.opened(), 10);
    // The last connection was opened just now, but it is broken, so it is dropped.
    for _ in 0..2 {
        assert_eq!(call(&source, Err(RESET)).await, Err(RESET));
    }
    assert_eq!(source.opened(), 11);
}

#[tokio::test(start_paused = true)]
async fn many_who_fail_on_one_connection_open_the_next_one_once() {
    let source = &source(10, |_| Opens);
    let task = |takes| async move {
        let retried = POLICY.retry(|| {
            source.with(move |number| async move {
                sleep(millis(takes)).await;
                if number == 0 { Err(RESET) } else { Ok(number) }
            })
        });
        retried.await
    };
    // All begin on the first connection. The last one to find it broken must not drop the
    // second one, which the others may use already.
    let outcome = tokio::join!(task(1), task(2), task(2), task(3_000));
    assert_eq!(outcome, (Ok(1), Ok(1), Ok(1), Ok(1)));
    assert_eq!(source.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_one_asks_to_be_dropped_is_also_what_is_being_opened() {
    let source = source(1_000, |_| Opens);
    let reset = async {
        sleep(millis(500)).await;
        source.reset();
    };
    let (first, ()) = tokio::join!(call(&source, Ok(())), reset);
    assert_eq!((first, source.opened()), (Ok(0), 1));
    for number in [1, 2] {
        for _ in 0..2 {
            assert_eq!(call(&source, Ok(())).await, Ok(number));
        }
        source.reset();
    }
}
