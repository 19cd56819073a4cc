//! The blocking loop.

use super::{
    call::{After, Call, Ended, Outcome},
    operation::Operation,
    parts::End,
    plan::{Guard, Plan},
    retrying::{Driver, Retrying},
    setting::{Setting, Surrounds},
    signal::{Stops, Unstopped},
};
use crate::{
    rate::Left,
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
    N: Stops,
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
    #[inline]
    pub fn call(mut self) -> Result<O::Value, O::Error> {
        self.run()
    }

    #[inline]
    pub(super) fn run(&mut self) -> Result<O::Value, O::Error> {
        let (call, stops) = (&mut self.call, &self.driver.0);
        call.starts();
        if call.guard.plan.has_gate()
            && let Some(error) = call.enters_first(stops)
        {
            return Err(error);
        }
        let mut after_wait = call.guard.plan.has_gate();
        loop {
            call.begins(after_wait);
            let outcome = call.attempt_blocking();
            match call.after(outcome) {
                After::Done(outcome) => return outcome,
                After::Wait(wait, last) => {
                    if let Some(outcome) = call.waits(stops, wait, last) {
                        return outcome;
                    }
                }
            }
            after_wait = true;
        }
    }
}

impl<P, O, S, R> Call<P, O, S, R>
where
    P: Plan,
    O: Operation,
    S: Setting<O::Value, O::Error>,
    R: Clock + BlockingSleep + Random,
{
    /// Waits for the turn of the first attempt at the rate of the call. Returns the error of a call that waits too
    /// long, or whose breaker is open.
    #[cold]
    #[inline(never)]
    fn enters_first(&mut self, stops: &impl Stops) -> Option<O::Error> {
        let late = match self.stands(stops, false) {
            Ok(()) => None,
            // After the signal, the first attempt is made at once.
            Err(Left::Stopped) => {
                let Guard { plan, state } = &mut self.guard;
                let rules = Self::rules_of(plan, &self.settings);
                let expires = rules.max_queue_time.is_some();
                state
                    .begins_unless_refused(plan, expires, None, &self.runtime)
                    .err()
            }
            Err(Left::Over(late)) => Some(late),
        };
        let late = late?;
        let end = End::before(&late);
        S::expired(late).map(|error| self.gives_up(error, end))
    }

    /// Makes an attempt, which is ready at its first poll.
    #[inline]
    fn attempt_blocking(&mut self) -> Outcome<O> {
        let _runs = self.guard.runs();
        let mut attempt = pin!(self.attempt());
        let mut cx = Context::from_waker(Waker::noop());
        match self.polled(attempt.as_mut(), &mut cx) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => unreachable!("a blocking attempt is ready when it is polled"),
        }
    }

    /// Waits on this thread, and for the turn of the next attempt. Returns the outcome of a call that ends then,
    /// because the timer wakes too late, the turn does not come in time, or the call is stopped.
    #[cold]
    #[inline(never)]
    pub(super) fn waits(
        &mut self,
        stops: &impl Stops,
        wait: Duration,
        last: Outcome<O>,
    ) -> Ended<O> {
        let end = if stops.pause(&self.runtime, wait) {
            End::Stopped
        } else if self.is_late() {
            End::Late
        } else {
            match self.stands(stops, true) {
                Ok(()) => {
                    self.keep(Pin::new(&mut Unstopped), last);
                    return None;
                }
                Err(left) => left.end(),
            }
        };
        Some(self.ends(last, end))
    }

    /// Asks the breaker of the call, and waits for a turn at its rate, if it has one. Before a retry, the wait never passes the deadline,
    /// because the call has an error to return.
    fn stands(&mut self, stops: &impl Stops, is_retry: bool) -> Result<(), Left> {
        let (guard, runtime) = (&mut self.guard, &self.runtime);
        if !guard.plan.has_gate() {
            guard.state.begins(runtime);
            return Ok(());
        }
        let Guard { plan, state } = guard;
        let mut rules = Self::rules_of(plan, &self.settings);
        rules.tokens = plan.tokens();
        if is_retry {
            rules.max_queue_time.get_or_insert(Duration::MAX);
        }
        let stopped = || stops.has_come();
        state.enters_blocking(plan, &rules, &stopped, runtime)
    }
}
