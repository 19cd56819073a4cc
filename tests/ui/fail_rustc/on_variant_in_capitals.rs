//! A path in capitals is a constant of type `Codes`.

use backoff_core::{Fault, retry};

#[derive(Debug, Fault)]
#[fault(transient)]
pub enum Error {
    BUSY,
}

#[retry(on = [Error::BUSY])]
async fn f() -> Result<(), Error> {
    Err(Error::BUSY)
}

fn main() {
    drop(f());
}
