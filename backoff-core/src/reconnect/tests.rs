//! A connection that fails, in virtual time.

use super::*;
use crate::facts::fault::{FaultKind, TimedOut};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

mod opening;

/// Why a connection was not opened. By itself it says that something may have been sent.
#[derive(Clone, Debug, PartialEq)]
struct Refused;

impl Fault for Refused {
    fn delivery(&self) -> Option<Delivery> {
        Some(Delivery::MaybeSent)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Failure {
    Reset,
    ReadOnly,
    Busy,
    TimedOut,
    NotOpened(NotOpened<Refused>),
}

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        Failure::TimedOut
    }
}

impl From<NotOpened<Refused>> for Failure {
    fn from(error: NotOpened<Refused>) -> Self {
        Failure::NotOpened(error)
    }
}

impl Fault for Failure {
    fn inner(&self) -> Option<&dyn Fault> {
        match self {
            Failure::NotOpened(error) => Some(error),
            _ => None,
        }
    }
    fn delivery(&self) -> Option<Delivery> {
        match self.inner() {
            Some(inner) => inner.delivery(),
            None => (*self == Failure::Reset).then_some(Delivery::MaybeSent),
        }
    }
    fn kind(&self) -> Option<FaultKind> {
        self.inner().is_none().then_some(FaultKind::Transient)
    }
    fn must_reconnect(&self) -> bool {
        matches!(self, Failure::Reset | Failure::ReadOnly)
    }
}

const POLICY: Policy = Policy::exponential().max_attempts(5);

#[tokio::test(start_paused = true)]
async fn a_new_connection_after_what_asks_for_it_and_only_then() {
    for (failure, opened) in [
        (Failure::Reset, 2),
        (Failure::ReadOnly, 2),
        (Failure::Busy, 1),
    ] {
        let connections = AtomicU32::new(0);
        let open = || async { Ok::<_, Refused>(connections.fetch_add(1, Relaxed)) };
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
    let source = Reconnect::new(|| async { Ok::<_, Refused>(()) });
    let call = |failure| source.with(|()| async { Err::<(), _>(failure) });
    for _ in 0..100 {
        tokio::time::advance(Duration::from_millis(10)).await;
        assert_eq!(call(Failure::ReadOnly).await, Err(Failure::ReadOnly));
    }
    assert_eq!(source.opened(), 10);
    // The last one was opened just now, but what is broken is of no use, however young.
    assert_eq!(call(Failure::Reset).await, Err(Failure::Reset));
    assert_eq!(call(Failure::Reset).await, Err(Failure::Reset));
    assert_eq!(source.opened(), 11);
}

#[tokio::test(start_paused = true)]
async fn many_who_fail_on_one_connection_open_the_next_one_once() {
    let source = Reconnect::new(|| async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok::<_, Refused>(())
    });
    let source = &source;
    let task = |n: u64| async move {
        let mut first = true;
        POLICY
            .retry(|| {
                let fails = core::mem::take(&mut first);
                source.with(move |()| async move {
                    tokio::time::sleep(Duration::from_millis(n)).await;
                    if fails { Err(Failure::Reset) } else { Ok(n) }
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
async fn what_one_asks_to_be_dropped_is() {
    let source = Reconnect::new(|| async { Ok::<_, Refused>(()) });
    let use_it = || source.with(|()| async { Ok::<_, Failure>(()) });
    use_it().await.unwrap();
    use_it().await.unwrap();
    assert_eq!(source.opened(), 1);
    source.reset();
    use_it().await.unwrap();
    assert_eq!(source.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_being_opened_when_one_asks_is_dropped_too() {
    let source = Reconnect::new(|| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, Refused>(())
    });
    let use_it = || source.with(|()| async { Ok::<_, Failure>(()) });
    let reset = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        source.reset();
    };
    let (first, ()) = tokio::join!(use_it(), reset);
    assert_eq!((first, source.opened()), (Ok(()), 1));
    use_it().await.unwrap();
    use_it().await.unwrap();
    assert_eq!(source.opened(), 2);
}

#[test]
fn a_future_on_it_can_be_spawned() {
    fn is_send<T: Send>(_: T) {}
    let source = Reconnect::new(|| async { Ok::<_, Refused>(7_u32) });
    is_send(POLICY.retry(|| source.with(|n| async move { Ok::<_, Failure>(n) })));
}
