//! A task outlives the statement, and so the policy that is changed in it.

use backoff_core::{Policy, TimedOut};

const POLICY: Policy = Policy::exponential();

async fn get() -> Result<u32, TimedOut> {
    Ok(1)
}

fn spawned() {
    tokio::spawn(POLICY.max_attempts(3).retry(get));
}

fn main() {
    spawned();
}
