//! Patterns for everything, a variant that was imported, and two judges of an error.

use backoff_core::retry;
use ui::ApiError;

ui::refused! {
    #[retry(on = [_])]
    #[retry(on = [error if error.0 == 503, x @ 3 4])]
    #[retry(on = [429], when = |error| error.0 == 429)]
    #[retry(on = [ApiError(503)], faults(ApiError))]
}

#[derive(Debug)]
pub enum Error {
    Busy,
    BUSY,
}

use Error::Busy;

#[retry(on = [Busy])]
async fn f() -> Result<(), Error> {
    Err(Busy)
}

fn main() {
    let _ = Error::BUSY;
}
