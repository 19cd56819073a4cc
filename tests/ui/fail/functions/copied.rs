//! An attribute above `#[retry]` that copies it to the function that it generates: the output is pasted here.

use backoff_core::retry;
use ui::ApiError;

// `#[server]` of leptos 0.8.
#[retry(max_attempts = 5)]
async fn load(id: u32) -> Result<u32, ApiError> {
    __server_load(id).await
}

#[doc(hidden)]
#[retry(max_attempts = 5)]
async fn __server_load(id: u32) -> Result<u32, ApiError> {
    Ok(id)
}
