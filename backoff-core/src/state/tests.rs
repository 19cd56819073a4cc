//! The decisions of a [`RetryState`], with a clock and random numbers that the tests state.

use super::*;
use crate::{delay::jitter::Jitter, facts::fault::FaultKind, report::StopReason};
use core::cell::Cell;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);
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

/// The decision after the first failure, at the time zero.
fn first(policy: Policy, verdict: Verdict) -> Decision {
    let mut retry = RetryState::start(&policy, || Duration::ZERO);
    retry.failed(&policy, verdict, || Duration::ZERO, || 0)
}

const fn wait(delay: Duration, source: WaitSource) -> Decision {
    Decision::Wait(Wait { delay, source })
}

fn no_clock() -> Duration {
    unreachable!("nobody needs the time")
}

#[test]
fn a_call_begins_its_attempts_at_these_times_and_ends_for_this_reason() {
    use StopReason::{Attempts, Deadline};
    let timed = |deadline| PLAIN.deadline(deadline);
    let almost = 7 * SECOND - Duration::from_nanos(1);
    let decorrelated = PLAIN.jitter(Jitter::Decorrelated).max_attempts(6);
    for (policy, attempt, begun, reason) in [
        (PLAIN.max_attempts(4), 0, &[0, 1, 3, 7][..], Attempts),
        // 1 + 2 + 4 end exactly at the deadline; a wait may end there.
        (timed(7 * SECOND), 0, &[0, 1, 3, 7], Deadline),
        (timed(almost), 0, &[0, 1, 3], Deadline),
        // 4 + 1 + 4 + 2 + 4 = 15; the next wait of 4 s would end at 19.
        (timed(18 * SECOND), 4, &[0, 5, 11], Deadline),
        (timed(300 * SECOND), 3_600, &[0], Deadline),
        (timed(SECOND / 2), 0, &[0], Deadline),
        (timed(Duration::ZERO), 0, &[0], Deadline),
        // 3, 9, 27, then the cap of 64 twice.
        (decorrelated, 0, &[0, 3, 12, 39, 103, 167], Attempts),
    ] {
        let seconds: Vec<_> = begun.iter().map(|seconds| *seconds * SECOND).collect();
        let ran = run(policy, attempt * SECOND, u64::MAX);
        assert_eq!(ran, (seconds, reason), "{policy}");
    }
}

#[test]
fn what_stops_at_once_reads_no_clock_and_draws_nothing() {
    let once = PLAIN.max_attempts(1);
    for (policy, verdict, reason) in [
        (once, Verdict::from(true), StopReason::Attempts),
        (PLAIN, Verdict::Permanent, StopReason::Permanent),
        (PLAIN, Verdict::StoppedByServer, StopReason::StoppedByServer),
    ] {
        let mut retry = RetryState::start(&policy, no_clock);
        let decision = retry.failed(&policy, verdict, no_clock, || unreachable!());
        assert_eq!(decision, Decision::Stop(reason));
        assert_eq!(retry.failures(), 1);
    }
}

#[test]
fn a_hint_is_waited_for_within_the_limits() {
    let asked = |seconds: u32| wait(seconds * SECOND, WaitSource::RetryAfter);
    let own = |seconds: u32| wait(seconds * SECOND, WaitSource::Backoff);
    let refused = Decision::Stop(StopReason::RetryAfter);
    let timed = PLAIN.deadline(10 * SECOND);
    let patient = PLAIN.max_retry_after(5 * SECOND);
    let slack = PLAIN.retry_after_slack(5 * SECOND);
    let hours = [
        PLAIN.deadline(3_600 * SECOND),
        PLAIN.max_retry_after(3_600 * SECOND),
    ];
    let slow = timed.base(6 * SECOND).spread_retry_after(true);
    let alone = PLAIN.throttled_base(60 * SECOND).retry_after_alone(true);
    let endless = PLAIN.max_attempts(Policy::UNLIMITED);
    let [late, used_up] = [StopReason::Deadline, StopReason::Attempts].map(Decision::Stop);
    for (policy, hint, expected) in [
        // The longer one of hint and backoff.
        (PLAIN, 3_000, asked(3)),
        (PLAIN, 500, own(1)),
        (PLAIN, 1_000, own(1)),
        (PLAIN, 0, own(1)),
        // The deadline, the longest hint, the attempts.
        (timed, 11_000, refused),
        (timed, u64::MAX, refused),
        (timed, 10_000, asked(10)),
        (patient, 6_000, refused),
        (patient, 5_000, asked(5)),
        (PLAIN.max_attempts(1), 1_000, used_up),
        // More than five minutes need a word of the policy or a deadline. A limit that was not set is not scaled.
        (PLAIN, 300_000, asked(300)),
        (PLAIN, 300_001, refused),
        (PLAIN.scaled(100.0), 300_001, refused),
        (hours[0], 3_599_000, asked(3_599)),
        (hours[0], 3_601_000, refused),
        (hours[1], 3_599_000, asked(3_599)),
        (hours[1], 3_601_000, refused),
        // A hint that is too long, and shorter than the own wait.
        (patient.base(60 * SECOND), 6_000, own(60)),
        // A thousand years are not believed.
        (PLAIN, 1_000 * 365 * 86_400_000, refused),
        // Slack limits a hint before the longest hint does.
        (slack, 7_200_000, asked(6)),
        (slack.spread_retry_after(true), 7_200_000, asked(6)),
        (slack.max_retry_after(5 * SECOND), 7_200_000, refused),
        // In place of the backoff, but at least the first wait.
        (alone, 7_000, asked(7)),
        (alone, 1_000, own(1)),
        (alone, 0, own(1)),
        (alone.spread_retry_after(true), 7_000, asked(8)),
        (alone.retry_after_slack(5 * SECOND), 7_000, asked(6)),
        // A call that never ends shortens the hint.
        (endless, 86_400_000, asked(300)),
        (endless.max_retry_after(5 * SECOND), 86_400_000, asked(5)),
        (endless.deadline(10 * SECOND), 86_400_000, refused),
        // The reason says whether the backoff or the hint is too long.
        (slow, 7_000, late),
        (slow, 11_000, refused),
    ] {
        let decision = first(policy, hinted(Duration::from_millis(hint)));
        assert_eq!(decision, expected, "{hint} ms: {policy}");
    }
}

#[test]
fn decorrelated_waits_without_a_cap_are_kept_within_a_millisecond_or_a_thousandth() {
    let policy = PLAIN.jitter(Jitter::Decorrelated).max_attempts(19);
    let policy = policy.max_backoff(Duration::MAX);
    for random in [1, 1 << 20, 1 << 40, 1 << 63, u64::MAX] {
        let mut retry = RetryState::start(&policy, no_clock);
        let mut previous = Duration::ZERO;
        // Up to 12 years.
        for n in 0..18 {
            let expected = policy.backoff(n, previous, random);
            let decision = retry.failed(&policy, true, no_clock, || random);
            assert!(decision.wait().abs_diff(expected) <= expected / 1_000);
            previous = decision.wait();
        }
    }
}

#[test]
fn waits_that_are_not_known_are_drawn_again() {
    let policy = PLAIN.jitter(Jitter::Decorrelated).max_backoff(64 * SECOND);
    // Each wait is at least the base, and at most three times the wait before it.
    for (random, waits) in [(0, [1, 1, 1, 1]), (u64::MAX, [3, 9, 27, 64])] {
        for (failures, seconds) in (0..).zip(waits) {
            let mut retry = RetryState::resumed(Duration::ZERO, failures);
            retry.draw_waits(&policy, || random);
            let decision = retry.failed(&policy, true, no_clock, || random);
            assert_eq!(decision, wait(seconds * SECOND, WaitSource::Backoff));
        }
    }
    // Nothing is drawn for other policies, and no number of failures takes long.
    let mut retry = RetryState::resumed(Duration::ZERO, u32::MAX);
    retry.draw_waits(&Policy::exponential(), || unreachable!());
    let draws = Cell::new(0);
    retry.draw_waits(&policy, || draws.replace(draws.get() + 1));
    assert_eq!(draws.get(), 64);
}

#[test]
fn an_algorithm_of_ones_own_sees_the_wait_before() {
    let day = Duration::from_secs(86_400);
    let delays = crate::delay::Decorrelated::new(600 * SECOND, day);
    let mut retry = RetryState::start(&PLAIN, no_clock);
    for seconds in [1_800, 5_400, 16_200] {
        let decision = retry.failed_with(&PLAIN, true, no_clock, || u64::MAX, &delays);
        assert_eq!(decision.wait().as_secs_f64().round() as u64, seconds);
    }
}

#[test]
fn a_conflict_takes_no_tokens_and_gives_none_back() {
    static BUDGET: crate::Budget = crate::Budget::aws().starting_with(100);
    let policy = PLAIN.budget(&BUDGET);
    let (kind, retry_after) = (FaultKind::Conflict, None);
    let (conflict, throttled) = (Verdict::Retry { kind, retry_after }, hinted(Duration::ZERO));
    // The tokens after these failures, and after the success that follows.
    for (failures, left, given_back) in [
        (&[conflict][..], 100.0, 101.0),
        (&[throttled], 96.0, 101.0),
        (&[throttled, conflict], 96.0, 101.0),
    ] {
        let mut retry = RetryState::start(&policy, no_clock);
        for failure in failures {
            let _ = retry.failed(&policy, *failure, no_clock, || 0);
        }
        assert_eq!(BUDGET.tokens(), left, "{failures:?}");
        retry.succeeded(&policy);
        assert_eq!(BUDGET.tokens(), given_back, "{failures:?}");
    }
}

/// Whatever is the last failure ends the loop.
#[test]
fn a_failure_of_the_last_attempt_is_final() {
    let timed = PLAIN.deadline(2 * SECOND);
    for (policy, failures, seconds, is_last) in [
        (PLAIN.max_attempts(2), 0, 9, false),
        (PLAIN.max_attempts(2), 1, 0, true),
        (PLAIN.max_attempts(Policy::UNLIMITED), 99, 9, false),
        (timed, 0, 2, false),
        (timed, 0, 3, true),
    ] {
        let now = || seconds * SECOND;
        let mut retry = RetryState::resumed(Duration::ZERO, failures);
        assert_eq!(
            retry.is_last(&policy, now),
            is_last,
            "{failures} {seconds}: {policy}"
        );
        let decision = retry.failed(&policy, true, now, || 0);
        assert!(!is_last || matches!(decision, Decision::Stop(_)));
    }
}

#[test]
fn counting_ends_but_a_limit_above_the_end_still_holds() {
    let policy = PLAIN.max_attempts(1_000_000);
    let mut retry = RetryState::start(&policy, no_clock);
    retry.set_failures(MOST_ATTEMPTS - 1);
    let decision = retry.failed(&policy, true, no_clock, || 0);
    assert_eq!(decision, Decision::Stop(StopReason::Attempts));
    assert_eq!(retry.failures(), MOST_ATTEMPTS);

    let unlimited = PLAIN.max_attempts(Policy::UNLIMITED);
    for policy in [PLAIN.deadline(SECOND * 1_000), unlimited] {
        let mut retry = RetryState::start_at(Duration::ZERO);
        retry.set_failures(MOST_ATTEMPTS);
        let decision = retry.failed(&policy, true, || Duration::ZERO, || 0);
        assert!(matches!(decision, Decision::Wait(_)));
        assert_eq!(retry.failures(), MOST_ATTEMPTS);
    }
}

#[test]
fn a_deadline_of_more_than_a_year_counts_as_a_year() {
    let day = 86_400 * SECOND;
    let ten_days = PLAIN.base(10 * day).factor(1.0).max_backoff(10 * day);
    for policy in [
        ten_days.deadline(500 * day),
        ten_days.deadline(Duration::MAX),
        PLAIN
            .factor(1.0)
            .base(day)
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
    let most = Duration::from_nanos(u64::MAX - 7);
    for origin in [SECOND, most, Duration::MAX / 3] {
        let mut retry = RetryState::start(&policy, || origin);
        assert_eq!(retry.elapsed(|| origin + 3 * SECOND), 3 * SECOND);
        // A clock that goes back has not moved.
        assert_eq!(retry.elapsed(|| origin - SECOND), Duration::ZERO);
        let late = retry.failed(&policy, true, || origin + 1_000 * SECOND, || 0);
        assert_eq!(late, Decision::Stop(StopReason::Deadline));
    }
    let year = Duration::from_secs(365 * 86_400);
    assert_eq!(RetryState::start_at(SECOND).elapsed(|| SECOND + year), year);
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
