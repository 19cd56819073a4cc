//! A service with a limit of so many calls a second. A call beyond the limit is refused with 429, with or
//! without a `Retry-After`. A refused call counts nothing.

use std::collections::VecDeque;
use std::time::Duration;

use backoff_cloud::{Fault, TimedOut};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// Calls a second.
pub(crate) const LIMIT: u64 = 50;

/// What the service says to a call that it refuses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    Nothing,
    /// `Retry-After: 1`: the whole seconds until a call is admitted.
    NextToken,
    /// The second in which there is room that has not been promised to anyone else.
    InTurn,
}

impl Hint {
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::NextToken, Self::InTurn];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "no Retry-After",
            Self::NextToken => "Retry-After: 1",
            Self::InTurn => "Retry-After in turn",
        }
    }
}

/// The reply to a call too many.
#[derive(Fault)]
#[fault(status = 429)]
pub(crate) struct Throttled {
    #[fault(retry_after)]
    pub(crate) retry_after: Option<Duration>,
}

/// The call has waited too long for its turn, and ends.
impl From<TimedOut> for Throttled {
    fn from(_late: TimedOut) -> Self {
        Throttled { retry_after: None }
    }
}

/// How the service counts.
#[derive(Clone, Copy, PartialEq)]
enum Counted {
    /// A bucket holds the tokens of this number of seconds, is full at first and refills evenly.
    Bucket(f64),
    /// Each window of this length, in nanoseconds, admits what the rate gives in the window.
    Windows(u64),
    /// The same, of the window that ends now.
    Sliding(u64),
}

/// A limit. Its tokens are numbered in the order in which they come: the n-th token of a rate of 50 a
/// second comes at n/50 s. The tokens of a full bucket have numbers up to 0.
#[derive(Clone, Copy)]
pub(crate) struct Quota {
    counted: Counted,
    per_second: f64,
    /// From this time on, another rate.
    then: (u64, f64),
    block: Option<Block>,
    /// How many tokens a call costs.
    cost: f64,
}

/// Whoever goes over the limit is refused for this time, in nanoseconds; each call meanwhile may begin the time anew.
#[derive(Clone, Copy)]
struct Block {
    lasts: u64,
    is_renewed: bool,
}

impl Quota {
    const fn new(counted: Counted, per_second: f64) -> Self {
        Self {
            counted,
            per_second,
            then: (u64::MAX, per_second),
            block: None,
            cost: 1.0,
        }
    }

    /// So many calls in so many seconds, and all of them at once if nobody has called for as long.
    pub(crate) const fn steady(calls: u64, seconds: u64) -> Self {
        let per_second = calls as f64 / seconds as f64;
        Self::new(Counted::Bucket(seconds as f64), per_second)
    }

    /// So many calls in each fixed window of so many seconds.
    pub(crate) const fn window(calls: u64, seconds: u64) -> Self {
        let per_second = calls as f64 / seconds as f64;
        Self::new(Counted::Windows(seconds * SECOND), per_second)
    }

    /// So many calls in any window of so many seconds.
    pub(crate) const fn sliding(calls: u64, seconds: u64) -> Self {
        let per_second = calls as f64 / seconds as f64;
        Self::new(Counted::Sliding(seconds * SECOND), per_second)
    }

    /// A call uses up so much as others do with so many calls.
    pub(crate) const fn costs(mut self, tokens: f64) -> Self {
        self.cost = tokens;
        self
    }

    /// Whoever goes over the limit is refused for so many seconds.
    pub(crate) const fn blocking(mut self, seconds: u64, is_renewed: bool) -> Self {
        let lasts = seconds * SECOND;
        self.block = Some(Block { lasts, is_renewed });
        self
    }

    /// A bucket of one second.
    pub(crate) const fn bucket(per_second: u64) -> Self {
        Self::steady(per_second, 1)
    }

    /// A leaky bucket: calls are admitted evenly, and may come up to 0.1 s early.
    pub(crate) const fn leaky(per_second: u64) -> Self {
        Self::new(Counted::Bucket(0.1), per_second as f64)
    }

    /// Fixed windows of a minute.
    pub(crate) const fn minutes(per_second: u64) -> Self {
        Self::windows(60, per_second)
    }

    /// Fixed windows of so many seconds.
    pub(crate) const fn windows(seconds: u64, per_second: u64) -> Self {
        Self::window(seconds * per_second, seconds)
    }

    /// Changes to another rate; windows at the end of one.
    pub(crate) const fn then(self, at: Duration, per_second: u64) -> Self {
        Self {
            then: (at.as_nanos() as u64, per_second as f64),
            ..self
        }
    }

    pub(crate) fn is_renewed(&self) -> bool {
        self.block.is_some_and(|block| block.is_renewed)
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.then.0 < u64::MAX
    }

    pub(crate) fn has_windows(&self) -> bool {
        matches!(self.counted, Counted::Windows(_))
    }

    /// Calls a second at this time.
    pub(crate) fn rate(&self, time: u64) -> f64 {
        let (change, then) = self.then;
        if time < change { self.per_second } else { then }
    }

    /// How many tokens have come.
    fn tokens(&self, time: u64) -> f64 {
        let (change, then) = self.then;
        let before = time.min(change) as f64 * self.per_second;
        (before + time.saturating_sub(change) as f64 * then) / SECOND as f64
    }

    /// When a token comes.
    pub(crate) fn comes(&self, token: f64) -> u64 {
        let nanos = SECOND as f64;
        let time = (token / self.per_second * nanos).max(0.0).ceil() as u64;
        let (change, then) = self.then;
        if time < change {
            return time;
        }
        let more = token - self.tokens(change);
        change + (more / then * nanos).ceil() as u64
    }

    /// The numbers of the tokens that may be used now: greater than the first, up to the second.
    fn usable(&self, now: u64) -> (f64, f64) {
        match self.counted {
            Counted::Bucket(size) => {
                let tokens = self.tokens(now);
                (tokens - size * self.rate(now), tokens)
            }
            Counted::Windows(length) => {
                let start = now - now % length;
                (self.tokens(start), self.tokens(start + length))
            }
            Counted::Sliding(length) => (0.0, self.tokens(length)),
        }
    }

    /// When this number of calls can have been admitted, if they all come from `start` on.
    pub(crate) fn admits(&self, calls: u32, start: u64) -> u64 {
        self.turn(self.usable(start).0 + f64::from(calls) * self.cost)
            .max(start)
    }

    /// The first time at which a token may be used.
    fn turn(&self, token: f64) -> u64 {
        let comes = self.comes(token - EXACT);
        match self.counted {
            Counted::Bucket(_) => comes,
            Counted::Windows(length) | Counted::Sliding(length) => comes - comes % length,
        }
    }
}

/// So far a sum of tokens may be from a whole number.
const EXACT: f64 = 1e-6;

/// What is left of a limit, and the seconds until all of it is.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    pub(crate) limit: f64,
    pub(crate) left: f64,
    pub(crate) full_in: f64,
}

/// Times are in nanoseconds.
pub(crate) struct Service {
    quota: Quota,
    hint: Hint,
    /// The token that was used last. Of a sliding window, how many it has used.
    used: f64,
    /// When calls were admitted, as far as a sliding window counts them.
    admitted: VecDeque<u64>,
    /// The token that was promised last.
    promised: f64,
    /// No call is admitted before this time.
    blocked: u64,
}

impl Service {
    pub(crate) fn new(quota: Quota, hint: Hint) -> Self {
        let used = quota.usable(0).0;
        Self {
            quota,
            hint,
            used,
            admitted: VecDeque::new(),
            promised: used,
            blocked: 0,
        }
    }

    /// The numbers of the tokens that may be used now, as [`Quota::usable`] says.
    fn settle(&mut self, now: u64) -> (f64, f64) {
        let (first, last) = self.quota.usable(now);
        self.used = match self.quota.counted {
            Counted::Sliding(length) => {
                self.admitted.retain(|&time| time + length > now);
                self.admitted.len() as f64 * self.quota.cost
            }
            Counted::Bucket(_) | Counted::Windows(_) => self.used.max(first),
        };
        (first, last)
    }

    pub(crate) fn left(&mut self, now: u64) -> Left {
        let (first, last) = self.settle(now);
        let nanos = match self.quota.counted {
            Counted::Bucket(_) => (self.used - first) / self.quota.rate(now) * SECOND as f64,
            Counted::Windows(length) => (length - now % length) as f64,
            Counted::Sliding(length) => {
                let full = self.admitted.back().map_or(now, |last| last + length);
                (full - now) as f64
            }
        };
        Left {
            limit: last - first,
            left: last - self.used,
            full_in: nanos / SECOND as f64,
        }
    }

    pub(crate) fn call(&mut self, now: u64) -> Result<(), Throttled> {
        let (_, last) = self.settle(now);
        let is_blocked = now < self.blocked;
        if !is_blocked && self.used + self.quota.cost <= last + EXACT {
            self.used += self.quota.cost;
            self.admitted.push_back(now);
            return Ok(());
        }
        if let Some(block) = self.quota.block {
            if !is_blocked || block.is_renewed {
                self.blocked = now + block.lasts;
            }
            let seconds = (self.blocked - now).div_ceil(SECOND);
            let retry_after = (self.hint != Hint::Nothing).then(|| Duration::from_secs(seconds));
            return Err(Throttled { retry_after });
        }
        let token = match self.hint {
            Hint::Nothing => return Err(Throttled { retry_after: None }),
            Hint::NextToken => self.used + 1.0,
            Hint::InTurn => {
                self.promised = self.promised.max(self.used) + 1.0;
                self.promised
            }
        };
        let wait = self.quota.turn(token).saturating_sub(now);
        // The header knows whole seconds only.
        let seconds = Duration::from_secs(wait.div_ceil(SECOND));
        Err(Throttled {
            retry_after: Some(seconds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When calls that come every millisecond are admitted, in milliseconds.
    fn admitted(quota: Quota, from: u64, to: u64) -> Vec<u64> {
        let mut service = Service::new(quota, Hint::Nothing);
        let is_admitted = |millis: &u64| service.call(millis * SECOND / 1_000).is_ok();
        (from..to).filter(is_admitted).collect()
    }

    #[test]
    fn each_quota_admits_what_it_says() {
        // A full bucket, and then one each 20 ms.
        let bucket = admitted(Quota::bucket(50), 0, 2_000);
        assert_eq!(bucket[..52], (0..52).collect::<Vec<_>>());
        assert_eq!(bucket.len(), 50 + 99);
        let leaky = admitted(Quota::leaky(50), 0, 200);
        assert_eq!(
            leaky,
            [0, 1, 2, 3, 4, 20, 40, 60, 80, 100, 120, 140, 160, 180]
        );
        // A minute has 3,000 calls, at any time of it.
        let minutes = admitted(Quota::minutes(50), 58_000, 64_000);
        assert_eq!(minutes, (58_000..63_000).collect::<Vec<_>>());
        let dear = admitted(Quota::window(50, 1).costs(10.0), 998, 1_010);
        assert_eq!(dear, [998, 999, 1_000, 1_001, 1_002, 1_003, 1_004]);
        let sliding = admitted(Quota::sliding(2, 1), 998, 3_000);
        assert_eq!(sliding, [998, 999, 1_998, 1_999, 2_998, 2_999]);
    }

    #[test]
    fn what_is_left_is_what_can_be_used() {
        for (quota, left, full_in) in [
            (Quota::steady(60, 30), 58.5, 0.75),
            (Quota::window(60, 30), 58.0, 29.75),
            (Quota::sliding(60, 30), 58.0, 30.0),
        ] {
            let mut service = Service::new(quota, Hint::Nothing);
            let is_admitted = |millis| service.call(millis * SECOND / 1_000).is_ok();
            assert!([0, 250].into_iter().all(is_admitted));
            let stated = service.left(SECOND / 4);
            assert_eq!(
                (stated.limit, stated.left, stated.full_in),
                (60.0, left, full_in)
            );
        }
    }

    #[test]
    fn a_quota_changes_when_it_is_told_to() {
        let then = |quota: Quota| quota.then(Duration::from_secs(60), 500);
        let bucket = admitted(then(Quota::bucket(50)), 0, 70_000);
        let before = bucket.partition_point(|&millis| millis < 60_000);
        assert_eq!((before, bucket.len() - before), (50 + 2_999, 5_000));
        let minutes = admitted(then(Quota::minutes(50)), 0, 120_000);
        assert_eq!(minutes.len(), 3_000 + 30_000);
    }

    #[test]
    fn a_hint_names_the_time_of_a_token() {
        let of = |quota, hint, calls| -> Vec<_> {
            let mut service = Service::new(quota, hint);
            let hint = |_| Some(service.call(0).err()?.retry_after?.as_secs());
            (0..calls).filter_map(hint).collect()
        };
        assert_eq!(of(Quota::bucket(1), Hint::NextToken, 4), [1, 1, 1]);
        assert_eq!(of(Quota::bucket(1), Hint::InTurn, 4), [1, 2, 3]);
        assert_eq!(of(Quota::minutes(50), Hint::NextToken, 3_001), [60]);
    }

    #[test]
    fn so_many_calls_are_admitted_by_the_time_that_a_quota_says() {
        for quota in [Quota::bucket(50), Quota::leaky(50), Quota::minutes(50)] {
            let quota = quota.then(Duration::from_secs(60), 500);
            let mut service = Service::new(quota, Hint::Nothing);
            for call in 1..5_000 {
                let at = quota.admits(call, 0);
                assert!(service.call(at).is_ok(), "call {call} at {at}");
            }
        }
    }
}
