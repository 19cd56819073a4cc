//! Functions that are not async.

use backoff_core::retry;
use ui::{ApiError, Flaky};

struct Client {
    flaky: Flaky,
    seen: u32,
}

impl Client {
    #[retry(base = "1ms", on = [503])]
    fn get(&mut self) -> Result<u32, ApiError> {
        self.seen += 1;
        if self.seen == 1 {
            return Err(ApiError(503));
        }
        Ok(self.flaky.call()? + self.seen)
    }
}

#[retry(base = "1ms")]
unsafe fn read(flaky: &Flaky, number: *const u32) -> Result<u32, ApiError> {
    // SAFETY: the caller says that it points at a number.
    Ok(flaky.call()? + unsafe { *number })
}

#[test]
fn works() {
    let mut client = Client {
        flaky: Flaky::failing(1),
        seen: 0,
    };
    assert_eq!(client.get(), Ok(5));
    // SAFETY: it points at a number.
    assert_eq!(unsafe { read(&Flaky::failing(2), &1) }, Ok(4));
}
