//! An error that is not `Send` does not take `Send` from the future.

use std::rc::Rc;

use backoff_core::retry;
use ui::Flaky;

#[retry(base = "1ms")]
async fn get(flaky: &Flaky) -> Result<u32, Rc<str>> {
    flaky.call().map_err(|error| error.to_string().into())
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn works() {
    let flaky = Flaky::failing(2);
    assert_eq!(is_send(get(&flaky)).await, Ok(3));
}
