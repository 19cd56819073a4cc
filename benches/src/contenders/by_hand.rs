//! A careful loop written by hand: full jitter, a limit, and no retry of permanent errors.

use crate::operation::{self, ApiError, BASE, CAP, Code, RETRIES, fail, ready_sleep, succeed};
use std::{cell::Cell, iter, time::Duration};

/// The rules of a loop that gets its rules at run time.
#[derive(Clone, Copy)]
pub struct Rules {
    pub base: Duration,
    pub cap: Duration,
    pub retries: u32,
}

pub const RULES: Rules = Rules {
    base: BASE,
    cap: CAP,
    retries: RETRIES,
};

/// The wait before retry `n`, counted from 0.
#[inline]
fn delay(rules: &Rules, n: u32) -> Duration {
    let longest = rules
        .base
        .saturating_mul(1u32.checked_shl(n).unwrap_or(u32::MAX))
        .min(rules.cap);
    Duration::from_nanos(fastrand::u64(..=longest.as_nanos() as u64))
}

fn is_transient(error: &ApiError) -> bool {
    matches!(error.code, 429 | 500 | 502..=504)
}

/// The loop, written for each operation and timer, without a closure.
macro_rules! by_hand {
    ($rules:expr, $operation:expr, $sleep:expr) => {{
        let mut retry = 0;
        loop {
            match async { $operation }.await {
                Ok(value) => return Ok(value),
                Err(error) if retry == $rules.retries || !is_transient(&error) => {
                    return Err(error);
                }
                Err(_) => {}
            }
            let wait = delay(&$rules, retry);
            retry += 1;
            $sleep(wait).await;
        }
    }};
}

pub async fn success(n: u64) -> Result<u64, ApiError> {
    by_hand!(RULES, succeed(n), tokio::time::sleep)
}

/// The loop around an operation that is not inlined, and an error of four bytes.
pub async fn called(n: u64) -> Result<u64, Code> {
    let mut retry = 0;
    loop {
        match async { operation::called(n) }.await {
            Ok(value) => return Ok(value),
            Err(error) if retry == RULES.retries || !matches!(error.0, 429 | 500 | 502..=504) => {
                return Err(error);
            }
            Err(_) => {}
        }
        let wait = delay(&RULES, retry);
        retry += 1;
        tokio::time::sleep(wait).await;
    }
}

pub async fn success_by(rules: &Rules, n: u64) -> Result<u64, ApiError> {
    by_hand!(*rules, succeed(n), tokio::time::sleep)
}

pub async fn flaky(left: &Cell<u32>) -> Result<u64, ApiError> {
    by_hand!(RULES, operation::flaky(left), tokio::time::sleep)
}

pub async fn flaky_ready(left: &Cell<u32>) -> Result<u64, ApiError> {
    by_hand!(RULES, operation::flaky(left), ready_sleep)
}

pub async fn failing(n: u64) -> Result<u64, ApiError> {
    by_hand!(RULES, fail(n), tokio::time::sleep)
}

pub fn blocking(n: u64) -> Result<u64, ApiError> {
    blocking_by(&RULES, n)
}

#[inline]
pub fn blocking_by(rules: &Rules, n: u64) -> Result<u64, ApiError> {
    let mut retry = 0;
    loop {
        match succeed(n) {
            Ok(value) => return Ok(value),
            Err(error) if retry == rules.retries || !is_transient(&error) => return Err(error),
            Err(_) => {}
        }
        let wait = delay(rules, retry);
        retry += 1;
        std::thread::sleep(wait);
    }
}

/// One read, one change, one write; back to the read after a conflict.
pub async fn update(n: u64) -> Result<u64, ApiError> {
    let mut retry = 0;
    loop {
        let outcome = async {
            let mut value = async { succeed(n) }.await?;
            value += 1;
            async { succeed(value) }.await
        };
        match outcome.await {
            Ok(value) => return Ok(value),
            Err(error) if retry == RULES.retries || !is_transient(&error) && error.code != 412 => {
                return Err(error);
            }
            Err(_) => {}
        }
        let wait = delay(&RULES, retry);
        retry += 1;
        tokio::time::sleep(wait).await;
    }
}

/// A shared connection, which is opened when it is needed.
pub struct Shared(std::sync::Mutex<Option<u64>>);

impl Shared {
    pub const fn opened(connection: u64) -> Self {
        Shared(std::sync::Mutex::new(Some(connection)))
    }

    fn current(&self) -> Option<u64> {
        *self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Calls with the connection, and drops the connection if the call fails.
    pub async fn with(&self, n: u64) -> Result<u64, ApiError> {
        let connection = match self.current() {
            Some(connection) => connection,
            None => async { succeed(7) }.await?,
        };
        let outcome = async { succeed(n ^ connection) }.await;
        if outcome.is_err() {
            *self
                .0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        }
        outcome
    }
}

pub fn delays() -> impl Iterator<Item = Duration> {
    let mut n = 0;
    iter::from_fn(move || {
        let wait = delay(&RULES, n);
        n += 1;
        Some(wait)
    })
}
