//! The blocking loop.

use super::{
    before::End,
    erased::{Ended, ErasedCall, Outcome, rules_of},
    operation::Operation,
    plan::Plan,
    retrying::{Driver, Retrying},
    setting::{Setting, Surrounds},
    signal::{BlockingSignal, Unstopped},
};
use crate::{
    rate::QueueEnd,
    runtime::{BlockingSleep, Clock, Random},
};
use core::{
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

/// The call blocks its thread. `N` is [`Unstopped`], or the `&Stop` that ends its waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnThread<N>(pub(crate) N);

impl<O, R, N> Driver<O, R> for OnThread<N> {
    type Phase<S: Surrounds> = ();
}

impl<P, O, S, R, N> Retrying<P, O, S, R, OnThread<N>>
where
    P: Plan,
    O: Operation,
    S: Setting<O::Value, O::Error>,
    R: Clock + BlockingSleep + Random,
    N: BlockingSignal,
{
    /// Calls a blocking operation until it succeeds or is given up, waiting on this thread.
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
    ///
    /// # Errors
    /// The operation's last error. If a setting ends the call, the error that the setting makes, such as
    /// [`NotYet`](crate::NotYet).
    pub fn call(mut self) -> Result<O::Value, O::Error> {
        self.run()
    }

    pub(super) fn run(&mut self) -> Result<O::Value, O::Error> {
        let (call, operation, stops) = (&mut self.call, &mut self.operation, &self.driver.0);
        call.start(O::TIMED);
        let mut after_wait = call.guard.plan.shared().needs_admission();
        if after_wait
            && let Some(error) = call.erased(operation.erased()).wait_for_first_turn(stops)
        {
            return Err(error);
        }
        loop {
            call.erased(operation.erased())
                .measure_beginning(after_wait);
            let polled = {
                let attempt = pin!(call.begin(operation));
                let mut cx = Context::from_waker(Waker::noop());
                call.poll(operation, attempt, &mut cx)
            };
            let Poll::Ready(outcome) = polled else {
                unreachable!("a blocking attempt is ready when it is polled")
            };
            let last = match call.value(operation.erased(), outcome) {
                Ok(value) => return Ok(value),
                Err(last) => last,
            };
            if let Some(outcome) = call.erased(operation.erased()).wait_blocking(stops, last) {
                return outcome;
            }
            after_wait = true;
        }
    }
}

impl<T, E, S, R> ErasedCall<'_, T, E, S, R>
where
    S: Setting<T, E>,
    R: Clock + BlockingSleep + Random,
{
    /// Waits for the turn of the first attempt at the rate of the call. Returns the error of a call that waits too
    /// long, or whose breaker is open.
    #[cold]
    #[inline(never)]
    fn wait_for_first_turn(&mut self, stops: &impl BlockingSignal) -> Option<E> {
        let late = match self.wait_for_turn(stops, false) {
            Ok(()) => None,
            Err(QueueEnd::Stopped) => self.begin_after_signal(),
            Err(QueueEnd::Over(late)) => Some(late),
        };
        let late = late?;
        let end = End::before(&late);
        S::expired(late).map(|error| self.end_with_error(error, end))
    }

    /// After an attempt that has not succeeded: waits on this thread, and for the turn of the next attempt. Returns the
    /// outcome of a call that ends, because no attempt follows, the timer wakes too late, the turn does not come in time,
    /// or the call is stopped.
    #[cold]
    #[inline(never)]
    fn wait_blocking(&mut self, stops: &impl BlockingSignal, last: Outcome<T, E>) -> Ended<T, E> {
        let (wait, last) = match self.decide(last) {
            Ok(waits) => waits,
            Err(outcome) => return Some(outcome),
        };
        let end = if stops.pause(self.runtime, wait) {
            End::Stopped
        } else if self.is_late() {
            End::Late
        } else {
            match self.wait_for_turn(stops, true) {
                Ok(()) => {
                    self.keep(Pin::new(&mut Unstopped), last);
                    return None;
                }
                Err(left) => left.end(),
            }
        };
        Some(self.end_with(last, end))
    }

    /// Asks the breaker of the call, and waits for a turn at its rate, if it has one. Before a retry, the wait never passes the deadline,
    /// because the call has an error to return.
    fn wait_for_turn(
        &mut self,
        stops: &impl BlockingSignal,
        is_retry: bool,
    ) -> Result<(), QueueEnd> {
        let (plan, runtime) = (self.plan, self.runtime);
        if !plan.shared().needs_admission() {
            self.state.begins(runtime);
            return Ok(());
        }
        let mut rules = rules_of(plan, &*self.settings);
        if is_retry {
            rules.max_queue_time.get_or_insert(Duration::MAX);
        }
        let stopped = || stops.has_come();
        self.state.begin_blocking(plan, &rules, &stopped, runtime)
    }
}
