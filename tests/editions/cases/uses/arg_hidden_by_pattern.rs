//! A name in the pattern of an arm, behind the arguments of a type, is another variable than the
//! argument, and may be consumed.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms")]
fn f(flaky: &Flaky, text: String) -> Result<usize, ApiError> {
    flaky.call()?;
    let length = match Some(text.as_str()).map(str::to_owned) {
        Some::<String>(text) => consumed(text),
        None::<String> => 0,
    };
    Ok(length + text.len())
}

fn consumed(text: String) -> usize {
    text.len()
}

#[test]
fn works() {
    assert_eq!(f(&Flaky::failing(2), "abc".to_owned()), Ok(6));
}
