//! Limits of a service: how many calls, or tokens, it admits. What goes beyond is refused and counts nothing. Times are
//! in nanoseconds.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName};

use super::clock::SECOND;

/// What the service says to a call that it refuses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    Nothing,
    /// `Retry-After: 1`: the whole seconds until a call is admitted.
    Next,
    /// The second in which there is room that has not been promised to anyone else.
    InTurn,
    /// The time until this call is admitted.
    Exact,
}

/// A limit. Its tokens are numbered in the order in which they come: the n-th token of a rate of 50 a second comes at
/// n/50 s. The tokens that there are at the beginning have numbers up to 0.
#[derive(Clone, Copy)]
pub struct Quota {
    per_second: f64,
    /// How many tokens there are at most.
    size: f64,
    /// Tokens come all together at the beginning of each such time; zero if they come one by one.
    window: u64,
}

impl Quota {
    /// A bucket that refills evenly: a rate, and the seconds of it that may come at once.
    pub const fn bucket(per_second: f64, seconds: f64) -> Self {
        Self {
            per_second,
            size: per_second * seconds,
            window: 0,
        }
    }

    /// So many calls in each window of so many seconds.
    pub const fn windows(calls: f64, seconds: u64) -> Self {
        Self {
            window: seconds * SECOND,
            ..Self::bucket(calls / seconds as f64, seconds as f64)
        }
    }

    /// When the window ends; now if there is none.
    fn end(&self, now: u64) -> u64 {
        now.checked_div(self.window)
            .map_or(now, |window| (window + 1) * self.window)
    }

    /// The last token that may be used.
    fn last(&self, now: u64) -> f64 {
        self.end(now) as f64 * self.per_second / SECOND as f64
    }

    /// When a token may be used.
    fn turn(&self, token: f64) -> u64 {
        let nanos = (token - EXACT) / self.per_second * SECOND as f64;
        let comes = nanos.max(0.0).ceil() as u64;
        comes - comes.checked_rem(self.window).unwrap_or(0)
    }
}

/// So far a sum of tokens may be from a whole number.
const EXACT: f64 = 1e-6;

/// All limits of a service, and what it says about them.
#[derive(Clone)]
pub struct Limits {
    /// Each with the token that was used last.
    counters: Vec<(Quota, f64)>,
    hint: Hint,
    /// The token of the first limit that was promised last.
    promised: f64,
}

impl Limits {
    /// Limits of which nothing is used.
    pub fn new(quotas: &[Quota], hint: Hint) -> Self {
        Self {
            counters: quotas.iter().map(|quota| (*quota, f64::MIN)).collect(),
            hint,
            promised: f64::MIN,
        }
    }

    /// What a reply states: of a bucket under OpenAI's names, of which each limit has its own, and of windows under GitHub's,
    /// which end in a whole second.
    pub fn headers(&mut self, now: u64) -> HeaderMap {
        self.wait(now, [0.0; 2]);
        let mut headers = HeaderMap::new();
        for ((quota, used), ending) in self.counters.iter().zip(["-requests", "-tokens"]) {
            let left = quota.last(now) - used;
            let full_in = (quota.size - left) / quota.per_second;
            let (ending, reset) = match quota.window {
                0 => (ending, format!("{}ms", (full_in * 1e3).ceil())),
                _ => ("", (quota.end(now) - now).div_ceil(SECOND).to_string()),
            };
            for (what, value) in [
                ("limit", quota.size.to_string()),
                ("remaining", left.floor().to_string()),
                ("reset", reset),
            ] {
                let name = HeaderName::try_from(format!("x-ratelimit-{what}{ending}"));
                if let (Ok(name), Ok(value)) = (name, value.try_into()) {
                    headers.insert(name, value);
                }
            }
        }
        headers
    }

    /// How long until a call with these costs is admitted: one for each limit.
    pub fn wait(&mut self, now: u64, costs: [f64; 2]) -> u64 {
        let counters = self.counters.iter_mut().zip(costs);
        let waits = counters.map(|((quota, used), cost)| {
            let last = quota.last(now);
            // What would be more than there are at most is gone.
            *used = used.max(last - quota.size);
            match *used + cost <= last + EXACT {
                true => 0,
                false => quota.turn(*used + cost).saturating_sub(now),
            }
        });
        waits.max().unwrap_or(0)
    }

    /// Whether a call is admitted; what the service says if not.
    ///
    /// # Errors
    /// The time that the service names, if it names one.
    pub fn call(&mut self, now: u64, costs: [f64; 2]) -> Result<(), Option<Duration>> {
        let mut wait = self.wait(now, costs);
        if wait == 0 {
            for ((_, used), cost) in self.counters.iter_mut().zip(costs) {
                *used += cost;
            }
            return Ok(());
        }
        if self.hint == Hint::InTurn {
            let (first, used) = self.counters[0];
            self.promised = self.promised.max(used) + 1.0;
            wait = first.turn(self.promised).saturating_sub(now);
        }
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
    }

    #[test]
    fn headers_state_what_can_be_used() {
        for (quota, ending, left, reset) in [
            (Quota::bucket(2.0, 30.0), "-requests", "58", "750ms"),
            (Quota::windows(60.0, 30), "", "58", "30"),
        ] {
            let mut limits = Limits::new(&[quota], Hint::Nothing);
            let is_admitted = |millis| limits.call(millis * SECOND / 1_000, ONE).is_ok();
            assert!([0, 250].into_iter().all(is_admitted));
            let headers = limits.headers(SECOND / 4);
            let of = |what| &headers[&*format!("x-ratelimit-{what}{ending}")];
            let found = ["limit", "remaining", "reset"].map(of);
            assert_eq!(found, ["60", left, reset]);
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
    }
}
