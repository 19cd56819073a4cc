//! Limits of a service: how many calls, or tokens, it admits. What goes beyond is refused and counts nothing. Times are
//! in nanoseconds.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::SECOND;

/// What the service says to a call that it refuses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    Nothing,
    /// `Retry-After: 1`: the whole seconds until a call is admitted.
    Next,
    /// The second in which there is room that has not been promised to anyone else.
    InTurn,
    /// The time until this call is admitted.
    Exact,
}

#[derive(Clone, Copy)]
enum Counted {
    /// A bucket holds the tokens of this number of seconds, is full at first and refills evenly.
    Bucket(f64),
    /// Each window of this length admits what the rate gives in the window.
    Windows(u64),
    /// The same, of the window that ends now.
    Sliding(u64),
}

/// A limit. Its tokens are numbered in the order in which they come: the n-th token of a rate of 50 a second comes at
/// n/50 s. The tokens of a full bucket have numbers up to 0.
#[derive(Clone, Copy)]
pub(crate) struct Quota {
    counted: Counted,
    per_second: f64,
    /// From this time on, another rate.
    then: (u64, f64),
    /// Whoever goes over the limit is refused for this time; each call meanwhile may begin the time anew.
    block: Option<(u64, bool)>,
}

impl Quota {
    const fn new(counted: Counted, per_second: f64) -> Self {
        Self {
            counted,
            per_second,
            then: (u64::MAX, per_second),
            block: None,
        }
    }

    /// A rate, and what may come at once, in seconds of the rate.
    pub(crate) const fn bucket(per_second: f64, seconds: f64) -> Self {
        Self::new(Counted::Bucket(seconds), per_second)
    }

    /// So many calls in each fixed window of so many seconds.
    pub(crate) const fn windows(calls: f64, seconds: u64) -> Self {
        Self::new(Counted::Windows(seconds * SECOND), calls / seconds as f64)
    }

    /// So many calls in any window of so many seconds.
    pub(crate) const fn sliding(calls: f64, seconds: u64) -> Self {
        Self::new(Counted::Sliding(seconds * SECOND), calls / seconds as f64)
    }

    /// Changes to another rate after so many seconds.
    pub(crate) const fn then(mut self, second: u64, per_second: f64) -> Self {
        self.then = (second * SECOND, per_second);
        self
    }

    /// Whoever goes over the limit is refused for so many seconds.
    pub(crate) const fn blocking(mut self, seconds: u64, is_renewed: bool) -> Self {
        self.block = Some((seconds * SECOND, is_renewed));
        self
    }

    /// When the limit becomes another.
    pub(crate) fn change(&self) -> Option<u64> {
        (self.then.0 < u64::MAX).then_some(self.then.0)
    }

    /// How many tokens have come.
    fn tokens(&self, time: u64) -> f64 {
        let (change, then) = self.then;
        let before = time.min(change) as f64 * self.per_second;
        (before + time.saturating_sub(change) as f64 * then) / SECOND as f64
    }

    /// When a token comes.
    fn comes(&self, token: f64) -> u64 {
        let (change, then) = self.then;
        let of = |tokens: f64, rate: f64| (tokens / rate * SECOND as f64).max(0.0).ceil() as u64;
        match of(token, self.per_second) {
            time if time < change => time,
            _ => change + of(token - self.tokens(change), then),
        }
    }

    /// The numbers of the tokens that may be used now: greater than the first, up to the second.
    fn usable(&self, now: u64) -> (f64, f64) {
        match self.counted {
            Counted::Bucket(size) => {
                let rate = [self.per_second, self.then.1][usize::from(now >= self.then.0)];
                (self.tokens(now) - size * rate, self.tokens(now))
            }
            Counted::Windows(length) => {
                let start = now - now % length;
                (self.tokens(start), self.tokens(start + length))
            }
            Counted::Sliding(length) => (0.0, self.tokens(length)),
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

/// What a limit has counted.
#[derive(Clone)]
struct Counter {
    quota: Quota,
    /// The token that was used last. Of a sliding window, how many it has used.
    used: f64,
    /// What was admitted when, as far as a sliding window counts it.
    admitted: VecDeque<(u64, f64)>,
}

impl Counter {
    /// The numbers of the tokens that may be used now, as [`Quota::usable`] says.
    fn settle(&mut self, now: u64) -> (f64, f64) {
        let (first, last) = self.quota.usable(now);
        match self.quota.counted {
            Counted::Sliding(length) => {
                while let Some(&(time, cost)) = self.admitted.front()
                    && time + length <= now
                {
                    self.admitted.pop_front();
                    self.used -= cost;
                }
            }
            Counted::Bucket(_) | Counted::Windows(_) => self.used = self.used.max(first),
        }
        (first, last)
    }

    fn left(&mut self, now: u64) -> Left {
        let (first, last) = self.settle(now);
        let full = match self.quota.counted {
            Counted::Bucket(_) => self.quota.comes(self.used - first + self.quota.tokens(now)),
            Counted::Windows(length) => now + length - now % length,
            Counted::Sliding(length) => self.admitted.back().map_or(now, |last| last.0 + length),
        };
        Left {
            limit: last - first,
            left: last - self.used,
            full_in: (full - now) as f64 / SECOND as f64,
        }
    }

    /// How long until so many more tokens can be used.
    fn wait(&mut self, now: u64, tokens: f64) -> u64 {
        let (_, last) = self.settle(now);
        if self.used + tokens <= last + EXACT {
            return 0;
        }
        let comes = self.quota.comes(self.used + tokens - EXACT);
        let turn = match self.quota.counted {
            Counted::Bucket(_) => comes,
            Counted::Windows(length) => comes - comes % length,
            Counted::Sliding(length) => self.admitted.front().map_or(now, |it| it.0 + length),
        };
        turn.saturating_sub(now)
    }
}

/// All limits of a service, and what it says about them.
#[derive(Clone)]
pub(crate) struct Limits {
    counters: Vec<Counter>,
    hint: Hint,
    /// How many tokens of the first limit were promised.
    promised: f64,
    /// No call is admitted before this time.
    blocked: u64,
}

impl Limits {
    pub(crate) fn new(quotas: &[Quota], hint: Hint) -> Self {
        let counter = |quota: &Quota| Counter {
            quota: *quota,
            used: quota.usable(0).0,
            admitted: VecDeque::new(),
        };
        Self {
            counters: quotas.iter().map(counter).collect(),
            hint,
            promised: f64::MIN,
            blocked: 0,
        }
    }

    pub(crate) fn left(&mut self, now: u64) -> Vec<Left> {
        self.counters.iter_mut().map(|it| it.left(now)).collect()
    }

    /// How long until a call with these costs is admitted: one for each limit.
    pub(crate) fn wait(&mut self, now: u64, costs: [f64; 2]) -> u64 {
        let waits = self.counters.iter_mut().zip(costs);
        waits
            .map(|(it, cost)| it.wait(now, cost))
            .max()
            .unwrap_or(0)
    }

    /// Whether a call is admitted; what the service says if not.
    pub(crate) fn call(&mut self, now: u64, costs: [f64; 2]) -> Result<(), Option<Duration>> {
        let wait = self.wait(now, costs);
        let is_blocked = now < self.blocked;
        if !is_blocked && wait == 0 {
            for (counter, cost) in self.counters.iter_mut().zip(costs) {
                counter.used += cost;
                if matches!(counter.quota.counted, Counted::Sliding(_)) {
                    counter.admitted.push_back((now, cost));
                }
            }
            return Ok(());
        }
        let first = &mut self.counters[0];
        let wait = if let Some((lasts, is_renewed)) = first.quota.block {
            if !is_blocked || is_renewed {
                self.blocked = now + lasts;
            }
            self.blocked - now
        } else if self.hint == Hint::InTurn {
            self.promised = self.promised.max(first.used) + 1.0;
            first.wait(now, self.promised - first.used)
        } else {
            wait
        };
        Err(match self.hint {
            Hint::Nothing => None,
            Hint::Exact => Some(Duration::from_nanos(wait)),
            // The header knows whole seconds only.
            Hint::Next | Hint::InTurn => Some(Duration::from_secs(wait.div_ceil(SECOND))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: [f64; 2] = [1.0; 2];

    /// When calls that come every millisecond are admitted, in milliseconds.
    fn admitted(quota: Quota, from: u64, to: u64) -> Vec<u64> {
        let mut limits = Limits::new(&[quota], Hint::Nothing);
        let is_admitted = |millis: &u64| limits.call(millis * SECOND / 1_000, ONE).is_ok();
        (from..to).filter(is_admitted).collect()
    }

    #[test]
    fn each_quota_admits_what_it_says() {
        // A full bucket, and then one each 20 ms.
        let bucket = admitted(Quota::bucket(50.0, 1.0), 0, 2_000);
        assert_eq!(bucket[..52], (0..52).collect::<Vec<_>>());
        assert_eq!(bucket.len(), 50 + 99);
        let leaky = admitted(Quota::bucket(50.0, 0.1), 0, 100);
        assert_eq!(leaky, [0, 1, 2, 3, 4, 20, 40, 60, 80]);
        let minutes = admitted(Quota::windows(3_000.0, 60), 58_000, 64_000);
        assert_eq!(minutes, (58_000..63_000).collect::<Vec<_>>());
        let sliding = admitted(Quota::sliding(2.0, 1), 998, 3_000);
        assert_eq!(sliding, [998, 999, 1_998, 1_999, 2_998, 2_999]);
        let raised = admitted(Quota::bucket(50.0, 1.0).then(60, 500.0), 0, 70_000);
        let before = raised.partition_point(|&millis| millis < 60_000);
        assert_eq!((before, raised.len() - before), (50 + 2_999, 5_000));
        let blocked = admitted(Quota::bucket(1.0, 1.0).blocking(2, false), 0, 2_100);
        assert_eq!(blocked, [0, 2_001]);
    }

    #[test]
    fn what_is_left_is_what_can_be_used() {
        for (quota, left, full_in) in [
            (Quota::bucket(2.0, 30.0), 58.5, 0.75),
            (Quota::windows(60.0, 30), 58.0, 29.75),
            (Quota::sliding(60.0, 30), 58.0, 30.0),
        ] {
            let mut limits = Limits::new(&[quota], Hint::Nothing);
            let is_admitted = |millis| limits.call(millis * SECOND / 1_000, ONE).is_ok();
            assert!([0, 250].into_iter().all(is_admitted));
            let stated = limits.left(SECOND / 4)[0];
            assert_eq!((stated.limit, stated.left), (60.0, left));
            assert!(
                (stated.full_in - full_in).abs() < 1e-6,
                "{}",
                stated.full_in
            );
        }
    }

    #[test]
    fn a_hint_names_the_time_of_a_token() {
        let of = |quota, hint, calls| -> Vec<_> {
            let mut limits = Limits::new(&[quota], hint);
            let hint = |_| Some(limits.call(0, ONE).err()??.as_millis());
            (0..calls).filter_map(hint).collect()
        };
        let bucket = Quota::bucket(0.8, 1.25);
        assert_eq!(of(bucket, Hint::Next, 4), [2_000; 3]);
        assert_eq!(of(bucket, Hint::InTurn, 4), [2_000, 3_000, 4_000]);
        assert_eq!(of(bucket, Hint::Exact, 2), [1_249]);
        assert_eq!(of(Quota::windows(3_000.0, 60), Hint::Next, 3_001), [60_000]);
    }

    #[test]
    fn the_stricter_of_two_limits_decides() {
        let quotas = [Quota::bucket(1.0, 10.0), Quota::bucket(100.0, 10.0)];
        let mut limits = Limits::new(&quotas, Hint::Exact);
        assert!(limits.call(0, [1.0, 900.0]).is_ok());
        assert_eq!(limits.wait(0, [1.0, 100.0]), 0);
        let wait = limits.wait(0, [1.0, 200.0]) as f64 / SECOND as f64;
        assert!((wait - 1.0).abs() < 1e-6);
        assert_eq!(limits.left(0).len(), 2);
    }
}
