//! Futures that branches choose among, each of which could be polled only once.

use std::future::Future;
use std::pin::Pin;

use backoff_core::retry;
use ui::ApiError;

type Task = Pin<Box<dyn Future<Output = Result<u32, ApiError>>>>;

#[retry]
fn either(yes: bool) -> Task {
    if yes { Box::pin(async { Ok(1) }) } else { Box::pin(async { Ok(2) }) }
}

#[retry]
fn one_of(number: u32) -> Pin<Box<dyn Future<Output = Result<u32, ApiError>>>> {
    match number {
        0 => Box::pin(async { Ok(1) }),
        _ => Box::pin(async { Err(ApiError(404)) }),
    }
}
