//! Writes that may have been applied.

use super::{story::*, *};
use crate::report::StopReason::{Attempts, Permanent};

const LIMIT: Duration = Duration::from_millis(20);

fn limited(combined: Combined) -> Combined {
    combined.attempt_timeout(LIMIT)
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
        story("with a policy that is not idempotent, no change is applied again")
            .policy(AT_ONCE.idempotent(false))
            .failing([], [LOST])
            .callers([adds(1), appends(2)].map(|caller| caller.maybe_applied(UNAVAILABLE)))
            .ends([1, 2], 1, 1),
        story("a version does not make a change recognise its effect")
            .combined(|combined| combined.version(|members| members.version))
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
            .callers([adds(2), appends(3).maybe_applied(cut)])
            .ends([2], 2, 2),
    ]);
}

#[test]
fn the_error_says_whether_an_earlier_write_may_be_applied() {
    let late = |after, may_be_applied| [adds(1).deadline(after).out_of_time(may_be_applied)];
    let stale = adds(1).fails(TestError::CONFLICT, Attempts, true);
    let denied = adds(1).fails(TestError::status(403), Permanent, true);
    run([
        story("a conflict after a lost write")
            .failing([], [RESET, STALE])
            .callers([stale.attempts(2)])
            .ends([], 2, 2),
        story("a read is refused after a lost write")
            .failing([Fate::Fine, fails(403)], [RESET])
            .callers([denied])
            .ends([], 2, 1),
        story("the change fails after a lost write")
            .failing([], [RESET])
            .callers([fails_itself(true)])
            .ends([], 2, 1),
        story("out of time in the read")
            .callers(late(3, false))
            .ends([], 1, 0),
        story("out of time in the write")
            .callers(late(7, true))
            .ends([], 1, 1),
        story("out of time in the read after a conflict")
            .failing([], [STALE])
            .callers(late(13, false))
            .ends([], 2, 1),
        story("out of time in the read after a lost write")
            .failing([], [RESET])
            .callers(late(13, true))
            .ends([], 2, 1),
    ]);
}

#[test]
fn a_refusal_shows_that_nothing_was_applied() {
    for refusal in [TestError::CONFLICT]
        .into_iter()
        .chain([400, 401, 404, 429].map(TestError::status))
    {
        for policy in [AT_ONCE, AT_ONCE.idempotent(false)] {
            let refused = |name| {
                story(format!("{refusal} {name}"))
                    .policy(policy.on(crate::codes![400, 401, 404, 409, 429]))
                    .failing([], [Fate::Fail(refusal)])
            };
            let last = appends(1).attempts(1).given_up(refusal);
            run([
                refused("is retried").callers([appends(1)]).ends([1], 2, 2),
                refused("of the last attempt")
                    .callers([last])
                    .ends([], 1, 1),
            ]);
        }
    }
}

/// The timer of an attempt is over when it is first asked: each step and the change are ready before.
#[cfg(feature = "testing")]
#[tokio::test]
async fn no_write_begins_where_the_change_took_the_time() {
    let server = Arc::new(Server::new(0));
    let time = crate::testing::VirtualTime::new();
    let combined = limited(combine(AT_ONCE, &server)).runtime(time);
    let error = combined.update(0, append(1)).await.unwrap_err();
    assert_eq!(error.error(), Some(&TestError::cut(LIMIT)));
    assert_eq!((error.reason(), error.may_be_applied()), (Attempts, false));
    assert_eq!(server.calls(), (5, 0));
}
