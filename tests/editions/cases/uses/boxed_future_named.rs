//! An alias may be called `BoxFuture` and yet put its argument into more than a future's output.

use std::future::Future;
use std::pin::Pin;

use backoff_core::retry;
use ui::{ApiError, Flaky};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ApiError>> + Send + 'a>>;

/// The one of the crate `futures`.
mod futures {
    pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;
    pub type LocalBoxFuture<'a, T> = std::pin::Pin<Box<dyn std::future::Future<Output = T> + 'a>>;
}

#[retry(base = "1ms")]
fn own<'a>(flaky: &'a Flaky, name: &'a str) -> BoxFuture<'a, usize> {
    Box::pin(async move {
        flaky.call()?;
        Ok(name.len())
    })
}

#[retry(base = "1ms", on = [503])]
fn elided(flaky: &Flaky) -> BoxFuture<'_, u32> {
    Box::pin(async move { flaky.call() })
}

/// An error with `?`, which is converted to the type that only the alias says.
struct Error;

impl From<ApiError> for Error {
    fn from(_: ApiError) -> Self {
        Error
    }
}

#[retry(base = "1ms")]
fn usual(flaky: &Flaky) -> futures::BoxFuture<'_, Result<u32, Error>> {
    Box::pin(async move { Ok(flaky.call()?) })
}

#[retry(base = "1ms")]
fn local<T: Copy>(flaky: &Flaky, with: T) -> futures::LocalBoxFuture<'_, Result<(u32, T), Error>>
where
    T: 'static,
{
    Box::pin(async move { Ok((flaky.call()?, with)) })
}

#[retry(base = "1ms")]
fn hidden(flaky: &Flaky) -> futures::BoxFuture<'_, Result<impl Iterator<Item = u32>, ApiError>> {
    Box::pin(async move { Ok(0..flaky.call()?) })
}

#[tokio::test]
async fn works() {
    assert_eq!(own(&Flaky::failing(2), "four").await, Ok(4));
    assert_eq!(elided(&Flaky::failing(2)).await, Ok(3));
    assert!(matches!(usual(&Flaky::failing(2)).await, Ok(3)));
    assert!(matches!(local(&Flaky::failing(2), 'x').await, Ok((3, 'x'))));
    assert_eq!(hidden(&Flaky::failing(2)).await.unwrap().count(), 3);
}
