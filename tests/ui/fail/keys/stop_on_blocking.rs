//! A blocking function cannot await the signal.

use backoff_core::{Stop, retry, retry_block};
use ui::ApiError;

#[retry(stop_on = stop)]
fn f(stop: &Stop) -> Result<(), ApiError> {
    Ok(())
}

fn main() {
    let stop = Stop::new();
    let _ = retry_block!(stop_on = stop, { Ok::<(), ApiError>(()) });
}
