//! A boxed future under another name: what the function ends with shows that it is one.

use std::future::Future;
use std::pin::Pin;

use backoff_core::{Fault, retry};
use ui::{ApiError, Flaky};

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;
type Task<'a> = Answer<'a, u32>;

#[derive(Debug, Fault, PartialEq)]
struct Error(#[fault(forward)] ApiError);

impl From<ApiError> for Error {
    fn from(error: ApiError) -> Self {
        Error(error)
    }
}

#[retry(base = "1ms", on = [503])]
fn generic(flaky: &Flaky) -> Answer<'_, u32> {
    Box::pin(async move { Ok(flaky.call()?) })
}

#[retry(base = "1ms")]
fn plain<'a>(flaky: &'a Flaky, name: String) -> Task<'a> {
    let more = 1;
    Box::pin(async move {
        let call = flaky.call()?;
        Ok(call + more + u32::try_from(name.len()).unwrap())
    })
}

#[tokio::test]
async fn works() {
    assert_eq!(generic(&Flaky::failing(2)).await, Ok(3));
    assert_eq!(plain(&Flaky::failing(2), "four".to_owned()).await, Ok(8));
}
