//! `#[instrument]` above and below.

use backoff_core::retry;
use tracing::instrument;
use ui::{ApiError, Flaky};

#[instrument(skip(flaky))]
#[retry(base = "1ms")]
async fn above(flaky: &Flaky, name: String) -> Result<usize, ApiError> {
    flaky.call()?;
    Ok(name.len())
}

#[retry(base = "1ms")]
#[instrument(skip(flaky), err)]
async fn below(flaky: &Flaky, name: String) -> Result<usize, ApiError> {
    flaky.call()?;
    Ok(name.len())
}

#[instrument(skip_all, err, ret)]
#[retry(base = "1ms", on = [503])]
async fn with_events(flaky: &mut Flaky, name: String) -> Result<usize, ApiError> {
    flaky.call()?;
    Ok(name.len())
}

#[instrument(skip_all, err)]
#[retry(base = "1ms")]
fn blocking(flaky: &Flaky, name: String) -> Result<usize, ApiError> {
    flaky.call()?;
    Ok(name.len())
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn works() {
    let name = || "four".to_owned();
    assert_eq!(is_send(above(&Flaky::failing(2), name())).await, Ok(4));
    assert_eq!(is_send(below(&Flaky::failing(2), name())).await, Ok(4));
    assert_eq!(
        is_send(with_events(&mut Flaky::failing(2), name())).await,
        Ok(4)
    );
    assert_eq!(blocking(&Flaky::failing(2), name()), Ok(4));
}
