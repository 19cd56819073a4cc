//! An argument that each attempt consumes.

use backoff_core::retry;
use ui::{ApiError, Flaky};

async fn send(body: Vec<u8>) -> usize {
    body.len()
}

#[retry(base = "1ms", clone(body))]
async fn put(flaky: &Flaky, body: Vec<u8>) -> Result<usize, ApiError> {
    let sent = send(body).await;
    flaky.call()?;
    Ok(sent)
}

/// Each attempt begins with what the caller gave.
#[retry(base = "1ms", clone(seen, name))]
async fn fresh(
    flaky: &Flaky,
    mut seen: Vec<u32>,
    (name, at): (String, usize),
) -> Result<(Vec<u32>, String), ApiError> {
    seen.push(flaky.calls());
    let call = flaky.call()?;
    assert_eq!(at, 7);
    seen.push(call);
    Ok((seen, name))
}

#[retry(base = "1ms", clone(body))]
fn blocking(flaky: &Flaky, mut body: Vec<u8>) -> Result<Vec<u8>, ApiError> {
    body.push(1);
    flaky.call()?;
    Ok(body)
}

/// A copy that is not `Sync` travels into the attempt, as the argument does in the plain function.
#[retry(base = "1ms", clone(cell))]
async fn not_sync(flaky: &Flaky, cell: std::cell::Cell<u32>) -> Result<u32, ApiError> {
    cell.set(cell.get() + 1);
    flaky.call()?;
    tokio::task::yield_now().await;
    Ok(cell.get())
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn works() {
    assert_eq!(put(&Flaky::failing(2), vec![1, 2, 3]).await, Ok(3));
    let name = "name".to_owned();
    let flaky = Flaky::failing(2);
    assert_eq!(
        fresh(&flaky, vec![0], (name.clone(), 7)).await,
        Ok((vec![0, 2, 3], name))
    );
    assert_eq!(flaky.calls(), 3);
    assert_eq!(blocking(&Flaky::failing(2), vec![]), Ok(vec![1]));
    let flaky = Flaky::failing(2);
    assert_eq!(is_send(put(&flaky, vec![])).await, Ok(0));
    drop(is_send(fresh(&flaky, vec![], (String::new(), 7))));
    assert_eq!(
        not_sync(&Flaky::failing(2), std::cell::Cell::new(1)).await,
        Ok(2)
    );
}
