//! A pattern of another type than the error's.

use backoff_core::retry;
use ui::ApiError;

enum Other {
    Busy,
}

#[retry(on = [Other::Busy])]
async fn f() -> Result<(), ApiError> {
    Ok(())
}

fn main() {}
