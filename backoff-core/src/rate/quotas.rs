//! The quotas that the service states: what remains of each, less what has begun since, and when the next call may go.

use crate::{facts::quota::Quota, runtime::nanos};

/// Without new headers, the quotas hold for this time.
const FRESH: u64 = 60_000_000_000;
/// A quota that only one reply has stated closes the queue for at most this time.
const UNCONFIRMED: u64 = 75_000_000_000;
/// The most quotas of a service: a server that invents names must not fill the memory.
const MOST: usize = 32;
/// The part of a quota that each process may use at least.
const LEAST_PART: f64 = 0.01;
/// The pace holds when less than so many shares of a call remain for this process, if others use the quota too: they do
/// not wait for each other.
const RESERVE: f64 = 8.0;
/// The share of what comes back that is used while little remains: so some remains for a call that comes at a bad time.
const PACE: f64 = 0.9;
/// The next number of an attempt follows at the earliest after this time: 128 numbers last longer than most attempts.
const STEP: u64 = 500_000_000;

/// How many tokens of a quota an attempt uses.
pub(crate) type Tokens = u32;
pub(crate) const NO_TOKENS: Tokens = 0;

/// What attempts use: requests and tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Share {
    requests: f64,
    tokens: f64,
}

impl Share {
    /// One attempt with so many tokens.
    pub(super) fn of(tokens: Tokens) -> Self {
        Share {
            requests: 1.0,
            tokens: tokens.into(),
        }
    }

    /// The part that this quota counts.
    fn in_quota(self, quota: &Quota) -> f64 {
        match quota.counts_tokens {
            true => self.tokens,
            false => self.requests,
        }
    }

    /// Adds so many times another share.
    fn add(&mut self, times: f64, other: Self) {
        self.requests += times * other.requests;
        self.tokens += times * other.tokens;
    }
}

/// A quota as the last used reply stated it.
#[derive(Clone, Debug, Default)]
struct Mirror {
    stated: Quota,
    /// What remains at this time.
    left: f64,
    at: u64,
    /// When the quota is full again, and the longest time until then that a reply has stated.
    resets: u64,
    window: u64,
    /// What comes back in a second, if the quota is refilled steadily.
    refill: f64,
    /// What this process and others have used lately.
    own: f64,
    others: f64,
    /// This process has used its part of what comes back until this time.
    paced: u64,
    /// When the first reply stated the quota; after that, when the last call went in spite of the quota.
    since: u64,
    is_confirmed: bool,
}

impl Mirror {
    fn new(stated: Quota, since: f64, now: u64) -> Self {
        let mut mirror = Mirror {
            left: stated.left - since,
            at: now,
            since: now,
            stated: stated.clone(),
            ..Mirror::default()
        };
        mirror.correct(stated, since, now);
        mirror
    }

    /// The capacity; without a stated limit, what remained.
    fn limit(&self) -> f64 {
        self.stated.limit.unwrap_or(self.stated.left).max(1.0)
    }

    /// The part of the quota that this process uses.
    fn part(&self) -> f64 {
        match self.own + self.others {
            0.0 => 1.0,
            all => (self.own / all).max(LEAST_PART),
        }
    }

    /// Whether the part of this process that remains has room for so much.
    fn is_ample(&self, share: f64) -> bool {
        let part = self.part();
        self.left * part >= share * (1.0 + (1.0 - part) * (RESERVE - 1.0))
    }

    /// The quota at this time.
    fn settle(&mut self, now: u64) {
        if self.stated.is_steady {
            let seconds = now.saturating_sub(self.at) as f64 / 1e9;
            self.left = (self.left + self.refill * seconds).min(self.limit());
        } else if now >= self.resets && self.window > 0 {
            self.left = self.limit();
            self.resets = now.saturating_add(self.window);
        }
        self.at = now.max(self.at);
    }

    /// When so much may be used. More than the whole quota may be used when the quota is full.
    fn turn(&self, share: f64) -> u64 {
        let share = share.min(self.limit());
        let missing = share - self.left;
        let turn = match missing > 0.0 {
            false if self.is_ample(share) => return 0,
            false => self.paced,
            true if self.stated.is_steady && self.refill > 0.0 => {
                let comes = (missing / self.refill * 1e9).ceil() as u64;
                self.at.saturating_add(comes).max(self.paced)
            }
            true => self.resets,
        };
        match self.is_confirmed {
            true => turn,
            false => turn.min(self.since.saturating_add(UNCONFIRMED)),
        }
    }

    /// Another reply states the quota. So much was used since the attempt began that has the reply.
    fn correct(&mut self, stated: Quota, since: f64, now: u64) {
        self.settle(now);
        let left = stated.left - since;
        self.others = (self.others + self.left - left).max(0.0);
        // What was used long ago counts less.
        if self.own + self.others > self.limit() / 2.0 {
            self.own /= 2.0;
            self.others /= 2.0;
        }
        let seconds = stated.resets_in.as_secs_f64();
        let missing = stated.limit.unwrap_or(stated.left) - stated.left;
        if stated.is_steady && seconds > 0.0 && missing > 0.0 {
            self.refill = missing / seconds;
        }
        let resets_in = nanos(stated.resets_in);
        self.window = self.window.max(resets_in);
        self.resets = now.saturating_add(resets_in);
        self.left = left;
        self.stated = stated;
    }

    /// So much is used.
    fn take(&mut self, share: f64, now: u64) {
        self.settle(now);
        if self.left < share.min(self.limit()) {
            self.since = now;
        }
        if !self.is_ample(share) && self.refill > 0.0 {
            let pause = (share / (self.refill * self.part() * PACE) * 1e9) as u64;
            let paced = self.paced.max(now).saturating_add(pause);
            self.paced = paced.min(self.resets.max(now));
        }
        self.left -= share;
        self.own += share;
    }
}

/// All quotas that replies have stated.
#[derive(Clone, Debug)]
pub(super) struct Quotas {
    mirrors: Vec<Mirror>,
    /// What all attempts have used, and what they had used when the attempts of each number began.
    used: Share,
    used_before: Box<[Share; 256]>,
    /// The number of the attempt whose reply was used last.
    last: u8,
    /// When the last headers and the last new number came.
    heard: u64,
    stepped: u64,
}

impl Quotas {
    /// The first reply that states quotas is that of an attempt with this number.
    pub(super) fn new(number: u8, now: u64) -> Self {
        Quotas {
            mirrors: Vec::new(),
            used: Share::default(),
            used_before: Box::new([Share::default(); 256]),
            last: number,
            heard: now,
            stepped: 0,
        }
    }

    /// Attempts with this number begin from now on.
    pub(super) fn begins(&mut self, number: u8, now: u64) {
        self.used_before[usize::from(number)] = self.used;
        self.stepped = now;
    }

    /// An attempt with this number and this share has a reply that states quotas. Returns whether the next attempts get
    /// a new number. `current` is the number of the attempts that begin now. A reply to an older attempt than that of the
    /// last used reply changes nothing.
    pub(super) fn replied(
        &mut self,
        stated: Vec<Quota>,
        (number, current): (u8, u8),
        own: Share,
        now: u64,
    ) -> bool {
        if is_older(number, self.last) {
            return false;
        }
        self.last = number;
        self.heard = now;
        // Nobody knows whether the service has counted the attempts that began with this one.
        let mut since = self.used;
        since.add(-1.0, self.used_before[usize::from(number)]);
        since.add(-1.0, own);
        for quota in stated {
            let since = since.in_quota(&quota).max(0.0);
            let has_room = self.mirrors.len() < MOST;
            let mut mirrors = self.mirrors.iter_mut();
            match mirrors.find(|mirror| mirror.stated.name == quota.name) {
                Some(mirror) => {
                    mirror.correct(quota, since, now);
                    mirror.is_confirmed = true;
                }
                None if has_room => self.mirrors.push(Mirror::new(quota, since, now)),
                None => {}
            }
        }
        number == current && now.saturating_sub(self.stepped) >= STEP
    }

    /// An attempt begins. Returns whether its share is larger than a whole quota.
    pub(super) fn takes(&mut self, share: Share, now: u64) -> bool {
        self.used.add(1.0, share);
        let mut is_too_large = false;
        for mirror in &mut self.mirrors {
            let share = share.in_quota(&mirror.stated);
            is_too_large |= share > mirror.limit();
            mirror.take(share, now);
        }
        is_too_large
    }

    /// An attempt with this number was dropped or cut, or the service did not reply.
    pub(super) fn gives_back(&mut self, number: u8, current: u8, share: Share) {
        if !is_older(self.last, number) {
            return;
        }
        self.used.add(-1.0, share);
        let mut later = number;
        while later != current {
            later = later.wrapping_add(1);
            self.used_before[usize::from(later)].add(-1.0, share);
        }
        for mirror in &mut self.mirrors {
            let share = share.in_quota(&mirror.stated);
            mirror.left += share;
            mirror.own = (mirror.own - share).max(0.0);
        }
    }

    /// Whether the quotas say when calls go.
    pub(super) fn until(&self) -> u64 {
        let turn = self.turn(Share::of(0));
        self.heard.saturating_add(FRESH).max(turn)
    }

    /// When a call with this share may go.
    pub(super) fn turn(&self, share: Share) -> u64 {
        let turns = self.mirrors.iter();
        let turns = turns.map(|mirror| mirror.turn(share.in_quota(&mirror.stated)));
        turns.max().unwrap_or(0)
    }

    /// When a call with this share may go behind this number of others.
    pub(super) fn turn_behind(&self, waiting: usize, share: Share) -> u64 {
        let each = self.used.tokens / self.used.requests.max(1.0);
        let all = Share {
            requests: share.requests + waiting as f64,
            tokens: share.tokens + waiting as f64 * each,
        };
        self.turn(all)
    }
}

/// Whether the attempts with the first number began before those with the second. The numbers repeat.
pub(super) fn is_older(number: u8, than: u8) -> bool {
    (number.wrapping_sub(than) as i8) < 0
}

#[cfg(all(test, not(loom)))]
mod tests;
