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

#[retry(crate = nope, on = [503], base = "1s", attempt = n)]
async fn of_no_library() -> Result<(), ApiError> {
    let _ = n;
    Ok(())
}

#[retry]
async fn without_a_tail() -> Result<(), ApiError> {
    io(1).await?;
}

#[retry]
fn without_a_tail_in_a_thread() -> Result<(), ApiError> {
    refuse()?;
}

fn refuse() -> Result<u32, ApiError> {
    Err(ApiError(503))
}

#[retry]
async fn with_statements_before() -> Result<u32, ApiError> {
    let number = io(1).await?;
    io(number).await?;
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
    drop(async { POLICY.retry(|| io(1)).notify(|_| {}).when(|error| error.0 == 503).await });
    drop(POLICY.blocking(refuse).when(|error| error.0 == 503).call());
}
