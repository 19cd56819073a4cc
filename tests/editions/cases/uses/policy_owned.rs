//! The four ways to store, spawn or return a future of a policy that is no constant.

use backoff_core::{Policy, TimedOut};
use std::future::Future;

const POLICY: Policy = Policy::exponential();

async fn get() -> Result<u32, TimedOut> {
    Ok(1)
}

fn owned(policy: Policy) -> impl Future<Output = Result<u32, TimedOut>> + Send + 'static {
    policy.retry(get).owned()
}

fn moved(policy: Policy) -> impl Future<Output = Result<u32, TimedOut>> + Send + 'static {
    async move { policy.retry(get).await }
}

fn constant() -> impl Future<Output = Result<u32, TimedOut>> + Send + 'static {
    const { POLICY.max_attempts(3) }.retry(get)
}

#[tokio::test(start_paused = true)]
async fn works() {
    let policy = POLICY.max_attempts(3);
    let borrowed = policy.retry(get);
    let joined = tokio::join!(
        borrowed,
        POLICY.max_attempts(3).retry(get).owned(),
        // Macros written before edition 2024 take no bare `const` block for an expression.
        (const { POLICY.max_attempts(3) }).retry(get),
    );
    assert_eq!(joined, (Ok(1), Ok(1), Ok(1)));
    assert_eq!(tokio::spawn(owned(policy)).await.unwrap(), Ok(1));
    assert_eq!(tokio::spawn(moved(policy)).await.unwrap(), Ok(1));
    assert_eq!(tokio::spawn(constant()).await.unwrap(), Ok(1));
    let spawned = tokio::spawn(POLICY.max_attempts(3).retry(get).owned());
    assert_eq!(spawned.await.unwrap(), Ok(1));
}
