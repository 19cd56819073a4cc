//! The rate that a service allows, found from its 429s and shared by all calls that meet the same limit.

mod line;
mod rules;
#[cfg(feature = "metrics")]
mod shown;
mod standing;

#[cfg(all(test, loom))]
mod races;
#[cfg(all(test, not(loom)))]
mod tests;

pub use rules::RateChange;
pub(crate) use rules::Reply;
pub(crate) use standing::{Left, Queued, stand_blocking};

use crate::sync::{Mutex, MutexGuard};
use core::{
    fmt,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    task::Waker,
    time::Duration,
};
use line::{Line, Ticket};
use rules::{AFTER_REPLY, Rules, SETTLE};
use std::sync::{Arc, OnceLock, PoisonError};

/// Finds the rate that a service allows, from its 429s. Declare one `static` for each limit of a service,
/// and name it in a policy with [`Policy::rate`](crate::Policy::rate).
///
/// Before the first 429, no call is delayed. After a 429, all calls that share the `Rate` wait in one queue,
/// first in, first out, and go one after the other at a rate that follows the replies. When no call has been
/// refused for a while (a minute, or longer if [`settle`](Self::settle) is long), the `Rate` switches itself
/// off.
///
/// ```
/// use backoff_core::{Policy, Rate};
///
/// static GMAIL: Rate = Rate::new();
/// const POLICY: Policy = Policy::exponential().rate(&GMAIL);
///
/// assert_eq!((GMAIL.per_second(), GMAIL.waiting()), (None, 0)); // no 429 yet
/// ```
///
/// # What a call does
/// - A call that waits in the queue makes no attempt and pays nothing from a budget. One attempt takes one
///   place; a read-modify-write is one attempt.
/// - After a 429 a call waits as long as the server asks, or not at all, and then joins the end of the queue.
///   After another failure a call waits as the policy says, and then joins the queue.
/// - The time in the queue counts against `deadline` and `timeout`. A *retry* whose turn would come after the
///   deadline, as the rate is now, ends at once with its last error and
///   [`StopReason::Rate`](crate::StopReason::Rate). A retry that stands in the queue begins at its turn, also if
///   the rate has fallen and the turn comes after the deadline. A first attempt has no error, so it waits for its
///   turn. `timeout` and `max_wait` can make an error, so they end the waiting. A call with `attempt_timeout`
///   can make one too: its waiting ends at the deadline.
/// - A blocking call keeps its last error, so the waiting of its retries always ends at the deadline.
/// - A call that is dropped leaves the queue.
///
/// One `Rate` for two limits slows the calls of both to the lower rate: declare one for each. All calls of a `Rate`
/// need the same clock. The clients of Google and AWS have their own loops and do not ask a `Rate`.
pub struct Rate {
    /// [`ON`], [`COUNTS`], and in the lowest byte the number of the last refusal that counted.
    flag: AtomicU32,
    /// How many attempts run.
    in_flight: AtomicU32,
    /// How many calls were admitted since the last one that took the lock.
    admitted: AtomicU32,
    settle: f64,
    name: Option<&'static str>,
    /// Made at the first reply.
    shared: OnceLock<Arc<Shared>>,
}

/// Calls wait for their turn.
const ON: u32 = 1 << 8;
/// An admitted call is only counted.
const COUNTS: u32 = 1 << 9;
/// Of the calls that are only counted, each eighth takes the lock and reads the clock.
const LOCKS_EACH: u32 = 8;

/// The parts behind the lock, which a waiting call refers to.
struct Shared {
    state: Mutex<State>,
    #[cfg(feature = "metrics")]
    name: Option<&'static str>,
}

struct State {
    rules: Rules,
    line: Line,
    /// When the first call in the queue asks again by itself, in nanoseconds.
    first_asks: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A call leaves the queue.
    fn leaves(&mut self, ticket: Ticket) -> Option<Waker> {
        if self.line.is_first(ticket) {
            self.first_asks = AFTER_REPLY;
        }
        self.line.leave(ticket)
    }

    /// After each change. Returns the first call in the queue, if its turn comes before it asks by itself.
    fn changed(&mut self, in_flight: u32) -> Option<Waker> {
        if self.line.is_empty() {
            self.rules.emptied();
            return None;
        }
        self.rules.queued();
        let turn = self.asks_at(in_flight);
        if turn >= self.first_asks {
            return None;
        }
        self.first_asks = turn;
        self.line.first()
    }

    /// When the first call in the queue asks by itself: at its turn, or at the end of the rate, because the reply
    /// that it waits for may never come.
    fn asks_at(&self, in_flight: u32) -> u64 {
        match self.rules.is_on() {
            true => self.rules.turn(in_flight).min(self.rules.until()),
            false => 0,
        }
    }
}

/// The place of a call in the queue. The call leaves the queue when this is dropped.
pub(crate) struct Place {
    shared: Arc<Shared>,
    ticket: Ticket,
}

impl Drop for Place {
    fn drop(&mut self) {
        let (_left, woken) = {
            let mut state = self.shared.lock();
            let left = state.leaves(self.ticket);
            let woken = left.is_some().then(|| state.changed(0)).flatten();
            (left, woken)
        };
        wake(woken);
        #[cfg(feature = "metrics")]
        self.shared.show();
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The answer of the queue to a waiting call.
enum Asked {
    /// The attempt begins; this is the number of the last refusal.
    Goes(u8),
    /// The call is the first, and may ask again after this time.
    After(Duration),
    /// The call is woken when it may ask again.
    NotYet,
}

impl Default for Rate {
    fn default() -> Self {
        Self::new()
    }
}

impl Rate {
    /// A rate for a limit that nobody has met yet.
    #[must_use]
    pub const fn new() -> Self {
        Rate {
            flag: AtomicU32::new(0),
            in_flight: AtomicU32::new(0),
            admitted: AtomicU32::new(0),
            settle: SETTLE,
            name: None,
            shared: OnceLock::new(),
        }
    }

    /// How long the rate stays near the rate that was admitted last, before it grows fast: 1.8 s by default.
    /// After about five times as long, the rate is ten times as high. For a quota of a few calls a minute,
    /// write about 40 s.
    ///
    /// # Panics
    /// Unless `settle` is from 10 ms to five minutes. In a constant, the panic is a compile error.
    ///
    /// ```
    /// use backoff_core::Rate;
    /// use std::time::Duration;
    ///
    /// static A_FEW_A_MINUTE: Rate = Rate::new().settle(Duration::from_secs(40));
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn settle(mut self, settle: Duration) -> Self {
        assert!(
            settle.as_millis() >= 10 && settle.as_millis() <= 300_000,
            "a rate settles within 10 ms to 5 minutes: write `Duration::from_secs(2)`"
        );
        self.settle = settle.as_nanos() as f64 / 1e9;
        self
    }

    /// The same rate with a name. Log events and metrics show the rate under this name. Metrics do not show a
    /// rate without a name.
    ///
    /// ```
    /// use backoff_core::Rate;
    ///
    /// static GMAIL: Rate = Rate::new().name("gmail");
    /// ```
    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// The name.
    pub(crate) const fn label(&self) -> Option<&'static str> {
        self.name
    }

    /// The calls a second that go now, as of the last call or reply; `None` while no call is delayed.
    pub fn per_second(&self) -> Option<f64> {
        self.shared.get()?.lock().rules.per_second()
    }

    /// How many calls wait in the queue.
    pub fn waiting(&self) -> usize {
        let shared = self.shared.get();
        shared.map_or(0, |shared| shared.lock().line.len())
    }

    /// Whether calls wait for their turn.
    #[inline]
    fn is_on(&self) -> bool {
        self.flag.load(Acquire) & ON != 0
    }

    /// Begins an attempt, unless calls wait for their turn. Returns the number of the last refusal.
    #[inline]
    pub(crate) fn begins_if_off(&self) -> Option<u8> {
        let flag = self.flag.load(Acquire);
        if flag & ON != 0 {
            return None;
        }
        self.in_flight.fetch_add(1, Relaxed);
        Some(flag as u8)
    }

    fn shared(&self) -> &Arc<Shared> {
        self.shared.get_or_init(|| {
            Arc::new(Shared {
                state: Mutex::new(State {
                    rules: Rules::new(self.settle),
                    line: Line::new(),
                    first_asks: AFTER_REPLY,
                }),
                #[cfg(feature = "metrics")]
                name: self.name,
            })
        })
    }

    /// Changes the state under the lock. If the first call in the queue may go sooner then, wakes it.
    fn change<T>(&self, shared: &Shared, change: impl FnOnce(&mut State) -> T) -> T {
        let (value, woken) = {
            let mut state = shared.lock();
            state.rules.count(self.admitted.swap(0, Relaxed));
            let value = change(&mut state);
            let woken = state.changed(self.in_flight.load(Relaxed));
            // For calls that have not asked for the lock.
            let on = if state.rules.is_on() { ON } else { 0 };
            let counts = if state.rules.only_counts() { COUNTS } else { 0 };
            let flag = on | counts | u32::from(state.rules.epoch());
            self.flag.store(flag, Release);
            (value, woken)
        };
        wake(woken);
        value
    }

    /// How long from now a call would wait for its turn that joins the queue after this wait.
    pub(crate) fn turn_after(&self, wait: Duration, clock: Duration) -> Duration {
        if !self.is_on() {
            return wait;
        }
        self.change(self.shared(), |state| {
            state.rules.at(clock);
            state.rules.turn_behind(state.line.len(), wait)
        })
    }

    /// Begins an attempt if nobody waits and the turn has come; otherwise the call joins the queue.
    fn enters(&self, clock: Duration) -> Result<u8, Place> {
        let shared = self.shared();
        self.change(shared, |state| {
            state.rules.at(clock);
            if state.line.is_empty() && self.is_turn(state) {
                return Ok(self.begins(state, false));
            }
            let ticket = state.line.join();
            let shared = Arc::clone(shared);
            Err(Place { shared, ticket })
        })
    }

    /// Whether the turn of the first call has come.
    fn is_turn(&self, state: &State) -> bool {
        state.rules.turn(self.in_flight.load(Relaxed)) <= state.rules.now()
    }

    fn begins(&self, state: &mut State, is_queued: bool) -> u8 {
        state.rules.goes(is_queued);
        self.in_flight.fetch_add(1, Relaxed);
        state.rules.epoch()
    }

    /// A call in the queue asks whether its attempt may begin. If not, `waker` is woken when the answer may
    /// have changed.
    fn asks(&self, place: &Place, clock: Duration, waker: &Waker) -> Asked {
        let (ticket, waker) = (place.ticket, waker.clone());
        let (asked, _dropped) = self.change(&place.shared, |state| {
            state.rules.at(clock);
            let is_first = state.line.is_first(ticket);
            // While the rate is off, the order does not matter.
            if (is_first || !state.rules.is_on()) && self.is_turn(state) {
                let goes = Asked::Goes(self.begins(state, true));
                return (goes, state.leaves(ticket));
            }
            let mut asked = Asked::NotYet;
            if is_first {
                state.first_asks = state.asks_at(self.in_flight.load(Relaxed));
                let wait = state.first_asks.saturating_sub(state.rules.now());
                asked = Asked::After(Duration::from_nanos(wait));
            }
            (asked, state.line.listens(ticket, waker))
        });
        asked
    }

    /// An attempt has ended with this reply. `epoch` is the number that it got at its beginning.
    pub(crate) fn replied(
        &self,
        reply: Reply,
        epoch: u8,
        clock: impl FnOnce() -> Duration,
    ) -> Option<RateChange> {
        let in_flight = self.in_flight.fetch_sub(1, Relaxed) - 1;
        if reply == Reply::Admitted && self.flag.load(Relaxed) & COUNTS != 0 {
            let before = self.admitted.fetch_add(1, Relaxed);
            if before % LOCKS_EACH != LOCKS_EACH - 1 {
                return None;
            }
            self.admitted.fetch_sub(1, Relaxed);
        }
        #[cfg(feature = "metrics")]
        let was_on = self.is_on();
        let change = self.change(self.shared(), |state| {
            state.rules.at(clock());
            state.rules.replied(reply, epoch, in_flight)
        });
        #[cfg(feature = "metrics")]
        self.show_reply(reply, was_on || change.is_some());
        change
    }

    /// An attempt ended without a reply.
    #[cold]
    pub(crate) fn dropped(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
        if self.is_on() {
            self.change(self.shared(), |_| ());
        }
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rate")
            .field("name", &self.name)
            .field("per_second", &self.per_second())
            .field("waiting", &self.waiting())
            .finish()
    }
}
