//! retry, a blocking crate. Its jitter makes a wait shorter, as this project's jitter does.

use crate::operation::{ApiError, CAP, RETRIES, succeed};
use retry::{
    Error,
    delay::{Exponential, jitter},
};
use std::time::Duration;

pub fn delays() -> impl Iterator<Item = Duration> {
    Exponential::from_millis_with_factor(1, 2.0)
        .map(|wait| wait.min(CAP))
        .map(jitter)
}

pub fn blocking(n: u64) -> Result<u64, Error<ApiError>> {
    retry::retry(delays().take(RETRIES as usize), || succeed(n))
}
