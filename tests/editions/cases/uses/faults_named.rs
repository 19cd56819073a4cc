//! Errors that hide their type: what is known of them is found along their sources.

use std::error::Error as StdError;
use std::io;

use anyhow::Context as _;
use anyhow_1 as anyhow;
use backoff_core::retry;
use ui::{ApiError, Flaky};

#[retry(base = "1ms", on = [429, 503], faults(ApiError))]
async fn any(flaky: &Flaky) -> anyhow::Result<u32> {
    flaky.call().context("asked for an instance")
}

#[retry(base = "1ms", on = [429, 503], faults(ApiError))]
fn boxed(flaky: &Flaky) -> Result<u32, Box<dyn StdError + Send + Sync>> {
    Ok(flaky.call()?)
}

#[retry(base = "1ms", on = [429, 500], faults(ApiError))]
fn other_codes(flaky: &Flaky) -> Result<u32, Box<dyn StdError>> {
    Ok(flaky.call()?)
}

/// What is known without being named.
#[retry(base = "1ms", on = [503])]
async fn refused(flaky: &Flaky) -> anyhow::Result<u32> {
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    flaky.call().map_err(|_| refused()).context("connected")
}

/// What nobody knows is permanent to a policy.
#[retry(base = "1ms", on = [503])]
async fn unknown(flaky: &Flaky) -> anyhow::Result<u32> {
    Ok(flaky.call()?)
}

#[retry(base = "1ms", on = [503])]
fn io_error(flaky: &Flaky, kind: io::ErrorKind) -> io::Result<u32> {
    flaky.call().map_err(|_| kind.into())
}

#[retry(base = "1ms")]
fn everything(flaky: &Flaky) -> anyhow::Result<u32> {
    if flaky.call().is_err() {
        anyhow::bail!("call {}", flaky.calls());
    }
    Ok(flaky.calls())
}

/// Hints of a named type are obeyed whoever decides: this one asks for more than is waited for.
#[derive(Debug)]
struct Later;

impl std::fmt::Display for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("later")
    }
}

impl StdError for Later {}

impl backoff_core::Fault for Later {
    fn retry_after(&self) -> Option<std::time::Duration> {
        Some(std::time::Duration::from_secs(3600))
    }
}

#[retry(base = "1ms", max_retry_after = "1m", faults(ApiError, Later))]
fn hinted(flaky: &Flaky) -> anyhow::Result<u32> {
    flaky.call().map_err(|_| Later.into())
}

#[retry(base = "1ms", deadline = "1m", when = |_| true, faults(Later))]
async fn judged(flaky: &Flaky) -> anyhow::Result<u32> {
    flaky.call().map_err(|_| Later.into())
}

#[derive(Debug)]
struct Around(ApiError);

impl std::fmt::Display for Around {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("around")
    }
}

impl StdError for Around {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

#[retry(base = "1ms", on = [503], faults(ApiError))]
fn source(flaky: &Flaky) -> Result<u32, Around> {
    flaky.call().map_err(Around)
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn works() {
    assert_eq!(is_send(any(&Flaky::failing(2))).await.unwrap(), 3);
    assert_eq!(boxed(&Flaky::failing(2)).unwrap(), 3);
    let flaky = Flaky::failing(2);
    assert!(other_codes(&flaky).is_err());
    assert_eq!(flaky.calls(), 1);
    assert_eq!(refused(&Flaky::failing(2)).await.unwrap(), 3);
    assert!(unknown(&Flaky::failing(2)).await.is_err());
    assert_eq!(
        io_error(&Flaky::failing(2), io::ErrorKind::TimedOut).unwrap(),
        3
    );
    assert!(io_error(&Flaky::failing(2), io::ErrorKind::NotFound).is_err());
    assert_eq!(everything(&Flaky::failing(2)).unwrap(), 3);
    let flaky = Flaky::failing(2);
    assert!(hinted(&flaky).is_err() && judged(&flaky).await.is_err());
    assert_eq!(flaky.calls(), 2);
    assert_eq!(source(&Flaky::failing(2)).unwrap(), 3);
}
