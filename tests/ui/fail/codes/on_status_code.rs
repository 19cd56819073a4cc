//! The constants of the crate `http`.

use backoff_core::retry;
use ui::ApiError;

pub struct StatusCode(pub u16);

impl StatusCode {
    pub const TOO_MANY_REQUESTS: Self = StatusCode(429);
    pub const TEAPOT: Self = StatusCode(418);
}

#[retry(on = [StatusCode::TOO_MANY_REQUESTS, 503])]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = [self::StatusCode::TEAPOT])]
async fn g() -> Result<(), ApiError> {
    Ok(())
}
