//! Errors that hide their type: what is known of them is found along their sources.

use super::*;
use anyhow::anyhow;
use anyhow_1 as anyhow;
use std::error::Error as StdError;
use std::io;

type Boxed = Box<dyn StdError + Send + Sync>;

#[derive(Debug, thiserror::Error)]
#[error("asked")]
struct Asked(#[source] ApiError);

#[derive(Debug, thiserror::Error, Fault)]
#[error(transparent)]
#[fault(forward)]
struct Forwarded(ApiError);

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Silent<E: StdError>(E);

/// A hint of a named type is obeyed whoever decides: this one asks for more than is waited for.
#[derive(Debug, thiserror::Error, Fault)]
#[error("later")]
#[fault(retry_after = Duration::from_secs(3600))]
struct Later;

fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

#[test]
fn what_anyhow_was_given() {
    #[retry(base = "1ms", on = [503], faults(ApiError, Forwarded))]
    async fn named(flaky: &Flaky, make: fn(ApiError) -> anyhow::Error) -> anyhow::Result<u32> {
        flaky.call().map_err(make)
    }
    let rows: [(u32, fn(ApiError) -> anyhow::Error); 12] = [
        (3, |error| error.into()),
        (3, |error| anyhow!(error).context("around")),
        (3, |error| anyhow!("plain").context(error).context("around")),
        (3, |error| anyhow!(Boxed::from(error)).context("around")),
        (3, |error| Forwarded(error).into()),
        // What is behind the wrapped error is seen; the wrapped error itself is not.
        (3, |error| Silent(Asked(error)).into()),
        (1, |error| Silent(error).into()),
        // Sources of a context are left out by anyhow.
        (1, |error| anyhow!("plain").context(Asked(error))),
        // An `anyhow::Error` in another error is a source like others: its contexts are not seen.
        (1, |error| {
            anyhow!(Boxed::from(anyhow!("plain").context(error)))
        }),
        // What the library knows needs no name; what nobody knows is permanent to a policy.
        (3, |_| anyhow!("plain").context(refused())),
        (3, |_| anyhow!(Boxed::from(refused()))),
        (1, |_| anyhow!("plain")),
    ];
    for (row, &(calls, make)) in rows.iter().enumerate() {
        let got = asked(|flaky| run(sent(named(flaky, make))).is_ok());
        assert_eq!(got, (calls, calls == 3), "row {}", row);
    }
}

#[test]
fn other_types_that_hide_an_error() {
    #[retry(base = "1ms", on = [503], faults(ApiError))]
    fn boxed(flaky: &Flaky) -> Result<u32, Box<dyn StdError>> {
        Ok(flaky.call()?)
    }
    #[retry(base = "1ms", on = [503], faults(ApiError))]
    fn source(flaky: &Flaky) -> Result<u32, Asked> {
        flaky.call().map_err(Asked)
    }
    #[retry(base = "1ms", max_retry_after = "1m", faults(ApiError, Later))]
    fn hinted(flaky: &Flaky) -> anyhow::Result<u32> {
        flaky.call().map_err(|_| Later.into())
    }
    #[retry(base = "1ms", deadline = "1m", when = |_| true, faults(Later))]
    async fn judged(flaky: &Flaky) -> anyhow::Result<u32> {
        flaky.call().map_err(|_| Later.into())
    }
    assert_eq!(asked(|flaky| boxed(flaky).is_ok()), (3, true));
    assert_eq!(asked(|flaky| source(flaky).is_ok()), (3, true));
    assert_eq!(asked(|flaky| hinted(flaky).is_ok()), (1, false));
    assert_eq!(asked(|flaky| run(judged(flaky)).is_ok()), (1, false));
}
