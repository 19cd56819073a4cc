//! The quotas that the service states: what remains of each, less what has begun since, and when the next call may go.

use crate::{facts::quota::Quota, runtime::nanos};
use std::collections::VecDeque;

/// If the reply to a call that tries a quota does not come, the next one goes after this time. Quotas are over when no
/// reply has stated any for so long, and their ends have passed so long ago.
const MINUTE: u64 = 60_000_000_000;
/// The most quotas of a service: a server that invents names must not fill the memory.
const MOST: usize = 32;
/// The part of a quota that each process may use at least.
const LEAST_PART: f64 = 0.01;
/// The pace holds when less than so many shares of a call remain for this process, if others use the quota too: they do
/// not wait for each other. What remains of a window when it ends is lost, so its reserve is smaller.
const RESERVE: f64 = 8.0;
const RESERVE_OF_A_WINDOW: f64 = 4.0;
/// Two times that differ by less may be the same: services state whole seconds, and attempts overtake each other. After this
/// time a call tries whether a quota holds of which suddenly nothing is left.
const GRAIN: u64 = 2_000_000_000;
/// So many attempts begin at most while an attempt runs: their numbers repeat.
pub(super) const MANY: u16 = 1 << 14;

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

/// Nothing has contradicted a quota: it is not tried.
const TRUSTED: u64 = u64::MAX;
/// A quota has lost its word: a call was admitted although nothing was left.
const VOID: u64 = 0;

/// A quota as replies have stated it.
#[derive(Clone, Debug, Default)]
struct Mirror {
    stated: Quota,
    /// What remains at this time, by the least of the last replies.
    left: f64,
    at: u64,
    /// When the quota is full again, and the longest time until then that a reply has stated.
    resets: u64,
    window: u64,
    /// What comes back in a second, if the quota is refilled steadily.
    refill: f64,
    /// An end that was stated, and how much came back in a second then: a window ends then, whatever is used.
    first: (u64, f64),
    is_steady: bool,
    /// What this process and others have used lately, and what would remain now if others used nothing.
    own: f64,
    others: f64,
    expected: f64,
    /// This process has used its part of what comes back until this time.
    paced: u64,
    /// When one call may go although nothing is left; [`TRUSTED`] or [`VOID`].
    tried: u64,
    /// The number of the call that went so.
    trial: Option<u16>,
}

impl Mirror {
    fn new(stated: Quota, now: u64) -> Self {
        let left = stated.limit.unwrap_or(stated.left).max(1.0);
        Mirror {
            left,
            expected: left,
            at: now,
            is_steady: stated.is_steady,
            tried: TRUSTED,
            stated,
            ..Mirror::default()
        }
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

    /// Whether so much is missing.
    fn lacks(&self, share: f64, left: f64) -> bool {
        /// So inexact is a sum of parts.
        const EXACT: f64 = 1e-6;
        left + EXACT < share.min(self.limit())
    }

    /// Whether the part of this process of what remains has room for so much.
    fn is_ample(&self, share: f64, left: f64) -> bool {
        let part = self.part();
        let reserve = match self.is_steady {
            true => RESERVE,
            false => RESERVE_OF_A_WINDOW,
        };
        left * part >= share * (1.0 + (1.0 - part) * (reserve - 1.0))
    }

    /// The quota at this time. Returns whether a window has ended.
    fn settle(&mut self, now: u64) -> bool {
        let seconds = now.saturating_sub(self.at) as f64 / 1e9;
        self.at = now.max(self.at);
        if self.is_steady {
            let comes = (self.refill * seconds)
                .min(self.limit() - self.left)
                .max(0.0);
            self.left += comes;
            self.expected += comes;
        }
        let ends = !self.is_steady && now >= self.resets && self.window > 0;
        if ends {
            (self.left, self.expected) = (self.limit(), self.limit());
            self.resets = now.saturating_add(self.window);
        }
        ends
    }

    /// When so much may be used while attempts run that use so much. More than the whole quota may be used when the quota
    /// is full.
    fn turn(&self, share: f64, running: f64) -> u64 {
        if share == 0.0 {
            return 0;
        }
        let share = share.min(self.limit());
        let left = self.left - running;
        let turn = match self.lacks(share, left) {
            false if self.is_ample(share, left) => return 0,
            false => self.paced,
            true if self.is_steady && self.refill > 0.0 => {
                // A second after the quota is full, the service has counted what runs.
                let least = self.limit() - self.left + self.refill;
                let comes = ((share - left).min(least) / self.refill * 1e9).ceil() as u64;
                self.at.saturating_add(comes).max(self.paced)
            }
            true => self.resets,
        };
        turn.min(self.tried)
    }

    /// A reply states the quota while attempts run that use so much. `overlaps` says that the attempt began before the
    /// last used reply came.
    fn correct(&mut self, stated: Quota, running: f64, overlaps: bool, now: u64) {
        self.settle(now);
        let left = stated.left - running;
        let fell = self.expected - left;
        let is_odd = stated.left < 1.0 && fell > self.limit() / 2.0;
        let is_sure = !is_odd && self.tried == TRUSTED;
        // Nobody knows which of two attempts that ran together came first to the service.
        let overlaps = overlaps && self.tried == TRUSTED;
        if overlaps && (is_odd || self.left <= stated.left) {
            return;
        }
        let seconds = stated.resets_in.as_secs_f64();
        let missing = stated.limit.unwrap_or(stated.left) - stated.left;
        let resets_in = nanos(stated.resets_in);
        let resets = now.saturating_add(resets_in);
        // Less than a second is stated as zero.
        let refill = if seconds > 0.0 {
            missing / seconds
        } else {
            missing
        };
        if now >= self.first.0 || self.first.1 <= 0.0 {
            self.first = (resets, refill);
        } else if missing > 0.0 {
            // Of a window, the end stands still; of a steady quota, what comes back in a second.
            let window = resets.abs_diff(self.first.0) as f64 / 1e9;
            let steady = (missing / self.first.1 - seconds).abs();
            if window.max(steady) > GRAIN as f64 / 1e9 {
                self.is_steady = steady < window;
            }
        }
        let is_next = !self.is_steady && resets > self.resets.saturating_add(GRAIN);
        if !overlaps {
            if is_sure && !(is_next && fell < 0.0) {
                self.others = (self.others + fell).max(0.0);
            }
            // What was used long ago counts less.
            if self.own + self.others > self.limit() / 2.0 {
                self.own /= 2.0;
                self.others /= 2.0;
            }
            self.expected = left;
        }
        if refill > 0.0 {
            self.refill = refill;
        }
        if stated.left >= 1.0 {
            (self.tried, self.trial) = (TRUSTED, None);
        } else if is_odd {
            self.tried = self.tried.min(now.saturating_add(GRAIN));
        }
        self.window = self.window.max(resets_in);
        self.resets = resets;
        self.left = stated.left;
        self.stated = stated;
    }

    /// The attempt with this number uses so much, while attempts run that use so much.
    fn take(&mut self, share: f64, running: f64, number: u16, now: u64) {
        if share == 0.0 {
            return;
        }
        let left = self.left - running;
        if self.lacks(share, left) && self.tried != VOID {
            self.tried = now.saturating_add(MINUTE);
            self.trial = Some(number);
        }
        if !self.is_ample(share, left) {
            let seconds = self.resets.saturating_sub(now) as f64 / 1e9;
            let refill = if self.is_steady {
                self.refill
            } else {
                left.max(0.0) / seconds
            };
            let pause = (share / (refill * self.part()) * 1e9) as u64;
            let paced = self.paced.max(now).saturating_add(pause);
            self.paced = paced.min(self.resets.max(now));
        }
        self.expected -= share;
        self.own += share;
    }

    /// An attempt with this number was refused with this hint, or admitted.
    fn judge(&mut self, hint: Option<u64>, number: u16, now: u64) {
        let is_trial = self.trial.is_some_and(|trial| !is_older(number, trial));
        if is_trial {
            self.trial = None;
            self.tried = if hint.is_some() { TRUSTED } else { VOID };
        }
        // The shorter time counts of two that a reply names.
        let ends = hint.map(|hint| now.saturating_add(hint).saturating_add(GRAIN));
        if hint > Some(0) && self.left < 1.0 && self.tried != VOID && ends < Some(self.resets) {
            self.tried = now.saturating_add(hint.unwrap_or_default());
        }
    }
}

/// All quotas that replies have stated.
#[derive(Clone, Debug)]
pub(super) struct Quotas {
    mirrors: Vec<Mirror>,
    /// The attempts that the service may not have counted: the number of the first one, what each one uses until it has
    /// ended, and when it began; and the sum, with what those have used that have ended without a word.
    first: u16,
    begun: VecDeque<(Share, u64)>,
    running: Share,
    silent: Share,
    /// What the last attempt used.
    last: Share,
    /// The number of the first attempt that began after the last used reply, when the last headers came, and the latest
    /// end that they stated.
    next: u16,
    heard: u64,
    ends: u64,
}

impl Quotas {
    /// The first reply that states quotas is that of an attempt with this number, after which so many attempts began that
    /// use as much. So many attempts run: nobody knows which ones, so the last ones count.
    pub(super) fn new(number: u16, after: u16, runs: u32, share: Share, now: u64) -> Self {
        let mut begun = VecDeque::from(vec![(Share::default(), now); usize::from(after) + 1]);
        let mut running = Share::default();
        for attempt in begun.iter_mut().rev().take(runs as usize) {
            attempt.0 = share;
            running.add(1.0, share);
        }
        Quotas {
            mirrors: Vec::new(),
            first: number,
            begun,
            running,
            silent: Share::default(),
            last: share,
            next: number,
            heard: 0,
            ends: 0,
        }
    }

    /// The attempt with this number.
    fn attempt(&mut self, number: u16) -> Option<&mut (Share, u64)> {
        self.begun
            .get_mut(usize::from(number.wrapping_sub(self.first)))
    }

    /// The reply to the attempt with this number states quotas.
    pub(super) fn replied(&mut self, stated: Vec<Quota>, number: u16, now: u64) {
        let Some(&mut (_, began)) = self.attempt(number) else {
            return;
        };
        self.heard = now;
        self.ended(number);
        let overlaps = is_older(number, self.next);
        if !overlaps {
            self.counts_silent();
            self.next = self.first.wrapping_add(self.begun.len() as u16);
            self.forgets(began);
        }
        for quota in stated {
            self.ends = self.ends.max(now.saturating_add(nanos(quota.resets_in)));
            let running = self.running.in_quota(&quota);
            let has_room = self.mirrors.len() < MOST;
            let mut mirrors = self.mirrors.iter_mut();
            match mirrors.find(|mirror| mirror.stated.name == quota.name) {
                Some(mirror) => mirror.correct(quota, running, overlaps, now),
                None if has_room => {
                    let mut mirror = Mirror::new(quota.clone(), now);
                    mirror.correct(quota, running, false, now);
                    // Nobody knows who has used what is missing.
                    mirror.others = 0.0;
                    self.mirrors.push(mirror);
                }
                None => {}
            }
        }
    }

    /// The service has counted the attempts that have ended without a word.
    fn counts_silent(&mut self) {
        let silent = std::mem::take(&mut self.silent);
        self.running.add(-1.0, silent);
    }

    /// The service has counted the attempts that began some time before this time.
    fn forgets(&mut self, began: u64) {
        let is_counted = |it: &(Share, u64)| it.1.saturating_add(GRAIN) < began;
        while self.begun.len() > MANY.into() || self.begun.front().is_some_and(is_counted) {
            self.ended(self.first);
            self.begun.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// The attempt with this number has ended. Returns what it has used, unless it is counted.
    pub(super) fn ended(&mut self, number: u16) -> Share {
        let share = self.attempt(number).map(|it| std::mem::take(&mut it.0));
        self.running.add(-1.0, share.unwrap_or_default());
        share.unwrap_or_default()
    }

    /// The attempt with this number has used so many tokens. Once it has ended, or without a number, these tokens are used
    /// without a word of the service.
    pub(super) fn used(&mut self, tokens: f64, number: Option<u16>) {
        let runs = number.and_then(|number| self.attempt(number));
        let more = match runs.filter(|it| it.0 != Share::default()) {
            Some((share, _)) => tokens - std::mem::replace(&mut share.tokens, tokens),
            None => {
                self.silent.tokens += tokens;
                tokens
            }
        };
        self.running.tokens += more;
        for mirror in &mut self.mirrors {
            if mirror.stated.counts_tokens {
                mirror.expected -= more;
                mirror.own = (mirror.own + more).max(0.0);
            }
        }
    }

    /// The attempt with this number begins. Returns whether its share is larger than a whole quota.
    pub(super) fn takes(&mut self, share: Share, number: u16, now: u64) -> bool {
        if share != Share::default() {
            self.last = share;
        }
        let (mut is_too_large, mut has_ended) = (false, false);
        for mirror in &mut self.mirrors {
            has_ended |= mirror.settle(now);
        }
        // What was used in a window counts no more when it has ended.
        if has_ended {
            self.counts_silent();
        }
        self.forgets(if has_ended { now } else { 0 });
        for mirror in &mut self.mirrors {
            let [share, running] = [share, self.running].map(|it| it.in_quota(&mirror.stated));
            is_too_large |= share > mirror.limit();
            mirror.take(share, running, number, now);
        }
        // Others may have begun without the lock.
        while self.begun.len() <= number.wrapping_sub(self.first).into() {
            self.begun.push_back((share, now));
            self.running.add(1.0, share);
        }
        is_too_large
    }

    /// An attempt with this number was refused with this hint, or admitted. Returns whether a quota of which nothing is left
    /// holds the next call back.
    pub(super) fn judge(&mut self, hint: Option<u64>, number: u16, now: u64) -> bool {
        let began = self.attempt(number).map(|it| it.1);
        let share = self.ended(number);
        // No reply has stated what remains since the attempt began.
        if began >= Some(self.heard) {
            self.running.add(1.0, share);
            self.silent.add(1.0, share);
        }
        let mut explains = false;
        for mirror in &mut self.mirrors {
            mirror.settle(now);
            mirror.judge(hint, number, now);
            explains |= mirror.tried != VOID && mirror.left < 1.0 && mirror.resets > now;
        }
        explains
    }

    /// Whether replies have ceased to state quotas, if a reply comes now.
    pub(super) fn are_over(&self, now: u64) -> bool {
        now > self.heard.max(self.ends).saturating_add(MINUTE)
    }

    /// When a call with this share may go.
    pub(super) fn turn(&self, share: Share) -> u64 {
        let turns = self.mirrors.iter();
        let turns = turns.map(|mirror| {
            let [share, running] = [share, self.running].map(|it| it.in_quota(&mirror.stated));
            mirror.turn(share, running)
        });
        turns.max().unwrap_or(0)
    }

    /// Whether so much is missing.
    pub(super) fn lacks(&self, share: Share) -> bool {
        let lacks = |mirror: &Mirror| {
            let [share, running] = [share, self.running].map(|it| it.in_quota(&mirror.stated));
            share > 0.0 && mirror.lacks(share, mirror.left - running)
        };
        self.mirrors.iter().any(lacks)
    }

    /// When a call with this share may go behind this number of others.
    pub(super) fn turn_behind(&self, waiting: usize, share: Share) -> u64 {
        let mut all = share;
        all.add(waiting as f64, self.last);
        self.turn(all)
    }
}

/// Whether the attempt with the first number began before that with the second. The numbers repeat.
pub(super) fn is_older(number: u16, than: u16) -> bool {
    (number.wrapping_sub(than) as i16) < 0
}

#[cfg(all(test, not(loom)))]
mod tests;
