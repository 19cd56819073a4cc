//! `#[cfg]` on arguments: a copy is made of those that are there.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms", clone(body, mine))]
async fn sent(
    flaky: &Flaky,
    #[cfg(any())] mut body: Vec<u8>,
    #[cfg(test)] mut mine: Vec<u8>,
) -> Result<Vec<u8>, ApiError> {
    #[cfg(any())]
    body.push(1);
    mine.push(1);
    flaky.call()?;
    Ok(mine)
}

#[retry(base = "1ms", clone(body))]
fn either(
    flaky: &Flaky,
    #[cfg(any())] body: String,
    #[cfg(not(any()))] body: Vec<u8>,
) -> Result<usize, ApiError> {
    flaky.call()?;
    Ok(body.into_boxed_slice().len())
}

#[tokio::test]
async fn works() {
    assert_eq!(sent(&Flaky::failing(2), vec![]).await, Ok(vec![1]));
    assert_eq!(either(&Flaky::failing(2), vec![1]), Ok(1));
}
