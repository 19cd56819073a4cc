//! What calls share works on when a caller is dropped, is kept and not polled, panics or hangs: every other call ends
//! within its limit.

mod callers;

use crate::common::error::TestError;
#[cfg(all(feature = "http-1", feature = "rate"))]
use crate::common::time::Blocked;
use backoff_core::{Budget, Fault, Jitter, NotOpened, Policy, Reconnect, TimedOut};
use callers::{SECOND, draw, others_end, step};
use std::rc::Rc;

#[derive(Debug, Fault)]
enum Failure {
    #[fault(forward)]
    Broken(TimedOut),
    #[fault(forward)]
    NotOpened(NotOpened<TimedOut>),
}

impl From<NotOpened<TimedOut>> for Failure {
    fn from(error: NotOpened<TimedOut>) -> Self {
        Failure::NotOpened(error)
    }
}

async fn open() -> Result<(), TimedOut> {
    step().await;
    match draw(8) {
        0 => Err(TimedOut::new(SECOND)),
        _ => Ok(()),
    }
}

async fn operate() -> Result<(), Failure> {
    step().await;
    match draw(4) {
        0 => Err(Failure::Broken(TimedOut::new(SECOND))),
        _ => Ok(()),
    }
}

/// Enough that a fault of each kind is found; more seeds take long.
const SEEDS: u64 = 40;

const POLICY: Policy = Policy::exponential()
    .max_backoff(SECOND)
    .max_attempts(100)
    .jitter(Jitter::None);

#[test]
fn a_connection() {
    for seed in 0..SEEDS {
        others_end(
            seed,
            // An opening holds the others up for a second.
            |misbehaved| SECOND * (20 + misbehaved),
            Rc::new(Reconnect::new(open).opening_backoff(POLICY)),
            |source| async move { POLICY.retry(|| source.with(|()| operate())).await },
        );
    }
}

/// A service that refuses a quarter of the calls, some with a hint.
async fn refuses() -> Result<(), TestError> {
    step().await;
    match draw(8) {
        0 => Err(TestError::status(429)),
        1 => Err(TestError {
            hint: Some(SECOND * draw(20) as u32),
            ..TestError::status(429)
        }),
        _ => Ok(()),
    }
}

/// The replies state a quota, which is sometimes used up.
#[cfg(all(feature = "http-1", feature = "rate"))]
#[test]
fn a_rate_that_hears_of_quotas() {
    for seed in 0..SEEDS {
        others_end(
            seed,
            |misbehaved| SECOND * (600 + 20 * misbehaved),
            &*Box::leak(Box::<backoff_core::Rate>::default()),
            |rate| async move {
                let ask = || async {
                    let (left, reset) = (draw(3) * 2_000, 1 + draw(5));
                    let mut headers = http_1::HeaderMap::new();
                    for (name, value) in [
                        ("x-ratelimit-limit-tokens", "4000".to_owned()),
                        ("x-ratelimit-remaining-tokens", left.to_string()),
                        ("x-ratelimit-reset-tokens", format!("{reset}s")),
                        ("x-ratelimit-limit", "4".to_owned()),
                        ("x-ratelimit-remaining", draw(5).to_string()),
                        ("x-ratelimit-reset", reset.to_string()),
                    ] {
                        headers.insert(name, value.parse().expect("visible ASCII"));
                    }
                    rate.observe(&headers);
                    refuses().await
                };
                let policy = POLICY.rate(rate);
                match draw(4) {
                    0 => policy.retry(|| policy.retry(ask)).await,
                    1 => policy.blocking(|| Ok(())).runtime(Blocked).call(),
                    _ => policy.retry(ask).tokens(draw(5_000) as u32).await,
                }
            },
        );
    }
}

/// Those who are dropped give their tokens back, so that the others have enough.
#[test]
fn a_budget() {
    for seed in 0..SEEDS {
        others_end(
            seed,
            |_| SECOND * 600,
            &*Box::leak(Box::new(Budget::costs(1_000, 5, 5))),
            |budget| async move { POLICY.retry(refuses).budget(budget).await },
        );
    }
}
