//! tower's retry layer. Its backoff makes its own timer. With a timer that is ready at once, it computes no
//! wait, so that figure is too low.

use crate::operation::{self, ApiError, BASE, CAP, RETRIES, fail, succeed};
use std::{
    cell::Cell,
    future::{Future, Ready, ready},
};
use tower::{
    Service,
    retry::{
        Policy, Retry,
        backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff},
    },
    service_fn,
    util::rng::HasherRng,
};

/// The policy that a user of tower writes.
#[derive(Clone)]
pub struct Transient<B> {
    backoff: B,
    left: u32,
}

impl<B: Backoff, R: Clone, T> Policy<R, T, ApiError> for Transient<B> {
    type Future = B::Future;

    fn retry(&mut self, _: &mut R, outcome: &mut Result<T, ApiError>) -> Option<B::Future> {
        match outcome {
            Err(error) if self.left > 0 && error.code >= 500 => {
                self.left -= 1;
                Some(self.backoff.next_backoff())
            }
            _ => None,
        }
    }

    fn clone_request(&mut self, request: &R) -> Option<R> {
        Some(request.clone())
    }
}

/// A timer that is ready at once.
#[derive(Clone)]
pub struct AtOnce;

impl Backoff for AtOnce {
    type Future = Ready<()>;
    fn next_backoff(&mut self) -> Ready<()> {
        ready(())
    }
}

pub fn policy() -> Transient<ExponentialBackoff> {
    let maker = ExponentialBackoffMaker::new(BASE, CAP, 0.5, HasherRng::new());
    let backoff = maker.expect("the policy makes sense").make_backoff();
    Transient {
        backoff,
        left: RETRIES,
    }
}

pub fn success(n: u64) -> impl Future<Output = Result<u64, ApiError>> {
    Retry::new(policy(), service_fn(|n| async move { succeed(n) })).call(n)
}

pub fn success_by(
    policy: &Transient<ExponentialBackoff>,
    n: u64,
) -> impl Future<Output = Result<u64, ApiError>> + use<> {
    Retry::new(policy.clone(), service_fn(|n| async move { succeed(n) })).call(n)
}

pub fn flaky(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
    let service = service_fn(|left| async move { operation::flaky(left) });
    Retry::new(policy(), service).call(left)
}

pub fn flaky_ready(left: &Cell<u32>) -> impl Future<Output = Result<u64, ApiError>> {
    let service = service_fn(|left| async move { operation::flaky(left) });
    let policy = Transient {
        backoff: AtOnce,
        left: RETRIES,
    };
    Retry::new(policy, service).call(left)
}

pub fn failing(n: u64) -> impl Future<Output = Result<u64, ApiError>> + Send {
    Retry::new(policy(), service_fn(|n| async move { fail(n) })).call(n)
}

/// The waits of tower, which come only as timers.
pub fn timers() -> ExponentialBackoff {
    policy().backoff
}
