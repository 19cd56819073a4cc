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
pub(crate) use observed::{AtRate, begin_scope_without_rate, counted, end_scope, is_inside};
pub(crate) use waiter::{QueueEnd, Queued, wait_blocking};

use crate::facts::quota::Quota;
use crate::name::Name;
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

/// Finds the rate that a service allows, from its 429s and from the quotas that its replies state. Declare one `static` for
/// each limit of a service, and name it in a policy with [`Policy::rate`](crate::Policy::rate).
///
/// Before the first 429, no call is delayed. After a 429, all calls that share the `Rate` wait in one queue, first in, first
/// out, and go at a rate that follows the replies. When no call has been refused for a minute (longer if
/// [`settle`](Self::settle) is long), the `Rate` switches itself off. The guide has programs:
/// [Rates](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/rates/), [Calls to an LLM](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/quotas/).
///
/// ```
/// use backoff_core::{Policy, Rate};
///
/// static GMAIL: Rate = Rate::new();
/// const POLICY: Policy = Policy::exponential().rate(&GMAIL);
/// # assert_eq!((GMAIL.per_second(), GMAIL.waiting()), (None, 0)); // no 429 yet
/// ```
///
/// # What a call does
/// - A call in the queue makes no attempt and takes no token of a budget. Each attempt takes one place.
/// - After a 429 a call waits as long as the server asks, and also as the policy says while nobody else waits. After another
///   failure it waits as the policy says. Then it joins the end of the queue.
/// - A call that is dropped leaves the queue. A turn that is not taken within 20 ms goes to the next call that asks.
/// - A hint above the longest hint of the call's policy, or above an hour, does not stop the other calls. Any other hint
///   stops them for at most 64 s at a time (longer with [`pause_after_refusal`](Self::pause_after_refusal)); then a single
///   call asks.
/// - A service that refuses every call for more than 75 s has blocked its caller. Afterwards, calls go at half of the former
///   rate for as long as the block took, up to five minutes.
///
/// # Deadlines and signals
/// The time in the queue counts against `deadline` and `timeout`.
/// - A *retry* whose turn would come after the deadline ends at once with its last error and
///   [`StopReason::Rate`](crate::StopReason::Rate). A blocking call in the queue returns its last error at the deadline.
/// - Any other call ends at the deadline with an error made from [`TimedOut`](crate::TimedOut): by
///   [`Fault::late`](crate::Fault::late), which the derive writes and the errors of the supported clients have. With
///   [`.rate(..)`](crate::Retrying::rate), the key `rate`, `timeout`, `attempt_timeout` or `max_queue_time`, `From<TimedOut>`
///   alone is enough.
/// - A call whose error cannot be made begins its attempt out of turn, within the last second before its deadline (or the
///   last half of its time, if that is shorter), with a `WARN`.
///
/// # Quotas
/// OpenAI, Groq, Anthropic, GitHub, Cloudflare and others state in each reply what remains of a quota, in the headers of
/// `hint::in_headers`. While such replies come, the quotas decide when a call goes, before the first 429. A call counts one
/// request, and the tokens of [`.tokens(n)`](crate::Retrying::tokens) or of the key `tokens`.
/// - Calls use what remains of a window, and then wait for its end. A quota that is refilled steadily lets a call go when
///   enough has come back.
/// - What still runs is subtracted, until its own reply comes, or until the attempt is dropped or cut. Beside other
///   processes, a process slows to its part when little remains.
/// - A statement holds until its end, and for at most 61 minutes.
///
/// The guide has the [special cases](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/quotas/#special-cases).
///
/// A reply is heard in `send`, `json` and `success` of `backoff-cloud`'s `http`, in the layer of tower, and where a value or
/// an error is a response, if the task of the attempt reads it. The reply to another call inside of the call is not heard.
/// Elsewhere, and for another task, call `observe` of the attempt or of the rate (feature `http-1`).
///
/// # What it cannot know
/// - A quota that counts down to 0 is obeyed until its end, also if the service does not enforce it.
/// - The first burst goes before any header has come.
/// - A window that ends later than stated, late headers, and more processes than a window has calls lead to 429s.
/// - Without headers, a block of up to 75 s looks like a window of a minute, and a longer window like a block.
///
/// # One limit, one rate
/// One `Rate` for two limits slows the calls of both: declare one for each, or
/// [one for each customer](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/rates/#one-rate-for-one-limit). Give every process of a quota a `Rate`: one
/// without [takes nearly everything](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/rates/#every-process-of-the-quota-needs-it). All calls of a `Rate` need the same
/// clock. The clients of Google and AWS have their own loops and do not ask a `Rate`.
pub struct Rate {
    settle: f64,
    pause: u64,
    pub(crate) name: Name,
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
    /// The number of the rate, from 1.
    id: u32,
    /// For calls that have not asked for the lock: [`ON`] and [`COUNTS`].
    flag: AtomicU32,
    /// How many calls were admitted since a call took the lock.
    admitted: AtomicU32,
    /// How many attempts have begun: the number of the next one.
    begun: AtomicU32,
    /// How many of them have ended.
    ended: AtomicU32,
    state: Mutex<State>,
    name: Name,
}

struct State {
    control: RateControl,
    line: Line,
    /// What was heard of quotas since the last look at the clock, and when.
    heard: Vec<(Heard, OfAttempt, Duration)>,
}

/// The number and the share of the attempt to which it belongs, if that is known.
type OfAttempt = Option<(u16, Share)>;

/// What is heard of the quotas of a service.
enum Heard {
    /// A reply states them.
    #[cfg_attr(
        not(feature = "http-1"),
        allow(dead_code, reason = "headers state them")
    )]
    Stated(Vec<Quota>),
    /// The program has used so many tokens.
    Used(Tokens),
}

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
            for (heard, attempt, observed) in mem::take(&mut state.heard) {
                let stated = match heard {
                    Heard::Stated(stated) => stated,
                    Heard::Used(tokens) => {
                        state.control.used(tokens, attempt.map(|it| it.0));
                        continue;
                    }
                };
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
            tracing::warn!(target: "backoff", rate = self.name.get(), "{text}");
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
            name: Name::NONE,
            shared: OnceLock::new(),
        }
    }

    /// How long the rate stays near the rate that was admitted last, before it grows fast, to ten times in about five times as
    /// long: 1.8 s by default.
    ///
    /// # Panics
    /// Unless `settle` is from 10 ms to five minutes.
    ///
    /// ```
    /// # use backoff_core::Rate;
    /// # use std::time::Duration;
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

    /// After a 429, no call goes for as long as the server asks, or for this time if the server names none: for a service that
    /// blocks longer whoever asks meanwhile. By default, and with zero, single calls probe the service.
    ///
    /// ```
    /// # use backoff_core::Rate;
    /// # use std::time::Duration;
    /// static GITHUB: Rate = Rate::new().pause_after_refusal(Duration::from_secs(60));
    /// ```
    ///
    /// # Panics
    /// If `pause` is longer than an hour.
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

    /// The name of the rate in log events and metrics. Metrics do not show a rate without a name.
    ///
    /// ```
    /// # use backoff_core::Rate;
    /// static GMAIL: Rate = Rate::new().name("gmail");
    /// ```
    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = Name::literal(name);
        self
    }

    /// The same rate with a name that is made at run time, such as that of a host. A process keeps
    /// 10,000 such names; further ones are `other`.
    ///
    /// ```
    /// # use backoff_core::Rate;
    /// let host = String::from("api.example.com");
    /// let rate = Rate::new().named(host);
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Name::made(name.into());
        self
    }

    /// Whether the log has not said this yet. Now it has.
    pub(crate) fn is_first_warning(&self, warning: &'static str) -> bool {
        self.shared().lock().control.is_first_warning(warning)
    }

    /// The name.
    pub(crate) const fn label(&self) -> Option<&'static str> {
        self.name.get()
    }

    /// The calls a second that go now, as of the last call or reply; `None` while no 429 slows the calls, even if a quota holds
    /// calls back.
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
            static MADE: AtomicU32 = AtomicU32::new(0);
            let shared = Arc::new(Shared {
                id: MADE.fetch_add(1, Relaxed).wrapping_add(1),
                flag: AtomicU32::new(0),
                admitted: AtomicU32::new(0),
                begun: AtomicU32::new(0),
                ended: AtomicU32::new(0),
                state: Mutex::new(State {
                    control: RateControl::new(self.settle, self.pause),
                    line: Line::default(),
                    heard: Vec::new(),
                }),
                name: self.name,
            });
            shared.enlist();
            shared
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
