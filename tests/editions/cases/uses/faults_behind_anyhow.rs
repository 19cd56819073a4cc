//! Faults that an `anyhow::Error` was given as a context or in a box, and those behind a transparent
//! wrapper.

use std::error::Error as StdError;
use std::io;

use anyhow::{Context as _, anyhow};
use anyhow_1 as anyhow;
use backoff_core::{Fault, retry};
use ui::{ApiError, Flaky};

#[derive(Debug, thiserror::Error)]
#[error("asked")]
struct Asked(#[source] ApiError);

/// Calls, and makes of a failure what the test is about.
#[retry(base = "1ms", on = [503], faults(ApiError, Forwarded))]
async fn any(flaky: &Flaky, make: fn(ApiError) -> anyhow::Error) -> anyhow::Result<u32> {
    flaky.call().map_err(make)
}

/// The same, with nothing named.
#[retry(base = "1ms", on = [503])]
fn known(flaky: &Flaky, make: fn(ApiError) -> anyhow::Error) -> anyhow::Result<u32> {
    flaky.call().map_err(make)
}

#[derive(Debug, thiserror::Error, Fault)]
#[error(transparent)]
#[fault(forward)]
struct Forwarded(ApiError);

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Silent<E: StdError>(E);

#[tokio::test]
async fn works() {
    let retried: [fn(ApiError) -> anyhow::Error; 8] = [
        |error| error.into(),
        |error| anyhow!("plain").context(error),
        |error| anyhow!("plain").context(error).context("around"),
        |error| {
            Err::<(), _>(io::Error::other("plain"))
                .context(error)
                .unwrap_err()
        },
        |error| anyhow!(Box::<dyn StdError + Send + Sync>::from(error)),
        |error| anyhow!(Box::<dyn StdError + Send + Sync>::from(error)).context("around"),
        |error| Forwarded(error).into(),
        // What is behind the wrapped error is seen.
        |error| Silent(Asked(error)).into(),
    ];
    for make in retried {
        assert_eq!(any(&Flaky::failing(2), make).await.unwrap(), 3);
    }
    let given_up: [fn(ApiError) -> anyhow::Error; 3] = [
        // The wrapped error itself is not.
        |error| Silent(error).into(),
        // Sources of a context are left out by anyhow.
        |error| anyhow!("plain").context(Asked(error)),
        // An `anyhow::Error` in another error is a source like others: its contexts are not seen.
        |error| {
            let inner = anyhow!("plain").context(error);
            anyhow!(Box::<dyn StdError + Send + Sync>::from(inner))
        },
    ];
    for make in given_up {
        let flaky = Flaky::failing(2);
        any(&flaky, make).await.unwrap_err();
        assert_eq!(flaky.calls(), 1);
    }
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    assert_eq!(refused().delivery(), Some(backoff_core::Delivery::NotSent));
    let retried: [fn(ApiError) -> anyhow::Error; 2] = [
        |_| anyhow!("plain").context(io::Error::from(io::ErrorKind::ConnectionRefused)),
        |_| {
            let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
            anyhow!(Box::<dyn StdError + Send + Sync>::from(refused))
        },
    ];
    for make in retried {
        assert_eq!(known(&Flaky::failing(2), make).unwrap(), 3);
    }
}
