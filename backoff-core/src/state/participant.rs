//! Calls that share their attempts. One [`RetryState`] has the waits and the budget of all; each call has
//! a [`Participant`], with the limits of this call alone.

use super::{Decision, RetryState, Rules};
use crate::{
    delay::Pace,
    judge::Verdict,
    policy::{MOST_ATTEMPTS, NEVER, Policy},
    report::StopReason,
    runtime::nanos,
};
use core::time::Duration;

/// One of the calls that share their attempts: its start, its failures and its limits.
#[derive(Clone, Copy)]
pub(crate) struct Participant {
    retry: RetryState,
    /// A deadline beside that of the policy.
    deadline: Option<Duration>,
    /// 0: the policy's number of attempts.
    attempts: u32,
    /// The number of conflicts whose wait was the pace's.
    paced: u32,
}

/// The limits of several calls together, instead of those of their policy: attempts are made until the deadline,
/// counted from the start; without one, no further attempt is made.
pub(crate) struct Together {
    pub(crate) policy: Policy,
    pace: Pace,
    deadline: Option<Duration>,
}

impl Together {
    pub(crate) fn new(policy: &Policy, pace: Pace, deadline: Option<Duration>) -> Self {
        let mut policy = *policy;
        policy.deadline = NEVER;
        Together {
            policy,
            pace,
            deadline,
        }
    }

    pub(crate) fn rules(&self) -> Rules<'_> {
        let mut rules = Rules::of(&self.policy);
        rules.keep_pace(&self.pace);
        rules.cuts = true;
        rules.attempts = if self.deadline.is_some() {
            MOST_ATTEMPTS
        } else {
            1
        };
        rules.deadline = self.deadline.map_or(NEVER, nanos);
        rules
    }
}

impl Participant {
    /// A call that has not begun.
    pub(crate) const fn new() -> Self {
        Participant {
            retry: RetryState::UNTIMED,
            deadline: None,
            attempts: 0,
            paced: 0,
        }
    }

    /// Limits the time of the call.
    pub(crate) fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = Some(
            self.deadline
                .map_or(deadline, |before| before.min(deadline)),
        );
    }

    /// Sets the number of attempts.
    pub(crate) const fn set_attempts(&mut self, attempts: u32) {
        self.attempts = attempts;
    }

    /// The rules of this call. The call is cut at its deadline.
    fn rules<'a>(&self, policy: &'a Policy) -> Rules<'a> {
        let mut rules = Rules::of(policy);
        rules.cuts = true;
        if let Some(deadline) = self.deadline {
            rules.limit(deadline);
        }
        match self.attempts {
            0 => rules.count_paced(self.paced),
            set => rules.attempts = set,
        }
        rules
    }

    /// The call begins. The clock is read only if the call has a deadline.
    pub(crate) fn start(&mut self, policy: &Policy, now: impl FnOnce() -> Duration) {
        if self.rules(policy).deadline != NEVER {
            self.retry = RetryState::start_at(now());
        }
    }

    /// Whether the call needs the time.
    pub(crate) fn is_timed(&self) -> bool {
        self.retry.is_timed()
    }

    /// The time since the start; zero if the start was not timed.
    pub(crate) fn elapsed(&self, now: Duration) -> Duration {
        self.retry.elapsed(|| now)
    }

    /// The rest of the deadline; [`Duration::MAX`] without a deadline.
    pub(crate) fn remaining(&self, policy: &Policy, now: impl FnOnce() -> Duration) -> Duration {
        self.retry.remaining_under(&self.rules(policy), now)
    }

    /// A shared attempt has failed. `is_paced`: a pace gives the wait.
    pub(crate) fn failed(&mut self, is_paced: bool) {
        self.retry.ended();
        self.paced += u32::from(is_paced);
    }

    /// How long the call may go on after a failure; `None` if its attempts are used up.
    pub(crate) fn patience(&self, policy: &Policy, now: Duration) -> Option<Duration> {
        let has_attempts = self.retry.failures() < self.rules(policy).attempts;
        has_attempts.then(|| self.remaining(policy, || now))
    }

    /// The next step of this call after a shared attempt has failed. `verdict` is the verdict for this
    /// call, and `together` the next step of all calls together.
    pub(crate) fn decide(
        &self,
        policy: &Policy,
        verdict: Verdict,
        together: Decision,
        now: Duration,
    ) -> Decision {
        if verdict == Verdict::MaybeApplied {
            return Decision::Stop(StopReason::MaybeApplied);
        }
        if !together.is_wait() {
            return together;
        }
        if self.patience(policy, now).is_none() {
            return Decision::Stop(StopReason::Attempts);
        }
        let rules = self.rules(policy);
        let passes = self.retry.passes(&rules, together, verdict.hint(), now);
        passes.map_or(together, Decision::Stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{facts::fault::FaultKind, judge::Verdict, state::WaitSource};

    const SECOND: Duration = Duration::from_secs(1);
    const POLICY: Policy = Policy::exponential().max_attempts(2);
    const WAIT: Decision = Decision::after(1_000_000_000, WaitSource::Backoff);

    fn verdict(hint: Option<Duration>) -> Verdict {
        let kind = FaultKind::Throttled;
        let retry_after = hint;
        Verdict::Retry { kind, retry_after }
    }

    /// A call that began at 10 s.
    fn begun(policy: &Policy, configure: impl FnOnce(&mut Participant)) -> Participant {
        let mut participant = Participant::new();
        configure(&mut participant);
        participant.start(policy, || 10 * SECOND);
        participant
    }

    #[test]
    fn a_call_with_attempts_and_time_waits_with_the_others() {
        let mut patient = begun(&POLICY, |call| call.set_deadline(4 * SECOND));
        patient.failed(false);
        let decided = patient.decide(&POLICY, verdict(None), WAIT, 12 * SECOND);
        assert_eq!(decided, WAIT);
        assert_eq!(patient.patience(&POLICY, 12 * SECOND), Some(2 * SECOND));
    }

    #[test]
    fn a_call_ends_by_the_ruling_by_the_others_and_by_its_own_limits_in_this_order() {
        use StopReason::{Attempts, Budget, Deadline, MaybeApplied, RetryAfter};
        let failing = |seconds: u32, failures| {
            let mut call = begun(&POLICY, |call| call.set_deadline(seconds * SECOND));
            (0..failures).for_each(|_| call.failed(false));
            call
        };
        let (asked, plain) = (verdict(Some(SECOND)), verdict(None));
        let [one, two] =
            [1, 2].map(|seconds| Decision::after(seconds * 1_000_000_000, WaitSource::RetryAfter));
        let (budget, unsure) = (Decision::Stop(Budget), Verdict::MaybeApplied);
        for (seconds, failures, verdict, next, reason) in [
            // The wait ends exactly at the deadline, at which the call is cut.
            (3, 1, plain, WAIT, Deadline),
            (3, 1, asked, one, RetryAfter),
            // The server asked for a second; the rest of the wait is the policy's.
            (4, 1, asked, two, Deadline),
            (3, 2, plain, WAIT, Attempts),
            (3, 2, plain, budget, Budget),
            (3, 2, unsure, budget, MaybeApplied),
        ] {
            let call = failing(seconds, failures);
            let decided = call.decide(&POLICY, verdict, next, 12 * SECOND);
            assert_eq!(decided, Decision::Stop(reason));
        }
        assert_eq!(failing(3, 2).patience(&POLICY, 12 * SECOND), None);
    }

    #[test]
    fn conflicts_at_a_pace_use_up_the_attempts_later() {
        let policy = Policy::exponential();
        let failures = |is_paced| {
            let mut call = begun(&policy, |_| ());
            let fails = (1..).find(|_| {
                call.failed(is_paced);
                call.patience(&policy, SECOND).is_none()
            });
            fails.unwrap()
        };
        assert_eq!((failures(false), failures(true)), (policy.attempts(), 100));
    }

    #[test]
    fn the_clock_is_read_only_for_a_deadline() {
        let mut call = Participant::new();
        call.start(&POLICY, || unreachable!());
        assert_eq!(call.remaining(&POLICY, || unreachable!()), Duration::MAX);
        call.set_deadline(9 * SECOND);
        call.start(&POLICY, || SECOND);
        assert_eq!(call.elapsed(3 * SECOND), 2 * SECOND);
    }

    #[test]
    fn the_limits_of_all_calls_together_replace_those_of_the_policy() {
        let policy = POLICY.max_attempts(1).deadline(SECOND);
        let decide = |deadline: Option<Duration>| {
            let together = Together::new(&policy, Pace::new(), deadline);
            let rules = together.rules();
            let mut retry = RetryState::start_at(Duration::ZERO);
            let next = retry.decide(&rules, verdict(None), || 2 * SECOND, || u64::MAX);
            next.reason()
        };
        assert_eq!(decide(None), Some(StopReason::Attempts));
        assert_eq!(decide(Some(3 * SECOND)), Some(StopReason::Deadline));
        assert_eq!(decide(Some(4 * SECOND)), None);
        assert_eq!(decide(Some(Duration::MAX)), None);
    }

    /// The number of attempts of a policy with a deadline is the greatest one.
    #[test]
    fn conflicts_at_a_pace_do_not_add_to_attempts_without_a_limit() {
        let policy = Policy::exponential().deadline(SECOND);
        let mut pace = Pace::new();
        pace.read(Duration::ZERO, false);
        pace.failed(FaultKind::Conflict, || SECOND);
        assert!(pace.kept() > 0);
        let together = Together::new(&policy, pace, Some(3 * SECOND));
        assert_eq!(together.rules().attempts, MOST_ATTEMPTS);
    }
}
