//! The operation without a retry. Subtract these figures from the others to get the cost of the retry.

use crate::operation::{self, ApiError, fail, succeed};
use std::cell::Cell;

pub async fn success(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}

/// Calls the operation until it succeeds, without a wait.
pub async fn flaky(left: &Cell<u32>) -> u64 {
    loop {
        if let Ok(value) = async { operation::flaky(left) }.await {
            return value;
        }
    }
}

/// A task that only sleeps: no waiting task can take less memory.
pub async fn failing(n: u64) -> Result<u64, ApiError> {
    tokio::time::sleep(operation::BASE).await;
    fail(n)
}

pub fn blocking(n: u64) -> Result<u64, ApiError> {
    succeed(n)
}
