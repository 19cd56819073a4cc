//! How other libraries name who decides, and who is told.

use backoff_core::retry;
use ui::ApiError;

fn is_busy(error: &ApiError) -> bool {
    error.0 == 429
}

#[retry(retry_if = is_busy)]
async fn a() -> Result<(), ApiError> {
    Ok(())
}

#[retry(if = |error| error.0 == 429)]
async fn b() -> Result<(), ApiError> {
    Ok(())
}

#[retry(retry_on = [429, 503])]
async fn c() -> Result<(), ApiError> {
    Ok(())
}

#[retry(include = [429], exclude = [404])]
async fn d() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on_retry = |event| println!("{event:?}"), before_sleep = |_| {})]
async fn e() -> Result<(), ApiError> {
    Ok(())
}

#[retry(context = true, adjust = |_, wait| wait)]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(retry_if_result = |value| value.is_none())]
async fn g() -> Result<Option<()>, ApiError> {
    Ok(None)
}

#[retry(backoff_config = 3, error = ApiError)]
async fn h() -> Result<(), ApiError> {
    Ok(())
}

#[retry(retry_on = 503)]
async fn i() -> Result<(), ApiError> {
    Ok(())
}

#[retry(retry_on = Busy::Now, retry_if = 503)]
async fn j() -> Result<(), Busy> {
    Ok(())
}

#[derive(Debug)]
enum Busy {
    Now,
}

fn main() {
    drop((j(), Busy::Now));
}
