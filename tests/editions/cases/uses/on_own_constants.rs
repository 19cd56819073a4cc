//! Constants of the user's that have the names of gRPC codes.

use backoff_core::{Codes, codes, retry};
use ui::{ApiError, Flaky};

const ABORTED: Codes = codes![409, 503];

#[retry(base = "1ms", on = [self::ABORTED])]
fn beside(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

mod inner {
    use super::*;

    #[retry(base = "1ms", on = [super::ABORTED, 429])]
    pub fn above(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }
}

#[test]
fn works() {
    const UNAVAILABLE: Codes = codes![503];

    #[retry(base = "1ms", on = [codes![UNAVAILABLE]])]
    fn inside(flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()
    }

    assert_eq!(beside(&Flaky::failing(2)), Ok(3));
    assert_eq!(inner::above(&Flaky::failing(2)), Ok(3));
    assert_eq!(inside(&Flaky::failing(2)), Ok(3));
}
