//! The rate that a service allows, found from its 429s and shared by all calls that meet the same limit.

mod change;
mod control;
mod line;
mod observed;
mod quotas;
#[cfg(feature = "metrics")]
mod shown;
mod waiter;

#[cfg(all(test, loom))]
mod races;
#[cfg(all(test, not(loom)))]
mod tests;

pub use change::RateChange;
pub(crate) use control::RateReply;
#[cfg(feature = "http-1")]
pub use observed::observe_reply;
pub(crate) use observed::{begin_scope_without_rate, end_scope, is_inside};
pub(crate) use waiter::{QueueEnd, Queued, wait_blocking};

use crate::facts::quota::Quota;
use crate::runtime::{Clock as _, Std, left_out, nanos};
use crate::sync::{Mutex, MutexGuard, lock};
use control::{RateControl, SETTLE};
use core::{
    fmt, mem,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};
use line::Line;
use quotas::Share;
pub(crate) use quotas::{NO_TOKENS, Tokens};
use std::sync::{Arc, OnceLock};

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
/// - A call that waits in the queue makes no attempt and takes no token of a budget. One attempt takes one
///   place; a read-modify-write is one attempt.
/// - After a 429 a call waits as long as the server asks, and then joins the end of the queue. While nobody else waits,
///   it also waits as the policy says, so that a lone call does not use its attempts up. After another failure a call
///   waits as the policy says, and then joins the queue.
/// - A call that is dropped leaves the queue. A call that is kept and not polled holds up nobody: a turn that is not
///   taken within 20 ms goes to the next call that asks.
/// - A call in the queue asks its `Breaker` at its turn.
/// - A hint above the longest hint of the call's policy, and any hint above an hour, is no hint for the others. Another one,
///   also a wrong one, stops the others for at most 64 s at a time: then a single call asks. (With
///   [`pause_after_refusal`](Self::pause_after_refusal), nobody asks before the hint is over.)
/// - A service that refuses every call for more than 75 s has blocked its caller. After such a block, calls go at half
///   of the rate that was admitted before it, and the rate then stays flat for as long as the block took, up to five minutes.
///
/// # Deadlines and signals
/// The time in the queue counts against `deadline` and `timeout`, and no call waits in the queue beyond its deadline.
/// - A *retry* whose turn would come after the deadline, as the rate is now, ends at once with its last error and
///   [`StopReason::Rate`](crate::StopReason::Rate). A blocking call that waits in the queue returns its last error when
///   the deadline comes.
/// - Any other call ends with an error made from [`TimedOut`](crate::TimedOut) when the deadline comes, if its error has
///   `From<TimedOut>`, and says so by [`Fault::late`](crate::Fault::late): the derive and the errors of the supported
///   clients do. A call that names its rate itself, by [`.rate(..)`](crate::Retrying::rate) or by the key `rate`, and a
///   call with `timeout`, `attempt_timeout` or `max_queue_time` need `From<TimedOut>` alone.
/// - A call whose error cannot be made begins its attempt then, out of turn. So that calls with the same deadline do not begin all at once,
///   each of them begins at some time within the last second before its deadline, or within the last half of its time
///   if that is shorter. 1,000 calls with a deadline of 10 s
///   under a limit of 50 a second make 1.95 calls for each job; 501 of these calls begin in the last second, at most 54
///   of them in a tenth of a second. The log has a `WARN` that says what to write.
/// - A ready `stop_on` ends the waiting, and the first attempt is made at once. A ready `cut_on` ends the call.
///
/// # Quotas
/// Many services state in each reply what remains of a quota: OpenAI, Groq, Anthropic, GitHub, Cloudflare, and who follows
/// the IETF's draft. While such replies come, the quotas decide when a call goes, before the first 429. A call counts one
/// request, and the tokens that [`.tokens(n)`](crate::Retrying::tokens) or the key `tokens` names. (The names of the headers are those of
/// `hint::in_headers`.)
/// - Of a window, calls use what remains, and then wait for its end. Of a quota that is refilled steadily, a call goes when
///   enough has come back. Names with `requests` or `tokens` mean a steady quota at first. Then the replies decide: the end
///   of a window stands still, whatever is used.
/// - What runs is subtracted, from the first reply on. An attempt runs until its own reply comes, or until it is dropped or
///   cut. Of attempts that run together, the lowest remainder counts.
/// - What is missing beside the own calls was used by others. A process that is alone uses the whole quota; beside others
///   it slows to its part of what comes back, or of what is left of the window, when little remains.
/// - A statement holds until its end. The next turn is never later than that end and a second, nor than 61 minutes. A minute
///   after the end, a reply without such headers ends the quotas. After that, only the rules for 429s hold.
/// - If a reply says suddenly that nothing is left, any other reply corrects it, and after 2 s one call tries. If the call is
///   refused, all wait until the end. If the call is admitted, the quota counts no more until a reply states that something
///   is left. So where a service answers each call, such replies delay nobody for more than these 2 s and this one call.
/// - A 429 that asks for a shorter wait than the end of a used-up quota is believed: one call goes then.
/// - A 429 changes nothing else if a quota says that nothing is left. After any other 429, the rules for 429s hold too.
/// - A call that needs more than a whole quota goes when the quota is full, with a `WARN`.
/// - A header that cannot be read, a limit of zero, a remainder below zero or above the limit, and a reset in the past or
///   more than 61 minutes ahead change nothing. The first one is named in a `WARN`.
///
/// A reply is heard where the library sees its headers: in `send`, `json` and `success` of `backoff-cloud`'s `http`, in the
/// layer of tower, and where a value or an error is a response (`.responses()`). Only replies to the call that has the rate
/// are heard, and not those to other calls inside of it. Elsewhere, call `observe` with the headers, also from inside of
/// another call (feature `http-1`).
///
/// # What it cannot know
/// - A quota that counts down to 0 as calls use it is obeyed until its end, also if the service does not enforce it.
/// - The first burst goes before any header has come.
/// - A window that ends later than stated, headers that come seconds late, and more processes than a window has calls lead
///   to 429s.
/// - Without headers, a block of up to 75 s is not told from a window of a minute, and a window of more than 75 s from a
///   block.
///
/// # Every process needs it
/// A process with a `Rate` slows down at each 429, and a process without one does not. Beside 50 workers with jitter
/// alone, a process with a `Rate` gets 3 % of the calls that a service admits. So give every process that uses a quota a
/// `Rate`. The log warns when the service admits less than a tenth of what it admitted before the first 429. A service
/// that admits a large first burst gives cause for this warning too.
///
/// # One limit
/// One `Rate` for two limits slows the calls of both to the lower rate: declare one for each. Where each customer has a
/// limit, keep a map of `Arc<Rate>`, and write [`.rate(&rate)`](crate::Retrying::rate) after the call. All calls of a `Rate`
/// need the same clock: threads that share a `Rate` under `testing::instant()` let its time run
/// ahead. The clients of Google and AWS have their own loops and do not ask a `Rate`.
pub struct Rate {
    settle: f64,
    pause: u64,
    name: Option<&'static str>,
    /// Made at the first attempt.
    shared: OnceLock<Arc<Shared>>,
}

/// An attempt that begins: its number and its tokens.
pub(crate) type CountedAttempt = (u16, Tokens);

/// Calls wait for their turn.
const ON: u32 = 1 << 8;
/// An admitted call is only counted.
const COUNTS: u32 = 1 << 9;
/// A reply that is younger counts as one that has just come, so that its quotas do not depend on the speed of the machine.
const FRESH: Duration = Duration::from_secs(1);
/// Of the calls that are only counted, each sixteenth takes the lock and reads the clock: the two take 490 instructions.
const LOCKS_EACH: u32 = 16;

/// The parts that a waiting call refers to.
struct Shared {
    /// For calls that have not asked for the lock: [`ON`] and [`COUNTS`].
    flag: AtomicU32,
    /// How many calls were admitted since a call took the lock.
    admitted: AtomicU32,
    /// How many attempts have begun: the number of the next one.
    begun: AtomicU32,
    /// How many of them have ended.
    ended: AtomicU32,
    state: Mutex<State>,
    #[cfg(any(feature = "metrics", feature = "tracing"))]
    name: Option<&'static str>,
}

struct State {
    control: RateControl,
    line: Line,
    /// What replies have stated since the last look at the clock.
    stated: Vec<Stated>,
}

/// The quotas that a reply states, the number and the share of the attempt that has the reply, and when the reply was
/// observed.
type Stated = (Vec<Quota>, Option<(u16, Share)>, Duration);

impl State {
    /// An attempt begins, if nobody waits and the turn has come. Returns the number of the attempt.
    fn begins_at_once(&mut self, share: Share) -> Option<u16> {
        self.is_turn(share)
            .then(|| self.control.takes_slot(false, share))
    }

    fn is_turn(&self, share: Share) -> bool {
        self.line.len() == 0 && self.control.turn(share) <= self.control.now
    }

    /// Whether an attempt could begin, and would not try a quota that is used up.
    fn has_room(&self, share: Share) -> bool {
        self.is_turn(share) && !self.control.lacks(share)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds this lock.
        lock(&self.state)
    }

    /// Changes the state under the lock. If the first call in the queue may go sooner then, wakes it.
    fn change<T>(&self, clock: Option<Duration>, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        state.control.calls += f64::from(self.admitted.swap(0, Relaxed));
        let begun = self.begun.load(Relaxed);
        let running = begun.wrapping_sub(self.ended.load(Relaxed));
        let begun = begun as u16;
        state.control.counts_to(begun, running);
        if let Some(clock) = clock {
            state.control.at(clock);
            for (stated, attempt, observed) in mem::take(&mut state.stated) {
                // Headers without an attempt count as one that has ended.
                self.ended.fetch_add(attempt.is_none().into(), Relaxed);
                // Services state whole seconds.
                let age = Std.now().saturating_sub(observed);
                let age = if age < FRESH { 0 } else { nanos(age) };
                state.control.learn(stated, attempt, age);
            }
        }
        let value = change(&mut state);
        let State { control, line, .. } = &mut *state;
        control.waits(line.len() > 0);
        let woken = line.first(control.turn(line.share()));
        let on = if control.is_on() { ON } else { 0 };
        let counts = if control.only_counts() { COUNTS } else { 0 };
        self.flag.store(on | counts, Release);
        let begins = control.epoch.wrapping_sub(begun);
        self.begun.fetch_add(begins.into(), Relaxed);
        let warning = control.warning.take();
        drop(state);
        #[cfg(feature = "tracing")]
        if let Some(text) = warning {
            tracing::warn!(target: "backoff", rate = self.name, "{text}");
        }
        let _ = warning;
        if let Some(waker) = woken {
            waker.wake();
        }
        value
    }
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
            settle: SETTLE,
            pause: 0,
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

    /// After a 429, no call goes for as long as the server asks, or for this time if the server names none: for a
    /// service that blocks for a while whoever goes over its limit, and blocks longer who asks meanwhile. By
    /// default, and with zero, single calls probe the service.
    ///
    /// ```
    /// use backoff_core::Rate;
    /// use std::time::Duration;
    ///
    /// static GITHUB: Rate = Rate::new().pause_after_refusal(Duration::from_secs(60));
    /// ```
    ///
    /// # Panics
    /// If `pause` is longer than an hour. In a constant, the panic is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn pause_after_refusal(mut self, pause: Duration) -> Self {
        assert!(
            pause.as_secs() <= 3_600,
            "a rate pauses for at most an hour: write `Duration::from_secs(60)`"
        );
        self.pause = nanos(pause);
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

    /// Whether the log has not said this yet. Now it has.
    pub(crate) fn is_first_warning(&self, warning: &'static str) -> bool {
        self.shared().lock().control.is_first_warning(warning)
    }

    /// The name.
    pub(crate) const fn label(&self) -> Option<&'static str> {
        self.name
    }

    /// The calls a second that go now, as of the last call or reply; `None` while no 429 slows the calls. Calls that a
    /// quota holds back count in [`waiting`](Self::waiting) alone.
    pub fn per_second(&self) -> Option<f64> {
        self.shared.get()?.lock().control.per_second()
    }

    /// How many calls wait in the queue.
    pub fn waiting(&self) -> usize {
        let shared = self.shared.get();
        shared.map_or(0, |shared| shared.lock().line.len())
    }

    /// Where no call is delayed, an attempt begins: its number.
    #[inline]
    pub(crate) fn begins(&self) -> u16 {
        self.shared().begun.fetch_add(1, Relaxed) as u16
    }

    /// Whether no call is delayed.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        let flag = self.shared.get().map_or(0, |it| it.flag.load(Acquire));
        flag & ON == 0
    }

    /// Whether no call is delayed at this moment.
    pub(crate) fn has_room(&self, tokens: Tokens, clock: impl FnOnce() -> Duration) -> bool {
        let has_room = |state: &mut State| state.has_room(Share::of(tokens));
        self.is_off() || self.shared().change(Some(clock()), has_room)
    }

    /// A second request for a running attempt begins. The request counts as used, and not as running.
    pub(crate) fn begins_second(&self, tokens: Tokens, clock: impl FnOnce() -> Duration) {
        if !self.is_off() {
            let begins = |state: &mut State| state.begins_at_once(Share::of(tokens));
            let number = self.shared().change(Some(clock()), begins);
            let _ = number.map(|number| self.gives_back(number));
        }
    }

    fn shared(&self) -> &Arc<Shared> {
        self.shared.get_or_init(|| {
            Arc::new(Shared {
                flag: AtomicU32::new(0),
                admitted: AtomicU32::new(0),
                begun: AtomicU32::new(0),
                ended: AtomicU32::new(0),
                state: Mutex::new(State {
                    control: RateControl::new(self.settle, self.pause),
                    line: Line::default(),
                    stated: Vec::new(),
                }),
                #[cfg(any(feature = "metrics", feature = "tracing"))]
                name: self.name,
            })
        })
    }

    /// How long from now a call would wait for its turn that joins the queue after this wait.
    pub(crate) fn turn_after(&self, wait: Duration, tokens: Tokens, clock: Duration) -> Duration {
        match self.is_off() {
            true => wait,
            false => self.shared().change(
                Some(clock.saturating_add(left_out())),
                |State { control, line, .. }| {
                    control.turn_behind(line.len(), wait, Share::of(tokens))
                },
            ),
        }
    }

    /// An attempt with this number has ended with this reply.
    pub(crate) fn replied(
        &self,
        reply: RateReply,
        epoch: u16,
        clock: impl FnOnce() -> Duration,
    ) -> Option<RateChange> {
        let shared = self.shared();
        shared.ended.fetch_add(1, Relaxed);
        let is_counted =
            reply == RateReply::Admitted && shared.flag.load(Relaxed) & (COUNTS | ON) == COUNTS;
        if is_counted && shared.admitted.fetch_add(1, Relaxed) % LOCKS_EACH != LOCKS_EACH - 1 {
            return None;
        }
        let change = shared.change(Some(clock()), |state| {
            // Whoever has taken the lock last has counted this call already.
            state.control.calls -= f64::from(u8::from(is_counted));
            state.control.replied(reply, epoch)
        });
        #[cfg(feature = "metrics")]
        shared.show_reply(reply, change.is_some());
        change
    }

    /// An attempt with this number was dropped or cut, or has no reply.
    #[cold]
    pub(crate) fn gives_back(&self, epoch: u16) {
        let shared = self.shared();
        shared.ended.fetch_add(1, Relaxed);
        shared.change(None, |state| state.control.gives_back(epoch));
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
