//! The awaited value several times in a row.

use super::{
    attempt::{At, Call, Failed, Operation, Reports, Run, kept_inside, reports_inside},
    blocking::Blocking,
    ending::Ending,
    future::Retrying,
    handler::Handler,
    until::{NotYet, Responding, Until},
};
use crate::{
    facts::fault::Fault,
    judge::Stage,
    policy::Policy,
    report::Measures,
    runtime::{Clock, Random, Sleep},
    state::Overrides,
};
use core::{
    pin::Pin,
    task::{Context, Poll, ready},
};

/// The required number of awaited values in a row, and the current number.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    wanted: u32,
    /// How many awaited values have come in a row so far.
    seen: u32,
    /// How many awaited values did not end the call.
    confirmed: u32,
}

impl Row {
    /// A row of `wanted` values, of which none has come yet.
    ///
    /// # Panics
    /// If `wanted` is 0.
    #[must_use]
    #[track_caller]
    pub const fn new(wanted: u32) -> Self {
        assert!(
            wanted > 0,
            "`consecutive` of 0 awaits no value at all: write a number from 1, such as 3"
        );
        Row {
            wanted,
            seen: 0,
            confirmed: 0,
        }
    }

    /// Returns the value if it ends the call. A value that fails by the policy's codes is returned too, so
    /// that the codes judge it, and is not counted.
    #[inline]
    pub(crate) fn settle<T>(
        &mut self,
        value: T,
        is_done: impl FnOnce(&T) -> bool,
        fails: impl FnOnce(&T) -> bool,
    ) -> Result<T, NotYet> {
        let seen = core::mem::take(&mut self.seen);
        if !is_done(&value) {
            return Err(NotYet::after(0));
        }
        if fails(&value) || seen + 1 == self.wanted {
            return Ok(value);
        }
        self.seen = seen + 1;
        self.confirmed = self.confirmed.saturating_add(1);
        Err(NotYet::after(self.seen))
    }

    /// An attempt failed at this stage: any outcome but a value begins a new row.
    #[inline]
    pub(crate) fn failed(&mut self, stage: Stage) {
        if stage != Stage::Pending {
            self.seen = 0;
        }
    }

    /// The rules for the next wait. After an awaited value, the policy's first wait follows. After any
    /// other outcome, the wait is as long as if no awaited value had come before.
    #[inline]
    pub(crate) fn overrides(
        &self,
        before: Option<Overrides<'static>>,
    ) -> Option<Overrides<'static>> {
        match (self.seen, self.confirmed) {
            (0, 0) => before,
            (0, confirmed) => Some(Overrides::uncounted(confirmed, before)),
            _ => Some(Overrides::first_wait(before)),
        }
    }
}

/// Whether the policy retries a value with these facts.
#[inline]
pub(crate) fn is_retried(policy: &Policy, fault: Option<&dyn Fault>) -> bool {
    fault.is_some_and(|fault| !policy.rule(Stage::Whole, fault).is_permanent())
}

/// An operation that is repeated until its value is the awaited one several times in a row. Made by
/// [`Retrying::consecutive`](crate::Retrying::consecutive) and
/// [`Blocking::consecutive`](crate::Blocking::consecutive).
#[derive(Clone, Copy, Debug)]
pub struct Consecutive<O, F> {
    operation: O,
    is_done: F,
    row: Row,
}

impl<O, F> Consecutive<O, F> {
    fn new(until: Until<O, F>, row: Row) -> Self {
        Consecutive {
            operation: until.operation,
            is_done: until.is_done,
            row,
        }
    }

    /// The outcome of an attempt. An awaited value is a failure while more of them are required.
    #[inline]
    fn settled<T, E: From<NotYet>>(
        &mut self,
        outcome: Result<T, Failed<E>>,
        fails: impl FnOnce(&T) -> bool,
    ) -> Result<T, Failed<E>>
    where
        F: FnMut(&T) -> bool,
    {
        match outcome {
            Ok(value) => self
                .row
                .settle(value, &mut self.is_done, fails)
                .map_err(|not_yet| Failed::at(Stage::Pending, not_yet.into())),
            failed => {
                // If the operation itself awaits a value, its failures are pending too.
                self.row.failed(Stage::Whole);
                failed
            }
        }
    }
}

impl<O: Responding, F> Responding for Consecutive<O, F> {
    type Responses = Consecutive<O::Responses, F>;

    /// The row gets the facts of values from the operation inside.
    fn responses(self) -> Self::Responses {
        Consecutive {
            operation: self.operation.responses(),
            is_done: self.is_done,
            row: self.row,
        }
    }
}

reports_inside!(<O, F> Consecutive<O, F>);

/// The methods that the async and the blocking form pass on to the operation inside.
macro_rules! inside {
    () => {
        type Value = O::Value;
        type Error = O::Error;

        #[inline]
        fn fault(value: &O::Value) -> Option<&dyn Fault> {
            O::fault(value)
        }

        #[inline]
        fn overrides(&self) -> Option<Overrides<'static>> {
            self.row.overrides(self.operation.overrides())
        }

        #[inline]
        fn failed(&mut self, error: &O::Error, stage: Stage, at: At<'_>) {
            self.row.failed(stage);
            self.operation.failed(error, stage, at);
        }

        #[inline]
        fn ended(&mut self, failure: Option<Ending<'_>>) {
            self.operation.ended(failure);
        }

        kept_inside!();
    };
}

impl<R, O, F> Operation<R> for Consecutive<O, F>
where
    O: Operation<R>,
    O::Error: From<NotYet>,
    F: FnMut(&O::Value) -> bool,
{
    type Running = O::Running;
    const CUT: bool = O::CUT;
    inside!();

    #[inline]
    fn begin(&mut self, run: &Run<'_, R>) -> O::Running
    where
        R: Clock + Random,
    {
        self.operation.begin(run)
    }

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut O::Running>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<O::Value, Failed<O::Error>>>
    where
        R: Clock,
    {
        let outcome = ready!(self.operation.poll(running, run, cx));
        Poll::Ready(self.settled(outcome, |value| is_retried(run.policy, O::fault(value))))
    }

    #[inline]
    fn stage(running: Pin<&O::Running>) -> Stage {
        O::stage(running)
    }

    #[inline]
    fn expired() -> Option<O::Error> {
        O::expired()
    }

    #[inline]
    fn kept(&mut self) -> Option<O::Error> {
        self.operation.kept()
    }
}

impl<O, F> Call for Consecutive<O, F>
where
    O: Call,
    O::Error: From<NotYet>,
    F: FnMut(&O::Value) -> bool,
{
    inside!();

    #[inline]
    fn call<R: Clock + Random>(&mut self, run: &Run<'_, R>) -> Result<O::Value, Failed<O::Error>> {
        let outcome = self.operation.call(run);
        self.settled(outcome, |value| is_retried(run.policy, O::fault(value)))
    }
}

impl<'p, O, F, H, S> Retrying<'p, Until<O, F>, H, S>
where
    O: Operation<<H as Handler>::Runtime>,
    O::Error: From<NotYet>,
    F: FnMut(&O::Value) -> bool,
    H: Handler,
    <H as Handler>::Runtime: Sleep,
{
    /// Repeats the operation until so many values in a row are the awaited one: for a system that is
    /// eventually consistent, where one read shows a write and the next read, from another replica, does
    /// not. The call returns the last value of the row. Write this method directly after
    /// [`until`](Retrying::until).
    ///
    /// - A value that is not the awaited one, and a failed attempt, begin the row anew.
    /// - Every value counts as an attempt, so `max_attempts`, `deadline` and `timeout` hold. Allow at least
    ///   as many attempts as values, or the call always ends with [`NotYet`](crate::NotYet). Without a
    ///   deadline five attempts are made.
    /// - After an awaited value that does not complete the row, the call waits as long as the policy's
    ///   first wait, however long earlier waits were: `base`, with the policy's jitter. With
    ///   [`Jitter::Full`](crate::Jitter::Full) this wait can be almost zero. To have some time between the
    ///   reads, use [`Jitter::Equal`](crate::Jitter::Equal) or no jitter.
    /// - Awaited values do not lengthen the later waits: these are as long as if only the other attempts
    ///   had been made.
    /// - Like any value that is not the last, an awaited value costs no budget. For each of them the hook
    ///   is called and `tracing` logs, with the error [`NotYet`](crate::NotYet), which says how many have
    ///   come [in a row](crate::NotYet::consecutive). A report counts these values in `attempts`, and their
    ///   waits in `slept`.
    /// - A value that the policy's codes refuse does not count, even if it is the awaited one. It does not
    ///   matter whether [`responses`](Retrying::responses) is written before or after this method.
    ///
    /// `consecutive(1)` is the same as [`until`](Retrying::until) alone.
    ///
    /// # Panics
    /// If `values` is 0.
    ///
    /// ```
    /// use backoff_core::{Jitter, NotYet, Policy};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLL: Policy =
    ///     Policy::exponential().jitter(Jitter::None).deadline(Duration::from_secs(60));
    ///
    /// // Whether the replica that was asked knows the grant.
    /// let mut replicas = [false, true, false, true, true, true].into_iter();
    /// let steady: Result<_, NotYet> = POLL
    ///     .retry(|| std::future::ready(Ok(replicas.next().unwrap())))
    ///     .until(|visible| *visible)
    ///     .consecutive(3)
    ///     .reported()
    ///     .await
    ///     .map_err(|gave_up| gave_up.error);
    /// let (visible, report) = steady.unwrap();
    /// // Waited: 1 s, 1 s after the awaited value, 2 s, and twice 1 s.
    /// assert_eq!((visible, report.attempts, report.slept.as_secs()), (true, 6, 6));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[track_caller]
    pub fn consecutive(self, values: u32) -> Retrying<'p, Consecutive<O, F>, H, S> {
        let row = Row::new(values);
        self.operation(|until| Consecutive::new(until, row))
    }
}

impl<'p, O, F, H> Blocking<'p, Until<O, F>, H>
where
    O: Call,
    O::Error: From<NotYet>,
    F: FnMut(&O::Value) -> bool,
{
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
    pub fn consecutive(self, values: u32) -> Blocking<'p, Consecutive<O, F>, H> {
        let row = Row::new(values);
        self.operation(|until| Consecutive::new(until, row))
    }
}
