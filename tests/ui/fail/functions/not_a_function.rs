//! Something that is no function, or that cannot wait.

use backoff_core::retry;
use ui::ApiError;

#[retry]
struct Client;

#[retry(base = "1s")]
impl Client {
    fn get(&self) {}
}

trait Get {
    #[retry]
    fn get(&self) -> Result<(), ApiError>;
}

#[retry]
const fn f() -> Result<(), ApiError> {
    Ok(())
}

/// An attribute above, of a form that is not known, has made the function start a runtime.
#[retry(base = "1ms")]
fn g() -> Result<(), ApiError> {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("Failed building the Runtime")
        .block_on(async { Ok(()) })
}

fn main() {
    // Both are still there: no second error.
    Client.get();
}
