//! Deadlines, attempts, waits, budgets and reports.

use super::{story::*, *};
use crate::{budget::Budget, report::StopReason};

const UNAVAILABLE: TestError = TestError::status(503);
const LATER: TestError = TestError::status(429).after(Duration::from_secs(7));
const DOUBLING: Policy = Policy::exponential().jitter(Jitter::None);

#[test]
fn deadlines_and_attempts_are_each_callers() {
    let late = |ms| adds(1).out_of_time(false).until(ms);
    let spent = |n| {
        adds(n)
            .with(move |it| it.max_attempts(n))
            .fails(UNAVAILABLE, StopReason::Attempts, false)
    };
    let too_late = |wait| {
        adds(1)
            .with(|it| it.deadline(ms(500)))
            .fails(TestError::CONFLICT, wait, false)
    };
    run([
        story("a deadline ends the waiting while a read hangs")
            .server(|| Server::failing([Fate::Hang], []))
            .callers(move || {
                [
                    late(100).with(|it| it.deadline(ms(100))),
                    late(250).with(|it| it.deadline(ms(250))),
                ]
            })
            .ends([], 1, 0),
        story("the policy's deadline counts from the first poll of each caller")
            .policy(AT_ONCE.deadline(SECOND))
            .server(|| Server::failing([Fate::Hang], []))
            .callers(move || [late(1_000), late(1_400).at(400)])
            .ends([], 1, 0),
        // The first read failed only for the caller that was waiting when the read began.
        story("attempts are each caller's")
            .policy(EACH_SECOND)
            .server(|| Server::failing([BUSY; 3], []))
            .callers(move || {
                let last = adds(4).with(|it| it.max_attempts(4)).until(2_025);
                [spent(1).until(5), spent(2).until(1_015), last]
            })
            .ends([4], 4, 1),
        story("who has no time for the wait is told at once")
            .policy(EACH_SECOND)
            .server(|| Server::failing([], [STALE]))
            .callers(move || [too_late(StopReason::Deadline).until(10), adds(2)])
            .ends([2], 2, 2),
        story("at most so many wait for one resource")
            .combined(|combined| combined.at_most(2))
            .callers(|| {
                [
                    adds(1),
                    adds(2),
                    adds(3).error(CombineError::Full),
                    adds(4).on(1),
                ]
            })
            .ends([1, 2], 2, 2),
        story("who comes when there is room again is let in")
            .combined(|combined| combined.at_most(1))
            .callers(|| [adds(1), adds(2).error(CombineError::Full), adds(3).at(11)])
            .ends([1, 3], 2, 2),
    ]);
    let combined = combine(AT_ONCE, &Arc::new(Server::new(5)));
    assert!(panics(|| combined.at_most(0)));
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_deadline_is_over_is_not_taken() {
    let server = Arc::new(Server::new(5));
    let combined = combine(AT_ONCE, &server);
    let limit = Duration::from_millis(2);
    let mut late = polled(combined.update(0, add(1)).deadline(limit));
    assert!(written(&combined.update(0, add(2)).await));
    assert_eq!(
        came(&ready(&mut late)),
        "OutOfTime { may_be_applied: false }"
    );
    assert_eq!(server.get(0).names, [2]);
}

#[test]
fn a_retry_costs_the_budget_as_much_for_a_hundred_as_for_one() {
    let empty = |reason| move |name| adds(name).fails(UNAVAILABLE, reason, false);
    let throttled = TestError::status(429);
    run([
        story("two retries, one success")
            .policy(EACH_SECOND)
            .budget(|| Budget::ratio(0.001, 10), 8.001)
            .server(|| Server::failing([BUSY; 2], []))
            .callers(|| (0..100).map(|name| adds(name).until(2_020)))
            .ends(0..100, 3, 1),
        // One retry took the only token, and the refused write has not given half of one back.
        story("a refused write that is halved is no success")
            .policy(DOUBLING)
            .budget(|| Budget::ratio(0.5, 10).starting_with(1), 0.0)
            .server(|| Server::failing([BUSY, Fate::Fine, BUSY], []).refusing([2], 400))
            .callers(move || [1, 2].map(empty(StopReason::Budget)))
            .ends([], 3, 1),
        story("a wait whose callers were all dropped costs nothing")
            .policy(EACH_SECOND)
            .budget(|| Budget::ratio(0.001, 10), 10.0)
            .server(|| Server::failing([BUSY], []))
            .callers(|| [adds(1).leaves(500)])
            .ends([], 1, 0),
        story("a failure after which nobody may go on costs nothing")
            .policy(EACH_SECOND)
            .budget(|| Budget::ratio(0.001, 10), 10.0)
            .server(|| Server::failing([BUSY], []))
            .callers(move || [empty(StopReason::Attempts)(1).with(|it| it.max_attempts(1))])
            .ends([], 1, 0),
        story("an empty budget is told to those whom the failure binds")
            .policy(EACH_SECOND)
            .budget(|| Budget::ratio(0.001, 10).starting_with(0), 0.001)
            .server(|| Server::failing([], [fails(429)]))
            .callers(move || {
                [
                    adds(1).fails(throttled, StopReason::Budget, false),
                    adds(2).at(7),
                ]
            })
            .ends([2], 2, 2),
    ]);
}

#[test]
fn waits_and_reports() {
    let hurried = || {
        let hurried = appends(1).with(|it| it.deadline(ms(5_000)));
        hurried
            .fails(LATER, StopReason::RetryAfter, false)
            .until(10)
    };
    let denied = || adds(3).refused(403).reports([1, 0, 0, 0]);
    run([
        story("waits grow with the failures of the resource and begin anew after a success")
            .policy(DOUBLING)
            .server(|| Server {
                hops: [0; 3],
                ..Server::failing([BUSY, BUSY, Fate::Fine, BUSY], [])
            })
            .callers(|| {
                [
                    adds(0).reports([3, 1, 0, 3_000]),
                    adds(1).at(5_000).reports([2, 1, 0, 1_000]),
                ]
            })
            .ends([0, 1], 5, 2),
        // The late caller comes during the third read.
        story("who comes later has no failures behind it")
            .policy(DOUBLING)
            .server(|| Server::failing([BUSY; 4], []))
            .callers(|| {
                let early = adds(1).with(|it| it.max_attempts(3)).fails(
                    UNAVAILABLE,
                    StopReason::Attempts,
                    false,
                );
                let late = adds(2).at(3_012);
                [
                    early.reports([3, 0, 0, 3_000]),
                    late.reports([2, 1, 0, 1_000]),
                ]
            })
            .ends([2], 5, 1),
        story("a server's wish is obeyed by those who have the time")
            .policy(EACH_SECOND)
            .server(|| Server::failing([], [Fate::Fail(LATER)]))
            .callers(move || [hurried(), appends(2).until(7_020)])
            .ends([2], 2, 2),
        story("a server's wish ends a lone change that has not the time")
            .policy(EACH_SECOND)
            .server(|| Server::failing([], [Fate::Fail(LATER)]))
            .callers(move || [hurried()])
            .ends([], 1, 1),
        story("a report counts the steps that a caller took part in")
            .policy(EACH_SECOND)
            .server(|| Server::failing([], [STALE]))
            .callers(|| {
                let early = adds(1).reports([2, 2, 1, 1_000]).until(1_020);
                [early, adds(2).at(7).reports([1, 1, 0, 0]).until(1_020)]
            })
            .ends([1, 2], 2, 2),
        story("a report of a read that was refused")
            .server(|| Server::failing([fails(403)], []))
            .callers(move || [denied()])
            .ends([], 1, 0),
    ]);
}
