//! Codes are judged by the policy, patterns are retried.

use backoff_core::{Codes, Fault, codes, retry};
use ui::Flaky;

#[derive(Debug, PartialEq)]
enum Error {
    Busy { since: u32 },
    Api { code: u16, detail: u32 },
    Gone,
    Io(u8),
}

impl Fault for Error {
    fn status(&self) -> Option<u16> {
        match self {
            Error::Api { code, .. } => Some(*code),
            _ => None,
        }
    }
}

const MINE: Codes = codes![500..=504];

#[retry(base = "1ms", on = [429, MINE, Error::Busy { .. }, Error::Api { code: 404, detail } if *detail == 3, Error::Io(1 | 2)])]
async fn get(flaky: &Flaky, error: fn(u32) -> Error) -> Result<u32, Error> {
    flaky.call().map_err(|_| error(flaky.calls()))
}

/// Without codes nothing is asked of the error's type.
#[derive(Debug, PartialEq)]
enum Plain {
    Busy,
    Gone,
}

#[retry(base = "1ms", on = [Plain::Busy])]
fn plain(flaky: &Flaky, error: fn() -> Plain) -> Result<u32, Plain> {
    flaky.call().map_err(|_| error())
}

/// A pattern does not repeat what may have arrived and must not be made twice.
#[derive(Debug)]
struct Reset;

impl Fault for Reset {
    fn delivery(&self) -> Option<backoff_core::Delivery> {
        Some(backoff_core::Delivery::MaybeSent)
    }
}

#[retry(base = "1ms", on = [503, Reset { .. }], idempotent = false)]
fn pay(flaky: &Flaky) -> Result<u32, Reset> {
    flaky.call().map_err(|_| Reset)
}

/// Nor does it repeat what is said to stay as it is: that says nothing of what was done.
#[derive(Debug, Fault)]
enum Pay {
    #[fault(permanent)]
    Gone,
    #[fault(throttled)]
    TooFast,
}

#[retry(base = "1ms", on = [429, Pay::Gone | Pay::TooFast], idempotent = false)]
fn charge(flaky: &Flaky, error: fn() -> Pay) -> Result<u32, Pay> {
    flaky.call().map_err(|_| error())
}

async fn calls(error: fn(u32) -> Error) -> u32 {
    let flaky = Flaky::failing(2);
    let _ = get(&flaky, error).await;
    flaky.calls()
}

#[tokio::test]
async fn works() {
    assert_eq!(calls(|since| Error::Busy { since }).await, 3);
    assert_eq!(calls(|_| Error::Gone).await, 1);
    assert_eq!(calls(|_| Error::Io(2)).await, 3);
    assert_eq!(calls(|_| Error::Io(3)).await, 1);
    assert_eq!(calls(|detail| Error::Api { code: 503, detail }).await, 3);
    assert_eq!(
        calls(|_| Error::Api {
            code: 404,
            detail: 3
        })
        .await,
        3
    );
    assert_eq!(
        calls(|_| Error::Api {
            code: 404,
            detail: 4
        })
        .await,
        1
    );
    let flaky = Flaky::failing(2);
    assert!(pay(&flaky).is_err());
    assert_eq!(flaky.calls(), 1);
    let flaky = Flaky::failing(2);
    assert!(charge(&flaky, || Pay::Gone).is_err());
    assert_eq!(flaky.calls(), 1);
    assert_eq!(charge(&Flaky::failing(2), || Pay::TooFast).unwrap(), 3);
    assert_eq!(plain(&Flaky::failing(2), || Plain::Busy), Ok(3));
    assert_eq!(plain(&Flaky::failing(2), || Plain::Gone), Err(Plain::Gone));
}
