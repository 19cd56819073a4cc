//! Reads that continue from their last progress: exact schedules, in virtual time. What they share with other calls,
//! such as signals and budgets, is in the tables of all forms.

use crate::common::at_once;
use backoff_core::{Budget, Event, Jitter, Policy, TimedOut, testing::VirtualTime};
use std::{cell::RefCell, time::Duration};

const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(3);
const SECOND: Duration = Duration::from_secs(1);
const LATE: TimedOut = TimedOut::new(SECOND);

/// When each attempt began, what the events said, and at last whether all was read. Each attempt reads so many pages,
/// each of which takes a second; the last one ends, and the others fail.
fn read_by(policy: &Policy, attempts: &[u32], is_blocking: bool) -> String {
    let (time, events) = (VirtualTime::new(), RefCell::new(Vec::new()));
    // What passes before the first failure does not count for a deadline.
    time.advance(3_600 * SECOND);
    let hook = |event: &Event<'_, TimedOut>| {
        events.borrow_mut().push(match event {
            Event::Waiting { attempt, .. } => attempt.to_string(),
            Event::GaveUp { reason, .. } => reason.name().to_owned(),
            Event::Succeeded { attempts, .. } => format!("after {attempts}"),
            _ => unreachable!("no other event"),
        });
    };
    let mut resuming = policy.resuming().notify(hook).runtime(time.clone());
    for (number, pages) in (1..).zip(attempts) {
        let begun = (time.elapsed() - 3_600 * SECOND).as_secs();
        events.borrow_mut().push(format!("at {begun}"));
        for _ in 0..*pages {
            time.advance(SECOND);
            resuming.progress();
        }
        if number == attempts.len() {
            break;
        }
        let goes_on = match is_blocking {
            true => resuming.failed_blocking(LATE),
            false => at_once(resuming.failed(LATE)),
        };
        if goes_on.is_err() {
            break;
        }
    }
    events.take().join(", ")
}

// Waits of 1 s and 2 s; two pages and 1 s; 2 s; a page and 1 s; a page and 1 s. 100 pages take longer than the
// deadline; after them there is time to wait for 1 s and 2 s, but not for 4 s more.
#[test]
fn after_progress_attempts_and_waits_and_the_deadline_begin_anew() {
    let deadline = POLICY.max_attempts(9).deadline(6 * SECOND);
    let rows: [(Policy, &[u32], &str); 3] = [
        (
            POLICY,
            &[0, 0, 2, 0, 1, 1, 3],
            "at 0, 1, at 1, 2, at 3, after 3, 1, at 6, 2, at 8, after 3, 1, at 10, after 2, 1, at 12, after 2",
        ),
        (
            POLICY,
            &[0, 0, 1, 0, 0, 0],
            "at 0, 1, at 1, 2, at 3, after 3, 1, at 5, 2, at 7, attempts",
        ),
        (
            deadline,
            &[0, 100, 0, 0, 0],
            "at 0, 1, at 1, after 2, 1, at 102, 2, at 104, deadline",
        ),
    ];
    for (policy, attempts, expected) in rows {
        for is_blocking in [false, true] {
            let told = read_by(&policy, attempts, is_blocking);
            assert_eq!(told, expected, "blocking: {is_blocking}");
        }
    }
}

#[test]
fn progress_gives_a_budget_its_tokens_back() {
    static BUDGET: Budget = Budget::aws();
    // 500 tokens allow 35 retries without progress.
    let told = read_by(&POLICY.budget(&BUDGET), &[1; 101], false);
    assert_eq!(told.matches("at ").count(), 101);
    assert_eq!(told.matches("after 2").count(), 100);
    assert_eq!(BUDGET.tokens(), 500.0);
}

#[test]
fn progress_after_a_failure_is_a_success_and_says_how_long_the_trouble_lasted() {
    let (time, events) = (VirtualTime::new(), RefCell::new(Vec::new()));
    let hook = |event: &Event<'_, TimedOut>| {
        if let Event::Succeeded {
            operation, elapsed, ..
        } = event
        {
            events.borrow_mut().push((*operation, *elapsed));
        }
    };
    let policy = POLICY.deadline(60 * SECOND);
    let mut resuming = policy.resuming().notify(hook).runtime(time.clone());
    time.advance(100 * SECOND);
    resuming.progress();
    time.advance(100 * SECOND);
    at_once(resuming.failed(LATE)).unwrap();
    time.advance(4 * SECOND);
    resuming.progress();
    resuming.progress();
    assert_eq!(events.take(), [("resuming", Some(5 * SECOND))]);
}

#[test]
fn what_was_given_up_is_told_once_until_progress() {
    let (time, events) = (VirtualTime::new(), RefCell::new(0));
    let hook = |_: &Event<'_, TimedOut>| *events.borrow_mut() += 1;
    let policy = POLICY.max_attempts(2);
    let mut resuming = policy.resuming().notify(hook).runtime(time.clone());
    at_once(resuming.failed(LATE)).unwrap();
    for _ in 0..2 {
        assert_eq!(at_once(resuming.failed(LATE)), Err(LATE));
        assert_eq!(resuming.failed_blocking(LATE), Err(LATE));
    }
    assert_eq!((time.waits().len(), *events.borrow()), (1, 2));
    // Progress is no success of what was given up.
    resuming.progress();
    assert_eq!(*events.borrow(), 2);
    at_once(resuming.failed(LATE)).unwrap();
    assert_eq!((time.waits().len(), *events.borrow()), (2, 3));
}

/// Nothing is silent about a rate or a breaker that the loop does not ask.
#[cfg(feature = "tracing")]
#[test]
fn a_rate_or_a_breaker_that_is_not_asked_is_a_warning() {
    use backoff_core::{Breaker, Rate};

    static RATE: Rate = Rate::new();
    static BREAKER: Breaker = Breaker::new();
    let warns = |policy: Policy| {
        let listened = crate::common::recorder::listening(|| {
            let mut resuming = policy.blocking_resuming().runtime(VirtualTime::new());
            assert!(resuming.failed_blocking(LATE).is_ok());
        });
        let mut logged = listened.logged.into_iter();
        logged.any(|line| line.starts_with("WARN `resuming` asks neither the rate nor the breaker"))
    };
    let policies = [POLICY.rate(&RATE), POLICY.breaker(&BREAKER), POLICY];
    assert_eq!(policies.map(warns), [true, true, false]);
    assert_eq!(policies.map(warns), [false; 3]);
}
