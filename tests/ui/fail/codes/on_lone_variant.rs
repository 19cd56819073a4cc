//! A variant that was imported.

use backoff_core::retry;

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
