//! A path to a single letter is a variant; a letter alone, and a name in capitals, are codes.

use backoff_core::{Codes, Fault, codes, retry};
use ui::{ApiError, Flaky};

#[derive(Debug, PartialEq)]
enum Two {
    A,
    B,
}

impl Fault for Two {}

const C: Codes = codes![503];

#[retry(base = "1ms", on = [Two::A])]
fn a(flaky: &Flaky) -> Result<u32, Two> {
    flaky.call().map_err(|_| Two::A)
}

#[retry(base = "1ms", on = [C, Two::A])]
fn b(flaky: &Flaky) -> Result<u32, Two> {
    flaky.call().map_err(|_| Two::B)
}

#[retry(base = "1ms", on = [C])]
fn c(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[test]
fn works() {
    assert_eq!(a(&Flaky::failing(2)), Ok(3));
    assert_eq!(b(&Flaky::failing(2)), Err(Two::B));
    assert_eq!(c(&Flaky::failing(2)), Ok(3));
}
