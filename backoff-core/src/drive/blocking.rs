//! The blocking loop.

use super::{NotYet, OfPolicy, Outcome, Own, Pace, Plain, Until, WithAttempt, setup::Setup};
use crate::{
    Attempt, Clock, Decision, Event, Judge, Notify, Pause, Random, Report, Retry, RetryError,
    Silent, StopReason,
    delay::Delay,
    time::{BlockingRuntime, nanos},
};

/// A blocking operation that can be called again and again.
///
/// Implemented for what [`Policy::blocking`](crate::Policy::blocking) and [`Policy::blocking_with`](crate::Policy::blocking_with) are given.
pub trait Call {
    /// What a success gives.
    type Value;
    /// What a failure gives.
    type Error;
    /// Whether it asks how much time has passed.
    const TIMED: bool;

    /// Makes an attempt.
    ///
    /// # Errors
    /// The operation's own.
    fn call(&mut self, attempt: impl FnOnce() -> Attempt) -> Result<Self::Value, Self::Error>;

    /// The error for a value that is not yet what is awaited.
    fn not_yet(&mut self, value: &Self::Value) -> Option<Self::Error> {
        let _ = value;
        None
    }

    /// How logs name it.
    fn name() -> &'static str;
}

impl<F: FnMut() -> Result<T, E>, T, E> Call for Plain<F> {
    type Value = T;
    type Error = E;
    const TIMED: bool = false;

    #[inline]
    fn call(&mut self, _attempt: impl FnOnce() -> Attempt) -> Result<T, E> {
        (self.0)()
    }

    fn name() -> &'static str {
        core::any::type_name::<F>()
    }
}

impl<F: FnMut(Attempt) -> Result<T, E>, T, E> Call for WithAttempt<F> {
    type Value = T;
    type Error = E;
    const TIMED: bool = true;

    #[inline]
    fn call(&mut self, attempt: impl FnOnce() -> Attempt) -> Result<T, E> {
        (self.0)(attempt())
    }

    fn name() -> &'static str {
        core::any::type_name::<F>()
    }
}

/// A blocking operation that is to be retried. It does nothing until [`call`](Self::call) or
/// [`reported`](Self::reported).
///
/// ```
/// use backoff_core::{Policy, TimedOut};
/// use std::time::Duration;
///
/// # #[cfg(feature = "std")] {
/// let mut log = Vec::new();
/// let policy = Policy::exponential().base(Duration::from_millis(1)).max_attempts(2);
/// let outcome = policy
///     .blocking_with(|attempt| Err::<(), _>(TimedOut::new(attempt.elapsed())))
///     .notify(|event| log.push(event.to_string()))
///     .call();
/// assert!(outcome.is_err());
/// assert_eq!(log.len(), 2);
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing happens before `.call()`"]
pub struct Blocking<O, J, N = Silent, R = BlockingRuntime, P = OfPolicy>(
    pub(super) Setup<O, J, N, R, P>,
);

impl<O: Call, J, N, R, P> Blocking<O, J, N, R, P> {
    /// Asks again until the value is what is awaited, as [`Retrying::until`](crate::Retrying::until)
    /// does.
    pub fn until<F>(self, is_done: F) -> Blocking<Until<O, F>, J, N, R, P>
    where
        F: FnMut(&O::Value) -> bool,
        O::Error: From<NotYet>,
    {
        Blocking(self.0.operation(|operation| Until { operation, is_done }))
    }

    /// Calls a hook before each wait, and when the operation is given up.
    pub fn notify<H>(self, hook: H) -> Blocking<O, J, H, R, P>
    where
        H: FnMut(&Event<'_, O::Error>),
    {
        Blocking(self.0.notify(hook))
    }

    /// Takes the waits from here instead of from the policy, as
    /// [`Retrying::delays`](crate::Retrying::delays) does.
    pub fn delays<D: Delay>(self, delays: D) -> Blocking<O, J, N, R, Own<D>> {
        Blocking(self.0.delays(delays))
    }

    /// Takes clock, timer and random numbers from here instead of from the standard library, as
    /// [`Retrying::runtime`](crate::Retrying::runtime) does.
    pub fn runtime<Q: Clock + Pause + Random>(self, runtime: Q) -> Blocking<O, J, N, Q, P> {
        Blocking(self.0.runtime(runtime))
    }
}

impl<O, J, N, R, P> Blocking<O, J, N, R, P>
where
    O: Call,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    R: Clock + Pause + Random,
    P: Pace,
{
    /// Calls the operation until it succeeds or is given up, waiting on this thread.
    ///
    /// # Errors
    /// The operation's last error.
    #[inline]
    pub fn call(mut self) -> Result<O::Value, O::Error> {
        let mut retry = self.0.start(O::TIMED);
        self.run(&mut retry, &mut 0).map_err(|(error, _)| error)
    }

    /// As [`call`](Self::call), and says what it took.
    ///
    /// # Errors
    /// The operation's last error, with what was tried.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// # #[cfg(feature = "std")] {
    /// let (answer, report) =
    ///     Policy::exponential().blocking(|| Ok::<_, TimedOut>(42)).reported().unwrap();
    /// assert_eq!((answer, report.attempts), (42, 1));
    /// # }
    /// ```
    pub fn reported(mut self) -> Result<(O::Value, Report), RetryError<O::Error>> {
        let mut retry = self.0.start(true);
        let mut slept = 0;
        let outcome = self.run(&mut retry, &mut slept);
        let report = Report::new(&retry, outcome.is_ok(), slept, || self.0.runtime.now());
        match outcome {
            Ok(value) => Ok((value, report)),
            Err((error, reason)) => Err(RetryError::new(error, reason, report)),
        }
    }

    #[inline]
    fn run(&mut self, retry: &mut Retry, slept: &mut u64) -> Outcome<O::Value, O::Error> {
        let setup = &mut self.0;
        loop {
            let Setup {
                policy,
                operation,
                runtime,
                ..
            } = &mut *setup;
            let (error, decision) = match operation.call(|| retry.attempt(policy, || runtime.now()))
            {
                Ok(value) => match operation.not_yet(&value) {
                    None => {
                        retry.succeeded(policy);
                        return Ok(value);
                    }
                    Some(error) => setup.not_yet(retry, O::name(), error),
                },
                Err(error) => {
                    let decision = setup.conclude(retry, O::name(), &error);
                    (error, decision)
                }
            };
            match decision {
                Decision::Wait(wait) => {
                    *slept = slept.saturating_add(nanos(wait.delay));
                    setup.runtime.pause(wait.delay);
                    if retry.is_too_late(&setup.policy, || setup.runtime.now()) {
                        setup.woke_late(retry.failures(), O::name(), &error);
                        return Err((error, StopReason::Deadline));
                    }
                }
                Decision::Stop(reason) => return Err((error, reason)),
            }
        }
    }
}
