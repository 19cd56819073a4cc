//! Deadlines, attempts, waits and budgets.

use super::{story::*, *};
use crate::{
    budget::Budget,
    report::StopReason::{self, Deadline, RetryAfter},
};

const LATER: TestError = TestError::status(429).after(Duration::from_secs(7));
const DOUBLING: Policy = Policy::exponential().jitter(Jitter::None);

#[test]
fn deadlines_and_attempts_are_each_callers() {
    let late = |ms| adds(1).out_of_time(false).until(ms);
    let fourth = adds(4).attempts(4).until(3_025);
    let ended = |n| adds(n).attempts(n).given_up(UNAVAILABLE);
    let no_time = adds(1)
        .deadline(500)
        .fails(TestError::CONFLICT, Deadline, false);
    let too_many = || adds(3).error(CombineError::Full);
    run([
        story("a deadline ends the waiting while a read hangs")
            .failing([Fate::Hang], [])
            .callers([late(100).deadline(100), late(250).deadline(250)])
            .ends([], 1, 0),
        story("the policy's deadline counts from the first poll of each caller")
            .policy(AT_ONCE.deadline(SECOND))
            .failing([Fate::Hang], [])
            .callers([late(1_000), late(1_400).at(400)])
            .ends([], 1, 0),
        slowly("each caller has its own attempts")
            .failing([BUSY; 3], [])
            .callers([ended(1).until(5), ended(2).until(1_010), fourth])
            .ends([4], 4, 1),
        slowly("a caller without time for the wait gets its outcome at once")
            .failing([], [STALE])
            .callers([no_time.until(10), adds(2)])
            .ends([2], 2, 2),
        story("at most so many wait for one resource")
            .combined(|combined| combined.at_most(2))
            .callers([adds(1), adds(2), too_many(), adds(4).on(1)])
            .ends([1, 2], 2, 2),
        story("a caller gets in when there is room again")
            .combined(|combined| combined.at_most(1))
            .callers([adds(1), too_many(), adds(2).at(11)])
            .ends([1, 2], 2, 2),
        // Nobody asks for the outcome of this caller until its change is left out.
        story("a change whose deadline is over is not taken")
            .callers([late(20).deadline(2).polled([0, 20]), adds(2).until(10)])
            .ends([2], 1, 1),
    ]);
    let combined = combine(AT_ONCE, &Arc::new(Server::new(5)));
    assert!(panics(|| combined.at_most(0)));
}

#[test]
fn a_retry_costs_the_budget_as_much_for_a_hundred_as_for_one() {
    let empty = |name, status| {
        let error = TestError::status(status);
        adds(name).fails(error, StopReason::Budget, false)
    };
    let budget = || Budget::ratio(0.001, 10);
    run([
        slowly("two retries, one success")
            .budget(budget(), 8.001)
            .failing([BUSY; 2], [])
            .callers((0..100).map(|name| adds(name).until(2_020)))
            .ends(0..100, 3, 1),
        // One retry took the only token, and the refused write has not given half of one back.
        story("a refused write that is halved is not a success")
            .policy(DOUBLING)
            .budget(Budget::ratio(0.5, 10).starting_with(1), 0.0)
            .failing([BUSY, Fate::Fine, BUSY], [])
            .refusing([2], 400)
            .callers([empty(1, 503), empty(2, 503)])
            .ends([], 3, 1),
        slowly("a wait whose callers were all dropped costs nothing")
            .budget(budget(), 10.0)
            .failing([BUSY], [])
            .callers([adds(1).leaves(500)])
            .ends([], 1, 0),
        slowly("a failure after which no caller continues costs nothing")
            .budget(budget(), 10.0)
            .failing([BUSY], [])
            .callers([adds(1).attempts(1).given_up(UNAVAILABLE)])
            .ends([], 1, 0),
        slowly("an empty budget ends the callers whom the failure concerns")
            .budget(budget().starting_with(0), 0.001)
            .failing([], [fails(429)])
            .callers([empty(1, 429), adds(2).at(7)])
            .ends([2], 2, 2),
    ]);
}

#[test]
fn waits_belong_to_the_resource() {
    let hurried = || {
        appends(1)
            .deadline(5_000)
            .fails(LATER, RetryAfter, false)
            .until(10)
    };
    let ended = adds(1).attempts(3).given_up(UNAVAILABLE);
    run([
        story("waits grow with the failures of the resource and begin anew after a success")
            .policy(DOUBLING)
            .server(Server::failing([BUSY, BUSY, Fate::Fine, BUSY], []).hops([0; 3]))
            .callers([adds(0).until(3_000), adds(1).at(5_000).until(6_000)])
            .ends([0, 1], 5, 2),
        // The late caller comes during the third read.
        story("a later caller has no earlier failures")
            .policy(DOUBLING)
            .failing([BUSY; 4], [])
            .callers([ended.until(3_015), adds(2).at(3_012)])
            .ends([2], 5, 1),
        slowly("callers who have the time obey a server's hint")
            .failing([], [Fate::Fail(LATER)])
            .callers([hurried(), appends(2).until(7_020)])
            .ends([2], 2, 2),
        slowly("a server's hint ends a lone change that has no time for it")
            .failing([], [Fate::Fail(LATER)])
            .callers([hurried()])
            .ends([], 1, 1),
    ]);
}

#[cfg(feature = "breaker")]
#[tokio::test(start_paused = true)]
async fn changes_count_for_a_breaker_which_ends_their_retries() {
    static DOWN: crate::Breaker = crate::Breaker::new().opens_at(2, 20);
    let server = Arc::new(Server::failing([fails(503); 2], []).hops([0; 3]));
    let combined = combine(AT_ONCE.breaker(&DOWN), &server);
    assert!(combined.update(0, add(1)).await.is_err());
    assert!(DOWN.is_open());
    assert_eq!(server.calls(), (2, 0));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(written(&combined.update(0, add(1)).await));
    assert!(!DOWN.is_open());
}

#[cfg(feature = "rate")]
#[tokio::test(start_paused = true)]
async fn a_change_takes_one_turn_at_its_rate() {
    static RATE: crate::rate::Rate = crate::rate::Rate::new();
    let now = || crate::runtime::Clock::now(&crate::runtime::ASYNC);
    let server = Arc::new(Server::failing([fails(429)], []).hops([500; 3]));
    let combined = combine(AT_ONCE.rate(&RATE), &server);
    assert!(written(&combined.update(0, add(1)).await));
    assert_eq!(server.calls(), (2, 1));
    assert!(RATE.per_second().is_some());
    // The turn of the change was a second ago, and nobody has taken the next one.
    assert_eq!(RATE.turn_after(Duration::ZERO, 0, now()), Duration::ZERO);
    assert_eq!(RATE.waiting(), 0);
}
