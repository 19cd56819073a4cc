//! A call is no block, nor is a closure, and the block comes last.

use backoff_core::retry_block;
use ui::ApiError;

async fn call() -> Result<u32, ApiError> {
    Ok(1)
}

fn blocking() -> Result<u32, ApiError> {
    Ok(1)
}

fn main() {
    let _ = retry_block!(max_attempts = 3);
    let _ = retry_block!(max_attempts = 3, call());
    let _ = retry_block!(max_attempts = 3, call);
    let _ = retry_block!(call());
    let _ = retry_block!(max_attempts = 3, on = [503], blocking());
    let _ = retry_block!(max_attempts = 3, async || call().await);
    let _ = retry_block!(max_attempts = 3, async move || { call().await });
    let _ = retry_block!(max_attempts = 3, || call());
    let _ = retry_block!(base = "1ms", move || { blocking() });
    let _ = retry_block!(base = "1ms", || async { blocking() });
    let _ = async { retry_block!(max_attempts = 3, call().await) };
    let _ = retry_block!(async { call().await }, max_attempts = 3);
    let _ = retry_block!({ blocking() }, max_attempts = 3, base = "1ms");
    let _ = retry_block!(attempt_timeout = 3s, { Ok::<_, ApiError>(()) });
}
