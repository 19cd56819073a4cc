//! What the calls of a process share about the limit of a service: the strategies of the scenario
//! [`rate`](crate::rate).

use std::cell::RefCell;
use std::time::Duration;

use backoff_cloud::{Policy, Rate};

use crate::calls::Load;
use crate::executor::Time;
use crate::quota::SECOND;

/// A strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each call waits for itself, as its policy says.
    Nothing,
    Adaptive,
    /// A [`Rate`].
    Rate,
}

impl Sharing {
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::Adaptive, Self::Rate];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "full jitter",
            Self::Adaptive => "AWS adaptive",
            Self::Rate => "Rate",
        }
    }

    /// The policy of a call, from the policy of a call that shares nothing.
    pub(crate) fn policy(self, policy: Policy) -> Policy {
        match self {
            Self::Nothing | Self::Rate => policy,
            // As the SDKs wait in this mode.
            Self::Adaptive => policy.max_backoff(Duration::from_secs(20)),
        }
    }
}

/// What one process shares.
pub(crate) enum Shared {
    Nothing,
    Adaptive(RefCell<Adaptive>),
    Rate(Rate),
}

impl Shared {
    pub(crate) fn new(sharing: Sharing, load: &Load) -> Self {
        match sharing {
            Sharing::Nothing => Self::Nothing,
            Sharing::Adaptive => Self::Adaptive(RefCell::default()),
            Sharing::Rate => Self::Rate(Rate::new().pause_after_refusal(load.pause)),
        }
    }

    /// Waits until an attempt may be made. A [`Rate`] is asked by the call itself.
    pub(crate) async fn admitted(&self, time: &Time) {
        if let Self::Adaptive(adaptive) = self {
            let wait = adaptive.borrow_mut().takes(time.nanos());
            time.after(nanos(wait)).await;
        }
    }

    /// Hears the reply to a call.
    pub(crate) fn hears(&self, is_refused: bool, time: &Time) {
        if let Self::Adaptive(adaptive) = self {
            adaptive.borrow_mut().hears(is_refused, time.nanos());
        }
    }
}

/// Seconds as nanoseconds.
fn nanos(seconds: f64) -> u64 {
    (seconds * SECOND as f64) as u64
}

/// The limiter of the AWS SDKs' retry mode "adaptive", as the SDK for Rust has it: a bucket of tokens that
/// fills at a rate, off until the first 429. A 429 sets the rate to 0.7 of the measured one; then the rate
/// grows with the cube of the time (CUBIC), and is at most twice the measured one. The bucket lets callers
/// owe tokens: each takes its token when it comes and sleeps once, as long as the rate of that moment says.
#[derive(Default)]
pub(crate) struct Adaptive {
    is_on: bool,
    tokens: f64,
    /// Tokens a second.
    rate: f64,
    /// The rate at the last 429, and its time. Times are in seconds.
    refused_rate: f64,
    refused: f64,
    filled: f64,
    measured: f64,
    counted: u32,
    counted_since: f64,
}

impl Adaptive {
    const BETA: f64 = 0.7;
    const GROWTH: f64 = 0.4;
    /// How much the last measurement counts.
    const NEWEST: f64 = 0.8;
    const LEAST_RATE: f64 = 0.5;
    const LEAST_SIZE: f64 = 1.0;

    /// A call takes a token, and waits this number of seconds: until there is one, at this rate.
    fn takes(&mut self, now: u64) -> f64 {
        if !self.is_on {
            return 0.0;
        }
        self.fill(seconds(now));
        let lacks = (1.0 - self.tokens).max(0.0) / self.rate;
        self.tokens -= 1.0;
        lacks
    }

    fn fill(&mut self, now: f64) {
        let size = self.rate.max(Self::LEAST_SIZE);
        self.tokens = (self.tokens + (now - self.filled) * self.rate).min(size);
        self.filled = now;
    }

    fn hears(&mut self, is_refused: bool, now: u64) {
        let now = seconds(now);
        self.measure(now);
        let rate = if is_refused {
            let most = if self.is_on { self.rate } else { f64::INFINITY };
            self.is_on = true;
            self.refused_rate = self.measured.min(most);
            self.refused = now;
            self.refused_rate * Self::BETA
        } else {
            let flat_after = (self.refused_rate * (1.0 - Self::BETA) / Self::GROWTH).cbrt();
            self.refused_rate + Self::GROWTH * (now - self.refused - flat_after).powi(3)
        };
        self.fill(now);
        self.rate = rate.min(2.0 * self.measured).max(Self::LEAST_RATE);
        self.tokens = self.tokens.min(self.rate.max(Self::LEAST_SIZE));
    }

    /// Counts a reply. The rate is measured over half a second or more.
    fn measure(&mut self, now: f64) {
        let half = (now * 2.0).floor() / 2.0;
        self.counted += 1;
        if half > self.counted_since {
            let rate = f64::from(self.counted) / (half - self.counted_since);
            self.measured = rate * Self::NEWEST + self.measured * (1.0 - Self::NEWEST);
            self.counted = 0;
            self.counted_since = half;
        }
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_the_aws_sdks_is_a_cubic() {
        // The rates that AWS' specification of the mode gives for a last rate of 10 at 5 s, without the cap by
        // the measured rate.
        let mut adaptive = Adaptive {
            is_on: true,
            refused_rate: 10.0,
            refused: 5.0,
            filled: 5.0,
            measured: 1e9,
            counted_since: 500.0,
            ..Adaptive::default()
        };
        for (now, rate) in [
            (5, 7.0),
            (6, 9.6),
            (7, 10.0),
            (8, 10.45),
            (9, 13.4),
            (10, 21.2),
            (11, 36.4),
        ] {
            adaptive.hears(false, now * SECOND);
            assert!(
                (adaptive.rate - rate).abs() < 0.1,
                "{now}: {}",
                adaptive.rate
            );
        }
    }

    #[test]
    fn callers_of_the_aws_sdk_owe_tokens() {
        let mut adaptive = Adaptive::default();
        assert_eq!(adaptive.takes(SECOND), 0.0);
        adaptive.hears(true, SECOND);
        assert_eq!(adaptive.rate, Adaptive::BETA * Adaptive::NEWEST);
        let waits = [(); 3].map(|()| (adaptive.takes(SECOND) * adaptive.rate).round());
        assert_eq!(waits, [1.0, 2.0, 3.0]);
    }
}
