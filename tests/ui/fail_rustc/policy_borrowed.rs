//! A policy that is changed in the expression lives until the end of the statement. The page of
//! `Retrying` says what to write: `.owned()`, `const { .. }`, a `let`, `async move`.

use backoff_core::{Policy, TimedOut};
use std::future::Future;

const POLICY: Policy = Policy::exponential();

async fn get() -> Result<u32, TimedOut> {
    Ok(1)
}

fn spawned() {
    tokio::spawn(POLICY.max_attempts(3).retry(get));
}

async fn stored() -> Result<u32, TimedOut> {
    let future = POLICY.max_attempts(3).retry(get);
    future.await
}

// `join!` keeps the futures in variables of its own, beyond the expression.
async fn joined() {
    let _ = tokio::join!(POLICY.max_attempts(3).retry(get), get());
}

fn returned(policy: Policy) -> impl Future<Output = Result<u32, TimedOut>> {
    policy.retry(get)
}

fn main() {}
