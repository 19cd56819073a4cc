//! Keys and setters whose feature is off: the message says which one.

use backoff_core::{Policy, TimedOut, retry};

struct Shared;

static SHARED: Shared = Shared;

const POLICY: Policy = Policy::exponential().rate(&SHARED);

#[retry(rate = SHARED)]
async fn paced() -> Result<(), TimedOut> {
    Ok(())
}

#[retry(breaker = SHARED)]
async fn guarded() -> Result<(), TimedOut> {
    POLICY.retry(paced).breaker(&SHARED).await
}

fn main() {}
