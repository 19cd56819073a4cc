//! Changes that fail, and writes that are refused.

use super::{story::*, *};

#[test]
fn changes_that_fail() {
    run([
        story("the error of a change fails that change alone")
            .callers([adds(1), fails_itself(false), adds(2)])
            .ends([1, 2], 1, 1),
        story("a panic of a change reaches only its own caller")
            .callers([adds(1), panics_itself(), adds(2)])
            .ends([1, 2], 1, 1),
    ]);
}

#[test]
fn writes_that_are_refused() {
    let (all, late) = (|| (0..8).map(adds), adds(9).at(12));
    run([
        story("the left half is written first, and a later caller waits")
            .refusing([4], 400)
            .callers([adds(1), adds(2), adds(3), adds(4).refused(400), late])
            .ends([1, 2, 3, 9], 5, 5),
        story("a group is not halved after a conflict")
            .failing([], [fails(412)])
            .callers(all())
            .ends(0..8, 2, 2),
        story("a group is not halved after a failure that the policy retries")
            .policy(AT_ONCE.on(crate::codes![400]))
            .failing([], [fails(400)])
            .callers(all())
            .ends(0..8, 2, 2),
        story("a change that found nothing to do is in no half")
            .refusing([2], 400)
            .callers([adds(1), adds(1).unchanged(), adds(2).refused(400)])
            .ends([1], 4, 3),
    ]);
    for status in [401, 403, 404] {
        let all = || all().map(|caller| caller.refused(status));
        run([
            story(format!("{status} of a write ends all callers at once"))
                .failing([], [fails(status)])
                .callers(all())
                .ends([], 1, 1),
            story(format!("{status} of a read ends all callers who waited"))
                .failing([Fate::Fine, fails(status)], [STALE])
                .callers(all())
                .ends([], 2, 1),
        ]);
    }
}

#[test]
fn a_group_is_halved_where_the_function_does_not_retry_the_refusal() {
    type Error = Shared<TestError>;
    run([
        story("the function retries the refusal")
            .combined(|policy, server| {
                combine_with!(
                    policy.when(|error: &Error| error.status == Some(400)),
                    server
                )
            })
            .failing([], [fails(400)])
            .callers((0..8).map(adds))
            .ends(0..8, 2, 2),
        story("the function does not retry it, but the policy would")
            .policy(AT_ONCE.on(crate::codes![400]))
            .combined(|policy, server| combine_with!(policy.when(|_: &Error| false), server))
            .refusing([2], 400)
            .callers([adds(1), adds(2).refused(400)])
            .ends([1], 3, 3),
    ]);
}

#[test]
fn a_refused_group_is_halved_until_each_bad_change_stands_alone() {
    for n in [2, 3, 5, 8, 33, 100] {
        for (bad, status) in [(0, 400), (n / 2, 413), (n - 1, 422)] {
            let one = |name| match name == bad {
                true => adds(name).refused(status),
                false => adds(name),
            };
            run([story(format!("{bad} of {n} is refused with {status}"))
                .refusing([bad], status)
                .callers((0..n).map(one))
                .then(move |server| {
                    assert!(f64::from(server.calls().1) <= 2.0 * f64::from(n).log2() + 2.0);
                    let others = (0..n).filter(|name| *name != bad);
                    assert_eq!(server.get(0).names, others.collect::<Vec<_>>());
                })]);
        }
    }
    run([2, 7, 16, 50].map(|n| {
        story(format!("all {n} are refused, in less than two writes each"))
            .policy(AT_ONCE.max_attempts(1))
            .refusing(0..n, 400)
            .callers((0..n).map(|name| adds(name).refused(400)))
            .then(move |server| assert!(server.calls().1 < 2 * n))
    }));
}
