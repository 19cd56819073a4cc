//! Lists as other languages write them.

use backoff_core::retry;
use ui::ApiError;

#[retry(on = (429, 503))]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = {429, 503})]
async fn g() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = [429 | 503 | 500..=502])]
async fn h() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = [500...504, 429])]
async fn i() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = ["429", "500..=504", "busy"])]
async fn j() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = 500..=504)]
async fn k() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = 429 | 503)]
async fn l() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on(429, 503))]
async fn m() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = [429 503])]
async fn n() -> Result<(), ApiError> {
    Ok(())
}
