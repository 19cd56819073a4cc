//! Functions that return a boxed future.

use std::future::Future;
use std::pin::Pin;

use backoff_core::retry;
use ui::{ApiError, Flaky};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[retry(base = "1ms", on = [503])]
fn get(flaky: &Flaky) -> Pin<Box<dyn Future<Output = Result<u32, ApiError>> + Send + '_>> {
    Box::pin(async move { flaky.call() })
}

#[retry(base = "1ms", attempt = n)]
fn alias<'a>(flaky: &'a Flaky, name: &'a str) -> BoxFuture<'a, Result<usize, ApiError>> {
    Box::pin(async move {
        if n.number() == 2 {
            return Err(ApiError(429));
        }
        flaky.call()?;
        Ok(name.len())
    })
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2)).await, Ok(3));
    let flaky = Flaky::failing(2);
    assert_eq!(alias(&flaky, "four").await, Ok(4));
    assert_eq!(flaky.calls(), 3);
}
