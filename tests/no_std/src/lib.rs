//! Annotated functions without the standard library and without an allocator. `.ci/run` checks this package
//! alone, so that no features of other packages are added.

#![no_std]

use core::future::Future;
use core::time::Duration;

use backoff_core::{
    BlockingSleep, Clock, Event, Fault, NotYet, Policy, Random, Sleep, TimedOut, codes, retry,
    retry_block,
};

/// The program of the guide's page about executors.
#[allow(dead_code, reason = "an example")]
mod embassy {
    include!("../../../backoff-cloud/src/guide/examples/embassy.rs");
}

/// A board's timer.
#[derive(Clone, Copy, Debug)]
pub struct Board;

impl Clock for Board {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl Random for Board {
    fn random(&self) -> u64 {
        4
    }
}

impl Sleep for Board {
    type Sleep = core::future::Ready<()>;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        core::future::ready(())
    }
}

impl BlockingSleep for Board {
    fn sleep_blocking(&self, _: Duration) {}
}

/// The errors of the radio.
#[derive(Debug, Fault)]
pub enum Error {
    /// Nobody answered.
    #[fault(status = 503)]
    Silent,
    /// Too slow.
    #[fault(forward)]
    Late(TimedOut),
    /// Not there yet.
    #[fault(pending)]
    NotYet,
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the radio failed")
    }
}

impl From<TimedOut> for Error {
    fn from(late: TimedOut) -> Self {
        Error::Late(late)
    }
}

impl From<NotYet> for Error {
    fn from(_: NotYet) -> Self {
        Error::NotYet
    }
}

const POLICY: Policy = Policy::exponential().on(codes![503]);

async fn radio() -> Result<u8, Error> {
    Err(Error::Silent)
}

/// The attribute with a runtime only.
///
/// # Errors
/// Returns the radio's error.
#[retry(runtime = Board)]
pub async fn bare() -> Result<u8, Error> {
    radio().await
}

/// The attribute with many keys, which together use everything that a runtime offers.
///
/// # Errors
/// Returns the radio's error.
#[retry(
    policy = POLICY, deadline = "1m", timeout = "30s", attempt_timeout = "1s", jitter = decorrelated,
    until = |value| *value > 3, consecutive = 2, attempt = n, notify = hear, clone(packet), runtime = board, operation = "send"
)]
pub async fn send(board: Board, packet: [u8; 4]) -> Result<u8, Error> {
    let number = n.number();
    let [first, ..] = packet;
    Ok(radio().await?.saturating_add(first) + u8::from(number > 1))
}

fn hear(event: &Event<'_, Error>) {
    let _: &dyn core::fmt::Display = event;
}

/// Returns a future.
///
/// # Errors
/// Returns the radio's error.
#[allow(clippy::manual_async_fn)]
#[retry(runtime = Board, on = [Error::Silent])]
pub fn future() -> impl Future<Output = Result<u8, Error>> + Send {
    async move { radio().await }
}

/// A blocking function.
///
/// # Errors
/// Returns the radio's error.
#[retry(runtime = Board, when = |error| matches!(error, Error::Silent), deadline = "1m")]
pub fn blocking() -> Result<u8, Error> {
    Err(Error::Silent)
}

/// Two uses of `retry_block!`.
///
/// # Errors
/// Returns the radio's error.
pub async fn blocks() -> Result<u8, Error> {
    let first = retry_block!(policy = POLICY, runtime = Board, async { radio().await }).await?;
    retry_block!(policy = POLICY, runtime = Board, { Ok(first) })
}
