//! A future that is returned cannot borrow a policy that is an argument.

use backoff_core::{Policy, TimedOut};
use std::future::Future;

async fn get() -> Result<u32, TimedOut> {
    Ok(1)
}

fn returned(policy: Policy) -> impl Future<Output = Result<u32, TimedOut>> {
    policy.retry(get)
}

fn main() {
    drop(returned(Policy::exponential()));
}
