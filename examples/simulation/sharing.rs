//! What the calls of a process share about the limit of a service: the strategies of the scenario
//! [`rate`](crate::rate).

use std::cell::RefCell;
use std::time::Duration;

use backoff_cloud::{Clock as _, Decision, Jitter, Policy, Rate, RetryState};
use rand::{Rng as _, RngExt as _};
use tokio::sync::Mutex;

use crate::calls::{Load, World};
use crate::quota::{Hint, SECOND, Service, Throttled};

/// A strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each call waits for itself, as its policy says.
    Nothing,
    Gate,
    Adaptive,
    /// The same rules with a queue whose head alone waits for a token: what AWS' mode loses because its
    /// callers keep times that were made at an old rate.
    AdaptiveQueue,
    /// A [`Rate`].
    Rate,
    /// The process knows the limit, and that nobody else uses it.
    Known,
}

impl Sharing {
    pub(crate) const ALL: [Self; 6] = [
        Self::Nothing,
        Self::Gate,
        Self::Adaptive,
        Self::AdaptiveQueue,
        Self::Rate,
        Self::Known,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "full jitter",
            Self::Gate => "a gate",
            Self::Adaptive => "AWS adaptive",
            Self::AdaptiveQueue => "AWS, in a queue",
            Self::Rate => "Rate",
            Self::Known => "limit known",
        }
    }

    /// The policy of a call, from the policy of a call that shares nothing.
    pub(crate) fn policy(self, policy: Policy) -> Policy {
        match self {
            Self::Nothing | Self::Rate => policy,
            // As the SDKs wait in this mode.
            Self::Adaptive | Self::AdaptiveQueue => policy.max_backoff(Duration::from_secs(20)),
            // Only what is shared makes a call wait.
            Self::Gate | Self::Known => policy.base(Duration::ZERO).jitter(Jitter::None),
        }
    }
}

/// What one process shares.
pub(crate) enum Shared {
    Nothing,
    Gate(RefCell<Gate>),
    Adaptive(RefCell<Adaptive>),
    /// The lock is fair: who has it is the head of the queue.
    AdaptiveQueue(RefCell<Adaptive>, Mutex<()>),
    Rate(Rate),
    Known(RefCell<Service>),
}

impl Shared {
    pub(crate) fn new(sharing: Sharing, load: &Load, policy: Policy) -> Self {
        match sharing {
            Sharing::Nothing => Self::Nothing,
            Sharing::Gate => Self::Gate(RefCell::new(Gate::new(policy))),
            Sharing::Adaptive => Self::Adaptive(RefCell::default()),
            Sharing::AdaptiveQueue => Self::AdaptiveQueue(RefCell::default(), Mutex::default()),
            Sharing::Rate => Self::Rate(Rate::new().pause_after_refusal(load.pause)),
            Sharing::Known => Self::Known(RefCell::new(Service::new(load.quota, Hint::Nothing))),
        }
    }

    /// Waits until an attempt may be made. A [`Rate`] is asked by the call itself.
    pub(crate) async fn admitted(&self, world: &World<'_>) {
        let time = &world.time;
        match self {
            Self::Nothing | Self::Rate(_) => {}
            Self::Gate(gate) => loop {
                let gone = gate.borrow().goes(world);
                let Some(goes) = gone else { break };
                time.until(goes).await;
            },
            Self::Adaptive(adaptive) => {
                let wait = adaptive.borrow_mut().takes(time.nanos());
                time.after(nanos(wait)).await;
            }
            Self::AdaptiveQueue(adaptive, queue) => {
                let _head = queue.lock().await;
                loop {
                    let lacks = adaptive.borrow_mut().lacks(time.nanos());
                    if lacks == 0.0 {
                        break;
                    }
                    time.after(nanos(lacks).max(1)).await;
                }
                adaptive.borrow_mut().takes(time.nanos());
            }
            Self::Known(limit) => {
                let turn = limit.borrow_mut().place(time.nanos());
                time.until(turn).await;
            }
        }
    }

    /// Hears the reply to a call that was sent at this time.
    pub(crate) fn hears(&self, sent: u64, reply: &Result<(), Throttled>, world: &World<'_>) {
        match self {
            Self::Nothing | Self::Rate(_) | Self::Known(_) => {}
            Self::Gate(gate) => gate.borrow_mut().hears(sent, reply, world),
            Self::Adaptive(adaptive) | Self::AdaptiveQueue(adaptive, _) => {
                adaptive
                    .borrow_mut()
                    .hears(reply.is_err(), world.time.nanos());
            }
        }
    }
}

/// Seconds as nanoseconds.
fn nanos(seconds: f64) -> u64 {
    (seconds * SECOND as f64) as u64
}

/// A 429 closes the gate for a wait: the policy's without jitter, after so many refusals in a row, or the
/// hint if that is longer. No call of the process is sent until the end of the wait; then all are, each
/// after a random part of the same wait, unless the gate is closed again by then. A reply to a call that
/// was sent before the gate was closed changes nothing. Any other success ends the row.
pub(crate) struct Gate {
    policy: Policy,
    row: RetryState,
    closed: Option<u64>,
    wait: u64,
}

impl Gate {
    fn new(policy: Policy) -> Self {
        Self {
            policy: policy.max_attempts(u32::MAX).jitter(Jitter::None),
            row: RetryState::start_at(Duration::ZERO),
            closed: None,
            wait: 0,
        }
    }

    /// When a call that waits goes; none if it need not wait.
    fn goes(&self, world: &World<'_>) -> Option<u64> {
        let open = self.closed? + self.wait;
        let part = || world.rng.borrow_mut().random::<f64>();
        (world.time.nanos() < open).then(|| open + (self.wait as f64 * part()) as u64)
    }

    fn hears(&mut self, sent: u64, reply: &Result<(), Throttled>, world: &World<'_>) {
        if self.closed.is_some_and(|closed| sent <= closed) {
            return;
        }
        let now = || world.time.now();
        let Err(refusal) = reply else {
            self.row = RetryState::start_at(now());
            return;
        };
        let verdict = self.policy.judge(refusal);
        let random = || world.rng.borrow_mut().next_u64();
        if let Decision::Wait(wait) = self.row.failed(&self.policy, verdict, now, random) {
            self.closed = Some(world.time.nanos());
            self.wait = wait.delay.as_nanos() as u64;
        }
    }
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

    /// A call takes a token, and waits this number of seconds.
    fn takes(&mut self, now: u64) -> f64 {
        let lacks = self.lacks(now);
        if self.is_on {
            self.tokens -= 1.0;
        }
        lacks
    }

    /// The number of seconds until there is a token, at this rate.
    fn lacks(&mut self, now: u64) -> f64 {
        if !self.is_on {
            return 0.0;
        }
        self.fill(seconds(now));
        (1.0 - self.tokens).max(0.0) / self.rate
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
