//! The decision when the next call may go: a state machine without I/O and clock.
//!
//! The rate of the calls falls at a refusal, grows slowly near the rate that was admitted last, and fast far
//! above it, as the window of TCP CUBIC does. While a service refuses every call, single calls probe it.

#[cfg(all(test, not(loom)))]
mod schedules;

use super::{
    change::RateChange,
    quotas::{MANY, Quotas, Share, Tokens, is_older},
};
use crate::{facts::quota::Quota, runtime::nanos};
use core::time::Duration;

/// The factor of the rate at a refusal.
const BETA: f64 = 0.85;
/// The default of [`Rate::settle`](super::Rate::settle), in seconds.
pub(super) const SETTLE: f64 = 1.8;
/// The next probe waits this share of the time since the first refusal.
const PROBE: f64 = 0.25;
/// The longest time between two probes, in seconds. The lowest rate is one call in this time.
const LONGEST_GAP: f64 = 64.0;
/// How much slower a rate settles after a refusal while it is open.
const SLOWER: f64 = 1.2;
/// Each admitted call undoes this share of the slowing. So a rate settles more slowly only where more than
/// about 15 % of the calls are refused.
const UNDONE: f64 = 0.15;
/// The slowest settling, in seconds.
const SLOWEST: f64 = 300.0;
/// From this number of refusals in a row, the time that a refusal named counts.
const NAMED_COUNTS: u32 = 5;
/// A slot that the first in the queue has not taken after this time is taken by the next call that asks. A call
/// that takes its slot late by less than this does not move the slots after it.
pub(super) const LATENESS: u64 = 20_000_000;
/// If a clock goes back by less than this, two threads have read it at the same time.
const OUT_OF_ORDER: u64 = SECOND;
/// While the rate is off, a count of admitted calls lasts this long.
const SECOND: u64 = 1_000_000_000;
/// A call that waits longer is worth a warning.
const LONG: u64 = 60 * SECOND;
/// A rate that was closed for longer was blocked. A window of a minute ends before, with the gap until the next probe.
const BLOCK: u64 = 75 * SECOND;
/// With fewer calls, no rate is computed.
const FEW: f64 = 4.0;
/// The shortest time over which the first rate is counted, in seconds: the replies to a burst come all at once.
const LEAST: f64 = 0.05;
/// A smaller share of the first rate means that others use the quota without a rate.
const LEAST_SHARE: f64 = 0.1;

/// The warnings: the first two are given once a closing, the last one once.
const BLOCKED: &str = "calls wait for more than a minute, or for longer than they may, because the service refuses calls \
     or has no quota left";
pub(super) const UNQUEUED: &str = "attempts begin at their deadline without a turn, because no error can be made when \
     the time is over: implement `From<TimedOut>` for the error, and derive `Fault` for it or write `Fault::late`; or name \
     the rate at the call, by `.rate(&RATE)` or the key `rate`";
#[cfg(feature = "http-1")]
pub(super) const UNREAD: &str = "a header of a quota makes no sense, and changes nothing";
const TOO_LARGE: &str = "a call uses more than a whole quota of the service: it goes alone, when the quota is full, and the \
     service may refuse it";
const CROWDED: &str = "the service admits less than a tenth of the calls that it admitted before its first 429: if \
     other processes use this quota, give each of them a `Rate`";

/// How an attempt ended, for its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateReply {
    /// A success, or a failure other than throttling.
    Admitted,
    /// Throttling, with the server's hint in nanoseconds; zero means no hint.
    Refused { hint: u64 },
}

/// Whether and how the rate delays calls now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Mode {
    /// Each call goes at once.
    #[default]
    Off,
    /// Single calls probe the service.
    Closed,
    /// Calls go at a rate.
    Open,
}

/// The state of a rate. Times are nanoseconds of a clock that never goes back: see [`at`](Self::at), which comes
/// before every other method.
#[derive(Clone, Debug, Default)]
pub(super) struct RateControl {
    mode: Mode,
    /// The rate is flat this number of seconds after a cut.
    flat_after: f64,
    /// The least values of `flat_after`: as configured, and as long as the last block.
    settle: f64,
    blocked: f64,
    /// A refusal without a hint stops all calls for this time.
    pause: u64,
    /// When the next call may go.
    next: u64,
    /// The last refusal that counted, or the opening after it.
    cut: u64,
    /// The number of the next attempt. An attempt remembers its number. The last cut came before the number `first`.
    pub(super) epoch: u16,
    first: u16,
    /// How many attempts run.
    running: u32,
    /// The quotas that the service states, while its replies state some.
    quotas: Option<Quotas>,
    /// The rate that was admitted last.
    admitted: f64,
    /// The admitted calls, and since when they are counted.
    pub(super) calls: f64,
    since: u64,
    /// When the rate is switched off.
    until: u64,
    /// The latest time, and the difference to the clock: if the clock goes back, the time continues from there.
    pub(super) now: u64,
    behind: u64,
    /// Of the last closing: when it began, at which rate, the seconds between two probes, how many calls were
    /// refused in a row, the earliest end of a pause that a refusal named, and whether the mode was off before.
    closed: u64,
    rate: f64,
    gap: f64,
    refusals: u32,
    named: u64,
    is_first: bool,
    /// The rate at the first closing, and since when some call has waited.
    first_rate: f64,
    waiting_since: Option<u64>,
    /// The warnings that were given, and the one that has not been written yet.
    warned: Vec<&'static str>,
    pub(super) warning: Option<&'static str>,
}

impl RateControl {
    pub(super) fn new(settle: f64, pause: u64) -> Self {
        RateControl {
            flat_after: settle,
            settle,
            pause,
            named: u64::MAX,
            ..RateControl::default()
        }
    }

    /// The clock shows this time. Where the clock goes back, the time goes on evenly.
    pub(super) fn at(&mut self, clock: Duration) {
        let now = nanos(clock).saturating_add(self.behind);
        let back = self.now.saturating_sub(now);
        // Two threads that read the clock at the same time may come in the other order.
        if back > OUT_OF_ORDER {
            self.behind = self.behind.saturating_add(back);
        }
        self.now = now.max(self.now);
    }

    pub(super) fn is_on(&self) -> bool {
        self.now < self.ends()
    }

    /// Until when calls may be delayed.
    fn ends(&self) -> u64 {
        match self.is_limited() {
            _ if self.quotas.is_some() => u64::MAX,
            true => self.until,
            false => 0,
        }
    }

    /// Whether refusals limit the rate.
    fn is_limited(&self) -> bool {
        self.mode != Mode::Off && self.now < self.until
    }

    /// Whether an admitted call adds to the count and changes nothing else.
    pub(super) fn only_counts(&self) -> bool {
        self.mode == Mode::Off && self.calls > 0.0
    }

    /// The rate of the calls that go now, a second; nothing while off.
    pub(super) fn per_second(&self) -> Option<f64> {
        let rate = match self.mode {
            Mode::Closed => 1.0 / self.gap,
            _ => self.open_rate(),
        };
        self.is_limited().then_some(rate)
    }

    /// The rate while open.
    fn open_rate(&self) -> f64 {
        let age = seconds(self.now.saturating_sub(self.cut));
        let from_flat = (age - self.flat_after) / self.flat_after;
        self.admitted * (1.0 + (1.0 - BETA) * from_flat.powi(3))
    }

    /// The rate of the counted calls and of so many more, over at least so many seconds.
    pub(super) fn counted(&self, more: f64, least: f64) -> f64 {
        (self.calls + more) / seconds(self.now.saturating_sub(self.since)).max(least)
    }

    /// How long from now a call with this share waits for its turn that comes after this time behind this number of others.
    pub(super) fn turn_behind(&self, waiting: usize, after: Duration, share: Share) -> Duration {
        let stated = self
            .quotas
            .as_ref()
            .map_or(0, |it| it.turn_behind(waiting, share));
        let stated = Duration::from_nanos(stated.saturating_sub(self.now)).max(after);
        if !self.is_limited() {
            return stated;
        }
        let rate = match self.mode {
            Mode::Closed => self.rate,
            _ => self.open_rate(),
        };
        let first = Duration::from_nanos(self.next.saturating_sub(self.now)).max(after);
        let others = Duration::try_from_secs_f64(waiting as f64 / rate);
        first
            .saturating_add(others.unwrap_or(Duration::MAX))
            .max(stated)
    }

    /// Whether so much is missing of a quota.
    pub(super) fn lacks(&self, share: Share) -> bool {
        self.quotas.as_ref().is_some_and(|it| it.lacks(share))
    }

    /// The time at which the first in the queue, with this share, may go.
    pub(super) fn turn(&self, share: Share) -> u64 {
        let stated = self.quotas.as_ref().map_or(0, |it| it.turn(share));
        match self.is_limited() {
            true => self.next.max(stated),
            false => stated,
        }
    }

    /// When a call with this share asks by itself that stands behind this number of others: nobody later than the end of
    /// the rate.
    pub(super) fn asks_at(&self, before: usize, share: Share) -> u64 {
        let turn = match before {
            0 => self.turn(share),
            _ => {
                let wait = nanos(self.turn_behind(before, Duration::ZERO, share));
                self.now.saturating_add(wait).saturating_add(LATENESS)
            }
        };
        turn.min(self.ends())
    }

    /// So many attempts have begun, and so many of them run. The numbers repeat, so that a cut must not stay too far behind.
    pub(super) fn counts_to(&mut self, begun: u16, running: u32) {
        (self.epoch, self.running) = (begun, running);
        let least = begun.wrapping_sub(MANY);
        if is_older(self.first, least) {
            self.first = least;
        }
    }

    /// An attempt of a call with this share begins: the call takes the slot. Returns the number of the attempt.
    pub(super) fn takes_slot(&mut self, is_queued: bool, share: Share) -> u16 {
        let now = self.now;
        let number = self.epoch;
        self.epoch = number.wrapping_add(1);
        let quotas = self.quotas.as_mut();
        if quotas.is_some_and(|quotas| quotas.takes(share, number, now)) {
            self.warns(TOO_LARGE);
        }
        if !self.is_limited() {
            return number;
        }
        // Time in which nobody wanted a slot does not count.
        let unused = self.now.saturating_sub(self.next);
        if self.mode == Mode::Open && unused > LATENESS {
            self.cut = (self.cut + unused).min(self.now);
            self.since = (self.since + unused).min(self.now);
        }
        let step = match self.mode {
            Mode::Closed => self.gap,
            _ => 1.0 / self.open_rate(),
        };
        let late = if is_queued { LATENESS } else { 0 };
        let from = self.next.max(self.now.saturating_sub(late));
        self.next = from.saturating_add(from_seconds(step));
        number
    }

    /// After each change: whether calls wait.
    pub(super) fn waits(&mut self, is_waiting: bool) {
        self.waiting_since = is_waiting.then(|| self.waiting_since.unwrap_or(self.now));
    }

    /// Warns, unless this warning was given before.
    pub(super) fn warns(&mut self, warning: &'static str) {
        if self.is_first_warning(warning) {
            self.warning = Some(warning);
        }
    }

    /// Whether this warning was not given before. Now it counts as given.
    pub(super) fn is_first_warning(&mut self, warning: &'static str) -> bool {
        let is_first = !self.warned.contains(&warning);
        if is_first {
            self.warned.push(warning);
        }
        is_first
    }

    /// A call joins the queue behind this number of others, for at most this time.
    pub(super) fn joins(&mut self, waiting: usize, limit: Duration, share: Share) {
        let turn = nanos(self.turn_behind(waiting, Duration::ZERO, share));
        if turn > nanos(limit).min(LONG) {
            self.warns(BLOCKED);
        }
    }

    /// The reply to an attempt with this number and this share states quotas. `None` stands for an attempt that began just
    /// now and has no share. The reply is so many nanoseconds old.
    pub(super) fn learn(&mut self, stated: Vec<Quota>, attempt: Option<(u16, Share)>, age: u64) {
        let now = self.now.saturating_sub(age);
        let (number, share) = attempt.unwrap_or_else(|| {
            self.epoch = self.epoch.wrapping_add(1);
            (self.epoch.wrapping_sub(1), Share::default())
        });
        let after = self.epoch.wrapping_sub(1).wrapping_sub(number);
        let quotas = self
            .quotas
            .get_or_insert_with(|| Quotas::new(number, after, self.running, share, now));
        if attempt.is_none() {
            quotas.takes(share, number, now);
        }
        quotas.replied(stated, number, now);
    }

    /// The attempt with this number has used so many tokens; without a number, an attempt that has ended.
    pub(super) fn used(&mut self, tokens: Tokens, number: Option<u16>) {
        if let Some(quotas) = &mut self.quotas {
            quotas.used(tokens.into(), number);
        }
    }

    /// An attempt with this number was dropped or cut, or has no reply.
    pub(super) fn gives_back(&mut self, epoch: u16) {
        if let Some(quotas) = &mut self.quotas {
            let _ = quotas.ended(epoch);
        }
    }

    /// An attempt with this number has ended.
    pub(super) fn replied(&mut self, reply: RateReply, epoch: u16) -> Option<RateChange> {
        let ends = self.mode != Mode::Off && !self.is_limited();
        if ends {
            *self = RateControl {
                epoch: self.epoch,
                first: self.first,
                quotas: self.quotas.take(),
                now: self.now,
                behind: self.behind,
                ..RateControl::new(self.settle, self.pause)
            };
        }
        if self.mode == Mode::Off && (self.calls == 0.0 || self.now - self.since > SECOND) {
            (self.calls, self.since) = (0.0, self.now);
        }
        let hint = match reply {
            RateReply::Admitted => None,
            RateReply::Refused { hint } => Some(hint),
        };
        let now = self.now;
        self.quotas = self.quotas.take().filter(|it| !it.are_over(now));
        let quotas = self.quotas.as_mut();
        let is_explained = quotas.is_some_and(|quotas| quotas.judge(hint, epoch, now));
        let change = match reply {
            RateReply::Admitted => self.admits(epoch),
            // The call began at an older rate.
            RateReply::Refused { .. } if is_older(epoch, self.first) => None,
            // The quotas hold the next call back anyway.
            RateReply::Refused { .. } if is_explained => None,
            RateReply::Refused { hint } => self.refuses(hint),
        };
        change.or(ends.then_some(RateChange::Off))
    }

    fn cuts(&mut self, mode: Mode) {
        self.mode = mode;
        self.cut = self.now;
        self.first = self.epoch;
    }

    fn refuses(&mut self, hint: u64) -> Option<RateChange> {
        let now = self.now;
        let closes = self.mode != Mode::Closed;
        if closes {
            self.is_first = self.mode == Mode::Off;
            if self.is_first {
                self.rate = self.counted(1.0, LEAST);
                self.first_rate = self.rate;
            } else {
                self.rate = self.open_rate();
                self.flat_after = (self.flat_after * SLOWER).min(SLOWEST.max(self.settle));
            }
            (self.closed, self.refusals, self.named) = (now, 0, u64::MAX);
            self.gap = (1.0 / (BETA * self.rate)).min(LONGEST_GAP);
            self.warned.retain(|it| *it != BLOCKED && *it != UNQUEUED);
        } else {
            let gap = PROBE * seconds(now - self.closed);
            self.gap = gap.max(self.gap).min(LONGEST_GAP);
        }
        self.cuts(Mode::Closed);
        self.refusals = self.refusals.saturating_add(1);
        let named = if hint > 0 {
            now.saturating_add(hint)
        } else {
            u64::MAX
        };
        self.named = self.named.min(named);
        self.next = now.saturating_add(from_seconds(self.gap));
        if self.refusals >= NAMED_COUNTS && (now..u64::MAX).contains(&self.named) {
            let quarter = ((self.named - now) / 4).min(from_seconds(LONGEST_GAP));
            self.next = self.next.max(now + quarter).min(self.named);
        }
        if self.pause > 0 {
            let pause = if hint > 0 { hint } else { self.pause };
            self.next = self.next.max(now.saturating_add(pause));
        }
        // Not before those return who wait for their hints.
        let returns = self.next.max(now.saturating_add(hint));
        self.stays_on_from(returns);
        if (now - self.closed).max(self.next - now) > LONG {
            self.warns(BLOCKED);
        }
        closes.then_some(RateChange::Closed)
    }

    /// The rate does not switch itself off for a while after this time.
    fn stays_on_from(&mut self, time: u64) {
        let quiet = from_seconds((30.0 * self.flat_after).max(60.0));
        self.until = self.until.max(time.saturating_add(quiet));
    }

    fn admits(&mut self, epoch: u16) -> Option<RateChange> {
        self.calls += 1.0;
        if self.mode == Mode::Off {
            return None;
        }
        let settled = self.flat_after / SLOWER.powf(UNDONE);
        self.flat_after = settled.max(self.settle).max(self.blocked);
        if self.mode == Mode::Open || is_older(epoch, self.first) {
            self.looks_for_others();
            return None;
        }
        let admitted = self.counted(0.0, 1e-3).min(self.rate);
        // Calls that wait for a quota make a short closing long.
        let was_blocked =
            self.now - self.closed > BLOCK && self.calls > 1.0 && self.quotas.is_none();
        let is_few = self.calls < FEW && !self.is_first && !was_blocked;
        let admitted = if was_blocked {
            // The length of a block does not say how many calls the service admits without one.
            self.blocked = seconds(self.now - self.closed).min(SLOWEST);
            self.flat_after = self.flat_after.max(self.blocked);
            self.stays_on_from(self.now);
            let open = seconds(self.closed.saturating_sub(self.since));
            self.calls / open.max(1.0) / 2.0
        } else if self.is_first {
            admitted
        } else if admitted >= self.rate / 2.0 {
            (admitted + self.rate) / 2.0
        } else if is_few {
            self.rate / 2.0
        } else {
            admitted
        };
        self.admitted = admitted.max(1.0 / LONGEST_GAP);
        if !is_few {
            (self.calls, self.since) = (0.0, self.now);
        }
        self.cuts(Mode::Open);
        let first = self
            .now
            .saturating_add(from_seconds(1.0 / self.open_rate()));
        self.next = self.next.min(first);
        let per_second = self.admitted;
        Some(RateChange::Opened { per_second })
    }

    /// Warns if calls have waited for a minute at a small share of the first rate.
    fn looks_for_others(&mut self) {
        let waited = self.now - self.waiting_since.unwrap_or(self.now);
        if waited >= LONG && self.admitted < LEAST_SHARE * self.first_rate {
            self.warns(CROWDED);
        }
    }
}

/// Nanoseconds as seconds.
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Seconds as nanoseconds.
fn from_seconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
