//! The state machine, without I/O, clock and random source. All decisions about retries are made here.

mod attempt;
mod decision;
mod overrides;
mod packed;
#[cfg(feature = "std")]
mod participant;
mod request_id;

pub use attempt::Attempt;
pub use decision::{Decision, Wait, WaitSource};
pub use request_id::RequestId;

pub use decision::Next;
pub(crate) use overrides::LimitSource;
pub use overrides::Overrides;
#[cfg(feature = "std")]
pub(crate) use participant::Participant;

use crate::{
    budget::Budget,
    delay::{Delay, Pace, draw::uniform},
    facts::fault::FaultKind,
    judge::{Ruled, Ruling, Verdict},
    policy::{MOST_ATTEMPTS, NEVER, Policy},
    report::StopReason,
    runtime::nanos,
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
        overrides.deadline(policy) != NEVER
            && self.failures() > 0
            && is_over(policy, overrides, self.elapsed_nanos(now))
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
        policy.keep_pace(pace, ruling.is_conflict(), &now);
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
        if let Some(budget) = overrides.budget(policy) {
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
        if let Some(kind) = self.take_held()
            && let Some(budget) = budget
        {
            budget.give_back(kind);
        }
    }

    /// Takes the kind of the failure that was paid for, if no attempt has followed yet.
    #[inline]
    pub(crate) fn take_held(&mut self) -> Option<FaultKind> {
        if !self.packed.is_held() {
            return None;
        }
        self.packed.spend();
        self.paid()
    }

    /// Whether a budget has paid for a wait that no attempt has followed yet.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.packed.is_held()
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

    /// Like [`failed`](Self::failed), under the overrides of a call.
    #[inline(always)]
    pub(crate) fn decide(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Next {
        // The fast path: only the policy's attempts and its backoff matter.
        let retry = self.failures();
        if policy.is_simple(retry) && ruling.is_plain() && overrides.is_none() {
            self.packed.add_failure();
            return Next::backoff(policy.simple_backoff(retry, random()));
        }
        self.decide_fully(policy, ruling, overrides, now, random)
    }

    #[cold]
    #[inline(never)]
    fn decide_fully(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
    ) -> Next {
        self.conclude(policy, ruling, overrides, now, |packed, kind, retry| {
            if kind == FaultKind::Conflict
                && let Some(range) = overrides.conflict_range()
            {
                return Some(uniform(range.min(policy.max_backoff), random()));
            }
            if !policy.remembers() {
                return Some(policy.backoff_nanos(kind, retry, || 0, random));
            }
            let narrow = Packed::is_narrow(policy.max_backoff);
            let previous = || packed.previous(narrow);
            let backoff = policy.backoff_nanos(kind, retry, previous, random);
            packed.set_previous(backoff, narrow);
            Some(backoff)
        })
    }

    /// Like [`failed_with`](Self::failed_with), under the overrides of a call.
    pub(crate) fn decide_with(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
        random: impl FnOnce() -> u64,
        delays: &impl Delay,
    ) -> Next {
        let overrides = overrides.map(Overrides::without_pace);
        let overrides = overrides.as_ref();
        self.conclude(policy, ruling, overrides, now, |packed, kind, retry| {
            let previous = Duration::from_nanos(packed.previous(false));
            let wait = nanos(delays.delay_after(kind, retry, previous, random())?);
            packed.set_previous(wait, false);
            Some(wait)
        })
    }

    #[inline(always)]
    fn conclude(
        &mut self,
        policy: &Policy,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
        backoff: impl FnOnce(&mut Packed, FaultKind, u32) -> Option<u64>,
    ) -> Next {
        let retry = self.failures();
        let failures = (retry + 1).min(MOST_ATTEMPTS);
        self.packed.set_failures(failures.into());
        // The attempt used the previous payment.
        self.packed.spend();
        let budget = overrides.budget(policy);
        let kind = match ruling.ruled {
            Ruled::Retry(kind) => kind,
            stop => return stopped(budget, stop),
        };
        // A conflict and a pending value show that the service works.
        let budget = budget.filter(|_| !matches!(kind, FaultKind::Conflict | FaultKind::Pending));
        if let Some(budget) = budget {
            budget.failed();
        }
        if failures >= overrides.attempts(policy) {
            return Next::stop(StopReason::Attempts);
        }
        if overrides.cannot_repeat() {
            return Next::stop(StopReason::Unrepeatable);
        }
        // The first wait does not depend on earlier waits, and later waits do not grow from it.
        let mut aside = Packed::UNTIMED;
        let memory = if overrides.waits_as_first() {
            &mut aside
        } else {
            &mut self.packed
        };
        let Some(backoff) = backoff(memory, kind, overrides.turn(retry)) else {
            return Next::stop(StopReason::Attempts);
        };
        let mut next = Next::backoff(backoff);
        if ruling.hint > backoff {
            let longest = policy.longest_hint(overrides.deadline(policy));
            next = hinted(policy, backoff, ruling.hint, longest);
            if next.reason().is_some() {
                return next;
            }
        }
        if overrides.deadline(policy) != NEVER
            && let Some(reason) = self.passes(policy, next, ruling.hint, overrides, now)
        {
            return Next::stop(reason);
        }
        match budget {
            Some(budget) => self.pay(budget, kind, next),
            None => next,
        }
    }

    /// The reason to stop if a wait would end after the deadline.
    #[inline]
    fn passes(
        &self,
        policy: &Policy,
        next: Next,
        hint: u64,
        overrides: Option<&Overrides<'_>>,
        now: impl FnOnce() -> Duration,
    ) -> Option<StopReason> {
        let elapsed = self.elapsed_nanos(now);
        let passes = |wait: u64| is_over(policy, overrides, elapsed.saturating_add(wait));
        if !passes(next.delay()) {
            return None;
        }
        let most = next.delay().min(hint);
        Some(if next.is_hinted() && passes(most) {
            StopReason::RetryAfter
        } else {
            StopReason::Deadline
        })
    }

    #[inline(never)]
    fn pay(&mut self, budget: &Budget, kind: FaultKind, next: Next) -> Next {
        if !budget.pay(kind) {
            return Next::stop(StopReason::Budget);
        }
        self.packed.set_paid(if kind == FaultKind::Throttled {
            Paid::Throttled
        } else {
            Paid::Transient
        });
        next
    }
}

/// The rest of the deadline, this long after the start.
#[inline]
fn remaining(policy: &Policy, overrides: Option<&Overrides<'_>>, elapsed: u64) -> u64 {
    match overrides.deadline(policy) {
        NEVER => NEVER,
        deadline => deadline.saturating_sub(elapsed),
    }
}

/// Whether it is too late to begin an attempt, this long after the start. An attempt that is cut at the
/// deadline needs some time before the deadline.
#[inline]
fn is_over(policy: &Policy, overrides: Option<&Overrides<'_>>, elapsed: u64) -> bool {
    let deadline = overrides.deadline(policy);
    elapsed > deadline || overrides.cut_at_deadline() && elapsed == deadline
}

/// The reason to stop after a failure that is not retried.
fn stopped(budget: Option<&Budget>, ruled: Ruled) -> Next {
    let reason = match ruled {
        Ruled::Permanent | Ruled::Retry(_) => return Next::stop(StopReason::Permanent),
        Ruled::NothingKnown => return Next::stop(StopReason::NothingKnown),
        Ruled::MaybeApplied => StopReason::MaybeApplied,
        Ruled::StoppedByServer => StopReason::StoppedByServer,
    };
    if let Some(budget) = budget {
        budget.failed();
    }
    Next::stop(reason)
}

/// The wait if the server asks for a longer wait than the backoff.
fn hinted(policy: &Policy, backoff: u64, hint: u64, longest: u64) -> Next {
    let most = backoff.saturating_add(policy.retry_after_slack);
    let hint = hint.min(most);
    if hint <= backoff {
        return Next::backoff(backoff);
    }
    if hint > longest {
        return Next::stop(StopReason::RetryAfter);
    }
    let wait = if policy.spread_retry_after {
        hint.saturating_add(backoff).min(most)
    } else {
        hint
    };
    Next::retry_after(wait)
}

impl fmt::Debug for RetryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("failures", &self.failures())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{delay::jitter::Jitter, facts::fault::FaultKind};
    use core::cell::Cell;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);
    const ID: RequestId = RequestId::from_u128(7);
    const PLAIN: Policy = Policy::exponential().jitter(Jitter::None);

    fn hinted(hint: Duration) -> Verdict {
        Verdict::Retry {
            kind: FaultKind::Throttled,
            retry_after: Some(hint),
        }
    }

    /// Runs a retry to its end in virtual time, with attempts that take `attempt`. Returns the start of
    /// each attempt and the reason for the end.
    fn run(policy: Policy, attempt: Duration, random: u64) -> (Vec<Duration>, StopReason) {
        // The clock starts far from zero, to test that only differences count.
        let now = Cell::new(Duration::from_nanos(u64::MAX / 3));
        let begin = now.get();
        let mut retry = RetryState::start(&policy, || now.get());
        let mut begun = Vec::new();
        loop {
            begun.push(now.get() - begin);
            now.set(now.get() + attempt);
            match retry.failed(&policy, true, || now.get(), || random) {
                Decision::Wait(wait) => now.set(now.get() + wait.delay),
                Decision::Stop(reason) => return (begun, reason),
            }
        }
    }

    fn seconds(begun: &[Duration]) -> Vec<f64> {
        begun.iter().map(Duration::as_secs_f64).collect()
    }

    #[test]
    fn waits_double_between_attempts_that_take_no_time() {
        let (begun, reason) = run(PLAIN.max_attempts(4), Duration::ZERO, 0);
        assert_eq!(seconds(&begun), [0.0, 1.0, 3.0, 7.0]);
        assert_eq!(reason, StopReason::Attempts);
    }

    #[test]
    fn a_deadline_ends_it_before_the_wait_that_would_pass_it() {
        // 1 + 2 + 4 end exactly at the deadline; a wait may end there.
        let (begun, reason) = run(PLAIN.deadline(7 * SECOND), Duration::ZERO, 0);
        assert_eq!(seconds(&begun), [0.0, 1.0, 3.0, 7.0]);
        assert_eq!(reason, StopReason::Deadline);
        let almost = 7 * SECOND - Duration::from_nanos(1);
        let (begun, _) = run(PLAIN.deadline(almost), Duration::ZERO, 0);
        assert_eq!(seconds(&begun), [0.0, 1.0, 3.0]);
    }

    #[test]
    fn a_deadline_counts_the_attempts_time_too() {
        // 4 + 1 + 4 + 2 + 4 = 15; the next wait of 4 s would end at 19.
        let (begun, reason) = run(PLAIN.deadline(18 * SECOND), 4 * SECOND, 0);
        assert_eq!(seconds(&begun), [0.0, 5.0, 11.0]);
        assert_eq!(reason, StopReason::Deadline);
    }

    #[test]
    fn an_attempt_longer_than_the_deadline_is_the_last() {
        let (begun, reason) = run(PLAIN.deadline(300 * SECOND), 3_600 * SECOND, 0);
        assert_eq!(begun.len(), 1);
        assert_eq!(reason, StopReason::Deadline);
    }

    #[test]
    fn a_deadline_shorter_than_the_first_wait_means_no_retry() {
        for deadline in [Duration::ZERO, SECOND / 2] {
            let (begun, reason) = run(PLAIN.deadline(deadline), Duration::ZERO, 0);
            assert_eq!((begun.len(), reason), (1, StopReason::Deadline));
        }
    }

    #[test]
    fn one_attempt_means_no_retry_and_asks_for_nothing() {
        let policy = PLAIN.max_attempts(1);
        let mut retry = RetryState::start(&policy, || unreachable!("no clock without a deadline"));
        let decision = retry.failed(&policy, true, || unreachable!(), || unreachable!());
        assert_eq!(decision, Decision::Stop(StopReason::Attempts));
    }

    #[test]
    fn the_longer_one_of_hint_and_backoff_is_waited() {
        let decide = |hint| {
            let mut retry = RetryState::start(&PLAIN, || Duration::ZERO);
            retry.failed(&PLAIN, hinted(hint), || Duration::ZERO, || 0)
        };
        let wait = |delay, source| Decision::Wait(Wait { delay, source });
        assert_eq!(decide(3 * SECOND), wait(3 * SECOND, WaitSource::RetryAfter));
        assert_eq!(decide(SECOND / 2), wait(SECOND, WaitSource::Backoff));
        assert_eq!(decide(SECOND), wait(SECOND, WaitSource::Backoff));
        assert_eq!(decide(Duration::ZERO), wait(SECOND, WaitSource::Backoff));
    }

    #[test]
    fn a_hint_does_not_pass_a_limit() {
        let decide = |policy: Policy, hint| {
            let mut retry = RetryState::start(&policy, || Duration::ZERO);
            retry.failed(&policy, hinted(hint), || Duration::ZERO, || 0)
        };
        let too_long = Decision::Stop(StopReason::RetryAfter);
        let timed = PLAIN.deadline(10 * SECOND);
        assert_eq!(decide(timed, 11 * SECOND), too_long);
        assert_eq!(decide(timed, Duration::MAX), too_long);
        assert!(matches!(decide(timed, 10 * SECOND), Decision::Wait(_)));
        let patient = PLAIN.max_retry_after(5 * SECOND);
        assert_eq!(decide(patient, 6 * SECOND), too_long);
        assert!(matches!(decide(patient, 5 * SECOND), Decision::Wait(_)));
        assert_eq!(
            decide(PLAIN.max_attempts(1), SECOND),
            Decision::Stop(StopReason::Attempts)
        );
    }

    #[test]
    fn without_a_deadline_a_hint_of_a_thousand_years_is_not_believed() {
        let mut retry = RetryState::start(&PLAIN, || unreachable!());
        let thousand_years = Duration::from_secs(1_000 * 365 * 86_400);
        let decision = retry.failed(&PLAIN, hinted(thousand_years), || unreachable!(), || 0);
        assert_eq!(decision, Decision::Stop(StopReason::RetryAfter));
    }

    #[test]
    fn what_is_permanent_or_refused_stops_at_once() {
        for (verdict, reason) in [
            (Verdict::Permanent, StopReason::Permanent),
            (Verdict::StoppedByServer, StopReason::StoppedByServer),
        ] {
            let mut retry = RetryState::start(&PLAIN, || unreachable!());
            let decision = retry.failed(&PLAIN, verdict, || unreachable!(), || unreachable!());
            assert_eq!(decision, Decision::Stop(reason));
            assert_eq!(retry.failures(), 1);
        }
    }

    #[test]
    fn decorrelated_waits_grow_from_the_last_one() {
        let policy = Policy::exponential()
            .jitter(Jitter::Decorrelated)
            .max_attempts(6);
        let (begun, _) = run(policy, Duration::ZERO, u64::MAX);
        // 3, 9, 27, then the cap of 64 twice.
        assert_eq!(seconds(&begun), [0.0, 3.0, 12.0, 39.0, 103.0, 167.0]);
    }

    #[test]
    fn decorrelated_waits_are_kept_to_the_nanosecond_for_18_minutes() {
        let cap = Duration::from_nanos((1 << 40) - 1);
        let policy = Policy::exponential()
            .jitter(Jitter::Decorrelated)
            .max_backoff(cap);
        for random in [1, 1 << 20, 1 << 40, 1 << 63, u64::MAX] {
            let mut retry = RetryState::start(&policy, || unreachable!());
            let mut previous = Duration::ZERO;
            for n in 0..4 {
                let expected = policy.backoff(n, previous, random);
                let decision = retry.failed(&policy, true, || unreachable!(), || random);
                let wait = Wait {
                    delay: expected,
                    source: WaitSource::Backoff,
                };
                assert_eq!(decision, Decision::Wait(wait));
                previous = expected;
            }
        }
    }

    #[test]
    fn without_a_cap_decorrelated_waits_grow_as_the_schedule_says() {
        let policy = Policy::exponential()
            .base(Duration::from_millis(1))
            .max_backoff(Duration::MAX)
            .jitter(Jitter::Decorrelated)
            .max_attempts(20);
        let (begun, _) = run(policy, Duration::ZERO, u64::MAX);
        for (pair, planned) in begun.windows(2).zip(policy.schedule()) {
            let (waited, planned) = (pair[1] - pair[0], planned.greatest);
            assert!(
                waited.abs_diff(planned) <= planned / 1_000_000_000,
                "{waited:?} {planned:?}"
            );
        }
    }

    #[test]
    fn an_algorithm_of_ones_own_sees_the_wait_before() {
        let day = Duration::from_secs(86_400);
        let delays = crate::delay::Decorrelated::new(600 * SECOND, day);
        let mut retry = RetryState::start(&PLAIN, || unreachable!());
        for seconds in [1_800, 5_400, 16_200] {
            let decision = retry.failed_with(&PLAIN, true, || unreachable!(), || u64::MAX, &delays);
            let Decision::Wait(wait) = decision else {
                panic!("{decision:?}")
            };
            assert_eq!(wait.delay.as_secs_f64().round() as u64, seconds);
        }
    }

    #[test]
    fn a_conflict_is_not_paid_for_and_gives_nothing_back() {
        static BUDGET: crate::Budget = crate::Budget::aws().starting_with(100);
        let policy = PLAIN.budget(&BUDGET);
        let conflict = Verdict::Retry {
            kind: FaultKind::Conflict,
            retry_after: None,
        };
        let mut retry = RetryState::start(&policy, || unreachable!());
        let _ = retry.failed(&policy, conflict, || unreachable!(), || 0);
        retry.succeeded(&policy);
        assert_eq!(BUDGET.tokens(), 101.0);
        let mut retry = RetryState::start(&policy, || unreachable!());
        let _ = retry.failed(&policy, hinted(Duration::ZERO), || unreachable!(), || 0);
        assert_eq!(BUDGET.tokens(), 96.0);
        let _ = retry.failed(&policy, conflict, || unreachable!(), || 0);
        retry.succeeded(&policy);
        assert_eq!(BUDGET.tokens(), 101.0);
    }

    #[test]
    fn slack_limits_a_hint_before_the_longest_hint_does() {
        let policy = PLAIN.retry_after_slack(5 * SECOND);
        let decide = |policy: Policy| {
            let mut retry = RetryState::start(&policy, || Duration::ZERO);
            retry.failed(&policy, hinted(7_200 * SECOND), || Duration::ZERO, || 0)
        };
        let six = Decision::Wait(Wait {
            delay: 6 * SECOND,
            source: WaitSource::RetryAfter,
        });
        assert_eq!(decide(policy), six);
        assert_eq!(decide(policy.spread_retry_after(true)), six);
        let short = policy.max_retry_after(5 * SECOND);
        assert_eq!(decide(short), Decision::Stop(StopReason::RetryAfter));
    }

    #[test]
    fn who_made_the_wait_too_long_is_told_apart() {
        let policy = PLAIN
            .base(6 * SECOND)
            .spread_retry_after(true)
            .deadline(10 * SECOND);
        let stop = |hint| {
            let mut retry = RetryState::start(&policy, || Duration::ZERO);
            retry.failed(&policy, hinted(hint), || Duration::ZERO, || 0)
        };
        assert_eq!(stop(7 * SECOND), Decision::Stop(StopReason::Deadline));
        assert_eq!(stop(11 * SECOND), Decision::Stop(StopReason::RetryAfter));
    }

    #[test]
    fn a_million_retries_without_a_wait_end() {
        let policy = PLAIN.base(Duration::ZERO).max_attempts(1_000_000);
        let (begun, reason) = run(policy, Duration::ZERO, 0);
        assert_eq!((begun.len(), reason), (1_000_000, StopReason::Attempts));
    }

    #[test]
    fn counting_ends_but_a_limit_above_the_end_still_holds() {
        let policy = PLAIN.max_attempts(u32::MAX);
        let mut retry = RetryState::start(&policy, || unreachable!());
        retry.packed.set_failures(u64::from(MOST_ATTEMPTS - 1));
        let decision = retry.failed(&policy, true, || unreachable!(), || 0);
        assert_eq!(decision, Decision::Stop(StopReason::Attempts));
        assert_eq!(retry.failures(), MOST_ATTEMPTS);

        let by_time = PLAIN.deadline(SECOND * 1_000);
        let mut retry = RetryState::start_at(Duration::ZERO);
        retry.packed.set_failures(MOST_ATTEMPTS.into());
        let decision = retry.failed(&by_time, true, || Duration::ZERO, || 0);
        assert!(matches!(decision, Decision::Wait(_)));
        assert_eq!(retry.failures(), MOST_ATTEMPTS);
    }

    #[test]
    fn a_clock_that_goes_back_has_not_moved() {
        let retry = RetryState::start_at(10 * SECOND);
        assert_eq!(retry.elapsed(|| 9 * SECOND), Duration::ZERO);
        assert_eq!(retry.elapsed(|| 12 * SECOND), 2 * SECOND);
    }

    #[test]
    fn a_deadline_of_more_than_a_year_counts_as_a_year() {
        let day = 86_400 * SECOND;
        let ten_days = PLAIN.base(10 * day).factor(1.0).max_backoff(10 * day);
        for policy in [
            ten_days.deadline(500 * day),
            ten_days.deadline(Duration::MAX),
            Policy::constant(day)
                .jitter(Jitter::None)
                .deadline(50 * day)
                .scaled(10.0)
                .max_backoff(10 * day),
        ] {
            let (begun, reason) = run(policy.max_attempts(1_000), Duration::ZERO, 0);
            assert_eq!((begun.len(), reason), (37, StopReason::Deadline));
        }
    }

    #[test]
    fn any_origin_of_the_clock_will_do() {
        let policy = PLAIN.deadline(10 * SECOND);
        for origin in [
            Duration::ZERO,
            Duration::from_nanos(u64::MAX - 7),
            Duration::MAX / 3,
        ] {
            let mut retry = RetryState::start(&policy, || origin);
            assert_eq!(retry.elapsed(|| origin + 3 * SECOND), 3 * SECOND);
            let late = retry.failed(&policy, true, || origin + 1_000 * SECOND, || 0);
            assert_eq!(late, Decision::Stop(StopReason::Deadline));
        }
        let year = Duration::from_secs(365 * 86_400);
        assert_eq!(RetryState::start_at(SECOND).elapsed(|| SECOND + year), year);
    }

    #[test]
    fn a_hint_shorter_than_the_own_wait_ends_nothing() {
        let policy = PLAIN.base(60 * SECOND).max_retry_after(5 * SECOND);
        let mut retry = RetryState::start(&policy, || unreachable!());
        let decision = retry.failed(&policy, hinted(6 * SECOND), || unreachable!(), || 0);
        let wait = Wait {
            delay: 60 * SECOND,
            source: WaitSource::Backoff,
        };
        assert_eq!(decision, Decision::Wait(wait));
    }

    #[test]
    fn an_attempt_knows_what_remains() {
        let policy = PLAIN.deadline(10 * SECOND);
        let mut retry = RetryState::start(&policy, || SECOND);
        let first = retry.attempt(&policy, ID, || SECOND);
        assert_eq!(
            (first.number(), first.elapsed(), first.remaining()),
            (1, Duration::ZERO, 10 * SECOND)
        );
        let _ = retry.failed(&policy, true, || 3 * SECOND, || 0);
        let second = retry.attempt(&policy, ID, || 4 * SECOND);
        assert_eq!(
            (second.number(), second.elapsed(), second.remaining()),
            (2, 3 * SECOND, 7 * SECOND)
        );
        assert_eq!(
            retry.attempt(&policy, ID, || 20 * SECOND).remaining(),
            Duration::ZERO
        );
        let endless = RetryState::start(&PLAIN, || unreachable!());
        assert_eq!(
            endless.attempt(&PLAIN, ID, || unreachable!()).remaining(),
            Duration::MAX
        );
    }

    #[test]
    fn the_state_is_small() {
        assert_eq!(size_of::<RetryState>(), 15);
    }

    proptest! {
        #[test]
        fn no_attempt_begins_after_the_deadline(
            deadline in 0u64..100_000_000_000,
            base in 1u64..10_000_000_000,
            attempt in 0u64..10_000_000_000,
            jitter in prop_oneof![
                Just(Jitter::None), Just(Jitter::Full), Just(Jitter::Equal),
                Just(Jitter::Decorrelated), Just(Jitter::Additive(SECOND)),
            ],
            random: u64,
            hint in prop_oneof![Just(0), any::<u64>()],
            started in 0u64..1 << 60,
        ) {
            let deadline = Duration::from_nanos(deadline);
            let policy = Policy::exponential()
                .base(Duration::from_nanos(base))
                .jitter(jitter)
                .deadline(deadline)
                .max_attempts(50);
            let now = Cell::new(Duration::from_nanos(started));
            let mut retry = RetryState::start(&policy, || now.get());
            for made in 1.. {
                now.set(now.get() + Duration::from_nanos(attempt));
                let hint = hinted(Duration::from_nanos(hint));
                match retry.failed(&policy, hint, || now.get(), || random) {
                    Decision::Wait(wait) => now.set(now.get() + wait.delay),
                    Decision::Stop(_) => break,
                }
                prop_assert!(now.get() - Duration::from_nanos(started) <= deadline);
                prop_assert!(made < 50);
            }
        }
    }
}
