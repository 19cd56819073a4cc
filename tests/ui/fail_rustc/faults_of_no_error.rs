//! A named type that is no error, and an error without sources.

use backoff_core::retry;
use ui::ApiError;

struct Mine;

#[retry(on = [503], faults(Mine))]
fn f() -> Result<(), ApiError> {
    Ok(())
}

#[retry(on = [503], faults(ApiError))]
fn g() -> Result<(), String> {
    Ok(())
}

fn main() {}
