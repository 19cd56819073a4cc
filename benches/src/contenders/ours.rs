//! This project: both forms, as its documentation shows them.

use crate::operation::{
    self, ApiError, BASE, CAP, Code, RETRIES, Yield, called, fail, no_pause, ready_sleep, succeed,
};
use backoff_core::{
    BlockingSleep, Clock, Fault, NotOpened, Policy, Random, Reconnect, Report, RetryError, Sleep,
    Std, TimedOut, Updated, delay::Delay, retry,
};
use std::{
    cell::Cell,
    future::{Future, Ready},
    time::Duration,
};

pub const POLICY: Policy = Policy::exponential()
    .base(BASE)
    .max_backoff(CAP)
    .max_attempts(RETRIES + 1);

/// A constant with a name of one letter, which a macro cannot distinguish from a type.
pub const P: Policy = POLICY;

impl Fault for ApiError {
    fn status(&self) -> Option<u16> {
        Some(self.code)
    }
}

impl From<NotOpened<ApiError>> for ApiError {
    fn from(error: NotOpened<ApiError>) -> Self {
        error.error
    }
}

/// A runtime whose timers are ready at once, with the default clock and random numbers.
#[derive(Clone, Copy)]
pub struct AtOnce;

impl Clock for AtOnce {
    fn now(&self) -> Duration {
        Std.now()
    }
}

impl Random for AtOnce {
    fn random(&self) -> u64 {
        Std.random()
    }
}

impl Sleep for AtOnce {
    type Sleep = Ready<()>;
    fn sleep(&self, wait: Duration) -> Ready<()> {
        ready_sleep(wait)
    }
}

impl BlockingSleep for AtOnce {
    fn sleep_blocking(&self, wait: Duration) {
        no_pause(wait);
    }
}

/// The function form.
pub mod function {
    use super::*;

    pub fn success(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
        POLICY.retry(move || async move { succeed(n) })
    }

    pub fn success_by(policy: &Policy, n: u64) -> impl Future<Output = Result<u64, ApiError>> {
        policy.retry(move || async move { succeed(n) })
    }

    pub fn flaky(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
        POLICY.retry(move || async move { operation::flaky(left) })
    }

    pub fn flaky_ready(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
        POLICY
            .retry(move || async move { operation::flaky(left) })
            .runtime(AtOnce)
    }

    pub fn failing(n: u64) -> impl Future<Output = Result<u64, ApiError>> + Send {
        POLICY.retry(move || async move { fail(n) })
    }

    pub fn blocking(n: u64) -> Result<u64, ApiError> {
        POLICY.retry_blocking(|| succeed(n))
    }

    pub fn blocking_by(policy: &Policy, n: u64) -> Result<u64, ApiError> {
        policy.retry_blocking(|| succeed(n))
    }
}

/// The attribute.
pub mod attribute {
    use super::*;

    #[retry(policy = POLICY)]
    pub async fn success(n: u64) -> Result<u64, ApiError> {
        succeed(n)
    }

    #[retry(policy = *policy)]
    pub async fn success_by(policy: &Policy, n: u64) -> Result<u64, ApiError> {
        succeed(n)
    }

    #[retry(policy = P)]
    pub async fn success_one_letter(n: u64) -> Result<u64, ApiError> {
        succeed(n)
    }

    pub struct Client;

    impl Client {
        const POLICY: Policy = POLICY;

        #[retry(policy = Self::POLICY)]
        pub async fn success(n: u64) -> Result<u64, ApiError> {
            succeed(n)
        }
    }

    #[retry(policy = POLICY)]
    pub async fn flaky(left: &Cell<u32>) -> Result<u64, ApiError> {
        operation::flaky(left)
    }

    #[retry(policy = POLICY, sleep = ready_sleep)]
    pub async fn flaky_ready(left: &Cell<u32>) -> Result<u64, ApiError> {
        operation::flaky(left)
    }

    #[retry(policy = POLICY)]
    pub async fn failing(n: u64) -> Result<u64, ApiError> {
        fail(n)
    }

    #[retry(policy = POLICY)]
    pub fn blocking(n: u64) -> Result<u64, ApiError> {
        succeed(n)
    }

    #[retry(policy = *policy)]
    pub fn blocking_by(policy: &Policy, n: u64) -> Result<u64, ApiError> {
        succeed(n)
    }
}

pub fn update(n: u64) -> impl Future<Output = Result<Updated<u64, u64>, ApiError>> {
    POLICY.update(
        move || async move { succeed(n) },
        |value| *value += 1,
        |value| async move { succeed(value) },
    )
}

/// An update whose values tell their version.
pub fn versioned(n: u64) -> impl Future<Output = Result<Updated<u64, u64>, ApiError>> {
    POLICY
        .update(
            move || async move { succeed(n) },
            |value| *value += 1,
            |value| async move { succeed(value) },
        )
        .version(|value| *value)
}

pub fn reported(n: u64) -> impl Future<Output = Result<(u64, Report), RetryError<ApiError>>> {
    POLICY.retry(move || async move { succeed(n) }).reported()
}

/// A call whose attempt is pending once.
macro_rules! pending_once {
    ($n:ident) => {
        POLICY.retry(move || async move {
            Yield::default().await;
            timed($n)
        })
    };
}

pub fn pending_once(n: u64) -> impl Future<Output = Result<u64, TimedOut>> {
    pending_once!(n)
}

pub fn with_timeout(n: u64) -> impl Future<Output = Result<u64, TimedOut>> {
    pending_once!(n).timeout(Duration::from_secs(60))
}

fn timed(n: u64) -> Result<u64, TimedOut> {
    succeed(n).map_err(|_| TimedOut::new(Duration::ZERO))
}

/// An operation that is not inlined, and an error of four bytes.
pub mod called {
    use super::*;

    #[retry(policy = POLICY)]
    pub async fn attribute(n: u64) -> Result<u64, Code> {
        called(n)
    }

    pub fn function(n: u64) -> impl Future<Output = Result<u64, Code>> {
        POLICY.retry(move || async move { called(n) })
    }
}

impl Fault for Code {
    fn status(&self) -> Option<u16> {
        Some(self.0 as u16)
    }
}

/// A connection that is already open.
pub fn opened() -> Reconnect<u64, impl Fn() -> Ready<Result<u64, ApiError>>, ApiError> {
    let connection = Reconnect::new(|| std::future::ready(Ok(7)));
    let used = crate::drive::paused().block_on(connection.with(|n| async move { succeed(n) }));
    assert_eq!(used, Ok(7));
    connection
}

/// One call on this connection, without a policy.
pub fn reconnect_with<'c, O>(
    connection: &'c Reconnect<u64, O, ApiError>,
    n: u64,
) -> impl Future<Output = Result<u64, ApiError>> + use<'c, O>
where
    O: Fn() -> Ready<Result<u64, ApiError>>,
{
    connection.with(move |connection| async move { succeed(n ^ connection) })
}

/// Waits without an end.
pub fn delays() -> impl Iterator<Item = Duration> {
    POLICY.max_attempts(Policy::UNLIMITED).waits()
}
