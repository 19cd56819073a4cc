//! Deadlines, attempts, waits and budgets.

use super::{story::*, *};
use crate::{
    budget::Budget,
    report::StopReason::{self, RetryAfter},
};

const LATER: TestError = TestError::status(429).after(Duration::from_secs(7));
const DOUBLING: Policy = Policy::exponential().jitter(Jitter::None);

#[test]
fn a_caller_may_withdraw_and_there_may_be_no_room_for_it() {
    let late = |ms| adds(1).left(false).until(ms);
    let too_many = || adds(3).error(CombineError::Full);
    run([
        story("a caller who withdraws waits no longer while a read hangs")
            .failing([Fate::Hang], [])
            .callers([late(100).deadline(100), late(250).deadline(250)])
            .ends([], 1, 0),
        story("at most so many wait for one resource")
            .combined(|policy, server| combine(policy, server).at_most(2))
            .callers([adds(1), adds(2), too_many(), adds(4).on(1)])
            .ends([1, 2], 2, 2),
        story("a caller gets in when there is room again")
            .combined(|policy, server| combine(policy, server).at_most(1))
            .callers([adds(1), too_many(), adds(2).at(11)])
            .ends([1, 2], 2, 2),
        story("a change that is withdrawn before the read returns is not taken")
            .callers([late(2).deadline(2), adds(2).until(10)])
            .ends([2], 1, 1),
    ]);
    let combined = combine(AT_ONCE, &Arc::new(Server::new(5)));
    assert!(panics(|| combined.at_most(0)));
}

/// Callers come every 100 ms for a minute, while each read fails after 5 ms. The page of [`Combining`] has the figures.
#[tokio::test(start_paused = true)]
async fn a_caller_waits_for_at_most_twice_the_deadline_of_the_policy() {
    let by_chance: fn(bool) -> Fate = |_| BUSY;
    let server = Arc::new(Server {
        by_chance: Some(Box::new(by_chance)),
        ..Server::new(5)
    });
    let combined = combine(EACH_SECOND.deadline(5 * SECOND), &server);
    let mut callers = Vec::new();
    for _ in 0..600 {
        pass(100).await;
        let begins = tokio::time::Instant::now();
        let change = combined.update(0, add(1));
        callers.push(tokio::spawn(async move {
            assert!(change.await.is_err());
            begins.elapsed()
        }));
    }
    let mut waits = Vec::new();
    for caller in callers {
        waits.push(caller.await.unwrap());
    }
    waits.sort_unstable();
    let [least, median, most] = [0, 300, 599].map(|index| waits[index]);
    assert_eq!([least, median, most], [4_025, 6_050, 8_050].map(ms));
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
            .callers([empty(1, 503), adds(2).refused(400)])
            .ends([], 4, 2),
        slowly("a wait whose callers were all dropped costs nothing")
            .budget(budget(), 10.0)
            .failing([BUSY], [])
            .callers([adds(1).leaves(500)])
            .ends([], 1, 0),
        slowly("an empty budget ends the callers whom the failure concerns")
            .budget(budget().starting_with(0), 0.001)
            .failing([], [fails(429)])
            .callers([empty(1, 429), adds(2).at(7)])
            .ends([2], 2, 2),
    ]);
}

#[test]
fn waits_belong_to_the_group() {
    let hurried = |name| appends(name).fails(LATER, RetryAfter, false).until(10);
    let ended = adds(1).given_up(UNAVAILABLE);
    run([
        story("waits grow with the failures of the group and begin anew after a success")
            .policy(DOUBLING)
            .server(Server::failing([BUSY, BUSY, Fate::Fine, BUSY], []).hops([0; 3]))
            .callers([adds(0).until(3_000), adds(1).at(5_000).until(6_000)])
            .ends([0, 1], 5, 2),
        // The late caller comes during the third read.
        story("a caller who came after the first attempt makes its own attempts next")
            .policy(DOUBLING.max_attempts(3))
            .failing([BUSY; 4], [])
            .callers([ended.until(3_015), adds(2).at(3_012).until(4_030)])
            .ends([2], 5, 1),
        story("a caller who joined after the first attempt makes its own attempts next")
            .policy(DOUBLING.max_attempts(3))
            .failing([BUSY; 5], [])
            .callers([
                adds(1).given_up(UNAVAILABLE).until(3_015),
                adds(2).at(500).until(6_035),
            ])
            .ends([2], 6, 1),
        slowly(
            "a half makes its attempts once, also with a caller who came after the first attempt",
        )
        .policy(EACH_SECOND.max_attempts(3))
        .failing([BUSY, Fate::Fine, Fate::Fine, BUSY, BUSY, BUSY], [])
        .refusing([2], 400)
        .callers([
            adds(1).until(1_025),
            adds(2).at(500).given_up(UNAVAILABLE).until(3_040),
        ])
        .ends([1], 6, 2),
        slowly("a server's hint is obeyed")
            .failing([], [Fate::Fail(LATER)])
            .callers([appends(2).until(7_020)])
            .ends([2], 2, 2),
        story("a hint that is longer than the deadline ends all whom the failure concerns")
            .policy(EACH_SECOND.deadline(5 * SECOND))
            .failing([], [Fate::Fail(LATER)])
            .callers([hurried(1), hurried(2), appends(3).at(7)])
            .ends([3], 2, 2),
    ]);
}
