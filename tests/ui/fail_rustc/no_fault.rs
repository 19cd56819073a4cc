//! Codes need an error that tells its status; `faults` and `forward` need errors, too.

use backoff_core::{Fault, retry, retry_block};
use ui::ApiError;

struct Mine;

#[retry(on = [429])]
async fn codes() -> Result<(), Mine> {
    Ok(())
}

#[retry(on = [503], faults(Mine))]
fn named() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = [503], faults(ApiError))]
fn without_sources() -> Result<(), String> {
    Ok(())
}

#[derive(Fault)]
struct Outer {
    #[fault(forward)]
    inner: Option<Mine>,
}

// A field of another type than the fact.
#[derive(Fault)]
#[fault(status = code)]
struct Text {
    code: String,
}

// A path in capitals is a constant of type `Codes`.
#[derive(Debug, Fault)]
#[fault(transient)]
pub enum Error {
    BUSY,
}

#[retry(on = [Error::BUSY])]
async fn capitals() -> Result<(), Error> {
    Err(Error::BUSY)
}

/// The error has no type inside of the block, and is no `Fault`.
async fn type_from_outside(text: &str) -> Result<u32, Mine> {
    retry_block!(max_attempts = 3, async { Ok(text.parse::<u32>()?) }).await
}

impl From<std::num::ParseIntError> for Mine {
    fn from(_: std::num::ParseIntError) -> Self {
        Mine
    }
}

fn main() {}
