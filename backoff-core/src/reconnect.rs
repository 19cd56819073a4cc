//! A connection that is opened anew when the kind of a failure asks for it.

use crate::{
    delay::jitter::Jitter,
    drive::mark,
    facts::{
        fault::{Delivery, Fault},
        not_opened::{FromNotOpened, NotOpened},
    },
    policy::Policy,
    runtime::{Random, Tokio},
};
use core::{fmt, future::Future, mem, time::Duration};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::{sync::Mutex as Gate, time::Instant};

#[cfg(test)]
mod tests;

/// How long a connection is kept although the server behind it sends its clients elsewhere. A choice
/// of this crate: ten connections a second are no burden, and nobody notices a tenth of a second.
const LEAST_AGE: Duration = Duration::from_millis(100);

/// The pauses after openings that failed. A choice of this crate; the page of [`Reconnect`] says why.
const PAUSES: Policy = Policy::exponential()
    .base(Duration::from_millis(20))
    .factor(1.5)
    .max_backoff(Duration::from_secs(1))
    .jitter(Jitter::Equal);

/// A connection shared by all who use it, and opened anew after a failure that says that it is of
/// no more use ([`Fault::must_reconnect`]).
///
/// Calling an operation again is not enough where the connection itself is at fault: a Redis
/// primary that was killed, or that has become a replica and refuses every write on a connection
/// that stays open. So an attempt takes its connection from here:
///
/// ```
/// use backoff_core::{Policy, Reconnect};
/// use std::{cell::Cell, io, sync::Arc};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> io::Result<()> {
/// let opened = Cell::new(0);
/// let redis = Reconnect::new(|| {
///     opened.set(opened.get() + 1);
///     std::future::ready(Ok::<_, Arc<io::Error>>(opened.get())) // or your client's connection
/// });
///
/// let answer = Policy::exponential()
///     .retry(|| {
///         redis.with(|connection| async move {
///             // The first connection breaks, the second one works.
///             let broken = io::Error::from(io::ErrorKind::BrokenPipe);
///             if connection == 1 { Err(broken) } else { Ok("pong") }
///         })
///     })
///     .await?;
/// assert_eq!((answer, opened.get()), ("pong", 2));
/// # Ok(()) }
/// ```
///
/// The connection is opened when it is first needed. Everybody gets a clone of it, as a
/// multiplexed connection or a channel is meant to be used. When many attempts fail on the same
/// connection, it is opened anew once: a failure drops only the connection that it happened on.
///
/// A server that answers, but sends its clients elsewhere, may do so for as long as the address still
/// leads to it. So that not every answer opens a connection, one that works is kept for at least
/// 100 ms ([`least_age`](Self::least_age)); one that broke is not.
///
/// What belongs to one connection has to stay on it: a transaction under Redis' `WATCH` is read and
/// written on the same one, so what reads hands it on with what it has read, and a failure of the
/// write that asks for another connection calls [`reset`](Self::reset).
///
/// # Openings that fail
///
/// Opening is part of an attempt, and its failure a failure of the attempt: `with` makes the error
/// of the operation from [`NotOpened`], which says that nothing was sent. So it is repeated also
/// where the policy is not [idempotent](Policy::idempotent). `OpenError` is the error of opening.
/// Everybody who fails with an opening gets a clone of it; one that cannot be cloned goes into an
/// `Arc`.
///
/// While somebody opens a connection the others wait for it, and if that fails, it fails for all of
/// them: where a server hangs, nobody queues behind the timeouts of the others. So give the opening a
/// time limit of its own, well below that of an attempt: an opening that is cut together with its
/// attempt has failed for nobody else, and the next caller begins anew.
///
/// After an opening that failed there is a pause in which nothing is opened. A call then fails at
/// once with a clone of the last error, and the rest of the pause is its hint
/// ([`Fault::retry_after`]), which a policy obeys: the next attempt begins when the pause is over.
/// `with` itself never waits for the end of a pause. However many tasks call, a server that is down
/// is asked about once a second.
///
/// A pause is 10 to 20 ms after the first failure, half as much again after each further one in a
/// row, and 0.5 to 1 s in the end; an opening that succeeds, and [`reset`](Self::reset), begin anew.
/// The first pause is short, because a failover often takes less than a second. The pauses grow slowly
/// for the same reason: when the new server is there, the rest of the pause is on average a quarter of
/// the time that the failover took. A pause is partly random, so that the clients of one server do not come back
/// together.
/// [`opening_backoff`](Self::opening_backoff) sets other pauses.
///
/// # Attempts that are dropped
///
/// An attempt that is cut by a timeout of this crate (`attempt_timeout` and `timeout`, as methods and
/// as keys of the attribute) drops its connection too, which may hang for ever. An attempt that its
/// caller drops leaves the connection to the others: a branch of `select!` that was not taken, a task
/// that was aborted. A plain `tokio::time::timeout` around a call drops it as such a caller does, and
/// nothing tells the two apart. So where a server can hang, use a timeout of this crate, or the
/// client's own, whose error says that it timed out, or call [`reset`](Self::reset).
pub struct Reconnect<C, O, OpenError> {
    open: O,
    current: Mutex<Current<C, OpenError>>,
    /// Held by the one who opens.
    gate: Gate<()>,
    least_age: Duration,
    pauses: Policy,
}

struct Current<C, OpenError> {
    connection: Option<C>,
    since: Option<Instant>,
    /// How many connections were opened, and so the number of this one.
    opened: u64,
    /// How many could not be opened.
    failed: u64,
    /// How often [`Reconnect::reset`] was called.
    resets: u64,
    /// The last opening, if it failed.
    failure: Option<Failure<OpenError>>,
}

/// An opening that failed.
struct Failure<OpenError> {
    error: OpenError,
    at: Instant,
    /// How long nothing is opened after it.
    pause: Duration,
    /// How many failed in a row, without this one.
    before: u32,
}

impl<OpenError: Clone> Failure<OpenError> {
    /// What is left of the pause, if anything is.
    fn remaining(&self) -> Option<Duration> {
        let remaining = self.pause.checked_sub(self.at.elapsed());
        remaining.filter(|remaining| !remaining.is_zero())
    }

    fn told(&self) -> NotOpened<OpenError> {
        NotOpened {
            error: self.error.clone(),
            pause: self.remaining(),
        }
    }
}

impl<C, O, OpenError> Reconnect<C, O, OpenError> {
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
                failure: None,
            }),
            gate: Gate::const_new(()),
            least_age: LEAST_AGE,
            pauses: PAUSES,
        }
    }

    /// Keeps a connection that works, but leads to the wrong server, for at least this long; 100 ms
    /// where nothing is said. With zero, every such answer opens another.
    #[must_use]
    pub fn least_age(mut self, age: Duration) -> Self {
        self.least_age = age;
        self
    }

    /// After openings that failed, pauses as this policy waits between attempts: the first wait after
    /// the first failure, the second one after the second in a row, and so on. Only the waits count;
    /// neither the policy's attempts nor its deadline ends anything here. The page of [`Reconnect`]
    /// names the pauses where nothing is said. With `Policy::constant(Duration::ZERO)` there are
    /// none, and every call may open.
    ///
    /// ```
    /// use backoff_core::{Policy, Reconnect, TimedOut};
    /// use std::time::Duration;
    ///
    /// let open = || std::future::ready(Ok::<u32, TimedOut>(7));
    /// let slowly = Policy::exponential().base(Duration::from_millis(100));
    /// let source: Reconnect<u32, _, TimedOut> = Reconnect::new(open).opening_backoff(slowly);
    /// assert_eq!(source.opened(), 0);
    /// ```
    #[must_use]
    pub fn opening_backoff(mut self, policy: Policy) -> Self {
        self.pauses = policy;
        self
    }

    /// How many connections were opened so far.
    pub fn opened(&self) -> u64 {
        self.current().opened
    }

    /// How many openings failed so far.
    pub fn failed(&self) -> u64 {
        self.current().failed
    }

    /// Drops the connection, and ends the pause after an opening that failed: the next attempt opens
    /// another connection. An opening that has begun already counts for its own caller only: its
    /// connection or its error is handed to nobody else, and those who wait for it open another one.
    pub fn reset(&self) {
        let mut current = self.current();
        current.resets += 1;
        let dropped = (current.connection.take(), current.failure.take());
        drop(current);
        drop(dropped);
    }

    #[inline]
    fn current(&self) -> MutexGuard<'_, Current<C, OpenError>> {
        // What panics while it is held leaves nothing half done.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt failed on the connection of this number and asks for another one.
    #[cold]
    fn failed_on(&self, number: u64, error: &(impl Fault + ?Sized)) {
        let is_broken = error.delivery() == Some(Delivery::MaybeSent);
        if is_broken || !self.is_young(number) {
            self.lost(number);
        }
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
            let dropped = current.connection.take();
            drop(current);
            drop(dropped);
        }
    }
}

impl<C: Clone, O, OpenError: Clone> Reconnect<C, O, OpenError> {
    /// Runs one attempt on the connection, which is opened before if there is none.
    ///
    /// `E` is the error of the operation. An opening that failed becomes one: `E` implements
    /// `From<NotOpened<OpenError>>`. [`NotOpened`] says for which errors that is done already.
    ///
    /// # Errors
    /// Those of the operation, and [`NotOpened`] where no connection was opened.
    pub async fn with<T, E, F, Fut, Opening>(&self, operation: F) -> Result<T, E>
    where
        O: Fn() -> Opening,
        Opening: Future<Output = Result<C, OpenError>>,
        F: FnOnce(C) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Fault + FromNotOpened<OpenError>,
    {
        // The rare case has a box of its own, so that the common one is a small future.
        let (connection, number) = match self.found() {
            Some(found) => found,
            None => match Box::pin(self.get()).await {
                Ok(found) => found,
                Err(error) => return Err(E::from_not_opened(error)),
            },
        };
        let in_use = InUse(self, number);
        let outcome = operation(connection).await;
        mem::forget(in_use);
        if let Err(error) = &outcome
            && error.must_reconnect()
        {
            self.failed_on(number, error);
        }
        outcome
    }

    /// The connection and its number.
    #[inline(always)]
    fn found(&self) -> Option<(C, u64)> {
        let current = self.current();
        let connection = current.connection.clone()?;
        Some((connection, current.opened))
    }

    /// Opens a connection, or waits for somebody who does.
    async fn get<Opening>(&self) -> Result<(C, u64), NotOpened<OpenError>>
    where
        O: Fn() -> Opening,
        Opening: Future<Output = Result<C, OpenError>>,
    {
        let failed_before = match self.look(None) {
            Look::Decided(decided) => return decided,
            Look::Open { failed, .. } => failed,
        };
        let _open = self.gate.lock().await;
        // Somebody may have opened it meanwhile, or failed to.
        let resets = match self.look(Some(failed_before)) {
            Look::Decided(decided) => return decided,
            Look::Open { resets, .. } => resets,
        };
        // In a box of its own, so that those who wait for it need no room for it.
        let opened = Box::pin((self.open)()).await;
        let mut current = self.current();
        // An opening that began before a reset is for this caller alone, whatever comes of it.
        let is_newest = current.resets == resets;
        match opened {
            Ok(connection) => {
                current.opened += 1;
                current.since = Some(Instant::now());
                current.connection = is_newest.then(|| connection.clone());
                current.failure = None;
                Ok((connection, current.opened))
            }
            Err(error) => {
                current.failed += 1;
                if !is_newest {
                    return Err(NotOpened::new(error));
                }
                let failure = self.failure(error, current.failure.take());
                Err(current.failure.insert(failure).told())
            }
        }
    }

    /// Whether there is a connection, or a reason not to open one: a pause, or an opening that has
    /// failed since so many had.
    fn look(&self, failed_before: Option<u64>) -> Look<C, OpenError> {
        let current = self.current();
        if let Some(connection) = &current.connection {
            return Look::Decided(Ok((connection.clone(), current.opened)));
        }
        if let Some(failure) = &current.failure {
            let has_failed = failed_before.is_some_and(|failed| failed != current.failed);
            if has_failed || failure.remaining().is_some() {
                return Look::Decided(Err(failure.told()));
            }
        }
        Look::Open {
            failed: current.failed,
            resets: current.resets,
        }
    }

    /// An opening that failed now, after this one.
    fn failure(&self, error: OpenError, last: Option<Failure<OpenError>>) -> Failure<OpenError> {
        let (before, previous) = last.map_or((0, Duration::ZERO), |last| {
            (last.before.saturating_add(1), last.pause)
        });
        Failure {
            error,
            at: Instant::now(),
            pause: self.pauses.backoff(before, previous, Tokio.random()),
            before,
        }
    }
}

/// What a caller without a connection finds.
enum Look<C, OpenError> {
    Decided(Result<(C, u64), NotOpened<OpenError>>),
    /// This caller is to open one. So many openings have failed, and so many resets were called.
    Open {
        failed: u64,
        resets: u64,
    },
}

/// Drops the connection of this number when it is dropped itself by a timeout.
struct InUse<'a, C, O, OpenError>(&'a Reconnect<C, O, OpenError>, u64);

impl<C, O, OpenError> Drop for InUse<'_, C, O, OpenError> {
    fn drop(&mut self) {
        if mark::is_cutting() {
            self.0.lost(self.1);
        }
    }
}

impl<C, O, OpenError> fmt::Debug for Reconnect<C, O, OpenError> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.current();
        f.debug_struct("Reconnect")
            .field("opened", &current.opened)
            .field("failed", &current.failed)
            .finish_non_exhaustive()
    }
}
