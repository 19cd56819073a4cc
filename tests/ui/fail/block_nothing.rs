//! What is no block.

use backoff_core::retry_block;
use ui::ApiError;

fn main() {
    let _ = retry_block!(max_attempts = 3);
    let _ = retry_block!(attempt_timeout = 3s, { Ok::<_, ApiError>(()) });
}
