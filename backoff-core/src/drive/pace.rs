//! Where the waits of one operation come from.

use crate::{Decision, Policy, Retry, Verdict, delay::Delay};
use core::time::Duration;

/// The waits of the policy itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfPolicy;

/// The waits of an algorithm that one operation brings along. Made by
/// [`Retrying::delays`](crate::Retrying::delays).
#[derive(Clone, Copy, Debug)]
pub struct Own<D>(pub(super) D);

/// Where the waits come from: [`OfPolicy`], or [`Own`] ones.
pub trait Pace {
    /// As [`Retry::failed`].
    fn failed(
        &self,
        retry: &mut Retry,
        policy: &Policy,
        verdict: Verdict,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision;
}

impl Pace for OfPolicy {
    #[inline]
    fn failed(
        &self,
        retry: &mut Retry,
        policy: &Policy,
        verdict: Verdict,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision {
        retry.failed(policy, verdict, now, random)
    }
}

impl<D: Delay> Pace for Own<D> {
    fn failed(
        &self,
        retry: &mut Retry,
        policy: &Policy,
        verdict: Verdict,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision {
        retry.failed_with(policy, verdict, now, random, &self.0)
    }
}
