//! The blocking loop.

use super::{
    attempt::{At, Call, Failed, Run},
    course::Course,
    deposit::Deposit,
    ending::Ending,
    handler::{ByCodes, Delayed, Funded, Handle, Handler, Measured, Notified, Under},
    recall::recalling,
    until::{Conflict, ConflictIf, NotYet, Responding, Until},
    write_outcome::{JudgedWrite, WriteOutcome},
};
use crate::{
    budget::Budget,
    delay::Delay,
    facts::fault::Fault,
    observe::{Event, Failure},
    policy::Policy,
    report::{Reporting, RetryError, Updated},
    runtime::{BLOCKING, BlockingRuntime, BlockingSleep, Clock, Random},
    state::Next,
};

/// A blocking operation with its retries. Nothing is called until [`call`](Self::call) or
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
pub struct Blocking<'p, O, H = Blocked<ByCodes>> {
    policy: &'p Policy,
    operation: O,
    handler: H,
}

/// A handler under the runtime of the blocking driver.
pub type Blocked<H> = Under<H, BlockingRuntime>;

impl<'p, O: Call, H> Blocking<'p, O, Blocked<H>> {
    pub(super) const fn new(policy: &'p Policy, operation: O, inner: H) -> Self {
        let runtime = BLOCKING;
        Blocking {
            policy,
            operation,
            handler: Under { inner, runtime },
        }
    }
}

impl<'p, O: Call, H> Blocking<'p, O, H> {
    pub(super) fn operation<P>(self, change: impl FnOnce(O) -> P) -> Blocking<'p, P, H> {
        Blocking {
            policy: self.policy,
            operation: change(self.operation),
            handler: self.handler,
        }
    }

    pub(super) fn handler<G>(self, change: impl FnOnce(H) -> G) -> Blocking<'p, O, G> {
        Blocking {
            policy: self.policy,
            operation: self.operation,
            handler: change(self.handler),
        }
    }

    /// Repeats the operation until its value is the awaited one, as
    /// [`Retrying::until`](crate::Retrying::until) does.
    pub fn until<F>(self, is_done: F) -> Blocking<'p, Until<O, F>, H>
    where
        F: FnMut(&O::Value) -> bool,
        O::Error: From<NotYet>,
    {
        self.operation(|operation| Until { operation, is_done })
    }

    /// Treats the reply of a write as a conflict where the function returns `true`, as
    /// [`Retrying::conflict_if`](crate::Retrying::conflict_if) does.
    pub fn conflict_if<F, V, W>(self, is_conflict: F) -> Blocking<'p, ConflictIf<O, F>, H>
    where
        O: Call<Value = Updated<V, W>>,
        F: FnMut(&W) -> bool,
        O::Error: From<Conflict>,
    {
        self.operation(|operation| ConflictIf {
            operation,
            is_conflict,
        })
    }

    /// Judges a value by the policy's codes, as an error is judged; see
    /// [`Retrying::responses`](crate::Retrying::responses).
    pub fn responses(self) -> Blocking<'p, O::Responses, H>
    where
        O: Responding,
        O::Value: Fault,
    {
        self.operation(O::responses)
    }

    /// Calls `hook` before each wait, when the operation is given up, and when it succeeds after retries.
    pub fn notify<N>(self, hook: N) -> Blocking<'p, O, Notified<H, N>>
    where
        N: FnMut(&Event<'_, O::Error>),
    {
        self.handler(|inner| Notified { inner, hook })
    }

    /// Takes the waits from `delays` instead of from the policy, as
    /// [`Retrying::delays`](crate::Retrying::delays) does.
    pub fn delays<D: Delay>(self, delays: D) -> Blocking<'p, O, Delayed<H, D>> {
        self.handler(|inner| Delayed { inner, delays })
    }

    /// Pays for this call's retries from `budget` instead of from the policy's budget, as
    /// [`Retrying::budget`](crate::Retrying::budget) does.
    pub fn budget<'b>(self, budget: &'b Budget) -> Blocking<'p, O, Funded<'b, H>> {
        self.handler(|inner| Funded::new(inner, budget))
    }

    /// Uses the clock, timer and random numbers of `runtime` instead of the standard library's, as
    /// [`Retrying::runtime`](crate::Retrying::runtime) does.
    pub fn runtime<R: Clock + BlockingSleep + Random>(
        self,
        runtime: R,
    ) -> Blocking<'p, O, Under<H, R>> {
        self.handler(|inner| Under { inner, runtime })
    }
}

/// The result of a wait.
#[derive(Clone, Copy, PartialEq)]
enum After {
    Attempt,
    /// The timer woke too late for another attempt.
    Late,
    Stopped,
}

impl<O, H> Blocking<'_, O, H>
where
    O: Call,
    H: Handle<O::Error>,
    <H as Handler>::Runtime: Clock + BlockingSleep + Random,
{
    /// Calls the operation until it succeeds or is given up, waiting on this thread.
    ///
    /// # Errors
    /// The operation's last error.
    #[inline]
    pub fn call(mut self) -> Result<O::Value, O::Error> {
        let mut course = Course::new();
        self.run(&mut course)
    }

    /// Calls the operation as [`call`](Self::call) does, and also returns a report.
    ///
    /// # Errors
    /// The operation's last error, with a report of the call.
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
    pub fn reported(self) -> Reporting<O::Value, O::Error, O::Report> {
        let mut measured = self.handler(Measured::new);
        let mut course = Course::new();
        let outcome = measured.run(&mut course);
        let measures = course.measures(&measured.handler);
        let report = measured.operation.report(measures);
        match outcome {
            Ok(value) => Ok((value, report)),
            Err(error) => {
                let (reason, hint) = (measured.handler.reason(), measured.handler.hint());
                Err(RetryError::new(error, reason, report).with_hint(hint))
            }
        }
    }

    #[inline]
    fn run(&mut self, course: &mut Course) -> Result<O::Value, O::Error> {
        let timed = O::TIMED || H::MEASURES;
        let overrides = self.handler.overrides(self.operation.overrides());
        let (policy, clock) = (self.handler.policy(self.policy), self.handler.runtime());
        course.start(policy, overrides.as_ref(), clock, timed);
        loop {
            let overrides = self.handler.overrides(self.operation.overrides());
            let run = Run {
                policy: self.handler.policy(self.policy),
                overrides: overrides.as_ref(),
                course,
                runtime: self.handler.runtime(),
            };
            match self.operation.call(&run) {
                Ok(value) => {
                    let goes_on = match O::fault(&value) {
                        Some(fault) => self.answered(course, fault),
                        None => None,
                    };
                    if goes_on.is_none() {
                        self.operation.ended(None);
                        let (handler, overrides) = (&mut self.handler, self.operation.overrides());
                        course.succeeded(self.policy, handler, O::name(), overrides);
                    }
                    // The call returns the last response unchanged.
                    if goes_on != Some(true) {
                        return Ok(value);
                    }
                }
                Err(failed) => {
                    if let Some(error) = self.failed(course, failed) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// After a failed attempt: waits, or returns the error of the call. A function of its own, so that the
    /// path of a success keeps the registers.
    #[cold]
    #[inline(never)]
    fn failed(&mut self, course: &mut Course, failed: Failed<O::Error>) -> Option<O::Error> {
        let Failed { error, stage } = failed;
        let policy = self.handler.policy(self.policy);
        let said = O::JUDGED.then(|| self.handler.rule(policy, stage, &error));
        let at = At {
            policy,
            clock: self.handler.runtime(),
            is_lost_race: said.is_some_and(|ruling| ruling.is_lost_race(stage)),
        };
        self.operation.failed(&error, stage, at);
        let (name, overrides) = (O::name(), self.operation.overrides());
        let outcome = self.operation.write_outcome();
        let (policy, handler, overrides) = (self.policy, &mut self.handler, overrides.as_ref());
        let mut deposit = Deposit::of(policy, *course);
        let waiting = &mut deposit.course;
        let next = recalling!(self.operation, handler => {
            match said {
                    Some(ruling) => {
                        let write = JudgedWrite { ruling, outcome };
                        waiting.failed(policy, handler, name, &error, stage, overrides, write)
                    }
                    None => waiting.failed(policy, handler, name, &error, stage, overrides, ()),
                }
        });
        let fault = self.handler.fault(&error);
        self.operation.ended(Some(Ending::failed(stage, fault)));
        let after = next.is_wait().then(|| self.wait(waiting, next));
        let failure = Failure::new(Some(&error), self.handler.fault(&error));
        match after {
            Some(After::Late) => waiting.late(policy, &mut self.handler, name, failure, outcome),
            Some(After::Stopped) => {
                waiting.stopped(policy, &mut self.handler, name, failure, outcome);
            }
            Some(After::Attempt) | None => {}
        }
        *course = deposit.course;
        if after == Some(After::Attempt) {
            let _ = self.operation.keep(error);
            return None;
        }
        Some(self.operation.last_word(error))
    }

    /// After an attempt whose value may count as a failure: waits and returns whether an attempt follows,
    /// or returns nothing if the value is a success.
    #[inline(never)]
    fn answered(&mut self, course: &mut Course, fault: &dyn Fault) -> Option<bool> {
        let (name, overrides) = (O::name(), self.operation.overrides());
        let (policy, handler, overrides) = (self.policy, &mut self.handler, overrides.as_ref());
        let mut deposit = Deposit::of(policy, *course);
        let waiting = &mut deposit.course;
        let next = recalling!(self.operation, handler => {
            waiting.answered(policy, handler, name, fault, overrides)
        })?;
        self.operation.ended(Some(Ending::of_value(fault)));
        let after = next.is_wait().then(|| self.wait(waiting, next));
        let failure = Failure::new(None, Some(fault));
        let outcome = WriteOutcome::Known;
        match after {
            Some(After::Late) => waiting.late(policy, &mut self.handler, name, failure, outcome),
            Some(After::Stopped) => {
                waiting.stopped(policy, &mut self.handler, name, failure, outcome);
            }
            Some(After::Attempt) | None => {}
        }
        *course = deposit.course;
        Some(after == Some(After::Attempt))
    }

    /// Waits on this thread, and begins the next attempt unless the timer wakes too late or the call is
    /// stopped.
    fn wait(&mut self, course: &mut Course, next: Next) -> After {
        let runtime = self.handler.runtime();
        if self.handler.pause(runtime, next.wait()) {
            return After::Stopped;
        }
        let (policy, overrides) = (
            self.handler.policy(self.policy),
            self.handler.overrides(self.operation.overrides()),
        );
        if course.is_late(policy, overrides.as_ref(), runtime) {
            return After::Late;
        }
        course.begins(&mut self.handler);
        After::Attempt
    }
}
