//! One call has one signal, and a blocking one cannot await it, or a time for an attempt.

use backoff_core::{Stop, retry, retry_block};
use std::future::ready;
use ui::ApiError;

ui::refused! {
    #[retry(stop_on = ready(()), cut_on = ready(()))]
    #[retry(cut_on = 5)]
}

#[retry(attempt_timeout = "1s")]
fn of_time() -> Result<(), ApiError> {
    Ok(())
}

#[retry(cut_on = stop)]
fn cut(stop: &Stop) -> Result<(), ApiError> {
    Ok(())
}

#[retry(stop_on = stop)]
fn stopped(stop: &Stop) -> Result<(), ApiError> {
    Ok(())
}

fn main() {
    let stop = Stop::new();
    let _ = retry_block!(cut_on = stop, { Ok::<(), ApiError>(()) });
    let _ = retry_block!(stop_on = stop, { Ok::<(), ApiError>(()) });
}
