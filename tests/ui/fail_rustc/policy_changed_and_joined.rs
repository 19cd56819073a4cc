//! `join!` keeps the futures in variables of its own, beyond the expression.

use backoff_core::{Policy, TimedOut};

const POLICY: Policy = Policy::exponential();

async fn get() -> Result<u32, TimedOut> {
    Ok(1)
}

async fn joined() {
    let _ = tokio::join!(POLICY.max_attempts(3).retry(get), get());
}

fn main() {
    drop(joined());
}
