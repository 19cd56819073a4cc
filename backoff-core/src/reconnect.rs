//! A shared connection that is opened again after failures that require a new connection.

use crate::{
    call::cut_flag,
    delay::jitter::Jitter,
    facts::{
        fault::{Delivery, Fault},
        not_opened::{FromNotOpened, NotOpened},
    },
    policy::Policy,
    runtime::{Sleep, Tokio},
};
use core::{
    fmt,
    future::{Future, poll_fn},
    mem,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tokio::sync::Notify;

mod current;
#[cfg(test)]
mod tests;

use current::{Connection, Current, Look};

/// How long a connection is kept although its server sends clients to another server. We chose the
/// value: ten new connections a second are no burden, and a delay of a tenth of a second is not
/// noticeable.
const LEAST_AGE: Duration = Duration::from_millis(100);

/// The pauses between openings. We chose the values; the page of [`Reconnect`] gives the reasons.
const PAUSES: Policy = Policy::exponential()
    .base(Duration::from_millis(20))
    .factor(1.5)
    .max_backoff(Duration::from_secs(1))
    .jitter(Jitter::Equal);

/// A connection that all callers share. It is opened again after a failure that makes the connection
/// unusable ([`Fault::must_reconnect`]).
///
/// If the connection itself is the problem, another call on the same connection does not help. For
/// example, a Redis primary was killed, or it has become a replica and refuses every write on a
/// connection that stays open. So each attempt takes its connection from a `Reconnect`:
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
/// The connection is opened when it is first needed. Every caller gets a clone of the connection, which
/// is the intended use of a multiplexed connection or a channel. If many attempts fail on the same
/// connection, a new connection is opened once: a failure drops only the connection on which it
/// happened.
///
/// A server that answers, but sends its clients to another server, may do so for as long as the address
/// still leads to it. To avoid a new connection for every such answer, a working connection is kept for
/// at least 100 ms ([`least_age`](Self::least_age)). A broken connection is dropped at once.
///
/// Some work must stay on one connection: a transaction under Redis' `WATCH` reads and writes on the
/// same connection. So the step that reads returns the connection together with the value, and if the
/// write fails with an error that requires a new connection, the caller calls [`reset`](Self::reset).
///
/// # Failed openings
///
/// Opening is part of an attempt, and a failed opening is a failed attempt: `with` makes the error of
/// the operation from [`NotOpened`], which says that nothing was sent. So the attempt is repeated even
/// if the policy is not [idempotent](Policy::idempotent). `OpenError` is the error of opening. Every
/// caller whose attempt fails with an opening gets a clone of this error. If the error cannot be
/// cloned, put it into an `Arc`.
///
/// After a failed opening there is a pause without openings. During the pause, a call fails at once
/// with a clone of the last error, and the rest of the pause is the error's hint
/// ([`Fault::retry_after`]). A policy follows the hint: the next attempt begins when the pause is over.
/// However many tasks call, a server that is down gets about one opening a second.
///
/// A pause is 10 to 20 ms after the first failure, half as much again after each further failure in a
/// row, and 0.5 to 1 s in the end. The first pause is short, because a failover often takes less than a
/// second. The pauses grow slowly for the same reason: when the new server is ready, the rest of the
/// pause is on average a quarter of the time that the failover took. A pause is partly random, so that
/// the clients of one server do not come back together. [`opening_backoff`](Self::opening_backoff) sets
/// other pauses.
///
/// A connection can also open and then break: for example, a proxy accepts connections for a server that
/// is down. If a connection breaks within a second of its opening, the opening counts like a failed one,
/// and its pause begins when the connection was opened; if the server has answered a call on the
/// connection, the pause is a second. So connections that serve some calls and then break are opened once
/// a second, however many tasks call. But no opening failed, so there is no error of opening to return: a
/// call waits inside `with` for the rest of the pause, and then opens a connection.
///
/// If a connection has lived for a second, the next call after it breaks opens another one at once, and
/// the pauses begin again with the first. The same holds after [`reset`](Self::reset), and after a server
/// has sent its clients to another server.
///
/// # Openings that hang
///
/// While one caller opens a connection, the other callers wait for the result, and a failure is the
/// result for all of them: if a server hangs, no caller queues behind the timeouts of others. If there is
/// no result after a second, one of the waiting callers begins another opening, and so on: the server may
/// hang, or the caller who opens keeps its future and does not poll it, as a branch of a `select!` loop
/// may do. So a server that hangs gets one opening a second, and no caller holds the others up for longer
/// than a second. All callers, also those who are opening, use the connection that is opened first.
/// An opening that its caller drops, or that panics, is not a result for the other callers: the next
/// caller begins a new opening at once. [`reset`](Self::reset) has the same effect.
///
/// Each caller whose own opening hangs waits until some caller has opened a connection. So give the
/// opening a time limit of its own, well below the time limit of an attempt: the error of an opening that
/// is cut says that nothing was sent, and the error of an attempt that is cut does not say so.
///
/// # Dropped attempts
///
/// If a timeout of this crate cuts an attempt (`attempt_timeout` and `timeout`, as methods and as keys
/// of the attribute), the connection is dropped too, because it may hang for ever. If the caller drops
/// an attempt, the other callers keep the connection: for example, a branch of `select!` that was not
/// taken, or an aborted task. A plain `tokio::time::timeout` around a call drops the attempt like a
/// caller, and `Reconnect` cannot distinguish the two. So if a server can hang, use a timeout of this
/// crate or the client's own timeout, whose error says "timed out", or call [`reset`](Self::reset).
// The lock comes first, which saves two instructions of each call.
#[repr(C)]
pub struct Reconnect<C, O, OpenError> {
    current: Mutex<Current<C, OpenError>>,
    open: O,
    /// Whether the server has not answered a call on the newest connection yet. Outside the lock, so that
    /// a success needs the lock once.
    is_new: AtomicBool,
    /// Wakes the callers who wait for a connection.
    changed: Notify,
    least_age: Duration,
    pauses: Policy,
}

impl<C, O, OpenError> Reconnect<C, O, OpenError> {
    /// Opens connections with this function. The first connection is opened when it is needed.
    pub const fn new(open: O) -> Self {
        Reconnect {
            open,
            current: Mutex::new(Current::new()),
            is_new: AtomicBool::new(false),
            changed: Notify::const_new(),
            least_age: LEAST_AGE,
            pauses: PAUSES,
        }
    }

    /// The shortest time for which a connection is kept if it works but leads to the wrong server. The
    /// default is 100 ms. With zero, every such answer opens another connection.
    #[must_use]
    pub fn least_age(mut self, age: Duration) -> Self {
        self.least_age = age;
        self
    }

    /// Sets the pauses after failed openings, and after connections that break within a second and before an
    /// answer, to the waits of this policy: the policy's first wait after the first failure, its second
    /// wait after the second failure in a row, and so on. Only the waits of the policy are used; its
    /// attempts and its deadline have no effect. The page of [`Reconnect`] describes the default pauses.
    /// With `Policy::constant(Duration::ZERO)` there are no pauses, and every call may open a connection.
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

    /// The number of connections opened so far.
    pub fn opened(&self) -> u64 {
        self.current().opened
    }

    /// The number of failed openings so far.
    pub fn failed(&self) -> u64 {
        self.current().failed
    }

    /// Drops the connection, and ends the pause after an opening: the next attempt opens another
    /// connection. If an opening is running, the callers who wait for it begin another opening at once,
    /// even if it hangs, and its result is used only by its own caller: no other caller gets the
    /// connection or the error.
    pub fn reset(&self) {
        let dropped = self.current().reset();
        drop(dropped);
        self.changed.notify_waiters();
    }

    #[inline]
    fn current(&self) -> MutexGuard<'_, Current<C, OpenError>> {
        // A panic under this lock leaves no half-done change.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt failed on the connection with this number and requires another connection.
    #[cold]
    fn failed_on(&self, number: u64, error: &(impl Fault + ?Sized)) {
        let delivery = error.delivery();
        if delivery.is_none() {
            self.answered(number);
        }
        let least_age = match delivery {
            Some(Delivery::MaybeSent) => Duration::ZERO,
            _ => self.least_age,
        };
        self.lost(number, least_age, delivery.is_none());
    }

    /// The server has answered a call on the connection with this number.
    #[cold]
    fn answered(&self, number: u64) {
        let mut current = self.current();
        if current.answered(number) {
            self.is_new.store(false, Relaxed);
        }
    }

    /// Drops the connection with this number, if it was opened at least this long ago.
    fn lost(&self, number: u64, least_age: Duration, is_answer: bool) {
        let dropped = self.current().lost(number, least_age, is_answer);
        drop(dropped);
    }
}

impl<C: Clone, O, OpenError: Clone> Reconnect<C, O, OpenError> {
    /// Runs one attempt on the connection. Opens a connection first if there is none.
    ///
    /// `E` is the error of the operation. A failed opening is converted to `E`, so `E` implements
    /// `From<NotOpened<OpenError>>`. The page of [`NotOpened`] lists the error types that have this
    /// conversion.
    ///
    /// # Errors
    /// The errors of the operation, and [`NotOpened`] if no connection was opened.
    ///
    /// # Panics
    /// Panics if it has to wait for another caller's opening, or for the end of a pause, outside a tokio
    /// runtime.
    pub async fn with<T, E, F, Fut, Opening>(&self, operation: F) -> Result<T, E>
    where
        O: Fn() -> Opening,
        Opening: Future<Output = Result<C, OpenError>>,
        F: FnOnce(C) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Fault + FromNotOpened<OpenError>,
    {
        // The rare case is boxed, so that the future of the common case is small.
        let Connection { number, connection } = if let Some(found) = self.found() {
            found
        } else {
            match Box::pin(self.get()).await {
                Ok(found) => found,
                Err(error) => return Err(E::from_not_opened(error)),
            }
        };
        let in_use = InUse(self, number);
        let outcome = operation(connection).await;
        // Read back, so that the future has the number once.
        let InUse(_, number) = in_use;
        mem::forget(in_use);
        match &outcome {
            Err(error) if error.must_reconnect() => self.failed_on(number, error),
            _ if self.is_new.load(Relaxed) => self.answered(number),
            _ => {}
        }
        outcome
    }

    #[inline(always)]
    fn found(&self) -> Option<Connection<C>> {
        self.current().connection.clone()
    }

    /// Opens a connection, or waits for the caller who opens one.
    async fn get<Opening>(&self) -> Result<Connection<C>, NotOpened<OpenError>>
    where
        O: Fn() -> Opening,
        Opening: Future<Output = Result<C, OpenError>>,
    {
        let failed_before = self.failed();
        loop {
            let changed = self.changed.notified();
            let look = self.current().look(failed_before);
            match look {
                Look::Decided(decided) => return decided,
                Look::Wait(time) => {
                    before(changed, pin!(Tokio.sleep(time))).await;
                }
                Look::Open(number) => {
                    if let Some(decided) = self.open(number).await {
                        return decided;
                    }
                }
            }
        }
    }

    /// Opens a connection. `None` if another caller opens one first.
    async fn open<Opening>(
        &self,
        number: u64,
    ) -> Option<Result<Connection<C>, NotOpened<OpenError>>>
    where
        O: Fn() -> Opening,
        Opening: Future<Output = Result<C, OpenError>>,
    {
        let _running = RunningOpening(self, number);
        // Boxed, so that the futures of the waiting callers need no space for the opening.
        let mut opening = Box::pin((self.open)());
        let opened = loop {
            let changed = self.changed.notified();
            if self.current().connection.is_some() {
                return None;
            }
            if let Some(opened) = before(changed, opening.as_mut()).await {
                break opened;
            }
        };
        let mut current = self.current();
        let ended = current.ended(number, opened, &self.pauses);
        // If only this caller uses the connection, the next answer on the shared one takes this back.
        self.is_new.store(true, Relaxed);
        Some(ended)
    }
}

/// The output of `future`; `None` if `other` is ready first.
async fn before<T>(
    other: impl Future<Output = ()>,
    mut future: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    let mut other = pin!(other);
    poll_fn(|cx| match other.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => future.as_mut().poll(cx).map(Some),
    })
    .await
}

/// An opening that is running. If its caller drops it, another caller begins another opening.
struct RunningOpening<'a, C, O, OpenError>(&'a Reconnect<C, O, OpenError>, u64);

impl<C, O, OpenError> Drop for RunningOpening<'_, C, O, OpenError> {
    fn drop(&mut self) {
        self.0.current().stopped(self.1);
        self.0.changed.notify_waiters();
    }
}

/// Drops the connection with this number when a timeout drops this value.
struct InUse<'a, C, O, OpenError>(&'a Reconnect<C, O, OpenError>, u64);

impl<C, O, OpenError> Drop for InUse<'_, C, O, OpenError> {
    fn drop(&mut self) {
        if cut_flag::is_cutting() {
            self.0.lost(self.1, Duration::ZERO, false);
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
