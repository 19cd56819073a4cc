//! The state machine, without I/O, clock and random source. All decisions about retries are made here.

mod attempt;
mod decide;
mod decision;
mod overrides;
mod packed;
#[cfg(feature = "std")]
mod participant;
mod request_id;
#[cfg(feature = "std")]
mod saved;

pub use attempt::Attempt;
pub use decision::{Decision, Wait, WaitSource};
pub use request_id::RequestId;
#[cfg(feature = "std")]
pub use saved::SavedRetry;

pub use decision::Next;
pub use overrides::Overrides;
#[cfg(feature = "std")]
pub(crate) use participant::Participant;

use crate::{
    budget::Budget,
    delay::{Delay, Pace},
    facts::fault::FaultKind,
    judge::{Ruling, Stage, Verdict},
    policy::{MOST_ATTEMPTS, NEVER, Policy},
};
use core::{fmt, time::Duration};
use packed::{Packed, Paid};

/// The state of one retried operation, for any loop.
///
/// The caller passes the time and the random number as functions. Each function is called only if its
/// value is needed. Pass the same policy to every method.
///
/// ```
/// use backoff_core::{codes, Decision, Fault, Policy, RetryState};
/// use std::time::Duration;
///
/// struct Busy;
/// impl Fault for Busy {
///     fn status(&self) -> Option<u16> { Some(503) }
/// }
///
/// const POLICY: Policy = Policy::exponential().max_attempts(2);
/// let now = || Duration::ZERO; // a clock that stands still
/// let random = || u64::MAX; // the longest wait that can be drawn
///
/// let mut retry = RetryState::start(&POLICY, now);
/// match retry.failed(&POLICY, POLICY.judge(&Busy), now, random) {
///     Decision::Wait(wait) => assert_eq!(wait.delay, Duration::from_secs(1)),
///     Decision::Stop(reason) => unreachable!("{reason}"),
/// }
/// assert!(matches!(
///     retry.failed(&POLICY, POLICY.judge(&Busy), now, random),
///     Decision::Stop(_)
/// ));
/// ```
#[derive(Clone, Copy)]
pub struct RetryState {
    packed: Packed,
}

/// A clock's reading in nanoseconds. The number may wrap around; the differences of readings stay
/// right.
#[inline]
fn reading(now: Duration) -> u64 {
    now.as_nanos() as u64
}

impl RetryState {
    /// A retry whose start is not timed: the state of every retry before it begins.
    pub(crate) const UNTIMED: RetryState = RetryState {
        packed: Packed::UNTIMED,
    };

    /// Call this just before the first attempt. The clock is read only if the policy has a deadline.
    #[inline]
    pub fn start(policy: &Policy, now: impl FnOnce() -> Duration) -> Self {
        if policy.deadline == NEVER {
            Self::UNTIMED
        } else {
            Self::start_at(now())
        }
    }

    /// Begins at this time, so that attempts and reports can state the elapsed time, with or without a
    /// deadline.
    #[inline]
    pub fn start_at(now: Duration) -> Self {
        RetryState {
            packed: Packed::started(reading(now), 0),
        }
    }

    /// Continues a loop that somebody else runs. The caller knows only when the loop began and how many
    /// of its attempts failed. The earlier waits are not known, so decorrelated jitter starts again
    /// from the base. The payments of a budget are not known either.
    ///
    /// ```
    /// use backoff_core::{Decision, Jitter, Policy, RetryState};
    /// use std::time::Duration;
    ///
    /// const POLICY: Policy = Policy::exponential().jitter(Jitter::None);
    /// let now = || Duration::from_secs(10);
    /// let mut retry = RetryState::resumed(Duration::ZERO, 2);
    /// assert_eq!(retry.elapsed(now), Duration::from_secs(10));
    /// let Decision::Wait(third) = retry.failed(&POLICY, true, now, || 0) else { unreachable!() };
    /// assert_eq!(third.delay, Duration::from_secs(4));
    /// ```
    pub fn resumed(started: Duration, failures: u32) -> Self {
        RetryState {
            packed: Packed::started(reading(started), failures.min(MOST_ATTEMPTS).into()),
        }
    }

    /// Counts a wait that a test leaves out: the deadline comes as early as after the wait.
    pub(crate) fn skip(&mut self, wait: Duration) {
        self.packed.start_earlier(reading(wait));
    }

    /// The number of failed attempts so far, up to the highest limit that [`Policy::max_attempts`]
    /// accepts.
    #[inline]
    pub fn failures(&self) -> u32 {
        self.packed.failures() as u32
    }

    /// The time since the start; zero if the start was not timed.
    pub fn elapsed(&self, now: impl FnOnce() -> Duration) -> Duration {
        Duration::from_nanos(self.elapsed_nanos(now))
    }

    /// The time since the start. If the start was not timed, the first call returns `None`, and later
    /// calls return the time since the first call.
    pub(crate) fn elapsed_from_now_on(&mut self, now: Duration) -> Option<Duration> {
        if self.packed.is_timed() {
            return Some(self.elapsed(|| now));
        }
        self.packed.set_started(reading(now));
        None
    }

    /// The time since the start, if it was timed.
    pub(crate) fn measured(&self, now: impl FnOnce() -> Duration) -> Option<Duration> {
        self.packed.is_timed().then(|| self.elapsed(now))
    }

    #[inline]
    fn elapsed_nanos(&self, now: impl FnOnce() -> Duration) -> u64 {
        self.packed.elapsed(|| reading(now()))
    }

    /// Whether the next attempt would begin too late, because the timer woke late. `false` before the
    /// first failure: the first attempt always begins.
    #[inline]
    pub fn is_too_late(&self, policy: &Policy, now: impl FnOnce() -> Duration) -> bool {
        self.is_late(policy, None, now)
    }

    /// Like [`is_too_late`](Self::is_too_late), under the overrides of a call. The first attempt always
    /// begins.
    #[inline]
    pub(crate) fn is_late(
        &self,
        policy: &Policy,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
    ) -> bool {
        let deadline = Overrides::deadline(overrides, policy);
        deadline != NEVER
            && self.failures() > 0
            && is_over(deadline, overrides, self.elapsed_nanos(now))
    }

    /// The attempt that begins next, of the call with this id.
    #[inline]
    pub fn attempt(
        &self,
        policy: &Policy,
        id: RequestId,
        now: impl FnOnce() -> Duration,
    ) -> Attempt {
        self.attempt_under(policy, None, id, now)
    }

    /// Like [`attempt`](Self::attempt), under the overrides of a call.
    #[inline]
    pub(crate) fn attempt_under(
        &self,
        policy: &Policy,
        overrides: Option<&Overrides<'_>>,
        id: RequestId,
        now: impl FnOnce() -> Duration,
    ) -> Attempt {
        let elapsed = self.elapsed_nanos(now);
        let remaining = remaining(policy, overrides, elapsed);
        Attempt::new(self.failures() + 1, elapsed, remaining, id)
    }

    /// The rest of the deadline; [`Duration::MAX`] without a deadline.
    #[inline]
    pub fn remaining(&self, policy: &Policy, now: impl FnOnce() -> Duration) -> Duration {
        self.remaining_under(policy, None, now)
    }

    /// Like [`remaining`](Self::remaining), under the overrides of a call.
    #[inline]
    pub(crate) fn remaining_under(
        &self,
        policy: &Policy,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
    ) -> Duration {
        attempt::shown(remaining(policy, overrides, self.elapsed_nanos(now)))
    }

    /// Decides after a failed attempt: wait or stop.
    ///
    /// The wait is the longer of the policy's backoff and the server's hint. A wait that would end
    /// after the deadline does not begin. Neither a verdict nor a hint can exceed the limits.
    #[inline]
    pub fn failed(
        &mut self,
        policy: &Policy,
        verdict: impl Into<Verdict>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision {
        let ruling = Ruling::from(verdict.into());
        self.decide(policy, ruling, None, now, random).into()
    }

    /// Like [`failed`](Self::failed), for the loop of a writer who keeps a [`Pace`]: after a conflict,
    /// the pace gives the wait, up to the policy's cap. [`Pace`] has an example.
    pub fn failed_paced(
        &mut self,
        pace: &mut Pace,
        policy: &Policy,
        verdict: impl Into<Verdict>,
        now: impl Fn() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Decision {
        let ruling = Ruling::from(verdict.into());
        policy.keep_pace(pace, ruling.kind_at(Stage::Write), &now);
        let overrides = Overrides::paced(pace);
        self.decide(policy, ruling, Some(&overrides), now, random)
            .into()
    }

    /// Like [`failed`](Self::failed), with the waits of another algorithm in place of the policy's
    /// waits. The algorithm's waits get no cap, and no jitter except the algorithm's own. When the
    /// algorithm returns `None`, the attempts end.
    pub fn failed_with(
        &mut self,
        policy: &Policy,
        verdict: impl Into<Verdict>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
        delays: &impl Delay,
    ) -> Decision {
        let ruling = Ruling::from(verdict.into());
        self.decide_with(policy, ruling, None, now, random, delays)
            .into()
    }

    /// Call this after an attempt succeeded: the policy's budget gets its tokens back. Without a
    /// budget, this call does nothing.
    #[inline]
    pub fn succeeded(&self, policy: &Policy) {
        self.succeeded_under(policy, None);
    }

    /// Like [`succeeded`](Self::succeeded), under the overrides of a call.
    #[inline]
    pub(crate) fn succeeded_under(&self, policy: &Policy, overrides: Option<&Overrides<'_>>) {
        if let Some(budget) = Overrides::budget(overrides, policy) {
            self.refund(budget);
        }
    }

    #[inline(never)]
    fn refund(&self, budget: &Budget) {
        budget.succeeded(self.paid());
    }

    /// The kind of the last failure that a budget paid for.
    #[inline]
    fn paid(&self) -> Option<FaultKind> {
        match self.packed.paid() {
            Paid::Nothing => None,
            Paid::Transient => Some(FaultKind::Transient),
            Paid::Throttled => Some(FaultKind::Throttled),
        }
    }

    /// Call this if no attempt follows the wait that [`failed`](Self::failed) asked for, because the
    /// call was cancelled: the policy's budget gets its payment for that wait back.
    ///
    /// A loop of your own calls [`begins`](Self::begins) when the wait is over. From then on the
    /// payment is spent, and `cancelled` does nothing. So a guard may call `cancelled` whenever the
    /// guard is dropped.
    ///
    /// ```
    /// use backoff_core::{Budget, Policy, RetryState};
    /// use std::time::Duration;
    ///
    /// static BUDGET: Budget = Budget::aws();
    /// const POLICY: Policy = Policy::exponential().budget(&BUDGET);
    /// let now = || Duration::ZERO;
    /// let mut retry = RetryState::start(&POLICY, now);
    /// let _ = retry.failed(&POLICY, true, now, || 0);
    /// assert_eq!(BUDGET.tokens(), 486.0);
    /// retry.cancelled(&POLICY);
    /// assert_eq!(BUDGET.tokens(), 500.0);
    ///
    /// let _ = retry.failed(&POLICY, true, now, || 0);
    /// retry.begins(); // the wait is over, and an attempt follows
    /// retry.cancelled(&POLICY);
    /// assert_eq!(BUDGET.tokens(), 486.0);
    /// ```
    pub fn cancelled(&mut self, policy: &Policy) {
        self.give_back(policy.budget);
    }

    /// Returns the payment for a wait that no attempt has followed. The function is inlined, so that
    /// the compiler sees that it does not unwind: dropping a call becomes cheaper.
    #[cold]
    #[inline]
    pub(crate) fn give_back(&mut self, budget: Option<&Budget>) {
        if !self.packed.is_held() {
            return;
        }
        self.packed.spend();
        if let (Some(kind), Some(budget)) = (self.paid(), budget) {
            budget.give_back(kind);
        }
    }

    /// Whether a budget has paid for a wait that no attempt has followed yet.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.packed.is_held()
    }

    /// Whether a rate counts an attempt that runs.
    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.packed.is_in_flight()
    }

    /// An attempt begins. A rate counts the attempt if there is a number.
    #[inline]
    pub(crate) fn goes(&mut self, epoch: Option<u8>) {
        match epoch {
            Some(epoch) => self.packed.set_in_flight(epoch),
            None => _ = self.lands(),
        }
    }

    /// The attempt has ended. Returns its number, if a rate counts it.
    #[inline]
    pub(crate) fn lands(&mut self) -> Option<u8> {
        self.packed.land()
    }

    /// Call this when the attempt after the wait begins: the budget's payment for the wait is spent.
    #[inline]
    pub fn begins(&mut self) {
        self.packed.spend();
    }

    /// The running attempt ends without a reply of the server: the attempt counts, and no budget pays.
    pub(crate) fn ended(&mut self) {
        let failures = (self.failures() + 1).min(MOST_ATTEMPTS);
        self.packed.set_failures(failures.into());
        self.packed.spend();
    }
}

/// The rest of the deadline, this long after the start.
#[inline]
fn remaining(policy: &Policy, overrides: Option<&Overrides<'_>>, elapsed: u64) -> u64 {
    match Overrides::deadline(overrides, policy) {
        NEVER => NEVER,
        deadline => deadline.saturating_sub(elapsed),
    }
}

/// Whether it is too late to begin an attempt, this long after the start. An attempt that is cut at the
/// deadline needs some time before the deadline.
#[inline]
fn is_over(deadline: u64, overrides: Option<&Overrides<'_>>, elapsed: u64) -> bool {
    elapsed > deadline || Overrides::cut_at_deadline(overrides) && elapsed == deadline
}

impl fmt::Debug for RetryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("failures", &self.failures())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
