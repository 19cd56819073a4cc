//! A signal that is no future.

use backoff_core::{Stop, Stopped, retry, retry_block};

#[retry(cut_on = stop)]
async fn cut(stop: &Stop) -> Result<(), Stopped> {
    Ok(())
}

#[retry(stop_on = stop)]
async fn stopped(stop: &Stop) -> Result<(), Stopped> {
    Ok(())
}

fn main() {
    let seconds = 5;
    let _ = retry_block!(stop_on = seconds, async { Ok::<(), Stopped>(()) });
}
