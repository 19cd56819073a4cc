//! A connection that is opened anew when the kind of a failure asks for it.

use crate::facts::fault::{Delivery, Fault};
use core::{fmt, future::Future, time::Duration};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::{sync::Mutex as Gate, time::Instant};

/// How long a connection is kept although the server behind it sends its clients elsewhere. A choice
/// of this crate: ten connections a second are no burden, and nobody notices a tenth of a second.
const LEAST_AGE: Duration = Duration::from_millis(100);

/// A connection shared by all who use it, and opened anew after a failure that says that it is of
/// no more use ([`Fault::must_reconnect`]).
///
/// Calling an operation again is not enough where the connection itself is at fault: a Redis
/// primary that was killed, or that has become a replica and refuses every write on a connection
/// that stays open. So an attempt takes its connection from here:
///
/// ```
/// use backoff_core::{Policy, Reconnect, TimedOut};
/// use std::{cell::Cell, time::Duration};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let opened = Cell::new(0);
/// let redis = Reconnect::new(|| {
///     opened.set(opened.get() + 1);
///     std::future::ready(Ok::<_, TimedOut>(opened.get())) // or your client's connection
/// });
///
/// let answer = Policy::exponential()
///     .retry(|| {
///         redis.with(|connection| async move {
///             // The first connection hangs, the second one works.
///             if connection == 1 { Err(TimedOut::new(Duration::from_secs(1))) } else { Ok("pong") }
///         })
///     })
///     .await;
/// assert_eq!((answer, opened.get()), (Ok("pong"), 2));
/// # }
/// ```
///
/// The connection is opened when it is first needed. Everybody gets a clone of it, as a
/// multiplexed connection or a channel is meant to be used. When many attempts fail on the same
/// connection, it is opened anew once: a failure drops only the connection that it happened on. While
/// somebody opens the next one the others wait for it, and if that fails, it fails for all of them:
/// where a server hangs, nobody queues behind the timeouts of the others. So give the opening a time
/// limit of its own, well below that of an attempt: an opening that is cut together with its attempt
/// has failed for nobody else, and the next one begins anew. An attempt that is dropped before it is
/// done, because its time was over, drops the connection too: it may hang for ever.
///
/// A server that answers, but sends its clients elsewhere, may do so for as long as the address still
/// leads to it. So that not every answer opens a connection, one that works is kept for at least
/// 100 ms ([`least_age`](Self::least_age)); one that broke is not.
///
/// What is retried, and after what wait, is the policy's affair; opening is part of an attempt, and
/// its failure a failure of the attempt. For what must not be made twice, let the opening say that
/// nothing was sent: [`NotOpened`](crate::NotOpened).
///
/// What belongs to one connection has to stay on it: a transaction under Redis' `WATCH` is read and
/// written on the same one, so what reads hands it on with what it has read, and a failure of the
/// write that asks for another connection calls [`reset`](Self::reset).
///
/// `E` is the error of opening. Each of those who wait gets a clone of it; one that cannot be
/// cloned goes into an `Arc`.
pub struct Reconnect<C, O, E> {
    open: O,
    current: Mutex<Current<C>>,
    // Held by the one who opens; how the last opening failed, if it did.
    gate: Gate<Option<E>>,
    least_age: Duration,
}

struct Current<C> {
    connection: Option<C>,
    since: Option<Instant>,
    /// How many connections were opened, and so the number of this one.
    opened: u64,
    /// How many could not be opened.
    failed: u64,
    /// How often [`Reconnect::reset`] was called.
    resets: u64,
}

impl<C, O, E> Reconnect<C, O, E> {
    /// Opens connections by this function, the first one when it is needed.
    pub const fn new(open: O) -> Self {
        Reconnect {
            open,
            current: Mutex::new(Current {
                connection: None,
                since: None,
                opened: 0,
                failed: 0,
                resets: 0,
            }),
            gate: Gate::const_new(None),
            least_age: LEAST_AGE,
        }
    }

    /// Keeps a connection that works, but leads to the wrong server, for at least this long; 100 ms
    /// where nothing is said. With zero, every such answer opens another.
    #[must_use]
    pub fn least_age(mut self, age: Duration) -> Self {
        self.least_age = age;
        self
    }

    /// How many connections were opened so far.
    pub fn opened(&self) -> u64 {
        self.current().opened
    }

    /// Drops the connection: the next attempt opens another.
    pub fn reset(&self) {
        let mut current = self.current();
        current.connection = None;
        current.resets += 1;
    }

    fn current(&self) -> MutexGuard<'_, Current<C>> {
        // Nothing that panics runs while it is held.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_young(&self, number: u64) -> bool {
        let current = self.current();
        let is_young = |since: Instant| since.elapsed() < self.least_age;
        current.opened == number && current.since.is_some_and(is_young)
    }

    /// Drops the connection of this number, if it has not been replaced yet.
    fn lost(&self, number: u64) {
        let mut current = self.current();
        if current.opened == number {
            current.connection = None;
        }
    }
}

impl<C: Clone, O, OpenError: Clone> Reconnect<C, O, OpenError> {
    /// Runs one attempt on the connection, which is opened before if there is none.
    ///
    /// # Errors
    /// Those of the operation, and those of opening.
    pub async fn with<T, E, F, Fut, Opening>(&self, operation: F) -> Result<T, E>
    where
        O: Fn() -> Opening,
        Opening: Future<Output = Result<C, OpenError>>,
        F: FnOnce(C) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Fault + From<OpenError>,
    {
        // The common case needs no future of its own.
        let (connection, number) = match self.found() {
            Ok(found) => found,
            Err(failed_before) => self.get(failed_before).await?,
        };
        let in_use = InUse(self, number);
        let outcome = operation(connection).await;
        let keep = match &outcome {
            Err(error) if error.must_reconnect() => {
                let is_broken = error.delivery() == Some(Delivery::MaybeSent);
                !is_broken && self.is_young(number)
            }
            _ => true,
        };
        if keep {
            in_use.keep();
        }
        outcome
    }

    /// Opens a connection, or waits for somebody who does. There was none, after so many that could
    /// not be opened.
    async fn get<Opening>(&self, failed_before: u64) -> Result<(C, u64), OpenError>
    where
        O: Fn() -> Opening,
        Opening: Future<Output = Result<C, OpenError>>,
    {
        let mut last_failure = self.gate.lock().await;
        // Somebody may have opened it meanwhile, or failed to.
        match self.found() {
            Ok(found) => return Ok(found),
            Err(failed) if failed != failed_before => {
                if let Some(error) = &*last_failure {
                    return Err(error.clone());
                }
            }
            Err(_) => {}
        }
        let resets = self.current().resets;
        let opened = (self.open)().await;
        let mut current = self.current();
        match opened {
            Ok(connection) => {
                current.opened += 1;
                current.since = Some(Instant::now());
                // A reset meanwhile leaves it to this caller alone.
                current.connection = (current.resets == resets).then(|| connection.clone());
                Ok((connection, current.opened))
            }
            Err(error) => {
                *last_failure = Some(error.clone());
                current.failed += 1;
                Err(error)
            }
        }
    }

    /// The connection and its number; if there is none, how many could not be opened so far.
    #[inline]
    fn found(&self) -> Result<(C, u64), u64> {
        let current = self.current();
        match &current.connection {
            Some(connection) => Ok((connection.clone(), current.opened)),
            None => Err(current.failed),
        }
    }
}

/// Drops the connection of this number when it is dropped itself: after a failure, or with an
/// attempt that was cut.
struct InUse<'a, C, O, E>(&'a Reconnect<C, O, E>, u64);

impl<C, O, E> InUse<'_, C, O, E> {
    fn keep(self) {
        core::mem::forget(self);
    }
}

impl<C, O, E> Drop for InUse<'_, C, O, E> {
    fn drop(&mut self) {
        self.0.lost(self.1);
    }
}

impl<C, O, E> fmt::Debug for Reconnect<C, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconnect")
            .field("opened", &self.opened())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        facts::{
            fault::{FaultKind, TimedOut},
            grpc::GrpcCode,
            not_opened::NotOpened,
        },
        judge::Verdict,
        policy::Policy,
    };
    use core::{
        sync::atomic::{AtomicU32, Ordering::Relaxed},
        time::Duration,
    };

    #[derive(Clone, Debug, PartialEq)]
    enum Failure {
        Reset,
        ReadOnly,
        Busy,
        TimedOut,
    }

    impl From<TimedOut> for Failure {
        fn from(_: TimedOut) -> Self {
            Failure::TimedOut
        }
    }

    impl Fault for Failure {
        fn delivery(&self) -> Option<Delivery> {
            (*self == Failure::Reset).then_some(Delivery::MaybeSent)
        }
        fn kind(&self) -> Option<FaultKind> {
            Some(FaultKind::Transient)
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
            let open = || async { Ok::<_, Failure>(connections.fetch_add(1, Relaxed)) };
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
        let source = Reconnect::new(|| async { Ok::<_, Failure>(()) });
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
            Ok::<_, Failure>(())
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
    async fn an_attempt_that_is_cut_drops_its_connection() {
        let connections = AtomicU32::new(0);
        let source =
            Reconnect::new(|| async { Ok::<_, Failure>(connections.fetch_add(1, Relaxed)) });
        let answer = POLICY
            .retry(|| {
                source.with(|connection| async move {
                    if connection == 0 {
                        core::future::pending::<()>().await;
                    }
                    Ok::<_, Failure>(connection)
                })
            })
            .attempt_timeout(Duration::from_secs(1))
            .await;
        assert_eq!((answer, source.opened()), (Ok(1), 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_to_open_is_a_failure_of_the_attempt() {
        let tried = AtomicU32::new(0);
        let source = Reconnect::new(|| async {
            match tried.fetch_add(1, Relaxed) {
                0 | 1 => Err(Failure::Reset),
                _ => Ok(()),
            }
        });
        let answer = POLICY
            .retry(|| source.with(|()| async { Ok::<_, Failure>(42) }))
            .await;
        assert_eq!((answer, source.opened()), (Ok(42), 1));
        assert_eq!(tried.load(Relaxed), 3);
    }

    /// A server that hangs: each opening takes a second to fail.
    #[tokio::test(start_paused = true)]
    async fn those_who_wait_for_an_opening_fail_with_it() {
        let tried = AtomicU32::new(0);
        let source = Reconnect::new(|| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            match tried.fetch_add(1, Relaxed) {
                0 => Err(Failure::Reset),
                _ => Ok(()),
            }
        });
        let source = &source;
        let began = tokio::time::Instant::now();
        let call = async |after| {
            tokio::time::sleep(Duration::from_millis(after)).await;
            let outcome = source.with(|()| async { Ok::<_, Failure>(42) }).await;
            (outcome, began.elapsed().as_millis())
        };
        let outcomes = tokio::join!(call(0), call(1), call(500), call(1_500));
        let failed = (Err(Failure::Reset), 1_000);
        // The last one comes later, and opens by itself.
        let opened = (Ok(42), 2_500);
        assert_eq!(outcomes, (failed.clone(), failed.clone(), failed, opened));
        assert_eq!((source.opened(), tried.load(Relaxed)), (1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn an_opening_that_is_cut_is_taken_over_by_the_next() {
        let source = Reconnect::new(|| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, Failure>(())
        });
        let use_it = || source.with(|()| async { Ok::<_, Failure>(42) });
        let cut = tokio::time::timeout(Duration::from_millis(500), use_it());
        let (cut, next) = tokio::join!(cut, use_it());
        assert!(cut.is_err());
        assert_eq!((next, source.opened()), (Ok(42), 1));
    }

    #[test]
    fn what_was_not_opened_is_safe_to_repeat_and_no_more_than_that() {
        struct Says(Option<GrpcCode>);
        impl Fault for Says {
            fn grpc_code(&self) -> Option<GrpcCode> {
                self.0
            }
        }
        let careful = Policy::exponential().idempotent(false);
        let unavailable = Some(GrpcCode::Unavailable);
        assert_eq!(careful.judge(&Says(unavailable)), Verdict::MaybeApplied);
        for (said, verdict) in [
            (unavailable, Verdict::from(true)),
            (Some(GrpcCode::PermissionDenied), Verdict::Permanent),
            (None, Verdict::NothingKnown),
        ] {
            assert_eq!(careful.judge(&NotOpened(Says(said))), verdict, "{said:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_asks_to_be_dropped_is() {
        let source = Reconnect::new(|| async { Ok::<_, Failure>(()) });
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
            Ok::<_, Failure>(())
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
        let source = Reconnect::new(|| async { Ok::<_, Failure>(7_u32) });
        is_send(POLICY.retry(|| source.with(|n| async move { Ok::<_, Failure>(n) })));
    }
}
