//! A call is no block.

use backoff_core::retry_block;
use ui::ApiError;

async fn call() -> Result<u32, ApiError> {
    Ok(1)
}

fn blocking() -> Result<u32, ApiError> {
    Ok(1)
}

async fn f() -> Result<u32, ApiError> {
    retry_block!(max_attempts = 3, call()).await
}

fn g() -> Result<u32, ApiError> {
    retry_block!(max_attempts = 3, on = [503], blocking())
}

async fn h() -> Result<u32, ApiError> {
    retry_block!(max_attempts = 3, async || call().await).await
}

async fn i() -> Result<u32, ApiError> {
    retry_block!(max_attempts = 3, async move || { call().await }).await
}

async fn j() -> Result<u32, ApiError> {
    retry_block!(max_attempts = 3, || call()).await
}

async fn k() -> Result<u32, ApiError> {
    retry_block!(max_attempts = 3, call().await)
}

async fn l() -> Result<u32, ApiError> {
    retry_block!(call()).await
}

async fn m() -> Result<u32, ApiError> {
    retry_block!(max_attempts = 3, call).await
}

fn main() {
    drop((f(), g(), h(), i(), j(), k(), l(), m()));
}
