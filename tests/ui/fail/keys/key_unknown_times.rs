//! How other libraries name times, some of them with a unit.

use backoff_core::retry;
use ui::ApiError;

#[retry(timeout_ms = 500)]
async fn a() -> Result<(), ApiError> {
    Ok(())
}

#[retry(initial_delay = 100, max_delay = 1000, multiplier = 2)]
async fn b() -> Result<(), ApiError> {
    Ok(())
}

#[retry(min_delay = "100ms", max_interval = "10s")]
async fn c() -> Result<(), ApiError> {
    Ok(())
}

#[retry(max_elapsed_time = 900_000, base_secs = 1)]
async fn d() -> Result<(), ApiError> {
    Ok(())
}

#[retry(fixed = "1s", delay_ms = 200)]
async fn e() -> Result<(), ApiError> {
    Ok(())
}

#[retry(exponential, wait = 2)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(timeout_ms = 1e3, delay = true)]
async fn g() -> Result<(), ApiError> {
    Ok(())
}
