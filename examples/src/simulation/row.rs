//! Clients that write one row with optimistic concurrency: the model of the AWS Architecture Blog's "Exponential Backoff
//! And Jitter". Each reads the row and writes it under the version that it has read.

use std::time::Duration;

use backoff_cloud::{Codes, Jitter, Policy, codes};

use super::load::{Strategy, Work};

const BASE: Duration = Duration::from_millis(5);

/// Nobody gives up, with waits of zero too. The first wait is 5 ms · 2¹: the exponent of AWS' simulation counts from 1.
pub const ROW: Policy = Policy::exponential()
    .base(BASE.saturating_mul(2))
    .max_backoff(Duration::from_secs(2))
    .max_attempts(100_000)
    .on(codes![Codes::ABORTED]);

/// Clients that change the row.
pub const fn change(name: &'static str, policy: Policy) -> Strategy {
    Strategy::new(name, policy, Work::Change)
}

/// Clients that change the row with waits of this jitter. Decorrelated waits begin with the base itself.
pub const fn jittered(name: &'static str, jitter: Jitter) -> Strategy {
    let policy = match jitter {
        Jitter::Decorrelated => ROW.base(BASE),
        _ => ROW,
    };
    change(name, policy.jitter(jitter))
}
