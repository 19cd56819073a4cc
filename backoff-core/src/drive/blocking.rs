//! The blocking loop.

use super::{
    around::Around,
    call_state::{CallEnd, CallState},
    consecutive::{ConsecutiveCount, NotYet},
    context::Context,
    future,
    judges::{Judge, Replaced},
    limit::Expires,
    operation::{Failed, Operation, Run},
    plan::{Funded, Guard, Named, Plan},
    rules::{Codes, Conflict, ConflictIf, Counts, Responses, Rules, Until},
    settings::{Delays, Settings},
    stopping::{BlockingSignal, Unstopped},
    watch::{Measured, Watch},
    write_outcome::WriteOutcome,
};
#[cfg(feature = "rate")]
use super::{limit::MaxWait, plan::Rated};
use crate::{
    budget::Budget,
    delay::Delay,
    facts::fault::Fault,
    observe::{Event, Failure, Notify},
    rate::Left,
    report::{Reporting, Updated},
    runtime::{BlockingRuntime, BlockingSleep, Clock, Random},
    state::Decision,
};
#[cfg(feature = "rate")]
use crate::{facts::fault::TimedOut, rate::Rate};
use core::{
    pin::pin,
    task::{self, Poll, Waker},
    time::Duration,
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
pub struct Blocking<P, O, K = Settings, R = BlockingRuntime, S = Unstopped> {
    plan: P,
    operation: O,
    settings: K,
    runtime: R,
    signal: S,
}

impl<P, O, K, R> Blocking<P, O, K, R> {
    pub(super) const fn new(plan: P, operation: O, settings: K, runtime: R) -> Self {
        Blocking {
            plan,
            operation,
            settings,
            runtime,
            signal: Unstopped,
        }
    }
}

impl<P, O, K, R, S> Blocking<P, O, K, R, S> {
    pub(super) fn with_operation<Q>(self, change: impl FnOnce(O) -> Q) -> Blocking<P, Q, K, R, S> {
        Blocking {
            plan: self.plan,
            operation: change(self.operation),
            settings: self.settings,
            runtime: self.runtime,
            signal: self.signal,
        }
    }

    pub(super) fn with<G>(self, change: impl FnOnce(K) -> G) -> Blocking<P, O, G, R, S> {
        Blocking {
            plan: self.plan,
            operation: self.operation,
            settings: change(self.settings),
            runtime: self.runtime,
            signal: self.signal,
        }
    }

    #[cfg(feature = "std")]
    pub(super) fn signal<Q>(self, signal: Q) -> Blocking<P, O, K, R, Q> {
        Blocking {
            plan: self.plan,
            operation: self.operation,
            settings: self.settings,
            runtime: self.runtime,
            signal,
        }
    }

    /// Pays for this call's retries from `budget` instead of from the policy's budget, as
    /// [`Retrying::budget`](crate::Retrying::budget) does.
    pub fn budget<'b>(self, budget: &'b Budget) -> Blocking<Funded<'b, P>, O, K, R, S> {
        Blocking {
            plan: Funded {
                plan: self.plan,
                budget,
            },
            operation: self.operation,
            settings: self.settings,
            runtime: self.runtime,
            signal: self.signal,
        }
    }

    /// Names the operation in hooks, logs, spans and metrics, as
    /// [`Retrying::operation`](crate::Retrying::operation) does.
    ///
    /// ```
    /// use backoff_core::{Event, Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "std")] {
    /// const POLICY: Policy = Policy::exponential().max_attempts(1);
    /// let mut names = Vec::new();
    /// let call = POLICY.blocking(|| Err::<(), _>(TimedOut::new(Duration::ZERO)));
    /// let call = call.operation("invoices.get").notify(|event| names.push(event.operation()));
    /// assert!(call.call().is_err());
    /// assert_eq!(names, ["invoices.get"]);
    /// # }
    /// ```
    pub fn operation(self, operation: &'static str) -> Blocking<Named<P>, O, K, R, S> {
        Blocking {
            plan: Named {
                plan: self.plan,
                operation,
            },
            operation: self.operation,
            settings: self.settings,
            runtime: self.runtime,
            signal: self.signal,
        }
    }

    /// Uses the clock, timer and random numbers of `runtime` instead of the standard library's, as
    /// [`Retrying::runtime`](crate::Retrying::runtime) does.
    pub fn runtime<Q>(self, runtime: Q) -> Blocking<P, O, K, Q, S>
    where
        Q: Clock + BlockingSleep + Random,
    {
        Blocking {
            plan: self.plan,
            operation: self.operation,
            settings: self.settings,
            runtime,
            signal: self.signal,
        }
    }
}

impl<P, O: Operation, J, N, D, X, L, C, M, R, S>
    Blocking<P, O, Settings<J, N, D, X, L, C, M>, R, S>
{
    /// Waits for a turn of `rate` before each attempt, as [`Retrying::rate`](crate::Retrying::rate) does. After a
    /// failed attempt, a call whose turn does not come before the deadline returns the error of that attempt.
    #[cfg(feature = "rate")]
    pub fn rate<'r>(
        self,
        rate: &'r Rate,
    ) -> Blocking<Rated<'r, P>, O, Settings<J, N, D, X, MaxWait<L>, C, M>, R, S>
    where
        O::Error: From<TimedOut>,
    {
        let Blocking {
            plan,
            operation,
            settings,
            runtime,
            signal,
        } = self.max_wait(Duration::MAX);
        Blocking {
            plan: Rated { plan, rate },
            operation,
            settings,
            runtime,
            signal,
        }
    }

    /// Ends the call when it has waited so long for its turn at its rate, as
    /// [`Retrying::max_wait`](crate::Retrying::max_wait) does. After a failed attempt, the call returns the error
    /// of that attempt.
    #[cfg(feature = "rate")]
    pub fn max_wait(
        self,
        wait: Duration,
    ) -> Blocking<P, O, Settings<J, N, D, X, MaxWait<L>, C, M>, R, S>
    where
        O::Error: From<TimedOut>,
    {
        self.with(|settings| settings.limit(|limit| MaxWait { limit, wait }))
    }

    /// Repeats the operation until its value is the awaited one, as
    /// [`Retrying::until`](crate::Retrying::until) does.
    pub fn until<F>(
        self,
        is_done: F,
    ) -> Blocking<P, O, Settings<J, N, D, (X, Until<F>), L, C, M>, R, S>
    where
        F: FnMut(&O::Value) -> bool,
        O::Error: From<NotYet>,
    {
        self.with(|settings| settings.rules(|before| (before, Until::new(is_done))))
    }

    /// Repeats the operation until so many values in a row are the awaited one, as
    /// [`Retrying::consecutive`](crate::Retrying::consecutive) does.
    ///
    /// # Panics
    /// If `values` is 0.
    ///
    /// ```
    /// use backoff_core::{NotYet, Policy};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "std")] {
    /// let mut replicas = [false, true, false, true, true].into_iter();
    /// let steady: Result<bool, NotYet> = Policy::exponential()
    ///     .base(Duration::from_millis(1))
    ///     .blocking(|| Ok(replicas.next().unwrap()))
    ///     .until(|visible| *visible)
    ///     .consecutive(2)
    ///     .call();
    /// assert_eq!((steady, replicas.next()), (Ok(true), None));
    /// # }
    /// ```
    #[track_caller]
    pub fn consecutive(self, values: u32) -> Self
    where
        X: Counts,
    {
        let count = ConsecutiveCount::new(values);
        self.with(|settings| settings.rules(|rules| rules.counting(count)))
    }

    /// Says that [`Policy::when`](crate::Policy::when) comes before the operation.
    #[doc(hidden)]
    pub fn when<F, V>(self, _judge: F) -> Self
    where
        F: Fn(&O::Error) -> V,
        J: Replaced,
    {
        self
    }

    /// Treats the reply of a write as a conflict where the function returns `true`, as
    /// [`Retrying::conflict_if`](crate::Retrying::conflict_if) does.
    pub fn conflict_if<F, V, W>(
        self,
        is_conflict: F,
    ) -> Blocking<P, O, Settings<J, N, D, (X, ConflictIf<F>), L, C, M>, R, S>
    where
        O: Operation<Value = Updated<V, W>>,
        F: FnMut(&W) -> bool,
        O::Error: From<Conflict>,
    {
        self.with(|settings| settings.rules(|before| (before, ConflictIf(is_conflict))))
    }

    /// Judges a value by the policy's codes, as an error is judged; see
    /// [`Retrying::responses`](crate::Retrying::responses).
    pub fn responses(self) -> Blocking<P, O, Settings<J, N, D, (X, Responses), L, C, M>, R, S>
    where
        O::Value: Fault,
    {
        self.with(|settings| settings.rules(|before| (before, Responses)))
    }

    /// Calls `hook` before each wait, when the operation is given up, and when it succeeds after retries.
    pub fn notify<F>(self, hook: F) -> Blocking<P, O, Settings<J, (N, F), D, X, L, C, M>, R, S>
    where
        F: FnMut(&Event<'_, O::Error>),
    {
        self.with(|settings| settings.hook(|before| (before, hook)))
    }

    /// Takes the waits from `delays` instead of from the policy, as
    /// [`Retrying::delays`](crate::Retrying::delays) does.
    pub fn delays<W: Delay>(
        self,
        delays: W,
    ) -> Blocking<P, O, Settings<J, N, W, X, L, C, M>, R, S> {
        self.with(|settings| settings.delays(|_| delays))
    }
}

impl<P, O, J, N, D, X, L, C, R, S> Blocking<P, O, Settings<J, N, D, X, L, C>, R, S>
where
    P: Plan,
    O: Operation,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    D: Delays,
    X: Rules<O::Value, O::Error>,
    L: Expires<O::Error>,
    C: Around + Watch<O::Error>,
    R: Clock + BlockingSleep + Random,
    S: BlockingSignal<O::Error>,
{
    /// Calls the operation until it succeeds or is given up, waiting on this thread.
    ///
    /// # Errors
    /// The operation's last error.
    #[inline]
    pub fn call(mut self) -> Result<O::Value, O::Error> {
        self.run(&mut CallState::new())
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
        let mut call = self.with(|settings| settings.watch(|()| Measured::new()));
        let mut state = CallState::new();
        let outcome = call.run(&mut state);
        let measures = state.measures(&call.settings.watch, &call.runtime);
        let report = call.operation.report(measures);
        call.settings.watch.reporting(outcome, report)
    }
}

impl<P, O, J, N, D, X, L, C, M, R, S> Blocking<P, O, Settings<J, N, D, X, L, C, M>, R, S>
where
    P: Plan,
    O: Operation,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    D: Delays,
    X: Rules<O::Value, O::Error>,
    L: Expires<O::Error>,
    C: Around + Watch<O::Error>,
    M: Watch<O::Error>,
    R: Clock + BlockingSleep + Random,
    S: BlockingSignal<O::Error>,
{
    #[inline]
    fn run(&mut self, state: &mut CallState) -> Result<O::Value, O::Error> {
        let timed = O::TIMED || M::MEASURES;
        let context = Self::context(&self.plan, &self.settings, &self.operation);
        state.start(&context, &self.runtime, timed);
        if context.rate().is_some()
            && let Some(error) = self.enters(state)
        {
            return Err(error);
        }
        loop {
            match self.attempt(state) {
                Ok(value) => {
                    let goes_on = match X::fault(&value) {
                        Some(fault) => self.answered(state, fault),
                        None => None,
                    };
                    if goes_on.is_none() {
                        if state.is_in_flight() {
                            let reply = X::fault(&value);
                            let (settings, runtime) = (&mut self.settings, &self.runtime);
                            let (plan, operation) = (&self.plan, &self.operation);
                            future::replied(plan, state, operation, settings, runtime, reply);
                        }
                        let context = Self::context(&self.plan, &self.settings, &self.operation);
                        state.succeeded(&context, &mut self.settings, &self.runtime);
                    }
                    // The call returns the last response unchanged.
                    if goes_on != Some(true) {
                        return Ok(value);
                    }
                }
                Err(failed) => {
                    if let Some(error) = self.failed(state, failed) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// The rules of the call as they are now, and the name of its operation.
    #[inline]
    fn context<'a>(
        plan: &'a P,
        settings: &Settings<J, N, D, X, L, C, M>,
        operation: &O,
    ) -> Context<'a> {
        settings.context(plan, operation)
    }

    /// Waits for the turn of the first attempt at the rate of the call, if it has one. Returns the error of a
    /// call that waits too long.
    #[cold]
    #[inline(never)]
    fn enters(&mut self, state: &mut CallState) -> Option<O::Error> {
        let context = Self::context(&self.plan, &self.settings, &self.operation);
        let rate = context.rate()?;
        let (settings, signal, runtime) = (&mut self.settings, &self.signal, &self.runtime);
        let (max_wait, stopped) = (settings.limit.max_wait(), || signal.has_come());
        let entered = state.enters_blocking(rate, max_wait, &stopped, &context, runtime);
        let late = match entered {
            Ok(()) => return None,
            // After the signal, the first attempt is made at once.
            Err(Left::Stopped) => {
                state.goes(None, runtime);
                return None;
            }
            Err(Left::Over(late)) => late,
        };
        let error = L::error(late)?;
        let fault = settings.judge.fault(&error);
        let end = CallEnd::too_long(Failure::new(Some(&error), fault), WriteOutcome::Known);
        state.ended(&context, settings, runtime, end);
        Some(error)
    }

    /// Makes an attempt.
    #[inline]
    fn attempt(&mut self, state: &CallState) -> Result<O::Value, Failed<O::Error>> {
        let (operation, settings) = (&mut self.operation, &mut self.settings);
        let context = Self::context(&self.plan, settings, operation);
        let run = Run {
            context: &context,
            state,
            runtime: &self.runtime,
        };
        if M::MEASURES && (state.failures() > 0 || context.rate().is_some()) {
            state.has_waited::<O::Error, _, _>(&mut settings.watch, &self.runtime);
        }
        settings.around.begins(&context, state.failures());
        let entered = settings.around.enter();
        let attempt = settings.around.around(operation.begin(&run));
        let mut attempt = pin!(attempt);
        let mut cx = task::Context::from_waker(Waker::noop());
        let polled = operation.poll(C::inner_mut(attempt.as_mut()), &run, &mut cx);
        drop(entered);
        let Poll::Ready(outcome) = polled else {
            unreachable!("a blocking attempt is ready when it is polled")
        };
        let codes = Codes {
            policy: context.policy,
            fault: X::fault,
        };
        outcome.and_then(|value| settings.rules.check(value, codes))
    }

    /// After a failed attempt: waits, or returns the error of the call. A function of its own, so that the
    /// path of a success keeps the registers.
    #[cold]
    #[inline(never)]
    fn failed(&mut self, state: &mut CallState, failed: Failed<O::Error>) -> Option<O::Error> {
        let Failed { error, stage } = failed;
        let mut guard = Guard::of(self.plan.clone(), *state);
        let next = future::failed(
            &self.plan,
            &mut guard.state,
            &mut self.operation,
            &mut self.settings,
            &self.runtime,
            &error,
            stage,
        );
        let outcome = self.operation.write_outcome();
        let failure = Failure::new(Some(&error), self.settings.judge.fault(&error));
        let goes_on = next.is_wait() && self.waits(&mut guard.state, next, failure, outcome);
        *state = guard.release();
        if goes_on {
            let _ = self.operation.keep(error);
            return None;
        }
        Some(self.operation.last_word(error))
    }

    /// After an attempt whose value may count as a failure: waits and returns whether an attempt follows,
    /// or returns nothing if the value is a success.
    #[inline(never)]
    fn answered(&mut self, state: &mut CallState, fault: &dyn Fault) -> Option<bool> {
        let mut guard = Guard::of(self.plan.clone(), *state);
        let context = Self::context(&self.plan, &self.settings, &self.operation);
        let (settings, runtime, waiting) = (&mut self.settings, &self.runtime, &mut guard.state);
        let next = match self.operation.info() {
            Some(info) if O::WANTS_INFO => {
                waiting.answered(&context, settings, runtime, fault, info)
            }
            _ => waiting.answered(&context, settings, runtime, fault, ()),
        };
        let (failure, outcome) = (Failure::new(None, Some(fault)), WriteOutcome::Known);
        let goes_on =
            next.map(|next| next.is_wait() && self.waits(&mut guard.state, next, failure, outcome));
        *state = guard.release();
        goes_on
    }

    /// Waits on this thread, and begins the next attempt unless the timer wakes too late or the call is
    /// stopped. Returns whether the next attempt begins.
    fn waits(
        &mut self,
        state: &mut CallState,
        next: Decision,
        failure: Failure<'_, O::Error>,
        outcome: WriteOutcome,
    ) -> bool {
        let context = Self::context(&self.plan, &self.settings, &self.operation);
        let runtime = &self.runtime;
        let end = if self.signal.pause(runtime, next.wait()) {
            CallEnd::stopped(failure, outcome)
        } else if state.is_late(&context, runtime) {
            CallEnd::late(failure, outcome)
        } else {
            let (settings, signal) = (&mut self.settings, &self.signal);
            let entered = match context.rate() {
                Some(rate) => {
                    let max_wait = settings.limit.max_wait().or(Some(Duration::MAX));
                    let stopped = || signal.has_come();
                    state.enters_blocking(rate, max_wait, &stopped, &context, runtime)
                }
                None => Ok(()),
            };
            match entered {
                Ok(()) => {
                    state.rested(&context, runtime);
                    return true;
                }
                Err(Left::Over(_)) => CallEnd::too_long(failure, outcome),
                Err(Left::Stopped) => CallEnd::stopped(failure, outcome),
            }
        };
        state.ended(&context, &mut self.settings, runtime, end);
        false
    }
}
