//! A policy for one request that is sent again as it is.

use crate::{
    call::{
        entry::AWAITED,
        operation::Operation,
        retrying::Retrying,
        settings::judges::{By, Judge},
    },
    codes,
    policy::Policy,
    runtime::{ASYNC, AsyncRuntime, Sleep},
};

/// The policy without conflicts, if it retries them, and without conflicts in its codes. A policy that
/// retries conflicts is for a whole read-modify-write: the same request would fail for ever. The codes
/// of any other policy are the caller's choice, and stay.
pub const fn without_conflicts(mut policy: Policy) -> Policy {
    if policy.conflicts {
        policy.conflicts = false;
        policy.codes = policy.codes.without(codes![409, 412]);
    }
    policy
}

/// Whether a policy lets an operation be applied twice.
#[must_use]
pub const fn is_idempotent_policy(policy: &Policy) -> bool {
    policy.idempotent
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Codes;

    #[test]
    fn only_a_policy_that_retries_conflicts_loses_them() {
        const BUSY: Policy = Policy::exponential().on(codes![429, 503]);
        for conflicts in [
            codes![412],
            codes![409],
            codes![Codes::ABORTED],
            codes![Codes::FAILED_PRECONDITION],
            codes![409, 412],
        ] {
            let by_codes = BUSY.also_on(conflicts);
            assert_eq!(without_conflicts(by_codes), by_codes);
            let anew = by_codes.retry_conflicts(true);
            assert_eq!(without_conflicts(anew), BUSY);
        }
        assert_eq!(without_conflicts(BUSY), BUSY);
    }
}
