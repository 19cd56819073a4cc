//! Changes that fail, and writes that are refused.

use super::{story::*, *};
use crate::report::StopReason;

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
            .server(|| Server::new(5).refusing([4], 400))
            .callers([adds(1), adds(2), adds(3), adds(4).refused(400), late])
            .ends([1, 2, 3, 9], 5, 5),
        story("a group is not halved after a conflict")
            .server(|| Server::failing([], [fails(412)]))
            .callers(all())
            .ends(0..8, 2, 2),
        story("a group is not halved after a failure that the policy retries")
            .policy(AT_ONCE.on(crate::codes![400]))
            .server(|| Server::failing([], [fails(400)]))
            .callers(all())
            .ends(0..8, 2, 2),
        story("a change that found nothing to do is in no half")
            .server(|| Server::new(5).refusing([2], 400))
            .callers([adds(1), adds(1).unchanged(), adds(2).refused(400)])
            .ends([1], 4, 3),
    ]);
    run([401, 403, 404].into_iter().flat_map(|status| {
        let all = move || all().map(move |caller| caller.refused(status));
        [
            story(format!("{status} of a write ends all callers at once"))
                .server(move || Server::failing([], [fails(status)]))
                .callers(all())
                .ends([], 1, 1),
            story(format!("{status} of a read ends all callers who waited"))
                .server(move || Server::failing([Fate::Fine, fails(status)], [STALE]))
                .callers(all())
                .ends([], 2, 1),
        ]
    }));
}

#[test]
fn a_function_replaces_the_codes_of_the_policy_and_nothing_else() {
    const MISSING: TestError = TestError::status(404);
    const STOP: TestError = MISSING.asking_to_stop();
    let always: fn(Combined) -> Combined = |combined| combined.when(|_| true);
    let never: fn(Combined) -> Combined = |combined| combined.when(|_| false);
    run([
        story("a group is not halved after a failure that the function retries")
            .combined(|combined| combined.when(|error| error.status == Some(400)))
            .server(|| Server::failing([], [fails(400)]))
            .callers((0..8).map(adds))
            .ends(0..8, 2, 2),
        story("a group is halved after a failure that the function does not retry")
            .policy(AT_ONCE.on(crate::codes![400]))
            .combined(never)
            .server(|| Server::new(5).refusing([2], 400))
            .callers([adds(1), adds(2).refused(400)])
            .ends([1], 3, 3),
        story("a read is not repeated, although the policy names the code")
            .combined(never)
            .server(|| Server::failing([BUSY], []))
            .callers([adds(1).refused(503)])
            .ends([], 1, 0),
        story("a conflict is not repeated either")
            .combined(never)
            .server(|| Server::failing([], [STALE]))
            .callers([adds(1).fails(TestError::CONFLICT, StopReason::Permanent, false)])
            .ends([], 1, 1),
        slowly("a hint holds")
            .combined(always)
            .server(|| Server::failing([], [Fate::Fail(MISSING.after(7 * SECOND))]))
            .callers([adds(1).until(7_020)])
            .ends([1], 2, 2),
        story("a server that asks not to be called again is not called again")
            .combined(always)
            .server(|| Server::failing([Fate::Fail(STOP)], []))
            .callers([adds(1).fails(STOP, StopReason::StoppedByServer, false)])
            .ends([], 1, 0),
        story("a write that may have been applied is not repeated where it must not be")
            .policy(AT_ONCE.idempotent(false))
            .combined(always)
            .server(|| Server::failing([], [LOST]))
            .callers([adds(1).maybe_applied(TestError::status(503))])
            .ends([1], 1, 1),
        story("the number of attempts holds")
            .combined(always)
            .server(|| Server::failing([fails(404); 5], []))
            .callers([adds(1).given_up(MISSING)])
            .ends([], 5, 0),
        story("a function that was set first holds beside other settings")
            .combined(|combined| combined.when(|_| false).operation("members").at_most(9))
            .server(|| Server::failing([BUSY], []))
            .callers([adds(1).refused(503)])
            .ends([], 1, 0),
    ]);
}

#[test]
fn a_refused_group_is_halved_until_each_bad_change_stands_alone() {
    for n in [2, 3, 5, 8, 33, 100] {
        for (bad, status) in [(0, 400), (n / 2, 413), (n - 1, 422)] {
            let one = move |name| match name == bad {
                true => adds(name).refused(status),
                false => adds(name),
            };
            run([story(format!("{bad} of {n} is refused with {status}"))
                .server(move || Server::new(5).refusing([bad], status))
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
            .server(move || Server::new(5).refusing(0..n, 400))
            .callers((0..n).map(|name| adds(name).refused(400)))
            .then(move |server| assert!(server.calls().1 < 2 * n))
    }));
}
