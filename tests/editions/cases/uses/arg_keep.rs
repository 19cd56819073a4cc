//! `keep(..)` keeps the changes of an argument for the next attempt.

use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms", keep(seen))]
async fn get(flaky: &Flaky, mut seen: Vec<u32>) -> Result<usize, ApiError> {
    seen.push(flaky.calls());
    flaky.call()?;
    Ok(seen.len())
}

struct Counter(u32);

impl Counter {
    #[retry(base = "1ms", keep(self))]
    fn count(mut self, flaky: &Flaky) -> Result<u32, ApiError> {
        self.0 += 1;
        flaky.call()?;
        Ok(self.0)
    }
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2), vec![]).await, Ok(3));
    assert_eq!(Counter(0).count(&Flaky::failing(2)), Ok(3));
}
