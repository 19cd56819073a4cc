//! One call has one signal, and a blocking one cannot await it.

use backoff_core::{Stop, retry, retry_block};
use std::future::ready;
use ui::ApiError;

#[retry(stop_on = ready(()), cut_on = ready(()))]
async fn both() -> Result<(), ApiError> {
    Ok(())
}

#[retry(cut_on = 5)]
async fn literal() -> Result<(), ApiError> {
    Ok(())
}

#[retry(cut_on = stop)]
fn blocking(stop: &Stop) -> Result<(), ApiError> {
    Ok(())
}

fn main() {
    let stop = Stop::new();
    let _ = retry_block!(cut_on = stop, { Ok::<(), ApiError>(()) });
}
