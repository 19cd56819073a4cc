//! One mistake is one message, at the place of the mistake.

use backoff_core::{Policy, retry};
use ui::ApiError;

async fn io(number: u32) -> Result<u32, ApiError> {
    Ok(number)
}

#[retry(when = || true)]
async fn judge_of_nothing() -> Result<(), ApiError> {
    Ok(())
}

#[retry(when = |error, attempt| attempt < 3)]
async fn judge_of_two() -> Result<(), ApiError> {
    Ok(())
}

#[retry(when = |error| error.0)]
async fn judge_of_a_number() -> Result<(), ApiError> {
    Ok(())
}

#[retry(crate = nope)]
async fn of_no_library() -> Result<(), ApiError> {
    Ok(())
}

#[retry]
async fn without_a_tail() -> Result<(), ApiError> {
    io(1).await?;
}

#[retry]
fn without_a_tail_in_a_thread() -> Result<(), ApiError> {
    ApiError::refused()?;
}

#[retry(on = [503])]
async fn of_text() -> Result<u32, String> {
    Err("busy".to_owned())
}

#[retry(on = [503])]
fn of_text_in_a_thread() -> Result<u32, String> {
    Err("busy".to_owned())
}

fn main() {
    const POLICY: Policy = Policy::exponential();
    let _ = POLICY.retry(|| io(1)).when(|error: &ApiError| error.0 == 503);
    let _ = POLICY.blocking(|| Err::<(), _>(ApiError(503))).when(|error: &ApiError| error.0 == 503);
}
