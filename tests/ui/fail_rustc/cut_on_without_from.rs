//! The error cannot be made from `Stopped`.

use backoff_core::{retry, retry_block};
use ui::ApiError;

#[retry(cut_on = std::future::ready(()))]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

fn main() {
    let signal = std::future::ready(());
    let _ = retry_block!(attempt_timeout = "1s", cut_on = signal, async {
        Ok::<(), backoff_core::TimedOut>(())
    });
}
