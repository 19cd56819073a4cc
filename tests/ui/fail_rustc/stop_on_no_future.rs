//! A signal that is no future.

use backoff_core::{Stop, retry};
use ui::ApiError;

#[retry(stop_on = stop)]
async fn f(stop: &Stop) -> Result<(), ApiError> {
    Ok(())
}

fn main() {}
