//! What is no block.

use backoff_core::retry_block;
use ui::ApiError;

fn f() -> Result<(), ApiError> {
    Ok(())
}

fn main() {
    let _ = retry_block!(max_attempts = 3);
    let _: Result<(), ApiError> = retry_block!(base = "1ms", || f());
    let _: Result<(), ApiError> = retry_block!(base = "1ms", move || { f() });
    let _ = retry_block!(base = "1ms", || async { f() });
    let _ = retry_block!(attempt_timeout = 3s, { Ok::<_, ApiError>(()) });
}
