//! `Reconnect` drops the connection of an attempt that a timeout of this crate cuts, and keeps the connection of
//! any other dropped attempt.

use backoff_core::{
    Delivery, Fault, NotApplied, NotOpened, Policy, Reconnect, TimedOut, Updated, retry,
};
use std::{
    future::pending,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = Policy::exponential().max_attempts(3);

#[derive(Clone, Debug, PartialEq, Fault)]
enum Failure {
    #[fault(forward)]
    TimedOut(TimedOut),
    #[fault(forward)]
    NotOpened(NotOpened<TimedOut>),
}

impl From<TimedOut> for Failure {
    fn from(error: TimedOut) -> Self {
        Failure::TimedOut(error)
    }
}

impl From<NotOpened<TimedOut>> for Failure {
    fn from(error: NotOpened<TimedOut>) -> Self {
        Failure::NotOpened(error)
    }
}

type Opened = std::future::Ready<Result<u32, TimedOut>>;
type Source = Reconnect<u32, Box<dyn Fn() -> Opened + Send + Sync>, TimedOut>;

/// Connections with the numbers 0, 1, 2, …
fn numbered() -> Source {
    let next = AtomicU32::new(0);
    Reconnect::new(Box::new(move || {
        std::future::ready(Ok(next.fetch_add(1, Relaxed)))
    }))
}

/// The first connection hangs; any other answers with its number.
async fn ask(source: &Source) -> Result<u32, Failure> {
    source
        .with(|connection| async move {
            if connection == 0 {
                pending::<()>().await;
            }
            Ok(connection)
        })
        .await
}

/// Hangs on whatever connection.
async fn hang(source: &Source) -> Result<u32, Failure> {
    source.with(|_| pending()).await
}

#[tokio::test(start_paused = true)]
async fn a_call_that_its_caller_drops_leaves_the_connection_to_the_others() {
    let source = numbered();
    let after = |time| tokio::time::timeout(time, hang(&source));
    assert!(after(SECOND).await.is_err());
    let limited = POLICY.retry(|| hang(&source)).attempt_timeout(5 * SECOND);
    assert!(tokio::time::timeout(SECOND, limited).await.is_err());
    let late = tokio::time::timeout(SECOND, POLICY.retry(|| hang(&source))).await;
    assert!(late.is_err());
    let used = source.with(|number| async move { Ok::<_, Failure>(number) });
    assert_eq!((used.await, source.opened()), (Ok(0), 1));
}

/// An update whose read hangs, or whose write, on the first connection.
async fn update(source: &Source, hangs_in_write: bool) -> Result<u32, Failure> {
    let read = async || match hangs_in_write {
        true => Ok(1),
        false => ask(source).await,
    };
    let write = async |number| match hangs_in_write {
        true => ask(source).await,
        false => Ok(number),
    };
    let update = POLICY.update(read, |_| true, write);
    match update.attempt_timeout(SECOND).await? {
        Updated::Written(number) => Ok(number),
        Updated::Unchanged(_) => unreachable!("each change is one"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_a_timeout_cuts_drops_its_connection() {
    #[retry(policy = POLICY, attempt_timeout = "1s")]
    async fn attempts(source: &Source) -> Result<u32, Failure> {
        ask(source).await
    }
    #[retry(policy = POLICY, timeout = "1s")]
    async fn whole(source: &Source) -> Result<u32, Failure> {
        ask(source).await
    }
    let late = || Err(TimedOut::new(SECOND).into());
    let sources = [(); 7].map(|()| numbered());
    let [a, b, c, d, e, f, g] = &sources;
    let call = |source| POLICY.retry(move || ask(source));
    // The outer call cuts an attempt, in which an inner call is dropped with its own attempt.
    let inner = || call(e).attempt_timeout(5 * SECOND);
    let outer = POLICY.retry(inner).attempt_timeout(SECOND);
    for (form, came, expected) in [
        (
            "attempt_timeout",
            call(a).attempt_timeout(SECOND).await,
            Ok(1),
        ),
        ("timeout", call(b).timeout(SECOND).await, late()),
        ("the key attempt_timeout", attempts(c).await, Ok(1)),
        ("the key timeout", whole(d).await, late()),
        ("a call in a call", outer.await, Ok(1)),
        ("the read of an update", update(f, false).await, Ok(1)),
        ("the write of an update", update(g, true).await, Ok(1)),
    ] {
        assert_eq!(came, expected, "{form}");
    }
    for (n, source) in sources.iter().enumerate() {
        assert_eq!((ask(source).await, source.opened()), (Ok(1), 2), "{n}");
    }
}

/// An attempt that is cut later has itself dropped a call on another connection before.
#[tokio::test(start_paused = true)]
async fn what_was_dropped_before_the_cut_is_not_cut() {
    let (left, cut) = (numbered(), numbered());
    let call = POLICY.retry(async || {
        let dropped = tokio::time::timeout(SECOND / 2, hang(&left)).await;
        assert!(dropped.is_err());
        hang(&cut).await
    });
    let outcome = call.attempt_timeout(SECOND).await;
    assert_eq!(outcome, Err(TimedOut::new(SECOND).into()));
    assert_eq!((left.opened(), cut.opened()), (1, 3));
}

/// Whoever else uses the connection goes on; only who comes later gets another one.
#[tokio::test(start_paused = true)]
async fn a_cut_disturbs_nobody_else_on_the_connection() {
    let source = numbered();
    let slow = source.with(|number| async move {
        sleep(2 * SECOND).await;
        Ok::<_, Failure>(number)
    });
    let cut = POLICY.retry(|| ask(&source)).attempt_timeout(SECOND);
    assert_eq!(tokio::join!(slow, cut), (Ok(0), Ok(1)));
    assert_eq!(source.opened(), 2);
}

/// The error of a statement before the commit, as the page of [`NotApplied`] has it.
#[derive(Debug, Fault)]
enum Statement {
    #[fault(forward)]
    NotApplied(NotApplied<Said>),
    #[fault(forward)]
    NotOpened(NotOpened<TimedOut>),
}

impl From<NotOpened<TimedOut>> for Statement {
    fn from(error: NotOpened<TimedOut>) -> Self {
        Statement::NotOpened(error)
    }
}

#[derive(Debug, Fault)]
enum Said {
    #[fault(status = 503)]
    Busy,
    #[fault(forward)]
    Lost(TimedOut),
}

/// That nothing was applied is no fault of the connection, also where an error of one's own says so.
#[tokio::test(start_paused = true)]
async fn what_was_not_applied_leaves_a_healthy_connection_open() {
    let lost = || Said::Lost(TimedOut::new(SECOND));
    for (said, opened) in [(Said::Busy, 1), (lost(), 2)] {
        let source = numbered().least_age(Duration::ZERO);
        let error = Statement::NotApplied(NotApplied(said));
        assert_eq!(error.delivery(), Some(Delivery::NotSent));
        assert_eq!(error.must_reconnect(), opened == 2);
        let failed = source.with(|_| async { Err::<(), _>(error) }).await;
        assert!(failed.is_err());
        let next = source.with(|_| async { Ok::<_, Statement>(()) }).await;
        next.expect("a connection");
        assert_eq!(source.opened(), opened);
    }
}
