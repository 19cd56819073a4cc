//! Two retries around each other multiply their attempts.

use backoff_core::{TimedOut, retry};

#[retry(max_attempts = 3)]
#[retry(max_attempts = 5)]
async fn twice() -> Result<(), TimedOut> {
    Ok(())
}

#[retry(max_attempts = 3)]
#[inline]
#[backoff_core::retry]
fn with_another_between() -> Result<(), TimedOut> {
    Ok(())
}
