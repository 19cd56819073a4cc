//! Chooses the fault of a call: scripts first, then the rate limit, then seeded rates.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::reply::Reply;

/// The emulator's methods, for [`script`](crate::Emulator::script).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Call {
    /// `getIamPolicy`, by GET or POST.
    GetIamPolicy,
    /// `setIamPolicy`.
    SetIamPolicy,
    /// `instances.list`.
    ListInstances,
    /// `instances.get`.
    GetInstance,
    /// `instances.create`.
    CreateInstance,
    /// `instances.delete`.
    DeleteInstance,
    /// `operations.get`: one poll.
    GetOperation,
}

/// Faults and the shares of calls that get them.
///
/// A rate is a share of all calls, from 0 to 1. One call gets at most one fault, so the sum of the rates is
/// at most 1.
///
/// ```
/// use emulator::{Faults, Reply};
///
/// let faults = Faults::none()
///     .status(503, 0.10)
///     .applied_then(503, 0.05)
///     .with(Reply::reset(), 0.02);
/// # let _ = faults;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults(Vec<(Reply, f64)>);

impl Faults {
    /// No fault at all.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// This HTTP status for this share of calls. The same as `with(Reply::status(code), rate)`.
    ///
    /// # Panics
    ///
    /// The panics of [`Reply::status`] and [`with`](Self::with).
    #[must_use]
    #[track_caller]
    pub fn status(self, code: u16, rate: f64) -> Self {
        self.with(Reply::status(code), rate)
    }

    /// This HTTP status after the call was carried out, for this share of calls. The same as
    /// `with(Reply::status(code).applied(), rate)`.
    ///
    /// # Panics
    ///
    /// The panics of [`Reply::status`] and [`with`](Self::with).
    #[must_use]
    #[track_caller]
    pub fn applied_then(self, code: u16, rate: f64) -> Self {
        self.with(Reply::status(code).applied(), rate)
    }

    /// Any fault, for this share of calls.
    ///
    /// # Panics
    ///
    /// If `rate` is not from 0 to 1, or the sum of the rates becomes more than 1.
    #[must_use]
    #[track_caller]
    pub fn with(mut self, reply: Reply, rate: f64) -> Self {
        assert!((0.0..=1.0).contains(&rate), "{rate} is no share of calls");
        self.0.push((reply, rate));
        let sum: f64 = self.0.iter().map(|(_, rate)| rate).sum();
        // Allows for rounding in sums such as ten times 0.1.
        assert!(sum <= 1.0 + 1e-9, "{sum} is more than every call");
        self
    }

    /// The fault at `draw`, a number from 0 to 1.
    fn pick(&self, mut draw: f64) -> Reply {
        for (reply, rate) in &self.0 {
            if draw < *rate {
                return reply.clone();
            }
            draw -= rate;
        }
        Reply::pass()
    }
}

/// Decides about every call.
#[derive(Debug)]
pub(crate) struct Director {
    pub(crate) faults: Faults,
    scripts: HashMap<Call, VecDeque<Reply>>,
    pub(crate) limit: Option<Bucket>,
    pub(crate) throttle: Reply,
    pub(crate) rng: SmallRng,
}

impl Director {
    /// With the seed 0.
    pub(crate) fn new(faults: Faults, limit: Option<Bucket>, throttle: Reply) -> Self {
        Self {
            faults,
            scripts: HashMap::new(),
            limit,
            throttle,
            rng: SmallRng::seed_from_u64(0),
        }
    }

    pub(crate) fn script(&mut self, call: Call) -> &mut VecDeque<Reply> {
        self.scripts.entry(call).or_default()
    }

    pub(crate) fn decide(&mut self, call: Call, now: Instant) -> Reply {
        if let Some(reply) = self.script(call).pop_front() {
            return reply;
        }
        if self.limit.as_mut().is_some_and(|limit| !limit.take(now)) {
            return self.throttle.clone();
        }
        self.faults.pick(self.rng.random())
    }
}

/// A token bucket. It is full at first, a call takes one token, and tokens return at a constant rate.
#[derive(Debug)]
pub(crate) struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled: Option<Instant>,
}

impl Bucket {
    #[track_caller]
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        assert!(per_second > 0 && burst > 0, "this lets nothing through");
        let burst = f64::from(burst);
        Self {
            per_second: f64::from(per_second),
            burst,
            tokens: burst,
            filled: None,
        }
    }

    fn take(&mut self, now: Instant) -> bool {
        if let Some(filled) = self.filled {
            let gained = now.saturating_duration_since(filled).as_secs_f64() * self.per_second;
            self.tokens = (self.tokens + gained).min(self.burst);
        }
        self.filled = self.filled.max(Some(now));
        let enough = self.tokens >= 1.0;
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn draws(seed: u64, faults: &Faults, calls: usize) -> Vec<Reply> {
        let now = Instant::now();
        let mut director = Director::new(faults.clone(), None, Reply::status(429));
        director.rng = SmallRng::seed_from_u64(seed);
        (0..calls)
            .map(|_| director.decide(Call::SetIamPolicy, now))
            .collect()
    }

    #[test]
    fn a_seed_fixes_the_faults_and_rates_are_kept_to_on_average() {
        let faults = Faults::none().status(503, 0.2).with(Reply::cut(), 0.3);
        let drawn = draws(1, &faults, 10_000);
        assert_eq!(drawn[..200], draws(1, &faults, 200));
        assert_ne!(drawn[..200], draws(2, &faults, 200));
        for (reply, rate) in [
            (Reply::status(503), 0.2),
            (Reply::cut(), 0.3),
            (Reply::pass(), 0.5),
        ] {
            let share = drawn.iter().filter(|drawn| **drawn == reply).count() as f64 / 1e4;
            assert!((share - rate).abs() <= 0.02, "{share}, not {rate}");
        }
    }

    #[test]
    fn a_script_goes_before_the_limit_and_the_rates_and_is_for_its_call_only() {
        let now = Instant::now();
        let faults = Faults::none().status(500, 1.0);
        let throttled = Reply::status(429).retry_after("1");
        let mut director = Director::new(faults, Some(Bucket::new(1, 1)), throttled.clone());
        let script = director.script(Call::SetIamPolicy);
        script.extend([Reply::pass(), Reply::reset()]);
        let mut next = |call| director.decide(call, now);
        assert_eq!(next(Call::GetIamPolicy), Reply::status(500));
        assert_eq!(next(Call::SetIamPolicy), Reply::pass());
        assert_eq!(next(Call::SetIamPolicy), Reply::reset());
        assert_eq!(next(Call::SetIamPolicy), throttled);
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let mut bucket = Bucket::new(2, 3);
        let start = Instant::now();
        for (millis, taken) in [(0, 3), (499, 0), (1_000, 2), (3_600_000, 3), (0, 0)] {
            let now = start + Duration::from_millis(millis);
            let took = (0..10).filter(|_| bucket.take(now)).count();
            assert_eq!(took, taken, "after {millis} ms");
        }
    }
}
