//! A policy that is changed in the expression lives until the end of the statement. The page of
//! `Retrying` says what to write: `.owned()`, `const { .. }`, a `let`, `async move`.

use backoff_core::{Policy, TimedOut};

const POLICY: Policy = Policy::exponential();

async fn get() -> Result<u32, TimedOut> {
    Ok(1)
}

async fn stored() -> Result<u32, TimedOut> {
    let future = POLICY.max_attempts(3).retry(get);
    future.await
}

fn main() {
    drop(stored());
}
