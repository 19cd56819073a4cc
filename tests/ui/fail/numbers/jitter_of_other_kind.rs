//! What other libraries take as jitter.

use backoff_core::retry;
use ui::ApiError;

#[retry(jitter = 0.2)]
async fn a() -> Result<(), ApiError> {
    Ok(())
}

#[retry(jitter = random)]
async fn b() -> Result<(), ApiError> {
    Ok(())
}

#[retry(jitter = true)]
async fn c() -> Result<(), ApiError> {
    Ok(())
}

#[retry(jitter = false)]
async fn d() -> Result<(), ApiError> {
    Ok(())
}

#[retry(jitter = "20%")]
async fn e() -> Result<(), ApiError> {
    Ok(())
}

#[retry(jitter = "random")]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(jitter = 3)]
async fn g() -> Result<(), ApiError> {
    Ok(())
}

#[retry(jitter)]
async fn h() -> Result<(), ApiError> {
    Ok(())
}
