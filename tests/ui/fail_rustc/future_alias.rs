//! A boxed future under another name, of which the body does not show that it is one.

use std::future::Future;
use std::pin::Pin;

use backoff_core::retry;
use ui::ApiError;

type Task = Pin<Box<dyn Future<Output = Result<u32, ApiError>>>>;

fn other() -> Task {
    Box::pin(async { Ok(1) })
}

#[retry]
fn f() -> Task {
    other()
}

fn main() {}
