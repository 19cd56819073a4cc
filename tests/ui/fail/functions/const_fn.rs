//! A `const fn` cannot wait.

use backoff_core::retry;
use ui::ApiError;

#[retry]
const fn f() -> Result<(), ApiError> {
    Ok(())
}
