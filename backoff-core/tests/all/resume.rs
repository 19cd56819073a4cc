//! Reads that continue from their last progress: exact schedules, in virtual time.

use backoff_core::{Budget, Event, Fault, Jitter, Policy, TimedOut, testing::VirtualTime};
use std::{
    cell::RefCell,
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::time::Instant;

const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(3);
const SECOND: Duration = Duration::from_secs(1);

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("virtual time never waits"),
    }
}

/// How an attempt goes: it reads so many pages, each of which takes a second, and fails or ends.
type Attempt = (u32, bool);
const FAILS: bool = false;
const ENDS: bool = true;

/// When each attempt began, what the events said, and whether all was read.
#[derive(Debug, PartialEq)]
struct Told {
    begun: Vec<u64>,
    events: Vec<String>,
    ended: bool,
}

/// What becomes of attempts that go like this, in a loop that waits or in one that blocks.
fn read_by(policy: &Policy, attempts: &[Attempt], is_blocking: bool) -> Told {
    let (time, events) = (VirtualTime::new(), RefCell::new(Vec::new()));
    let hook = |event: &Event<'_, TimedOut>| {
        events.borrow_mut().push(match event {
            Event::Waiting { attempt, .. } => attempt.to_string(),
            Event::GaveUp { reason, .. } => reason.name().to_owned(),
            Event::Succeeded { attempts, .. } => format!("after {attempts}"),
            _ => unreachable!("no other event"),
        });
    };
    let mut resuming = policy.resuming().notify(hook).runtime(time.clone());
    let (mut begun, mut ended) = (Vec::new(), false);
    for (pages, ends) in attempts {
        begun.push(time.elapsed().as_secs());
        for _ in 0..*pages {
            time.advance(SECOND);
            resuming.progress();
        }
        if *ends {
            ended = true;
            break;
        }
        let error = TimedOut::new(SECOND);
        let goes_on = match is_blocking {
            true => resuming.failed_blocking(error),
            false => now(resuming.failed(error)),
        };
        if goes_on.is_err() {
            break;
        }
    }
    let events = events.into_inner();
    Told {
        begun,
        events,
        ended,
    }
}

fn read(policy: &Policy, attempts: &[Attempt]) -> Told {
    let told = read_by(policy, attempts, false);
    assert_eq!(told, read_by(policy, attempts, true));
    told
}

#[test]
fn after_progress_attempts_and_waits_begin_anew() {
    let told = read(
        &POLICY,
        &[
            (0, FAILS),
            (0, FAILS),
            (2, FAILS),
            (0, FAILS),
            (1, FAILS),
            (1, FAILS),
            (3, ENDS),
        ],
    );
    // Waits of 1 s and 2 s; two pages and 1 s; 2 s; a page and 1 s; a page and 1 s.
    assert_eq!(told.begun, [0, 1, 3, 6, 8, 10, 12]);
    assert_eq!(
        told.events,
        [
            "1", "2", "after 3", "1", "2", "after 3", "1", "after 2", "1", "after 2"
        ]
    );
    assert!(told.ended);
}

#[test]
fn progress_in_what_would_be_the_last_attempt_leaves_all_of_them() {
    let attempts = [(0, FAILS), (0, FAILS), (1, FAILS), (0, FAILS), (0, FAILS)];
    let told = read(&POLICY, &attempts);
    assert_eq!(told.begun, [0, 1, 3, 5, 7]);
    assert_eq!(told.events, ["1", "2", "after 3", "1", "2", "attempts"]);
}

#[test]
fn the_deadline_counts_from_the_first_failure_of_a_stretch() {
    let policy = POLICY.max_attempts(9).deadline(6 * SECOND);
    let attempts = [(0, FAILS), (100, FAILS), (0, FAILS), (0, FAILS), (0, FAILS)];
    let told = read(&policy, &attempts);
    // 100 pages take longer than the deadline. After them there is time to wait for 1 s and 2 s, but not for
    // 4 s more.
    assert_eq!(told.begun, [0, 1, 102, 104]);
    assert_eq!(told.events, ["1", "after 2", "1", "2", "deadline"]);
}

#[test]
fn a_deadline_does_not_count_what_passes_before_the_first_failure() {
    let policy = POLICY.deadline(6 * SECOND);
    let time = VirtualTime::new();
    let mut resuming = policy.resuming().runtime(time.clone());
    time.advance(3_600 * SECOND);
    assert_eq!(now(resuming.failed(TimedOut::new(SECOND))), Ok(()));
}

#[test]
fn progress_gives_a_budget_its_tokens_back() {
    static BUDGET: Budget = Budget::aws();
    let policy = POLICY.budget(&BUDGET);
    // 500 tokens allow 35 retries without progress.
    let told = read(&policy, &[(1, FAILS); 100]);
    assert_eq!(told.begun.len(), 100);
    let mut expected = ["1", "after 2"].repeat(100);
    expected.pop();
    assert_eq!(told.events, expected);
    // The last retry of each loop is open; the second loop began with a success.
    assert_eq!(BUDGET.tokens(), 500.0 - 14.0 + 1.0 - 14.0);
}

#[tokio::test(start_paused = true)]
async fn it_can_be_spawned_with_what_it_borrows() {
    async fn read_on(pages: &mut Vec<usize>, asked: &mut usize) -> Result<(), TimedOut> {
        *asked += 1;
        if *asked % 2 == 1 {
            return Err(TimedOut::new(SECOND));
        }
        pages.push(*asked);
        Ok(())
    }
    let began = Instant::now();
    let read = tokio::spawn(async {
        let (mut pages, mut asked) = (Vec::new(), 0);
        let mut resuming = POLICY.resuming();
        while pages.len() < 4 {
            match read_on(&mut pages, &mut asked).await {
                Ok(()) => resuming.progress(),
                Err(error) => resuming.failed(error).await?,
            }
        }
        Ok::<_, TimedOut>(pages)
    });
    assert_eq!(read.await.unwrap(), Ok(vec![2, 4, 6, 8]));
    assert_eq!(began.elapsed(), 4 * SECOND);
}

#[test]
fn progress_after_a_failure_is_a_success_and_says_how_long_the_trouble_lasted() {
    let (time, events) = (VirtualTime::new(), RefCell::new(Vec::new()));
    let policy = POLICY.deadline(60 * SECOND);
    let hook = |event: &Event<'_, TimedOut>| {
        if let Event::Succeeded {
            operation,
            attempts,
            elapsed,
            ..
        } = event
        {
            assert_eq!(*operation, "resuming");
            events.borrow_mut().push((*attempts, *elapsed));
        }
    };
    let mut resuming = policy.resuming().notify(hook).runtime(time.clone());
    time.advance(100 * SECOND);
    resuming.progress();
    time.advance(100 * SECOND);
    now(resuming.failed(TimedOut::new(SECOND))).unwrap();
    time.advance(4 * SECOND);
    resuming.progress();
    resuming.progress();
    assert_eq!(*events.borrow(), [(2, Some(5 * SECOND))]);
}

#[test]
fn progress_after_giving_up_is_no_success_of_what_was_given_up() {
    let (time, events) = (VirtualTime::new(), RefCell::new(Vec::new()));
    let hook = |event: &Event<'_, TimedOut>| events.borrow_mut().push(format!("{event:?}"));
    let policy = POLICY.max_attempts(1);
    let mut resuming = policy.resuming().notify(hook).runtime(time);
    now(resuming.failed(TimedOut::new(SECOND))).unwrap_err();
    resuming.progress();
    assert_eq!(events.borrow().len(), 1);
}

#[derive(Debug, PartialEq)]
struct Status(u16);

impl Fault for Status {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[test]
fn what_was_given_up_is_told_once_until_progress() {
    let (time, events) = (VirtualTime::new(), RefCell::new(Vec::new()));
    let hook = |event: &Event<'_, Status>| events.borrow_mut().push(event.to_string());
    let mut resuming = POLICY.resuming().notify(hook).runtime(time.clone());
    now(resuming.failed(Status(404))).unwrap_err();
    for status in [404, 503] {
        assert_eq!(now(resuming.failed(Status(status))), Err(Status(status)));
        let blocking = resuming.failed_blocking(Status(status));
        assert_eq!(blocking, Err(Status(status)));
    }
    assert_eq!((time.waits(), events.borrow().len()), (vec![], 1));
    resuming.progress();
    now(resuming.failed(Status(503))).unwrap();
    assert_eq!((time.waits().len(), events.borrow().len()), (1, 2));
}

mod stopped {
    use super::*;
    use backoff_core::{Stop, StopReason};
    use std::pin::pin;
    use tokio_util::sync::CancellationToken;

    #[tokio::test(start_paused = true)]
    async fn a_signal_ends_a_wait_with_the_last_error_and_costs_nothing() {
        static BUDGET: Budget = Budget::aws();
        let minute = Policy::constant(60 * SECOND).jitter(Jitter::None);
        let policy = minute.budget(&BUDGET);
        let (token, events) = (CancellationToken::new(), RefCell::new(Vec::new()));
        let hook = |event: &Event<'_, TimedOut>| {
            events.borrow_mut().push(match event {
                Event::GaveUp { reason, .. } => Some(*reason),
                _ => None,
            });
        };
        let signal = pin!(token.cancelled());
        let mut resuming = policy.resuming().stop_on(signal).notify(hook);
        let began = Instant::now();
        let error = TimedOut::new(SECOND);
        let cancel = async {
            tokio::time::sleep(SECOND).await;
            token.cancel();
        };
        let (ended, ()) = tokio::join!(resuming.failed(error), cancel);
        assert_eq!((ended, began.elapsed()), (Err(error), SECOND));
        assert_eq!(BUDGET.tokens(), 500.0);
        // Later failures are given back at once, and no hook is called.
        assert_eq!(resuming.failed(error).await, Err(error));
        assert_eq!(began.elapsed(), SECOND);
        drop(resuming);
        let stopped = Some(StopReason::Stopped);
        assert_eq!(events.into_inner(), [None, stopped]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_no_signal_ends_lasts_its_time_and_the_task_can_be_spawned() {
        let token = CancellationToken::new();
        let read = tokio::spawn(async move {
            let signal = Box::pin(token.cancelled_owned());
            let mut resuming = POLICY.resuming().stop_on(signal);
            let began = Instant::now();
            resuming.failed(TimedOut::new(SECOND)).await?;
            resuming.progress();
            resuming.failed(TimedOut::new(SECOND)).await?;
            Ok::<_, TimedOut>(began.elapsed())
        });
        assert_eq!(read.await.unwrap(), Ok(2 * SECOND));
    }

    #[test]
    fn a_stop_ends_a_wait_that_blocks() {
        static BUDGET: Budget = Budget::aws();
        let policy = POLICY.budget(&BUDGET);
        let (time, stop, mut reasons) = (VirtualTime::new(), Stop::new(), Vec::new());
        let hook = |event: &Event<'_, TimedOut>| {
            if let Event::GaveUp { reason, .. } = event {
                reasons.push(*reason);
            }
        };
        let resuming = policy.blocking_resuming().runtime(time.clone());
        let mut resuming = resuming.stop_on(&stop).notify(hook);
        let error = TimedOut::new(SECOND);
        assert_eq!(resuming.failed_blocking(error), Ok(()));
        resuming.progress();
        stop.stop();
        assert_eq!(resuming.failed_blocking(error), Err(error));
        drop(resuming);
        assert_eq!(
            (time.waits(), reasons),
            (vec![SECOND], vec![StopReason::Stopped])
        );
        // The first retry took a token, and its success gave a token back.
        assert_eq!(BUDGET.tokens(), 500.0);
    }
}
