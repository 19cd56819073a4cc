//! An attribute above, of a form that is not known, has made the function start a runtime.

use backoff_core::retry;
use ui::ApiError;

#[retry(base = "1ms")]
fn f() -> Result<(), ApiError> {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("Failed building the Runtime")
        .block_on(async { Ok(()) })
}
