//! The blocking loop.

use super::{OfPolicy, Outcome, Own, Pace, Plain, WithAttempt, conclude};
use crate::{
    Attempt, Clock, Decision, Event, Judge, Notify, Pause, Policy, Random, Report, Retry,
    RetryError, Silent,
    delay::Delay,
    time::{BlockingRuntime, nanos},
};

use core::time::Duration;

/// A blocking operation that can be called again and again.
///
/// Implemented for what [`Policy::blocking`] and [`Policy::blocking_with`] are given.
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
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing happens before `.call()`"]
pub struct Blocking<O, J, N = Silent, R = BlockingRuntime, P = OfPolicy> {
    policy: Policy,
    judge: J,
    operation: O,
    notify: N,
    runtime: R,
    pace: P,
}

impl<O: Call, J, R> Blocking<O, J, Silent, R> {
    pub(super) const fn new(policy: Policy, judge: J, operation: O, runtime: R) -> Self {
        Blocking {
            policy,
            judge,
            operation,
            notify: Silent,
            runtime,
            pace: OfPolicy,
        }
    }
}

impl<O: Call, J, N, R, P> Blocking<O, J, N, R, P> {
    /// Calls a hook before each wait, and when the operation is given up.
    pub fn notify<H>(self, hook: H) -> Blocking<O, J, H, R, P>
    where
        H: FnMut(&Event<'_, O::Error>),
    {
        let Blocking {
            policy,
            judge,
            operation,
            runtime,
            pace,
            ..
        } = self;
        Blocking {
            policy,
            judge,
            operation,
            notify: hook,
            runtime,
            pace,
        }
    }

    /// Takes the waits from here instead of from the policy, as
    /// [`Retrying::delays`](crate::Retrying::delays) does.
    pub fn delays<D: Delay>(self, delays: D) -> Blocking<O, J, N, R, Own<D>> {
        let Blocking {
            policy,
            judge,
            operation,
            notify,
            runtime,
            ..
        } = self;
        Blocking {
            policy,
            judge,
            operation,
            notify,
            runtime,
            pace: Own(delays),
        }
    }

    /// Takes clock, timer and random numbers from here instead of from the standard library.
    pub fn runtime<Q: Clock + Pause + Random>(self, runtime: Q) -> Blocking<O, J, N, Q, P> {
        let Blocking {
            policy,
            judge,
            operation,
            notify,
            pace,
            ..
        } = self;
        Blocking {
            policy,
            judge,
            operation,
            notify,
            runtime,
            pace,
        }
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
        let mut retry = if O::TIMED {
            Retry::start_at(self.runtime.now())
        } else {
            Retry::start(&self.policy, || self.runtime.now())
        };
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
        let mut retry = Retry::start_at(self.runtime.now());
        let mut slept = 0;
        let outcome = self.run(&mut retry, &mut slept);
        let elapsed = retry.elapsed(|| self.runtime.now());
        let report = |attempts| Report {
            attempts,
            elapsed,
            slept: Duration::from_nanos(slept),
        };
        match outcome {
            Ok(value) => Ok((value, report(retry.failures().saturating_add(1)))),
            Err((error, reason)) => Err(RetryError::new(error, reason, report(retry.failures()))),
        }
    }

    #[inline]
    fn run(&mut self, retry: &mut Retry, slept: &mut u64) -> Outcome<O::Value, O::Error> {
        let Blocking {
            policy,
            judge,
            operation,
            notify,
            runtime,
            pace,
        } = self;
        loop {
            let error = match operation.call(|| retry.attempt(policy, || runtime.now())) {
                Ok(value) => {
                    retry.succeeded(policy);
                    return Ok(value);
                }
                Err(error) => error,
            };
            match conclude(
                policy,
                retry,
                judge,
                pace,
                notify,
                runtime,
                O::name(),
                &error,
            ) {
                Decision::Wait(wait) => {
                    *slept = slept.saturating_add(nanos(wait.delay));
                    runtime.pause(wait.delay);
                }
                Decision::Stop(reason) => return Err((error, reason)),
            }
        }
    }
}
