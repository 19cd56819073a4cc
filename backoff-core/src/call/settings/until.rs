//! A value that is not yet the awaited one, and the awaited value several times in a row.

use crate::{
    call::{
        operation::Failed,
        setting::{Setting, surrounds_nothing},
    },
    facts::fault::{Fault, FaultKind, message},
    policy::Policy,
    stage::Stage,
    state::Rules,
};
use core::fmt;

/// The required number of awaited values in a row, and the current number.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct ConsecutiveCount {
    wanted: u32,
    /// How many awaited values have come in a row so far.
    seen: u32,
    /// How many awaited values did not end the call.
    confirmed: u32,
}

impl ConsecutiveCount {
    /// Counts awaited values in a row up to `wanted`; none has come yet.
    ///
    /// # Panics
    /// If `wanted` is 0.
    #[must_use]
    #[track_caller]
    pub const fn new(wanted: u32) -> Self {
        assert!(
            wanted > 0,
            "`consecutive` must be at least 1: write a number such as 3"
        );
        ConsecutiveCount {
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
        if seen + 1 == self.wanted || fails(&value) {
            return Ok(value);
        }
        self.seen = seen + 1;
        self.confirmed = self.confirmed.saturating_add(1);
        Err(NotYet::after(self.seen))
    }

    /// The row has ended: any outcome but a value begins a new one.
    #[inline]
    pub(crate) const fn end(&mut self) {
        self.seen = 0;
    }

    /// After an awaited value, the policy's first wait follows. After any other outcome, the wait is as long as if no
    /// awaited value had come before.
    #[inline]
    pub(crate) fn rules(&self, rules: &mut Rules<'_>) {
        match (self.seen, self.confirmed) {
            (0, 0) => {}
            (0, confirmed) => rules.uncounted = rules.uncounted.saturating_add(confirmed),
            _ => rules.is_first_wait = true,
        }
    }
}

surrounds_nothing!(&ConsecutiveCount);
surrounds_nothing!(Until<F>: F);

/// The row of an annotated function, which the function checks itself.
impl<T, E> Setting<T, E> for &ConsecutiveCount {
    #[inline]
    fn rules<'a>(&'a self, rules: &mut Rules<'a>) {
        ConsecutiveCount::rules(self, rules);
    }
}

/// The operation is repeated until its value is the awaited one, as many times in a row as required. Made
/// by [`Retrying::until`](crate::Retrying::until).
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Until<F> {
    is_done: F,
    pub(crate) count: ConsecutiveCount,
}

impl<F> Until<F> {
    /// One awaited value is enough.
    pub(crate) const fn new(is_done: F) -> Self {
        Until {
            is_done,
            count: ConsecutiveCount::new(1),
        }
    }
}

impl<F> fmt::Debug for Until<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Until").field(&self.count).finish()
    }
}

#[diagnostic::do_not_recommend]
impl<T, E: From<NotYet>, F: FnMut(&T) -> bool> Setting<T, E> for Until<F> {
    #[inline]
    fn check(&mut self, value: T, is_refused: impl Fn(&T) -> bool) -> Result<T, Failed<E>> {
        let settled = self.count.settle(value, &mut self.is_done, is_refused);
        settled.map_err(|not_yet| Failed::at(Stage::Value, not_yet.into()))
    }

    #[inline]
    fn failed(&mut self, stage: Stage) {
        if stage != Stage::Value {
            self.count.end();
        }
    }

    #[inline]
    fn rules<'a>(&'a self, rules: &mut Rules<'a>) {
        self.count.rules(rules);
    }
}

/// A setting that waits for a value, which can be required several times in a row.
#[diagnostic::on_unimplemented(
    message = "`consecutive` counts awaited values: write `.until(..)` before it",
    label = "this call awaits no value"
)]
#[doc(hidden)]
pub trait Counts {
    /// The same setting; so many awaited values in a row end the call.
    #[must_use]
    fn counting(self, count: ConsecutiveCount) -> Self;
}

#[diagnostic::do_not_recommend]
impl<S, F> Counts for (S, Until<F>) {
    fn counting(mut self, count: ConsecutiveCount) -> Self {
        self.1.count = count;
        self
    }
}

#[diagnostic::do_not_recommend]
impl<S: Counts> Counts for (S, super::values::Responses) {
    fn counting(self, count: ConsecutiveCount) -> Self {
        (self.0.counting(count), self.1)
    }
}

/// Whether the policy retries a value with these facts.
#[inline]
pub(crate) fn is_retried(policy: &Policy, fault: Option<&dyn Fault>) -> bool {
    fault.is_some_and(|fault| !policy.rule(Stage::Whole, fault).is_permanent())
}

/// The awaited value has not come, and attempts or time are used up: the error of an operation that was
/// repeated [until](crate::Retrying::until) its value is the awaited one.
///
/// If several awaited values [in a row](crate::Retrying::consecutive) are required, this is also the
/// error of an awaited value after which more must follow: see [`consecutive`](Self::consecutive).
///
/// This error has no value. The function of `until` gets each value, and [can keep the last
/// one](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/polling_pages_streams/#the-last-value).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotYet {
    consecutive: u32,
}

impl NotYet {
    /// The error after so many awaited values in a row.
    #[inline]
    pub(crate) const fn after(consecutive: u32) -> Self {
        NotYet { consecutive }
    }

    /// How many awaited values came in a row, including the last value. 0 if the last value was not an
    /// awaited one.
    ///
    /// ```
    /// use backoff_core::{NotYet, Policy};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let too_few: Result<bool, NotYet> = Policy::exponential()
    ///     .max_attempts(2)
    ///     .retry(|| std::future::ready(Ok(true)))
    ///     .until(|visible| *visible)
    ///     .consecutive(3)
    ///     .await;
    /// assert_eq!(too_few.unwrap_err().consecutive(), 2);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[inline]
    #[must_use]
    pub const fn consecutive(self) -> u32 {
        self.consecutive
    }
}

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.consecutive {
            0 => f.write_str("the awaited value has not come yet"),
            1 => f.write_str("the awaited value has come once; more are needed"),
            times => write!(
                f,
                "the awaited value has come {times} times in a row; more are needed"
            ),
        }
    }
}

impl core::error::Error for NotYet {}

impl Fault for NotYet {
    fn kind(&self) -> Option<FaultKind> {
        Some(FaultKind::Pending)
    }

    message!();
}
