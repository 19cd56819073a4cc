//! An argument that is not `Sync` costs the future its `Send`, unless each attempt has a copy.

use std::cell::Cell;

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms", clone(cell))]
async fn copied(flaky: &Flaky, cell: Cell<u32>) -> Result<u32, ApiError> {
    cell.set(cell.get() + 1);
    flaky.call()?;
    Ok(cell.get())
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn works() {
    assert_eq!(
        is_send(copied(&Flaky::failing(2), Cell::new(1))).await,
        Ok(2)
    );
}
