//! A service with a limit of so many calls a second, and callers that meet it all at once.
//!
//! The service has a bucket of tokens that holds one second's worth and refills evenly. A call
//! that finds a token is answered; any other is refused with 429, which costs no token, and with
//! or without a `Retry-After`. Callers do not give up, unless their policy does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use backoff_cloud::{Decision, Fault, Policy, RetryState};
use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::row::Hop;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// Calls a second.
pub(crate) const LIMIT: u64 = 50;
/// Between two tokens.
const TOKEN: u64 = SECOND / LIMIT;

/// What the service says to a call that it refuses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    Nothing,
    /// `Retry-After: 1`: a whole second, the least that can be said, until there is a token.
    NextToken,
    /// The second in which there is a token that has not been promised to anyone else.
    InTurn,
}

impl Hint {
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::NextToken, Self::InTurn];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::NextToken => "1 s",
            Self::InTurn => "in turn",
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Nothing => "no Retry-After",
            Self::NextToken => "Retry-After: 1",
            Self::InTurn => "Retry-After in turn",
        }
    }
}

/// The reply to a call too many.
struct Throttled {
    retry_after: Option<Duration>,
}

impl Fault for Throttled {
    fn status(&self) -> Option<u16> {
        Some(429)
    }
    fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

/// Times are in nanoseconds.
struct Service {
    hint: Hint,
    /// When the bucket was, or would have been, empty. It cannot be longer ago than a second.
    empty: u64,
    /// Until when all tokens are promised.
    promised: u64,
}

impl Service {
    fn call(&mut self, now: u64) -> Result<(), Throttled> {
        self.empty = self.empty.max(now.saturating_sub(SECOND));
        if self.empty + TOKEN <= now {
            self.empty += TOKEN;
            return Ok(());
        }
        let wait = match self.hint {
            Hint::Nothing => return Err(Throttled { retry_after: None }),
            Hint::NextToken => self.empty + TOKEN - now,
            Hint::InTurn => {
                self.promised = self.promised.max(self.empty) + TOKEN;
                self.promised.saturating_sub(now)
            }
        };
        // The header knows whole seconds only.
        let seconds = Duration::from_secs(wait.div_ceil(SECOND));
        Err(Throttled {
            retry_after: Some(seconds),
        })
    }
}

/// What happened.
pub(crate) struct Outcome {
    /// When each call arrived, in the order of time.
    pub(crate) arrived: Vec<u64>,
    /// When each caller was told that it succeeded, in the order of arrival.
    pub(crate) succeeded: Vec<u64>,
}

pub(crate) fn run(
    callers: u32,
    hop: Hop,
    hint: Hint,
    policy: &Policy,
    rng: &mut SmallRng,
) -> Outcome {
    // The bucket is full at the first call.
    let origin = SECOND;
    let mut service = Service {
        hint,
        empty: 0,
        promised: 0,
    };
    let mut retries: Vec<_> = (0..callers)
        .map(|_| RetryState::start(policy, || Duration::from_nanos(origin)))
        .collect();
    let mut calls: BinaryHeap<_> = (0..callers)
        .map(|caller| Reverse((origin + hop.draw(rng), caller)))
        .collect();
    let mut outcome = Outcome {
        arrived: Vec::new(),
        succeeded: Vec::new(),
    };
    while let Some(Reverse((arrived, caller))) = calls.pop() {
        outcome.arrived.push(arrived - origin);
        let reply = service.call(arrived);
        let replied = arrived + hop.draw(rng);
        let Err(fault) = reply else {
            outcome.succeeded.push(replied - origin);
            continue;
        };
        let now = || Duration::from_nanos(replied);
        let random = || rng.next_u64();
        let verdict = policy.judge(&fault);
        if let Decision::Wait(wait) = retries[caller as usize].failed(policy, verdict, now, random)
        {
            let sent = replied + wait.delay.as_nanos() as u64;
            calls.push(Reverse((sent + hop.draw(rng), caller)));
        }
    }
    outcome
}

/// The most calls that arrived within a tenth of a second, once the first tenth was over: the
/// herd that comes back.
pub(crate) fn herd(arrived: &[u64]) -> usize {
    const TENTH: u64 = SECOND / 10;
    let later = arrived.iter().filter(|&&time| time >= TENTH);
    let tenths: Vec<_> = later.map(|time| time / TENTH).collect();
    tenths
        .chunk_by(|one, next| one == next)
        .map(<[u64]>::len)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::BATCH;
    use rand::SeedableRng as _;

    fn outcome(name: &str, hint: Hint) -> Outcome {
        let strategy = BATCH.iter().find(|strategy| strategy.name == name).unwrap();
        let hop = Hop::new(Duration::from_millis(10), Duration::from_millis(2)).unwrap();
        let mut rng = SmallRng::seed_from_u64(1);
        run(500, hop, hint, &strategy.policy, &mut rng)
    }

    #[test]
    fn the_limit_holds_whatever_the_callers_do() {
        for strategy in BATCH {
            for hint in Hint::ALL {
                let mut succeeded = outcome(strategy.name, hint).succeeded;
                succeeded.sort_unstable();
                assert_eq!(succeeded.len(), 500);
                // A second's worth in the bucket, one that refills meanwhile, and what the
                // replies' way blurs.
                for window in succeeded.windows(2 * LIMIT as usize + 5) {
                    let took = window[window.len() - 1] - window[0];
                    assert!(took >= SECOND, "{}: {took}", strategy.name);
                }
            }
        }
    }

    #[test]
    fn callers_at_a_fixed_interval_come_back_together() {
        let of = |name| herd(&outcome(name, Hint::Nothing).arrived);
        let (fixed, jittered) = (of("fixed 1 s"), of("exponential + jitter"));
        assert!(fixed > 400 && jittered < 100, "{fixed} and {jittered}");
    }

    #[test]
    fn a_hint_is_waited_for() {
        let calls = |hint| outcome("exponential", hint).arrived.len();
        assert_eq!(calls(Hint::NextToken), calls(Hint::Nothing));
        assert!(calls(Hint::InTurn) < calls(Hint::Nothing) / 2);
    }
}
