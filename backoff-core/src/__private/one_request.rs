//! A policy for one request that is sent again as it is.

use crate::{
    call::{
        entry::AWAITED,
        operation::Operation,
        retrying::Retrying,
        settings::judges::{By, Judge},
    },
    policy::Policy,
    runtime::{ASYNC, AsyncRuntime, Sleep},
};

/// Whether a policy lets an operation be applied twice.
#[must_use]
pub const fn is_idempotent_policy(policy: &Policy) -> bool {
    policy.idempotent
}

/// Whether a policy makes no second attempt.
#[must_use]
pub const fn makes_one_attempt(policy: &Policy) -> bool {
    policy.attempts() == 1
}

/// Whether a policy lets a request with this method and these headers be made twice.
#[cfg(feature = "http-1")]
#[must_use]
pub fn may_send_twice(
    policy: &Policy,
    method: &http_1::Method,
    headers: &http_1::HeaderMap,
) -> bool {
    policy.may_send_twice(method, headers)
}

/// An async call of an operation of another crate, with a policy and a judge of its own.
pub fn retrying<O, J>(policy: Policy, judge: J, operation: O) -> Retrying<Policy, O, By<J>>
where
    O: Operation,
    J: Judge<O::Error>,
    AsyncRuntime: Sleep,
{
    Retrying::new(policy, operation, By(judge), ASYNC, AWAITED)
}
