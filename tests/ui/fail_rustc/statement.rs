//! The attribute on a statement. The compiler refuses it, too.

use backoff_core::retry;
use ui::{ApiError, Flaky};

fn first(flaky: &Flaky) -> Result<u32, ApiError> {
    #[retry(max_attempts = 3)]
    let call = flaky.call()?;
    Ok(call)
}

fn main() {}
