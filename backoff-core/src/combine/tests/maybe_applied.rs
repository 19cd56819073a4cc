//! Writes that may have been applied.

use super::{story::*, *};
use crate::report::StopReason::{Attempts, Permanent};

const LIMIT: Duration = Duration::from_millis(20);

fn limited(policy: Policy, server: &Arc<Server>) -> Combined {
    combine_with!(policy, server, .attempt_timeout(LIMIT))
}

#[test]
fn which_changes_are_applied_again() {
    let cut = TestError::cut(LIMIT);
    run([
        story("after a lost reply, a change that recognises its effect is asked again")
            .failing([], [LOST])
            .callers([adds(1).unchanged(), appends(2).maybe_applied(UNAVAILABLE)])
            .ends([1, 2], 2, 1),
        story("after a lost write, a change that recognises its effect is applied again")
            .failing([], [BUSY])
            .callers([adds(1), appends(2).maybe_applied(UNAVAILABLE)])
            .ends([1], 2, 2),
        story("a change that was in no write is made, before those who came later")
            .failing([], [BUSY])
            .callers([
                appends(1).maybe_applied(UNAVAILABLE),
                adds(1),
                adds(2).at(7),
            ])
            .ends([1, 2], 2, 2),
        story("with a policy that is not idempotent, no change is applied again")
            .policy(AT_ONCE.idempotent(false))
            .failing([], [LOST])
            .callers([adds(1), appends(2)].map(|caller| caller.maybe_applied(UNAVAILABLE)))
            .ends([1, 2], 1, 1),
        story("a version does not make a change recognise its effect")
            .combined(
                |policy, server| combine_with!(policy, server, .version(|members| members.version)),
            )
            .failing([], [RESET])
            .callers([appends(1).maybe_applied(TestError::LOST), adds(2)])
            .ends([2], 2, 2),
        story("after conflicts and throttling, all changes are applied again")
            .failing([], [STALE, fails(429)])
            .callers([appends(1)])
            .ends([1], 3, 3),
        story("after a cut read, all changes are applied")
            .combined(limited)
            .failing([Fate::Hang], [])
            .callers([appends(1).until(30)])
            .ends([1], 2, 1),
        story("after a cut write, a change that recognises its effect")
            .combined(limited)
            .failing([], [Fate::Hang])
            .callers([adds(2), appends(3).interrupted(true)])
            .ends([2], 2, 2),
        story("after a cut write, no change that recognises its effect")
            .combined(limited)
            .failing([], [Fate::Hang])
            .callers([appends(2), appends(3)].map(|caller| caller.maybe_applied(cut)))
            .ends([], 1, 1),
        story("a write that may have been applied, and that the policy does not retry")
            .failing([], [Fate::DoneBut(TestError::status(500))])
            .policy(AT_ONCE.on(crate::codes![503]))
            .callers(
                [1, 2].map(|name| appends(name).fails(TestError::status(500), Permanent, true)),
            )
            .ends([1, 2], 1, 1),
    ]);
}

#[test]
fn the_error_says_whether_an_earlier_write_may_be_applied() {
    let late = |after, may_be_applied| [adds(1).deadline(after).left(may_be_applied)];
    let stale = adds(1).fails(TestError::CONFLICT, Attempts, true);
    let denied = adds(1).fails(TestError::status(403), Permanent, true);
    run([
        story("a conflict after a lost write")
            .policy(AT_ONCE.max_attempts(2))
            .failing([], [RESET, STALE])
            .callers([stale])
            .ends([], 2, 2),
        story("a read is refused after a lost write")
            .failing([Fate::Fine, fails(403)], [RESET])
            .callers([denied])
            .ends([], 2, 1),
        story("the change fails after a lost write")
            .failing([], [RESET])
            .callers([fails_itself(true)])
            .ends([], 2, 1),
        story("withdrawn in the read")
            .callers(late(3, false))
            .ends([], 1, 0),
        story("withdrawn in the write")
            .callers(late(7, true))
            .ends([], 1, 1),
        story("withdrawn in the read after a conflict")
            .failing([], [STALE])
            .callers(late(13, false))
            .ends([], 2, 1),
        story("withdrawn in the read after a lost write")
            .failing([], [RESET])
            .callers(late(13, true))
            .ends([], 2, 1),
    ]);
}

#[test]
fn a_refusal_shows_that_nothing_was_applied() {
    let again = AT_ONCE.on(crate::codes![404, 429]);
    for (refusal, policy) in [404, 429].into_iter().flat_map(|status| {
        [again, again.idempotent(false)].map(|policy| (TestError::status(status), policy))
    }) {
        let refused = |policy| {
            let story = story(format!("{refusal} by {policy:?}"));
            story.policy(policy).failing([], [Fate::Fail(refusal)])
        };
        run([
            refused(policy).callers([appends(1)]).ends([1], 2, 2),
            refused(policy.max_attempts(1))
                .callers([appends(1).given_up(refusal)])
                .ends([], 1, 1),
        ]);
    }
}
