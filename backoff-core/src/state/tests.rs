//! The decisions of a [`RetryState`], with a clock and random numbers that the tests state.

use super::*;
use crate::{delay::jitter::Jitter, facts::fault::FaultKind, report::StopReason};
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
