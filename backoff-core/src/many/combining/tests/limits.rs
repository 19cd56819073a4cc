//! Deadlines, attempts, waits, budgets and reports.

use super::*;
use crate::{budget::Budget, delay::jitter::Jitter, report::UpdateReport};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const EACH_SECOND: Policy = Policy::constant(SECOND)
    .jitter(Jitter::None)
    .max_attempts(5);
const BUSY: Fate = Fate::Fail(Failure::Status(503));

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_waiting_while_a_read_hangs() {
    let server = Server::new(5);
    server.on_read([Fate::Hang]);
    let combined = combine(AT_ONCE, &server);
    let start = Instant::now();
    let timed = |ms| {
        let update = combined
            .update(0, add(1))
            .deadline(Duration::from_millis(ms));
        async move { (update.await, start.elapsed()) }
    };
    let ((one, after), (two, later)) = tokio::join!(timed(100), timed(250));
    for told in [one, two] {
        assert!(matches!(told, Err(CombineError::OutOfTime { .. })));
    }
    let ms = Duration::from_millis;
    assert_eq!((after, later), (ms(100), ms(250)), "each has its own");
    assert_eq!((combined.busy(), server.steps.load(Relaxed)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_policys_deadline_counts_from_each_callers_first_poll() {
    let server = Server::new(5);
    server.on_read([Fate::Hang]);
    let combined = combine(AT_ONCE.deadline(SECOND), &server);
    let (early, late) = (combined.update(0, add(1)), combined.update(0, add(2)));
    let start = Instant::now();
    let timed = |wait, update: Updating<_, _, _, _>| async move {
        pass(wait).await;
        (update.await.is_err(), start.elapsed())
    };
    let both = tokio::join!(timed(0, early), timed(400, late));
    let ms = Duration::from_millis;
    assert_eq!(both, ((true, ms(1_000)), (true, ms(1_400))));
}

#[tokio::test(start_paused = true)]
async fn attempts_are_each_callers() {
    let server = Server::new(5);
    server.on_read([BUSY, BUSY, BUSY]);
    let combined = combine(EACH_SECOND, &server);
    let start = Instant::now();
    let timed = |attempts| {
        let update = combined.update(0, add(attempts)).max_attempts(attempts);
        async move { (update.await, start.elapsed()) }
    };
    let ((one, after), (two, later), (four, last)) = tokio::join!(timed(1), timed(2), timed(4));
    let gave_up = (Failure::Status(503), StopReason::Attempts, false);
    assert_eq!((shared(&one), shared(&two)), (gave_up.clone(), gave_up));
    assert!(written(&four));
    let ms = Duration::from_millis;
    // The first read failed only for the caller that was waiting when the read began.
    assert_eq!((after, later, last), (ms(5), ms(1_015), ms(2_025)));
    assert_eq!(server.calls(), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn whoever_has_no_time_for_the_wait_is_told_at_once() {
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Stale)]);
    let combined = combine(EACH_SECOND, &server);
    let start = Instant::now();
    let short = combined.update(0, add(1)).deadline(SECOND / 2);
    let short = async { (short.await, start.elapsed()) };
    let ((short, after), long) = tokio::join!(short, combined.update(0, add(2)));
    assert_eq!(
        shared(&short),
        (Failure::Stale, StopReason::Deadline, false)
    );
    assert_eq!(after, Duration::from_millis(10));
    assert!(written(&long));
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_deadline_is_over_is_not_taken() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let mut late = combined
        .update(0, add(1))
        .deadline(Duration::from_millis(2));
    assert!(poll(&mut late).is_pending());
    assert!(written(&combined.update(0, add(2)).await));
    let Poll::Ready(told) = poll(&mut late) else {
        panic!("it was told")
    };
    assert!(matches!(
        told,
        Err(CombineError::OutOfTime {
            may_be_applied: false
        })
    ));
    assert_eq!(server.get(0).names, [2]);
}

#[tokio::test(start_paused = true)]
async fn a_shared_retry_costs_one_token_and_one_wait() {
    static BUDGET: Budget = Budget::ratio(0.001, 10);
    let server = Server::new(5);
    server.on_read([BUSY, BUSY]);
    let combined = combine(EACH_SECOND.budget(&BUDGET), &server);
    let start = Instant::now();
    let tasks: Vec<_> = (0..100)
        .map(|name| tokio::spawn(combined.update(0, add(name))))
        .collect();
    for task in tasks {
        assert!(written(&task.await.unwrap()));
    }
    assert_eq!(start.elapsed(), Duration::from_millis(2_020));
    assert_eq!(BUDGET.tokens(), 8.001, "two retries, one success");
    assert_eq!(server.calls(), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refused_write_that_is_halved_is_no_success() {
    static BUDGET: Budget = Budget::ratio(0.5, 10).starting_with(1);
    const DOUBLING: Policy = Policy::exponential().jitter(Jitter::None);
    let server = Server::new(5);
    server.refuse([2], 400);
    server.on_read([BUSY, Fate::Fine, BUSY]);
    let combined = combine(DOUBLING.budget(&BUDGET), &server);
    let (one, two) = tokio::join!(combined.update(0, add(1)), combined.update(0, add(2)));
    // One retry took the only token, and the refused write has not given half of one back.
    for told in [one, two] {
        assert_eq!(
            shared(&told),
            (Failure::Status(503), StopReason::Budget, false)
        );
    }
    assert_eq!((server.calls(), BUDGET.tokens()), ((3, 1), 0.0));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_leads_nowhere_costs_nothing() {
    static BUDGET: Budget = Budget::ratio(0.001, 10);
    let server = Server::new(5);
    server.on_read([BUSY, BUSY]);
    let combined = combine(EACH_SECOND.budget(&BUDGET), &server);
    let dropped = combined.update(0, add(1));
    let waiting = tokio::time::timeout(SECOND / 2, dropped).await;
    assert!(waiting.is_err());
    assert_eq!(BUDGET.tokens(), 10.0, "all were dropped");
    let told = combined.update(0, add(1)).max_attempts(1).await;
    assert_eq!(shared(&told).1, StopReason::Attempts);
    assert_eq!(BUDGET.tokens(), 10.0, "nobody may go on");
}

#[tokio::test(start_paused = true)]
async fn an_empty_budget_is_told_to_those_whom_the_failure_binds() {
    static BUDGET: Budget = Budget::ratio(0.001, 10).starting_with(0);
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Status(429))]);
    let combined = combine(EACH_SECOND.budget(&BUDGET), &server);
    let late = async {
        pass(7).await;
        combined.update(0, add(2)).await
    };
    let (one, late) = tokio::join!(combined.update(0, add(1)), late);
    assert_eq!(
        shared(&one),
        (Failure::Status(429), StopReason::Budget, false)
    );
    assert!(written(&late), "it begins anew");
}

#[tokio::test(start_paused = true)]
async fn waits_grow_with_the_failures_of_the_resource_and_begin_anew_after_a_success() {
    const DOUBLING: Policy = Policy::exponential().jitter(Jitter::None);
    let server = Server::new(0);
    server.on_read([BUSY, BUSY, Fate::Fine, BUSY]);
    let combined = combine(DOUBLING, &server);
    let mut slept = Vec::new();
    for name in 0..2 {
        let (_, report) = combined.update(0, add(name)).reported().await.unwrap();
        slept.push(report.slept);
    }
    assert_eq!(slept, [3 * SECOND, SECOND]);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_later_has_no_failures_behind_it() {
    const DOUBLING: Policy = Policy::exponential().jitter(Jitter::None);
    let server = Server::new(5);
    server.on_read([BUSY, BUSY, BUSY, BUSY]);
    let combined = combine(DOUBLING, &server);
    let late = async {
        // During the third read.
        pass(3_012).await;
        combined.update(0, add(2)).reported().await
    };
    let early = combined.update(0, add(1)).max_attempts(3).reported();
    let (early, late) = tokio::join!(early, late);
    let early = early.unwrap_err();
    assert_eq!(
        (early.reason, early.report.slept),
        (StopReason::Attempts, 3 * SECOND)
    );
    let (_, report) = late.unwrap();
    assert_eq!((report.attempts, report.slept), (2, SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_servers_wish_is_obeyed_by_those_who_have_the_time() {
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Later(7))]);
    let combined = combine(EACH_SECOND, &server);
    let start = Instant::now();
    let hurried = combined.update(0, append(1)).deadline(5 * SECOND);
    let hurried = async { (hurried.await, start.elapsed()) };
    let ((hurried, after), patient) = tokio::join!(hurried, combined.update(0, append(2)));
    assert_eq!(
        shared(&hurried),
        (Failure::Later(7), StopReason::RetryAfter, false)
    );
    assert!(written(&patient));
    let ms = Duration::from_millis;
    assert_eq!((after, start.elapsed()), (ms(10), ms(7_020)));

    server.on_write([Fate::Fail(Failure::Later(7))]);
    let alone = combined.update(0, append(3)).deadline(5 * SECOND).await;
    assert_eq!(
        shared(&alone),
        (Failure::Later(7), StopReason::RetryAfter, false)
    );
}

#[tokio::test(start_paused = true)]
async fn a_report_counts_the_steps_that_a_caller_took_part_in() {
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Stale)]);
    let combined = combine(EACH_SECOND, &server);
    let late = async {
        pass(7).await;
        combined.update(0, add(2)).reported().await
    };
    let (early, late) = tokio::join!(combined.update(0, add(1)).reported(), late);
    let ms = Duration::from_millis;
    let (_, early) = early.unwrap();
    let UpdateReport {
        attempts,
        reads,
        writes,
        conflicts,
        elapsed,
        slept,
    } = early;
    assert_eq!((attempts, reads, writes, conflicts), (2, 2, 2, 1));
    assert_eq!((elapsed, slept), (ms(1_020), SECOND));
    let (_, late) = late.unwrap();
    let UpdateReport {
        attempts,
        reads,
        writes,
        conflicts,
        elapsed,
        slept,
    } = late;
    assert_eq!((attempts, reads, writes, conflicts), (1, 1, 1, 0));
    assert_eq!((elapsed, slept), (ms(1_013), Duration::ZERO));
    server.on_read([Fate::Fail(Failure::Status(403))]);
    let error = combined.update(0, add(3)).reported().await.unwrap_err();
    assert_eq!(
        (error.reason, error.report.reads),
        (StopReason::Permanent, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn at_most_so_many_wait_for_one_resource() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server).at_most(2);
    let update = |key, name| combined.update(key, add(name));
    let (one, two, full, elsewhere) =
        tokio::join!(update(0, 1), update(0, 2), update(0, 3), update(1, 4));
    assert!(written(&one) && written(&two) && written(&elsewhere));
    let error = full.unwrap_err();
    assert!(matches!(error, CombineError::Full) && !error.may_be_applied());
    assert_eq!(server.get(0).names, [1, 2]);
    assert!(written(&update(0, 3).await));
    let refused = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        combined.clone().at_most(0)
    }));
    assert!(refused.is_err());
}
