//! Futures of which each attempt would not make a new one.

use std::future::Future;
use std::pin::Pin;

use backoff_core::retry;
use ui::ApiError;

type Task = Pin<Box<dyn Future<Output = Result<u32, ApiError>>>>;

#[retry]
fn not_made_here() -> impl Future<Output = Result<(), ApiError>> {
    let ready = std::future::ready(Ok(()));
    ready
}

#[retry]
fn given_back_early(fast: bool) -> Pin<Box<dyn Future<Output = Result<(), ApiError>> + Send>> {
    let closure = || {
        return 1;
    };
    let typed = || -> u8 { return 1 };
    if fast && closure() + typed() == 2 {
        return Box::pin(async { Ok(()) });
    }
    Box::pin(async move { Ok(()) })
}

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
