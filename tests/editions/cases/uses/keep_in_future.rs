//! `keep(..)` and `clone(..)` in functions that return a future.

use std::future::Future;
use std::pin::Pin;

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms", keep(seen))]
fn kept(flaky: &Flaky, mut seen: Vec<u32>) -> impl Future<Output = Result<usize, ApiError>> + '_ {
    async move {
        seen.push(1);
        flaky.call()?;
        Ok(seen.len())
    }
}

#[retry(base = "1ms", keep(seen))]
fn boxed(
    flaky: &Flaky,
    mut seen: u32,
) -> Pin<Box<dyn Future<Output = Result<u32, ApiError>> + Send + '_>> {
    Box::pin(async move {
        seen += 1;
        flaky.call()?;
        Ok(seen)
    })
}

#[retry(base = "1ms", clone(mut seen))]
fn cloned(flaky: &Flaky, seen: Vec<u32>) -> impl Future<Output = Result<usize, ApiError>> + '_ {
    async move {
        seen.push(1);
        flaky.call()?;
        Ok(seen.into_boxed_slice().len())
    }
}

#[tokio::test]
async fn works() {
    assert_eq!(kept(&Flaky::failing(2), vec![]).await, Ok(3));
    assert_eq!(boxed(&Flaky::failing(2), 0).await, Ok(3));
    assert_eq!(cloned(&Flaky::failing(2), vec![]).await, Ok(1));
}
