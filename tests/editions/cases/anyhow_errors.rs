//! Errors that hide their type: what is known of them is found along their sources.

use super::*;
use anyhow::{Context as _, anyhow};
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

type Make = fn(ApiError) -> anyhow::Error;

#[retry(base = "1ms", on = [503], faults(ApiError, Forwarded))]
async fn named(flaky: &Flaky, make: Make) -> anyhow::Result<u32> {
    flaky.call().map_err(make)
}

#[retry(base = "1ms", on = [503])]
fn nothing_named(flaky: &Flaky, make: Make) -> anyhow::Result<u32> {
    flaky.call().map_err(make)
}

fn plain() -> io::Result<()> {
    Err(io::Error::other("plain"))
}

fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

/// A row is how often the operation is called, and what its error is made into.
fn check(rows: &[(u32, Make)], call: fn(&Flaky, Make) -> anyhow::Result<u32>) {
    for (row, (calls, make)) in rows.iter().enumerate() {
        let got = asked(|flaky| call(flaky, *make).ok());
        let expected = (*calls, (*calls == 3).then_some(3));
        assert_eq!(got, expected, "row {}", row);
    }
}

#[test]
fn what_anyhow_was_given() {
    let rows: [(u32, Make); 12] = [
        (3, |error| error.into()),
        (3, |error| anyhow!(error).context("around")),
        (3, |error| anyhow!("plain").context(error)),
        (3, |error| anyhow!("plain").context(error).context("around")),
        (3, |error| plain().context(error).unwrap_err()),
        (3, |error| anyhow!(Boxed::from(error))),
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
    ];
    check(&rows, |flaky, make| run(sent(named(flaky, make))));
    let rows: [(u32, Make); 4] = [
        (3, |_| refused().into()),
        (3, |_| anyhow!("plain").context(refused())),
        (3, |_| anyhow!(Boxed::from(refused()))),
        // What nobody knows is permanent to a policy.
        (1, |error| error.into()),
    ];
    check(&rows, nothing_named);
}

#[test]
fn other_types_that_hide_an_error() {
    #[retry(base = "1ms", on = [503], faults(ApiError))]
    fn boxed(flaky: &Flaky) -> Result<u32, Boxed> {
        Ok(flaky.call()?)
    }
    #[retry(base = "1ms", on = [429, 500], faults(ApiError))]
    fn other_codes(flaky: &Flaky) -> Result<u32, Box<dyn StdError>> {
        Ok(flaky.call()?)
    }
    #[retry(base = "1ms", on = [503], faults(ApiError))]
    fn source(flaky: &Flaky) -> Result<u32, Asked> {
        flaky.call().map_err(Asked)
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
    #[retry(base = "1ms", max_retry_after = "1m", faults(ApiError, Later))]
    fn hinted(flaky: &Flaky) -> anyhow::Result<u32> {
        flaky.call().map_err(|_| Later.into())
    }
    #[retry(base = "1ms", deadline = "1m", when = |_| true, faults(Later))]
    async fn judged(flaky: &Flaky) -> anyhow::Result<u32> {
        flaky.call().map_err(|_| Later.into())
    }
    assert_eq!(boxed(&Flaky::failing(2)).unwrap(), 3);
    assert_eq!(asked(|flaky| other_codes(flaky).is_err()), (1, true));
    assert_eq!(source(&Flaky::failing(2)).unwrap(), 3);
    let io = |kind| asked(|flaky| io_error(flaky, kind).ok());
    assert_eq!(io(io::ErrorKind::TimedOut), (3, Some(3)));
    assert_eq!(io(io::ErrorKind::NotFound), (1, None));
    assert_eq!(everything(&Flaky::failing(2)).unwrap(), 3);
    assert_eq!(asked(|flaky| hinted(flaky).is_err()), (1, true));
    assert_eq!(asked(|flaky| run(judged(flaky)).is_err()), (1, true));
}
