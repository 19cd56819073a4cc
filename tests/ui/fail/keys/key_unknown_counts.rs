//! How other libraries count: some count retries, some count calls.

use backoff_core::retry;
use ui::ApiError;

const RETRIES: u32 = 3;

#[retry(retries = 3)]
async fn a() -> Result<(), ApiError> {
    Ok(())
}

#[retry(tries = 3)]
async fn b() -> Result<(), ApiError> {
    Ok(())
}

#[retry(retry = 3)]
async fn c() -> Result<(), ApiError> {
    Ok(())
}

#[retry(max_retries = RETRIES)]
async fn d() -> Result<(), ApiError> {
    Ok(())
}

#[retry(max_times = 3)]
async fn e() -> Result<(), ApiError> {
    Ok(())
}

#[retry(stop_after_attempt = 7)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(attempts(3))]
async fn g() -> Result<(), ApiError> {
    Ok(())
}

#[retry(MaxRetryAttempts = 3)]
async fn h() -> Result<(), ApiError> {
    Ok(())
}

#[retry(maxAttempts = 3)]
async fn i() -> Result<(), ApiError> {
    Ok(())
}

#[retry(retries = 1 << 2)]
async fn j() -> Result<(), ApiError> {
    Ok(())
}

#[retry(retries = "3")]
async fn k() -> Result<(), ApiError> {
    Ok(())
}
