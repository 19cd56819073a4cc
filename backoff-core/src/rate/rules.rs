//! The decision when the next call may go: a state machine without I/O and clock.
//!
//! The rate of the calls falls at a refusal, grows slowly near the rate that was admitted last, and fast far
//! above it, as the window of TCP CUBIC does. While a service refuses every call, single calls probe it.

#[cfg(all(test, not(loom)))]
mod model;
#[cfg(all(test, not(loom)))]
mod schedules;

use core::{fmt, time::Duration};

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
/// From this number of refusals in a row, the time that the first of them named counts.
const NAMED_COUNTS: u32 = 5;
/// A timer that wakes late makes the next calls no later than this: their slots stay where they are.
const LATENESS: u64 = 20_000_000;
/// If a clock goes back by less than this, two threads have read it at the same time.
const OUT_OF_ORDER: u64 = 1_000_000_000;

/// While off, the two counts last this number of nanoseconds.
const LONG: u64 = 60_000_000_000;
const SHORT: u64 = 1_000_000_000;

/// With fewer calls, no rate is computed.
const FEW: f64 = 4.0;
/// The shortest time over which the first rate is counted, in seconds: the replies to a burst come all at once.
const LEAST: f64 = 0.05;

/// The change of a rate, for an [`Event`](crate::Event) and the log.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RateChange {
    /// A reply was a 429. Calls wait, and one after the other probes whether the service takes calls.
    Closed,
    /// The service took a probe: calls go at a rate that starts from this number of calls a second.
    #[non_exhaustive]
    Opened {
        /// The rate that the service admitted, in calls a second.
        per_second: f64,
    },
    /// No call was refused for a long time. Calls no longer wait.
    Off,
}

impl fmt::Display for RateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateChange::Closed => f.write_str("calls wait for the rate of the service"),
            RateChange::Opened { per_second } => write!(f, "calls go at {per_second:.1} a second"),
            RateChange::Off => f.write_str("calls no longer wait"),
        }
    }
}

/// How an attempt ended, for its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A success, or a failure other than throttling.
    Admitted,
    /// Throttling, with the server's hint in nanoseconds; zero means no hint.
    Refused { hint: u64 },
}

/// Counts the calls that were admitted since a time.
#[derive(Clone, Copy, Debug)]
struct Count {
    calls: f64,
    since: u64,
}

impl Count {
    const NEW: Self = Count {
        calls: 0.0,
        since: 0,
    };

    /// A count that is empty, or older than `longest`, begins anew: no rate follows from it.
    fn renew(&mut self, now: u64, longest: u64) {
        if self.calls == 0.0 || now - self.since > longest {
            *self = Count::from(now);
        }
    }

    const fn from(now: u64) -> Self {
        Count {
            calls: 0.0,
            since: now,
        }
    }

    /// The rate of these calls and `more`, a second, over `least` seconds or more.
    fn rate(&self, more: f64, least: f64, now: u64) -> f64 {
        (self.calls + more) / seconds(now.saturating_sub(self.since)).max(least)
    }
}

/// How calls go now.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Each call goes at once.
    Off,
    /// Single calls probe the service.
    Closed {
        since: u64,
        /// The rate when the way closed.
        rate: f64,
        /// The time between two probes, in seconds.
        gap: f64,
        refusals: u32,
        /// The end of the pause that the first refusal named.
        named: Option<u64>,
        /// The way was off before.
        is_first: bool,
    },
    /// Calls go at a rate.
    Open {
        /// At most this number of calls is in flight at once, until a refusal.
        window: Option<u32>,
    },
}

/// The turn of a call that waits for a reply to another one.
pub(super) const AFTER_REPLY: u64 = u64::MAX;

/// The state of a rate. Times are nanoseconds of a clock that never goes back: see [`at`](Self::at), which comes before every other method.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    way: Way,
    settle: f64,
    /// The rate is flat this number of seconds after a cut.
    flat_after: f64,
    /// When the next call may go.
    next: u64,
    /// The last refusal that counted, or the opening after it.
    cut: u64,
    /// Counts the cuts. A call remembers the number from its beginning.
    epoch: u8,
    /// The rate that was admitted last.
    admitted: f64,
    /// Since the last cycle; while off, at most a minute.
    cycle: Count,
    /// While off, at most a second.
    recent: Count,
    /// When the rate is switched off.
    until: u64,
    /// Since when nobody waits.
    idle: Option<u64>,
    /// The latest time, and the difference to the clock: if the clock goes back, the time continues from there.
    now: u64,
    behind: u64,
    /// No reply has said yet that the rate is switched off.
    is_news: bool,
}

impl Rules {
    pub(super) const fn new(settle: f64) -> Self {
        Rules {
            way: Way::Off,
            settle,
            flat_after: settle,
            next: 0,
            cut: 0,
            epoch: 0,
            admitted: 0.0,
            cycle: Count::NEW,
            recent: Count::NEW,
            until: 0,
            idle: None,
            now: 0,
            behind: 0,
            is_news: false,
        }
    }

    /// The clock shows this time. Where the clock goes back, the time goes on evenly. Switches off when the time
    /// has come.
    pub(super) fn at(&mut self, clock: Duration) {
        let now = crate::runtime::nanos(clock).saturating_add(self.behind);
        let back = self.now.saturating_sub(now);
        // Two threads that read the clock at the same time may come in the other order.
        if back > OUT_OF_ORDER {
            self.behind = self.behind.saturating_add(back);
        }
        self.now = now.max(self.now);
        if self.is_on() && self.now >= self.until {
            self.switch_off();
        }
    }

    fn switch_off(&mut self) {
        *self = Rules {
            epoch: self.epoch,
            now: self.now,
            behind: self.behind,
            is_news: true,
            ..Rules::new(self.settle)
        };
    }

    pub(super) const fn is_on(&self) -> bool {
        !matches!(self.way, Way::Off)
    }

    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    pub(super) const fn epoch(&self) -> u8 {
        self.epoch
    }

    /// The rate of the calls that go now, a second; nothing while off.
    pub(super) fn per_second(&self) -> Option<f64> {
        match self.way {
            Way::Off => None,
            Way::Closed { gap, .. } => Some(1.0 / gap),
            Way::Open { .. } => Some(self.rate()),
        }
    }

    /// The rate while open. Time in which nobody waited does not count.
    fn rate(&self) -> f64 {
        let age = seconds(self.idle.unwrap_or(self.now).saturating_sub(self.cut));
        let from_flat = (age - self.flat_after) / self.flat_after;
        self.admitted * (1.0 + (1.0 - BETA) * from_flat.powi(3))
    }

    /// How long from now a call waits for its turn that comes after this time behind this number of others.
    pub(super) fn turn_behind(&self, waiting: usize, after: Duration) -> Duration {
        let rate = match self.way {
            Way::Off => return after,
            Way::Closed { rate, .. } if self.admitted > 0.0 => rate.min(self.admitted),
            Way::Closed { rate, .. } => rate,
            Way::Open { .. } => self.rate(),
        };
        let first = Duration::from_nanos(self.next.saturating_sub(self.now)).max(after);
        let others = Duration::try_from_secs_f64(waiting as f64 / rate);
        first.saturating_add(others.unwrap_or(Duration::MAX))
    }

    /// The time at which the first in the queue may go, or [`AFTER_REPLY`], while this number of calls is in
    /// flight.
    pub(super) fn turn(&self, in_flight: u32) -> u64 {
        match self.way {
            Way::Off => 0,
            Way::Open {
                window: Some(window),
            } if in_flight >= window => AFTER_REPLY,
            _ => self.next,
        }
    }

    /// The first in the queue goes.
    pub(super) fn goes(&mut self, is_queued: bool) {
        let step = match self.way {
            Way::Off => return,
            Way::Closed { gap, .. } => gap,
            Way::Open { .. } => 1.0 / self.rate(),
        };
        let late = if is_queued { LATENESS } else { 0 };
        let from = self.next.max(self.now.saturating_sub(late));
        self.next = from.saturating_add(nanos(step));
    }

    /// Calls wait.
    pub(super) fn queued(&mut self) {
        self.leave_out_idle();
        self.idle = None;
    }

    /// The time in which nobody waited does not count.
    fn leave_out_idle(&mut self) {
        if let Some(since) = &mut self.idle {
            let idle = self.now.saturating_sub(*since);
            *since = self.now;
            self.cut += idle;
            self.cycle.since += idle;
        }
    }

    /// When the rate is switched off, unless a call is refused before.
    pub(super) const fn until(&self) -> u64 {
        self.until
    }

    /// Nobody waits.
    pub(super) fn emptied(&mut self) {
        if self.is_on() {
            self.idle.get_or_insert(self.now);
        }
    }

    /// An attempt that began after the cut `epoch` has ended; this number of others is in flight.
    pub(super) fn replied(
        &mut self,
        reply: Reply,
        epoch: u8,
        in_flight: u32,
    ) -> Option<RateChange> {
        let off = core::mem::take(&mut self.is_news).then_some(RateChange::Off);
        let change = match reply {
            Reply::Admitted => self.admits(epoch, in_flight),
            // The call began at an older rate.
            Reply::Refused { .. } if epoch != self.epoch => None,
            Reply::Refused { hint } => self.refuses(hint),
        };
        change.or(off)
    }

    fn renew(&mut self) {
        self.cycle.renew(self.now, LONG);
        self.recent.renew(self.now, SHORT);
    }

    /// Whether an admitted call adds to the counts and changes nothing else.
    pub(super) fn only_counts(&self) -> bool {
        !self.is_on() && !self.is_news && self.cycle.calls > 0.0
    }

    /// So many calls were admitted while nothing else changed.
    pub(super) fn count(&mut self, calls: u32) {
        self.cycle.calls += f64::from(calls);
        self.recent.calls += f64::from(calls);
    }

    fn refuses(&mut self, hint: u64) -> Option<RateChange> {
        let now = self.now;
        self.leave_out_idle();
        if !self.is_on() {
            self.renew();
        }
        let named = (hint > 0).then(|| now.saturating_add(hint));
        let (way, change) = match self.way {
            Way::Closed {
                since,
                rate,
                gap,
                refusals,
                named,
                is_first,
            } => {
                let gap = (PROBE * seconds(now - since)).max(gap).min(LONGEST_GAP);
                let way = Way::Closed {
                    since,
                    rate,
                    gap,
                    refusals: refusals.saturating_add(1),
                    named,
                    is_first,
                };
                (way, None)
            }
            before => {
                let rate = match before {
                    Way::Open { window: None } => self.rate(),
                    Way::Open { .. } => self.rate().min(self.cycle.rate(1.0, 1e-3, now)),
                    _ => (self.cycle.rate(1.0, LEAST, now)).max(self.recent.rate(1.0, LEAST, now)),
                };
                let is_first = before == Way::Off;
                if !is_first {
                    self.flat_after = (self.flat_after * SLOWER).min(SLOWEST.max(self.settle));
                }
                let way = Way::Closed {
                    since: now,
                    rate,
                    gap: (1.0 / (BETA * rate)).min(LONGEST_GAP),
                    refusals: 1,
                    named,
                    is_first,
                };
                (way, Some(RateChange::Closed))
            }
        };
        if self.way == Way::Off {
            self.idle = Some(now);
        }
        self.way = way;
        self.cut = now;
        self.epoch = self.epoch.wrapping_add(1);
        if let Way::Closed {
            gap,
            refusals,
            named,
            ..
        } = way
        {
            self.next = now.saturating_add(nanos(gap));
            if let Some(named) = named.filter(|named| refusals >= NAMED_COUNTS && *named > now) {
                self.next = self.next.max(now + (named - now) / 4).min(named);
            }
        }
        // From the next probe on, because the gap between two probes may be as long.
        let quiet = nanos((30.0 * self.flat_after).max(60.0));
        self.until = self.next.saturating_add(quiet);
        change
    }

    fn admits(&mut self, epoch: u8, in_flight: u32) -> Option<RateChange> {
        let now = self.now;
        if !self.is_on() {
            self.renew();
        }
        self.count(1);
        if !self.is_on() {
            return None;
        }
        self.leave_out_idle();
        self.flat_after = (self.flat_after / SLOWER.powf(UNDONE)).max(self.settle);
        match &mut self.way {
            Way::Open {
                window: Some(window),
            } => *window = window.saturating_add(1),
            Way::Closed { rate, is_first, .. } if epoch == self.epoch => {
                let (rate, is_first) = (*rate, *is_first);
                let admitted = self.cycle.rate(0.0, 1e-3, now).min(rate);
                let is_few = self.cycle.calls < FEW && !is_first;
                let (admitted, window) = if is_first {
                    let recent = self.recent.rate(0.0, 1e-3, now).min(rate);
                    (admitted.max(recent), Some(in_flight + 2))
                } else if admitted >= rate / 2.0 {
                    ((admitted + rate) / 2.0, None)
                } else if is_few {
                    (rate / 2.0, None)
                } else {
                    (admitted, None)
                };
                self.admitted = admitted.max(1.0 / LONGEST_GAP);
                if !is_few {
                    self.cycle = Count::from(now);
                }
                self.way = Way::Open { window };
                self.cut = now;
                self.epoch = self.epoch.wrapping_add(1);
                let first = now.saturating_add(nanos(1.0 / self.rate()));
                self.next = self.next.min(first);
                let per_second = self.admitted;
                return Some(RateChange::Opened { per_second });
            }
            _ => {}
        }
        None
    }
}

/// Nanoseconds as seconds.
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Seconds as nanoseconds.
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
