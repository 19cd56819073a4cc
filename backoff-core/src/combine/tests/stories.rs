//! What callers are told, row by row.

use super::{
    table::{play, server, table},
    *,
};
use crate::budget::Budget;

const LIMIT: Duration = Duration::from_millis(20);
const DOUBLING: Policy = Policy::exponential().jitter(Jitter::None);

fn limited(policy: Policy, server: &Arc<Server>) -> Combined {
    combine_with!(policy, server, .attempt_timeout(LIMIT))
}

#[test]
fn who_is_in_a_group_and_what_it_is_told() {
    let table_of = |policy, rows| table(policy, combine, rows);
    table_of(AT_ONCE, "
        a group is all who wait when the read returns, in the order of the first poll | | adds 1; adds 4 @4; adds 2 @3; adds 3 @6 | 1 2 4 3, r2 w2
        a caller gets `unchanged` at once only for a value that was read after its call | | adds 7; adds 7 @20: unchanged until 25; adds 7 @23: unchanged until 30 | 7, r3 w1
        a caller gets no `unchanged` for a value that was not written | write 404 | adds 7: permanent 404; adds 7: permanent 404 | -, r1 w1
        a caller gets `unchanged` for a value that its group has written | | adds 7; adds 7: unchanged until 10 | 7, r1 w1
        the write of a group proves to a late caller what was read | | adds 7; adds 1 @20; adds 7 @23: unchanged until 30 | 7 1, r2 w2
        a failed read binds only those who were there when it began | read 403 | adds 1: permanent 403; adds 2 @3 | 2, r2 w1
        resources do not wait for one another | read hang | adds 1 dropped 100; adds 1 on 1 @1: until 11 | -, r2 w1
        the error of a change fails that change alone | | adds 1; fails: own; adds 2 | 1 2, r1 w1
        a panic of a change reaches only its own caller | | adds 1; panics: panicked; adds 2 | 1 2, r1 w1
    ");
    table_of(Policy::exponential(), "
        one | | adds 0: until 10 | 0, r1 w1
        a hundred at the same time | | adds 0..100: until 10 | 0..100, r1 w1
        what the server answers at once | hops 0 0 0 | adds 1: until 0; adds 1 @1: unchanged until 1 | 1, r2 w1
    ");
    let replies = |policy: Policy, server: &Arc<Server>| combine_with!(policy, server, .conflict_if(|version| *version == 1));
    table(
        AT_ONCE,
        replies,
        "a reply may report a conflict | | adds 1: unchanged | 1, r2 w1",
    );
    let many: Vec<_> = (0..3_000)
        .map(|n| format!("adds {n} on {}: until 10", n % 1_000))
        .collect();
    let server = play(Policy::exponential(), combine, server(""), &many.join(";"));
    assert_eq!(
        server.calls(),
        (1_000, 1_000),
        "a thousand resources, each with three callers"
    );
}

#[test]
fn writes_that_are_refused() {
    table(AT_ONCE, combine, "
        the left half is written first, and a later caller waits | refuses 4 400 | adds 1..4; adds 4: permanent 400; adds 9 @12 | 1 2 3 9, r5 w5
        a group is not halved after a conflict | write 412 | adds 0..8 | 0..8, r2 w2
        a change that found nothing to do is in no half | refuses 2 400 | adds 1; adds 1: unchanged; adds 2: permanent 400 | 1, r4 w3
        401 of a write ends all at once | write 401 | adds 0..8: permanent 401 | -, r1 w1
        403 of a write ends all at once | write 403 | adds 0..8: permanent 403 | -, r1 w1
        404 of a read ends all who waited | read ok, read 404, write stale | adds 0..8: permanent 404 | -, r2 w1
    ");
    let on = AT_ONCE.on(crate::codes![400]);
    table(
        on,
        combine,
        "not halved after a failure that the policy retries | write 400 | adds 0..8 | 0..8, r2 w2",
    );
    type Error = Shared<TestError>;
    let never = |policy: Policy, server: &Arc<Server>| {
        combine_with!(policy.when(|_: &Error| false), server)
    };
    table(
        on,
        never,
        "halved where the function does not retry | refuses 2 400 | adds 1; adds 2: permanent 400 | 1, r3 w3",
    );
    let refused = |policy: Policy, server: &Arc<Server>| {
        combine_with!(
            policy.when(|error: &Error| error.status == Some(400)),
            server
        )
    };
    table(
        AT_ONCE,
        refused,
        "not halved where the function retries | write 400 | adds 0..8 | 0..8, r2 w2",
    );
}

#[test]
fn a_refused_group_is_halved_until_each_bad_change_stands_alone() {
    for n in [2, 3, 5, 8, 33, 100_u32] {
        for (bad, status) in [(0, 400), (n / 2, 413), (n - 1, 422)] {
            let told = format!("adds {bad}: permanent {status}; adds {}..{n}", bad + 1);
            let before = if bad > 0 {
                format!("adds 0..{bad};")
            } else {
                String::new()
            };
            let told = if bad + 1 < n {
                told
            } else {
                format!("adds {bad}: permanent {status}")
            };
            let server = server(&format!("refuses {bad} {status}"));
            let server = play(AT_ONCE, combine, server, &(before + &told));
            assert!(f64::from(server.calls().1) <= 2.0 * f64::from(n).log2() + 2.0);
            let others = (0..n).filter(|name| *name != bad);
            assert_eq!(server.get(0).names, others.collect::<Vec<_>>());
        }
    }
    for n in [2, 7, 16, 50] {
        let server = server(&format!("refuses 0..{n} 400"));
        let all = format!("adds 0..{n}: permanent 400");
        let server = play(AT_ONCE.max_attempts(1), combine, server, &all);
        assert!(server.calls().1 < 2 * n, "less than two writes each");
    }
}

#[test]
fn which_changes_are_applied_again() {
    table(AT_ONCE, combine, "
        after a lost reply, a change that recognises its effect is asked again | write lost | adds 1: unchanged; appends 2: maybe_applied? 503 | 1 2, r2 w1
        after a lost write, a change that recognises its effect is applied again | write 503 | adds 1; appends 2: maybe_applied? 503 | 1, r2 w2
        a change that was in no write is made, before those who came later | write 503 | appends 1: maybe_applied? 503; adds 1; adds 2 @7 | 1 2, r2 w2
        after conflicts and throttling, all changes are applied again | write stale, write 429 | appends 1 | 1, r3 w3
        a read is refused after a lost write | read ok, read 403, write reset | adds 1: permanent? 403 | -, r2 w1
        the change fails after a lost write | write reset | fails_later: own? | -, r2 w1
        withdrawn in the read | | adds 1 withdraws 3: left | -, r1 w0
        withdrawn in the write | | adds 1 withdraws 7: left? | -, r1 w1
        withdrawn in the read after a conflict | write stale | adds 1 withdraws 13: left | -, r2 w1
        withdrawn in the read after a lost write | write reset | adds 1 withdraws 13: left? | -, r2 w1
    ");
    table(
        AT_ONCE.max_attempts(2),
        combine,
        "a conflict after a lost write | write reset, write stale | adds 1: attempts? Conflict | -, r2 w2",
    );
    table(
        AT_ONCE.idempotent(false),
        combine,
        "no change is applied again | write lost | adds 1: maybe_applied? 503; appends 2: maybe_applied? 503 | 1 2, r1 w1",
    );
    table(
        AT_ONCE.on(crate::codes![503]),
        combine,
        "a failure that the policy does not retry | write lost_500 | appends 1: permanent? 500; appends 2: permanent? 500 | 1 2, r1 w1",
    );
    let versioned = |policy: Policy, server: &Arc<Server>| combine_with!(policy, server, .version(|members| members.version));
    table(
        AT_ONCE,
        versioned,
        "a version does not make a change recognise its effect | write reset | appends 1: maybe_applied? lost; adds 2 | 2, r2 w2",
    );
    table(AT_ONCE, limited, "
        after a cut read, all changes are applied | read hang | appends 1: until 30 | 1, r2 w1
        after a cut write, a change that recognises its effect | write hang | adds 2; appends 3: interrupted? | 2, r2 w2
        after a cut write, no change that recognises its effect | write hang | appends 2..4: maybe_applied? cut after 20ms | -, r1 w1
    ");
    let again = AT_ONCE.on(crate::codes![404, 429]);
    for policy in [again, again.idempotent(false)] {
        table(
            policy,
            combine,
            "
            a refusal shows that nothing was applied | write 404 | appends 1 | 1, r2 w2
            so does throttling | write 429 | appends 1 | 1, r2 w2
        ",
        );
        table(
            policy.max_attempts(1),
            combine,
            "the last attempt | write 404 | appends 1: attempts 404 | -, r1 w1",
        );
    }
}

#[test]
fn who_is_dropped_or_leaves_or_is_not_polled_harms_nobody() {
    table(AT_ONCE, combine, "
        a change that is dropped in its write was taken | | adds 1 dropped 7; adds 2: until 10 | 1 2, r1 w1
        a change that is dropped in the read is not applied, and the read goes on | | adds 1 dropped 4; adds 2: until 10 | 2, r1 w1
        dropping all drops the step | | adds 1 dropped 1; adds 2 dropped 1 | -, r1 w0
        a caller that stops polling blocks no one | | adds 1 polled 0,1,2,40; adds 2: until 10; adds 3 @20: until 30 | 1 2 3, r2 w2
        a panic of the read ends those who waited for it | read panic | appends 1: interrupted; adds 2 @2 | 2, r2 w1
        a panic of the write ends its group, and the next task serves the next group | write panic | appends 1: interrupted?; adds 2: interrupted?; adds 3 @7 | 3, r2 w2
        a step that hangs is dropped when nobody waits for it | write done_hang | adds 1 dropped 50; adds 2 dropped 60; adds 3 @70: until 80 | 1 2 3, r2 w2
        who withdraws waits no longer while a read hangs | read hang | adds 1 withdraws 100: left until 100; adds 2 withdraws 250: left until 250 | -, r1 w0
        a change that is withdrawn before the read returns is not taken | | adds 1 withdraws 2: left until 2; adds 2: until 10 | 2, r1 w1
        who leaves in a read that hangs | read hang | appends 1 leaves 100: left until 100 | -, r1 w0
        not in a write | | appends 1 leaves 7: until 10 | 1, r1 w1
        not in a write that hangs, whose end is the withdrawal | write hang | appends 2 leaves 7 withdraws 1000: left? until 1000 | -, r1 w1
        before its change is made | | appends 1 @100 leaves 0: left until 100 | -, r0 w0
        between two writes of a group that is halved | refuses 2 400 | appends 1 leaves 7: left; appends 2: permanent 400 | -, r2 w2
    ");
    table(EACH_SECOND, combine, "
        in a wait, of its caller alone | read 503 | appends 1 leaves 100: left until 100; appends 2: until 1015 | 2, r2 w1
        at the end of a lone wait | hops 1 0 5, write 503 x2 | adds 1 leaves 1006: left? | -, r1 w1
    ");
    // Reads after the first one are ready at once, so that the next write could begin in the poll that ends the one before.
    for (policy, status, left) in [
        (AT_ONCE, 422, "left"),
        (AT_ONCE, 503, "left?"),
        (EACH_SECOND, 503, "left?"),
    ] {
        for both in [[1, 2], [2, 1]] {
            let caller = |name| match name {
                1 => format!("adds 1 leaves 3: {left} until 6"),
                _ => format!("adds {name}"),
            };
            let server = server(&format!("hops 1 0 5, write {status}"));
            let server = play(policy, combine, server, &both.map(caller).join(";"));
            assert_eq!(*server.writes.lock().unwrap(), [both.to_vec(), vec![2]]);
        }
    }
}

#[test]
fn waits_and_limits_belong_to_the_group() {
    table(DOUBLING, combine, "
        waits grow with the failures of the group and begin anew after a success | hops 0 0 0, read 503 x2, read ok, read 503 | adds 0: until 3000; adds 1 @5000: until 6000 | 0 1, r5 w2
    ");
    table(DOUBLING.max_attempts(3), combine, "
        who came after the first attempt makes its own attempts next | read 503 x4 | adds 1: attempts 503 until 3015; adds 2 @3012: until 4030 | 2, r5 w1
        who joined after the first attempt makes its own attempts next | read 503 x5 | adds 1: attempts 503 until 3015; adds 2 @500: until 6035 | 2, r6 w1
    ");
    table(EACH_SECOND.max_attempts(3), combine, "
        a half makes its attempts once | read 503, read ok x2, read 503 x3, refuses 2 400 | adds 1: until 1025; adds 2 @500: attempts 503 until 3040 | 1, r6 w2
    ");
    table(
        EACH_SECOND,
        combine,
        "a server's hint is obeyed | write later | appends 2: until 7020 | 2, r2 w2",
    );
    table(EACH_SECOND.deadline(5 * SECOND), combine, "
        a hint that is longer than the deadline ends all whom the failure concerns | write later | appends 1..3: retry_after 429 until 10; appends 3 @7 | 3, r2 w2
    ");
    table(
        AT_ONCE,
        |policy, server| combine(policy, server).at_most(2),
        "
        at most so many wait for one resource | | adds 1..3; adds 3: full; adds 4 on 1 | 1 2, r2 w2
    ",
    );
    table(
        AT_ONCE,
        |policy, server| combine(policy, server).at_most(1),
        "
        a caller gets in when there is room again | | adds 1; adds 3: full; adds 2 @11 | 1 2, r2 w2
    ",
    );
    let combined = combine(AT_ONCE, &Arc::new(Server::new(5)));
    assert!(panics(|| combined.at_most(0)));
}

/// Rows: the policy, the budget, its tokens in the end, and the row.
#[test]
fn a_retry_costs_the_budget_as_much_for_a_hundred_as_for_one() {
    let budget = || Budget::ratio(0.001, 10);
    for (policy, budget, tokens, row) in [
        (
            EACH_SECOND,
            budget(),
            8.001,
            "two retries, one success | read 503 x2 | adds 0..100: until 2020 | 0..100, r3 w1",
        ),
        (
            DOUBLING,
            Budget::ratio(0.5, 10).starting_with(1),
            0.0,
            "a refused write is no success | read 503, read ok, read 503, refuses 2 400 | adds 1: budget 503; adds 2: permanent 400 | -, r4 w2",
        ),
        (
            EACH_SECOND,
            budget(),
            10.0,
            "a wait of callers who are dropped | read 503 | adds 1 dropped 500 | -, r1 w0",
        ),
        (
            EACH_SECOND,
            budget().starting_with(0),
            0.001,
            "an empty budget ends those whom the failure concerns | write 429 | adds 1: budget 429; adds 2 @7 | 2, r2 w2",
        ),
    ] {
        let budget: &Budget = Box::leak(Box::new(budget));
        table(policy.budget(budget), combine, row);
        assert_eq!(budget.tokens(), tokens, "{row}");
    }
}

/// Callers come every 100 ms for a minute, while each read fails after 5 ms. The page of [`Combining`] has the figures.
#[tokio::test(start_paused = true)]
async fn a_caller_waits_for_at_most_twice_the_deadline_of_the_policy() {
    let by_chance: fn(bool) -> Fate = |_| Fate::Fail(UNAVAILABLE);
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

/// A wait and an end that many share are one event each.
#[cfg(feature = "tracing")]
#[test]
fn events() {
    use recorder::listening;
    let policy = Policy::exponential();
    let full: table::Combine = |policy, server| combine(policy, server).at_most(1);
    for (combine, events, row) in [
        (full, 1, "no room | | adds 1; adds 2: full | "),
        (
            combine,
            2,
            "a wait and a success | write 503 | adds 0..100 | ",
        ),
        (
            combine,
            2,
            "a wait and a failure | write 503, write 403 | adds 0..100: permanent? 403 | ",
        ),
        (
            combine,
            1,
            "what may have been applied | write lost | appends 0..100: maybe_applied? 503 | ",
        ),
    ] {
        let logged = listening(|| table(policy, combine, row)).logged;
        assert_eq!(logged.len(), events, "{row}: {logged:?}");
    }
}

#[cfg(feature = "tracing")]
#[path = "../../../tests/all/common/recorder.rs"]
mod recorder;
