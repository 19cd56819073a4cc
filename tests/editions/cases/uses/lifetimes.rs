//! Named lifetimes, early and late bound.

use backoff_core::retry;
use ui::{ApiError, Flaky};

struct Client<'c>(&'c Flaky);

impl<'c> Client<'c> {
    #[retry(base = "1ms")]
    async fn get<'a>(&self, name: &'a str) -> Result<(&'a str, &'c Flaky), ApiError> {
        self.0.call()?;
        Ok((name, self.0))
    }
}

#[tokio::test]
async fn works() {
    let flaky = Flaky::failing(2);
    let (name, same) = Client(&flaky).get("name").await.unwrap();
    assert_eq!((name, same.calls()), ("name", 3));
}
