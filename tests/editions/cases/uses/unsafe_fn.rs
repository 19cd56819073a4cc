//! The body of an `unsafe fn` stays one.

use backoff_core::retry;
use ui::{ApiError, Flaky};

/// # Safety
///
/// `number` must point at a number.
#[retry(base = "1ms")]
#[allow(unsafe_op_in_unsafe_fn)]
async unsafe fn get(flaky: &Flaky, number: *const u32) -> Result<u32, ApiError> {
    Ok(flaky.call()? + *number)
}

#[tokio::test]
async fn works() {
    let (flaky, number) = (Flaky::failing(2), 10);
    // SAFETY: it points at `number`.
    let result = unsafe { get(&flaky, &number) }.await;
    assert_eq!(result, Ok(13));
}
