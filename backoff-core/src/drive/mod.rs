//! The loops around the state machine, and the methods of [`Policy`] that start them.

mod blocking;
mod future;
mod pace;
mod series;
mod setup;
mod until;
mod update;

pub use blocking::{Blocking, Call};
pub use future::{Bounded, Operation, Reported, Retrying, Timed};
pub use pace::{OfPolicy, Own, Pace};

pub use series::{Changed, Conflict, ConflictIf, Series, Steps};
pub use until::{NotYet, Until};
pub use update::{ReportedUpdate, Updating};

pub(crate) use setup::{conclude, tell};

use crate::{
    Attempt, ByPolicy, Fault, Judge, Policy, StopReason, Verdict, When, WhenFault,
    time::{AsyncRuntime, BlockingRuntime},
};
use core::future::Future;
use setup::Setup;

/// How an operation ended, and why no further attempt was made if it failed.
type Outcome<T, E> = Result<T, (E, StopReason)>;

/// An operation that asks nothing: `|| client.get(url)`.
#[derive(Clone, Copy, Debug)]
pub struct Plain<F>(F);

/// An operation that is told which attempt it is: `|attempt| client.get(url)`.
#[derive(Clone, Copy, Debug)]
pub struct WithAttempt<F>(F);

/// A policy with the function that judges errors in place of the policy's codes.
///
/// Made by [`Policy::when`] and [`Policy::when_fault`].
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
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential().deadline(Duration::from_secs(30));
    /// let answer: Result<u32, TimedOut> = POLICY
    ///     .retry_with(|attempt| async move {
    ///         assert!(attempt.remaining() <= Duration::from_secs(30));
    ///         if attempt.number() < 3 { Err(TimedOut::new(Duration::ZERO)) } else { Ok(42) }
    ///     })
    ///     .await;
    /// assert_eq!(answer, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
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
    /// may be of any type, so no server's hint can be read from it: where the error is a [`Fault`],
    /// [`when_fault`](Self::when_fault) keeps its `Retry-After`. The limits hold as before.
    ///
    /// The function answers with a `bool`, or with a [`Verdict`], which can carry a hint.
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
        self.judged(When(judge))
    }

    /// As [`when`](Self::when), for an error that is a [`Fault`]: a server that asks to be left
    /// alone, for a while or for good, is still obeyed, and its text is still logged.
    ///
    /// ```
    /// use backoff_core::{Fault, Policy};
    /// use std::time::Duration;
    ///
    /// # #[derive(Debug)]
    /// struct Busy;
    /// impl Fault for Busy {
    ///     fn retry_after(&self) -> Option<Duration> { Some(Duration::from_secs(30)) }
    /// }
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let busy = || std::future::ready(Err::<(), _>(Busy));
    /// let policy = Policy::exponential().max_attempts(2).when_fault(|_: &Busy| true);
    /// let gave_up = policy.retry(busy).reported().await.unwrap_err();
    /// assert_eq!(gave_up.report.slept, Duration::from_secs(30));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn when_fault<E, F, V>(self, judge: F) -> Judged<WhenFault<F>>
    where
        E: Fault,
        F: Fn(&E) -> V,
        V: Into<Verdict>,
    {
        self.judged(WhenFault(judge))
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
        Retrying::new(self.setup(Plain(operation), AsyncRuntime::default()))
    }

    /// As [`Policy::retry_with`].
    pub fn retry_with<F, Fut, T, E>(self, operation: F) -> Retrying<WithAttempt<F>, J>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        J: Judge<E>,
    {
        Retrying::new(self.setup(WithAttempt(operation), AsyncRuntime::default()))
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
        Blocking(self.setup(Plain(operation), BlockingRuntime::default()))
    }

    /// As [`Policy::blocking_with`].
    pub fn blocking_with<F, T, E>(self, operation: F) -> Blocking<WithAttempt<F>, J>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        J: Judge<E>,
    {
        Blocking(self.setup(WithAttempt(operation), BlockingRuntime::default()))
    }

    fn setup<O, R>(self, operation: O, runtime: R) -> Setup<O, J, crate::Silent, R, OfPolicy> {
        Setup::new(self.policy, self.judge, operation, runtime)
    }
}
