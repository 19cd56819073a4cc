//! `?` and the tail convert into `Box<dyn Error>` as in the function itself.

use std::error::Error;

use backoff_core::retry;
use ui::Flaky;

#[retry(base = "1ms")]
async fn get(flaky: &Flaky, text: &str) -> Result<u32, Box<dyn Error>> {
    flaky.call()?;
    if text.is_empty() {
        return Err("nothing to read".into());
    }
    match text.parse() {
        Ok(number) => Ok(number),
        Err(error) => Err(Box::new(error)),
    }
}

#[tokio::test]
async fn works() {
    assert_eq!(get(&Flaky::failing(2), "7").await.unwrap(), 7);
    let error = get(&Flaky::failing(0), "seven").await.unwrap_err();
    assert!(error.is::<std::num::ParseIntError>());
}
