//! The loops around the state machine, and the methods of [`Policy`] that start them.

mod blocking;
mod future;

pub use blocking::{Blocking, Call};
pub use future::{Bounded, Operation, Reported, Retrying, Timed};

use crate::{
    Attempt, ByPolicy, Clock, Decision, Event, Fault, Judge, Notify, Policy, Random, Retry,
    StopReason, Verdict, When,
    delay::Delay,
    observe::{self, Failure},
    time::{AsyncRuntime, BlockingRuntime},
};
use core::{future::Future, time::Duration};

/// How an operation ended, and why no further attempt was made if it failed.
type Outcome<T, E> = Result<T, (E, StopReason)>;

/// An operation that asks nothing: `|| client.get(url)`.
#[derive(Clone, Copy, Debug)]
pub struct Plain<F>(F);

/// An operation that is told which attempt it is: `|attempt| client.get(url)`.
#[derive(Clone, Copy, Debug)]
pub struct WithAttempt<F>(F);

/// The waits of the policy itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfPolicy;

/// The waits of an algorithm that one operation brings along.
#[derive(Clone, Copy, Debug)]
pub struct Own<D>(D);

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

/// A policy with the function that judges errors in place of the policy's codes.
///
/// Made by [`Policy::when`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a policy does nothing until it is given an operation"]
pub struct Judged<J> {
    policy: Policy,
    judge: J,
}

impl Policy {
    /// Retries an async operation. What this returns is a future that gives the operation's own
    /// `Result`; before it is awaited, more can be said: [`Retrying`].
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let mut calls = 0;
    /// let answer: Result<u32, TimedOut> = POLICY
    ///     .retry(|| {
    ///         calls += 1;
    ///         std::future::ready(if calls < 3 { Err(TimedOut::new(Default::default())) } else { Ok(42) })
    ///     })
    ///     .await;
    /// assert_eq!((answer, calls), (Ok(42), 3));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn retry<F, Fut, T, E>(self, operation: F) -> Retrying<Plain<F>, ByPolicy>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Fault,
    {
        self.judged(ByPolicy).retry(operation)
    }

    /// Retries an async operation that is told which attempt it is, and what time remains for it.
    pub fn retry_with<F, Fut, T, E>(self, operation: F) -> Retrying<WithAttempt<F>, ByPolicy>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Fault,
    {
        self.judged(ByPolicy).retry_with(operation)
    }

    /// Retries a blocking operation, sleeping on this thread between attempts.
    ///
    /// # Errors
    /// The operation's last error, once it is not to be retried any more.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "std")] {
    /// const POLICY: Policy = Policy::exponential().base(Duration::from_millis(1));
    /// let mut calls = 0;
    /// let answer: Result<u32, TimedOut> = POLICY.retry_blocking(|| {
    ///     calls += 1;
    ///     if calls < 3 { Err(TimedOut::new(Duration::ZERO)) } else { Ok(42) }
    /// });
    /// assert_eq!((answer, calls), (Ok(42), 3));
    /// # }
    /// ```
    #[cfg(feature = "std")]
    pub fn retry_blocking<F, T, E>(self, operation: F) -> Result<T, E>
    where
        F: FnMut() -> Result<T, E>,
        E: Fault,
    {
        self.blocking(operation).call()
    }

    /// As [`retry_blocking`](Self::retry_blocking), but does nothing until [`Blocking::call`], so
    /// that more can be said before.
    pub fn blocking<F, T, E>(self, operation: F) -> Blocking<Plain<F>, ByPolicy>
    where
        F: FnMut() -> Result<T, E>,
        E: Fault,
    {
        self.judged(ByPolicy).blocking(operation)
    }

    /// As [`blocking`](Self::blocking), for an operation that is told which attempt it is.
    pub fn blocking_with<F, T, E>(self, operation: F) -> Blocking<WithAttempt<F>, ByPolicy>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        E: Fault,
    {
        self.judged(ByPolicy).blocking_with(operation)
    }

    /// Lets a function decide which errors are retried, in place of the policy's codes. The error
    /// may be of any type. The limits hold as before.
    ///
    /// The function answers with a `bool`, or with a [`Verdict`], which can carry a server's hint.
    ///
    /// ```
    /// use backoff_core::Policy;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut calls = 0;
    /// let answer = Policy::exponential()
    ///     .when(|error: &String| error.contains("busy"))
    ///     .retry(|| {
    ///         calls += 1;
    ///         std::future::ready(if calls < 3 { Err("busy".to_string()) } else { Ok(42) })
    ///     })
    ///     .await;
    /// assert_eq!(answer, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn when<E, F, V>(self, judge: F) -> Judged<When<F>>
    where
        F: Fn(&E) -> V,
        V: Into<Verdict>,
    {
        Judged {
            policy: self,
            judge: When(judge),
        }
    }

    const fn judged<J>(self, judge: J) -> Judged<J> {
        Judged {
            policy: self,
            judge,
        }
    }
}

impl<J> Judged<J> {
    /// As [`Policy::retry`].
    pub fn retry<F, Fut, T, E>(self, operation: F) -> Retrying<Plain<F>, J>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        J: Judge<E>,
    {
        Retrying::new(
            self.policy,
            self.judge,
            Plain(operation),
            AsyncRuntime::default(),
        )
    }

    /// As [`Policy::retry_with`].
    pub fn retry_with<F, Fut, T, E>(self, operation: F) -> Retrying<WithAttempt<F>, J>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        J: Judge<E>,
    {
        Retrying::new(
            self.policy,
            self.judge,
            WithAttempt(operation),
            AsyncRuntime::default(),
        )
    }

    /// As [`Policy::retry_blocking`].
    ///
    /// # Errors
    /// The operation's last error, once it is not to be retried any more.
    #[cfg(feature = "std")]
    pub fn retry_blocking<F, T, E>(self, operation: F) -> Result<T, E>
    where
        F: FnMut() -> Result<T, E>,
        J: Judge<E>,
    {
        self.blocking(operation).call()
    }

    /// As [`Policy::blocking`].
    pub fn blocking<F, T, E>(self, operation: F) -> Blocking<Plain<F>, J>
    where
        F: FnMut() -> Result<T, E>,
        J: Judge<E>,
    {
        Blocking::new(
            self.policy,
            self.judge,
            Plain(operation),
            BlockingRuntime::default(),
        )
    }

    /// As [`Policy::blocking_with`].
    pub fn blocking_with<F, T, E>(self, operation: F) -> Blocking<WithAttempt<F>, J>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        J: Judge<E>,
    {
        Blocking::new(
            self.policy,
            self.judge,
            WithAttempt(operation),
            BlockingRuntime::default(),
        )
    }
}

/// What every loop does after a failed attempt: asks the judge, asks the state machine, tells
/// whoever listens. The loop then waits or stops.
#[inline]
#[allow(
    clippy::too_many_arguments,
    reason = "the parts of three loops, none of which owns all"
)]
pub(crate) fn conclude<E, J, N, R, P>(
    policy: &Policy,
    retry: &mut Retry,
    judge: &J,
    pace: &P,
    notify: &mut N,
    runtime: &R,
    operation: &str,
    error: &E,
) -> Decision
where
    J: Judge<E>,
    N: Notify<E>,
    R: Clock + Random,
    P: Pace,
{
    let verdict = judge.judge(policy, error);
    let (now, random) = (|| runtime.now(), || runtime.random());
    let decision = pace.failed(retry, policy, verdict, now, random);
    let attempt = retry.failures();
    let failure = || Failure {
        operation,
        attempt,
        error: judge.message(error),
    };
    match decision {
        Decision::Wait(wait) => {
            observe::waiting(failure(), wait);
            notify.notify(&Event::Waiting {
                attempt,
                error,
                wait,
            });
        }
        Decision::Stop(reason) => {
            if cfg!(feature = "tracing") {
                observe::gave_up(failure(), reason, retry.elapsed(|| runtime.now()));
            }
            notify.notify(&Event::GaveUp {
                attempts: attempt,
                error,
                reason,
            });
        }
    }
    decision
}
