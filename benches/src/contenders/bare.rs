//! The operation without any retry: what is left of a figure when this is taken away is the price.

use crate::operation::{self, ApiError, fail, succeed};
use std::cell::Cell;

pub async fn success(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

/// Called until it succeeds, without a wait.
pub async fn flaky(left: &Cell<u32>) -> u64 {
    loop {
        if let Ok(value) = async { operation::flaky(left) }.await {
            return value;
        }
    }
}

/// A task that only sleeps: the least that a task which waits can take.
pub async fn failing(n: u64) -> Result<u64, ApiError> {
    tokio::time::sleep(operation::BASE).await;
    fail(n)
}

pub fn blocking(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}
