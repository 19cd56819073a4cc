//! The state machine, without I/O, clock and random source. All decisions about retries are made here.

mod attempt;
mod decide;
mod decision;
mod request_id;
mod rules;
#[cfg(feature = "std")]
mod saved;

pub use attempt::Attempt;
pub use decision::{Decision, Wait, WaitSource};
pub use request_id::RequestId;
#[cfg(feature = "std")]
pub use saved::SavedRetry;

pub use rules::Rules;
pub(crate) use rules::SharedLimits;

use crate::{
    budget::Budget,
    delay::{Delay, Pace},
    facts::fault::FaultKind,
    judge::Verdict,
    policy::{MOST_ATTEMPTS, MOST_DEADLINE, NEVER, Policy},
    stage::Stage,
};
use core::{fmt, time::Duration};

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
// 15 bytes with an alignment of 1: every annotated future contains the state, and tokio uses 256 bytes of heap for a
// task of up to 144 bytes, and 384 bytes for a larger task.
#[derive(Clone, Copy)]
pub struct RetryState {
    /// The start of the first attempt, in nanoseconds of the caller's clock: the lowest 56 bits, which repeat after
    /// 2.3 years. `UNTIMED` if the start was not timed.
    started: [u8; 7],
    /// The number of failed attempts in the lowest 18 bits, and the flags above it.
    failures: [u8; 3],
    /// The last backoff, for the algorithms that grow from it: 20 bits, and two for the unit ([`UNITS`]). The two highest
    /// bits are flags: `THROTTLED` and `MAYBE_APPLIED`.
    last: [u8; 3],
    /// The number that the rate gave the running attempt.
    epoch: [u8; 2],
}

/// In the highest byte of the failures.
mod flag {
    /// The period of a breaker that counts the attempt that runs or is next, in three bits; zero if none counts it.
    pub(super) const PERIOD: u8 = 0x1c;
    /// The wait or the attempt has taken tokens of a budget.
    pub(super) const TAKEN: u8 = 0x20;
    /// No attempt has followed since the tokens were taken.
    pub(super) const HELD: u8 = 0x40;
    /// A rate counts the attempt that runs.
    pub(super) const IN_FLIGHT: u8 = 0x80;
    pub(super) const ALL: u8 = 0xfc;
}

/// Whether a rate or a breaker may count attempts.
const IS_COUNTED: bool = cfg!(any(feature = "breaker", feature = "rate"));
/// In the highest byte of the last backoff: the tokens of a budget were taken after throttling.
const THROTTLED: u8 = 0x80;
/// In the same byte: an attempt that failed may have been applied.
const MAYBE_APPLIED: u8 = 0x40;
const BITS_OF_LAST: u32 = 20;
/// The units of the last backoff, in nanoseconds: microseconds up to 1 s, milliseconds up to 17 minutes, seconds up to 12
/// days, and then a thousand seconds.
const UNITS: [u64; 4] = [1_000, 1_000_000, 1_000_000_000, 1_000_000_000_000];
const UNTIMED: u64 = (1 << 56) - 1;
/// How far a clock may go back, 26 days. A larger difference counts as a clock that went forward.
const BACK: u64 = 1 << 51;
// The limits of a policy must fit.
const _: () = assert!(MOST_ATTEMPTS < 1 << 18 && MOST_DEADLINE < UNTIMED - BACK);

/// A clock's reading in nanoseconds. The number may wrap around; the differences of readings stay
/// right.
#[inline]
fn reading(now: Duration) -> u64 {
    now.as_nanos() as u64
}

impl RetryState {
    /// A retry whose start is not timed: the state of every retry before it begins.
    pub(crate) const UNTIMED: RetryState = RetryState {
        started: [0xff; 7],
        failures: [0; 3],
        last: [0; 3],
        epoch: [0; 2],
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
        Self::resumed(now, 0)
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
        let mut state = Self::UNTIMED;
        state.set_started(reading(started));
        state.set_failures(failures.min(MOST_ATTEMPTS));
        state
    }

    #[inline]
    fn started(&self) -> u64 {
        let [a, b, c, d, e, f, g] = self.started;
        u64::from_le_bytes([a, b, c, d, e, f, g, 0])
    }

    #[inline]
    fn set_started(&mut self, now: u64) {
        let now = now & UNTIMED;
        let now = if now == UNTIMED { now - 1 } else { now };
        let [bytes @ .., _] = now.to_le_bytes();
        self.started = bytes;
    }

    /// Whether the start was timed.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.started() != UNTIMED
    }

    /// Counts a wait that a test leaves out: the deadline comes as early as after the wait.
    pub(crate) fn skip(&mut self, wait: Duration) {
        if self.is_timed() {
            self.set_started(self.started().wrapping_sub(reading(wait)));
        }
    }

    /// The number of failed attempts so far, up to the highest limit that [`Policy::max_attempts`]
    /// accepts.
    #[inline]
    pub fn failures(&self) -> u32 {
        let [a, b, c] = self.failures;
        u32::from_le_bytes([a, b, c & !flag::ALL, 0])
    }

    #[inline]
    fn set_failures(&mut self, failures: u32) {
        let [a, b, c, _] = failures.to_le_bytes();
        self.failures = [a, b, c | self.failures[2] & flag::ALL];
    }

    #[inline]
    const fn has(&self, flag: u8) -> bool {
        self.failures[2] & flag != 0
    }

    fn last(&self) -> Duration {
        let [a, b, c] = self.last;
        let last = u32::from_le_bytes([a, b, c & !(THROTTLED | MAYBE_APPLIED), 0]);
        let unit = UNITS[(last >> BITS_OF_LAST) as usize];
        Duration::from_nanos(u64::from(last % (1 << BITS_OF_LAST)).saturating_mul(unit))
    }

    fn set_last(&mut self, nanos: u64) {
        let most = (1 << BITS_OF_LAST) - 1;
        let fits = UNITS.iter().position(|unit| nanos / unit <= most);
        let unit = fits.unwrap_or(UNITS.len() - 1);
        let last = (nanos / UNITS[unit]).min(most) as u32 | (unit as u32) << BITS_OF_LAST;
        let [a, b, c, _] = last.to_le_bytes();
        self.last = [a, b, c | self.last[2] & (THROTTLED | MAYBE_APPLIED)];
    }

    /// Whether an attempt whose failure was logged, reported or recorded may have been applied.
    pub(crate) const fn maybe_applied(&self) -> bool {
        self.last[2] & MAYBE_APPLIED != 0
    }

    pub(crate) const fn remember_applied(&mut self) {
        self.last[2] |= MAYBE_APPLIED;
    }

    /// The time since the start; zero if the start was not timed.
    pub fn elapsed(&self, now: impl FnOnce() -> Duration) -> Duration {
        Duration::from_nanos(self.elapsed_nanos(now))
    }

    /// The time since the start. If the start was not timed, the first call returns `None`, and later
    /// calls return the time since the first call.
    pub(crate) fn elapsed_from_now_on(&mut self, now: Duration) -> Option<Duration> {
        if self.is_timed() {
            return Some(self.elapsed(|| now));
        }
        self.set_started(reading(now));
        None
    }

    /// The time since the start, if it was timed.
    pub(crate) fn measured(&self, now: impl FnOnce() -> Duration) -> Option<Duration> {
        self.is_timed().then(|| self.elapsed(now))
    }

    #[inline]
    fn elapsed_nanos(&self, now: impl FnOnce() -> Duration) -> u64 {
        let started = self.started();
        if started == UNTIMED {
            return 0;
        }
        let elapsed = reading(now()).wrapping_sub(started) & UNTIMED;
        if elapsed > UNTIMED - BACK { 0 } else { elapsed }
    }

    /// Whether the next attempt would begin too late, because the timer woke late. `false` before the
    /// first failure: the first attempt always begins.
    #[inline]
    pub fn is_too_late(&self, policy: &Policy, now: impl FnOnce() -> Duration) -> bool {
        self.is_late(&Rules::of(policy), now)
    }

    /// Like [`is_too_late`](Self::is_too_late), under the rules of a call.
    #[inline]
    pub(crate) fn is_late(&self, rules: &Rules<'_>, now: impl FnOnce() -> Duration) -> bool {
        rules.deadline != NEVER && self.failures() > 0 && rules.is_over(self.elapsed_nanos(now))
    }

    /// Whether a failure of the running attempt would be the last one for every error: the attempts are used up, or the deadline
    /// has passed. For a loop that keeps something only if it tries again. The error itself, a budget or a breaker may end the
    /// loop too. Not for a loop with [`failed_paced`](Self::failed_paced), which may allow more attempts.
    ///
    /// ```
    /// use backoff_core::{Policy, RetryState};
    /// use std::time::Duration;
    ///
    /// const POLICY: Policy = Policy::exponential().max_attempts(2);
    /// let now = || Duration::ZERO;
    /// let mut retry = RetryState::start(&POLICY, now);
    /// assert!(!retry.is_last(&POLICY, now));
    /// let _ = retry.failed(&POLICY, true, now, || 0);
    /// assert!(retry.is_last(&POLICY, now));
    /// ```
    pub fn is_last(&self, policy: &Policy, now: impl FnOnce() -> Duration) -> bool {
        let rules = Rules::of(policy);
        self.failures() + 1 >= policy.attempts()
            || rules.deadline != NEVER && rules.is_over(self.elapsed_nanos(now))
    }

    /// The attempt that begins next, of the call with this id.
    #[inline]
    pub fn attempt(
        &self,
        policy: &Policy,
        id: RequestId,
        now: impl FnOnce() -> Duration,
    ) -> Attempt {
        self.attempt_under(&Rules::of(policy), id, now)
    }

    /// Like [`attempt`](Self::attempt), under the rules of a call.
    #[inline]
    pub(crate) fn attempt_under(
        &self,
        rules: &Rules<'_>,
        id: RequestId,
        now: impl FnOnce() -> Duration,
    ) -> Attempt {
        let elapsed = self.elapsed_nanos(now);
        let rate = rules.shared.rate.zip(self.epoch());
        let at_rate = rate.map(|(rate, number)| rate.attempt((number, rules.shared.tokens)));
        let remaining = remaining(rules, elapsed);
        Attempt::new(self.failures() + 1, elapsed, remaining, id, at_rate)
    }

    /// The rest of the deadline; [`Duration::MAX`] without a deadline.
    #[inline]
    pub fn remaining(&self, policy: &Policy, now: impl FnOnce() -> Duration) -> Duration {
        self.remaining_under(&Rules::of(policy), now)
    }

    /// Like [`remaining`](Self::remaining), under the rules of a call.
    #[inline]
    pub(crate) fn remaining_under(
        &self,
        rules: &Rules<'_>,
        now: impl FnOnce() -> Duration,
    ) -> Duration {
        attempt::shown(remaining(rules, self.elapsed_nanos(now)))
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
        let verdict = verdict.into();
        self.decide(&Rules::of(policy), verdict, now, random)
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
        let verdict = verdict.into();
        policy.keep_pace(pace, verdict.kind_at(Stage::Write), &now);
        let mut rules = Rules::of(policy);
        rules.keep_pace(pace);
        self.decide(&rules, verdict, now, random)
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
        let verdict = verdict.into();
        let mut rules = Rules::of(policy);
        rules.delays = Some(delays);
        self.decide(&rules, verdict, now, random)
    }

    /// Call this after an attempt succeeded: the policy's budget gets its tokens back. Without a
    /// budget, this call does nothing.
    #[inline]
    pub fn succeeded(&self, policy: &Policy) {
        if let Some(budget) = policy.budget {
            self.return_tokens(budget);
        }
    }

    /// The operation succeeded: the budget gets its tokens back.
    #[inline(never)]
    pub(crate) fn return_tokens(&self, budget: &Budget) {
        budget.succeeded(self.taken_for());
    }

    /// The kind of the last failure for whose retry tokens were taken.
    #[inline]
    fn taken_for(&self) -> Option<FaultKind> {
        let kind = match self.last[2] & THROTTLED != 0 {
            true => FaultKind::Throttled,
            false => FaultKind::Transient,
        };
        self.has(flag::TAKEN).then_some(kind)
    }

    /// Call this if no attempt follows the wait that [`failed`](Self::failed) asked for, because the
    /// call was cancelled: the policy's budget gets back the tokens of that wait.
    ///
    /// A loop of your own calls [`begins`](Self::begins) when the wait is over. From then on the
    /// tokens are used, and `cancelled` does nothing. So a guard may call `cancelled` whenever the
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
        if let Some(budget) = policy.budget {
            self.give_back(budget);
        }
    }

    /// Returns the tokens of a wait that no attempt has followed. The function is inlined, so that
    /// the compiler sees that it does not unwind: dropping a call becomes cheaper.
    #[cold]
    #[inline]
    pub(crate) fn give_back(&mut self, budget: &Budget) {
        if !self.is_held() {
            return;
        }
        self.begins();
        if let Some(kind) = self.taken_for() {
            budget.give_back(kind);
        }
    }

    /// Whether a wait has taken tokens and no attempt has followed yet.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.has(flag::HELD)
    }

    /// Whether a wait holds tokens of a budget, or a rate counts the attempt that runs.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.has(flag::HELD | flag::IN_FLIGHT)
    }

    /// Whether a rate or a breaker counts the attempt that runs.
    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        IS_COUNTED && self.has(flag::IN_FLIGHT | flag::PERIOD)
    }

    /// The number that a rate gave the running attempt, if one did.
    pub(crate) fn epoch(&self) -> Option<u16> {
        (IS_COUNTED && self.has(flag::IN_FLIGHT)).then_some(u16::from_le_bytes(self.epoch))
    }

    /// An attempt begins. A rate counts the attempt if there is a number.
    #[inline]
    pub(crate) fn set_epoch(&mut self, epoch: Option<u16>) {
        self.failures[2] &= !flag::IN_FLIGHT;
        if let Some(epoch) = epoch {
            self.failures[2] |= flag::IN_FLIGHT;
            self.epoch = epoch.to_le_bytes();
        }
    }

    /// A breaker has admitted the attempt that is next, in this period; zero if none counts the attempt.
    pub(crate) fn set_period(&mut self, period: u8) {
        self.failures[2] =
            self.failures[2] & !flag::PERIOD | period << flag::PERIOD.trailing_zeros();
    }

    /// The period of the breaker that counts the attempt; zero if none does.
    pub(crate) const fn period(&self) -> u8 {
        (self.failures[2] & flag::PERIOD) >> flag::PERIOD.trailing_zeros()
    }

    /// The attempt has ended, or does not begin. Returns its number at the rate, if it has one, and the period of the
    /// breaker.
    pub(crate) fn take_attempt(&mut self) -> (Option<u16>, u8) {
        let taken = (self.epoch(), self.period());
        self.failures[2] &= !(flag::IN_FLIGHT | flag::PERIOD);
        taken
    }

    /// Call this when the attempt after the wait begins: the tokens that the wait has taken are used.
    #[inline]
    pub fn begins(&mut self) {
        self.failures[2] &= !flag::HELD;
    }

    /// The running attempt has failed: the attempt counts, and has used the tokens of its budget.
    pub(crate) fn ended(&mut self) {
        self.set_failures((self.failures() + 1).min(MOST_ATTEMPTS));
        self.begins();
    }
}

/// The rest of the deadline, this long after the start.
#[inline]
fn remaining(rules: &Rules<'_>, elapsed: u64) -> u64 {
    match rules.deadline {
        NEVER => NEVER,
        deadline => deadline.saturating_sub(elapsed),
    }
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
