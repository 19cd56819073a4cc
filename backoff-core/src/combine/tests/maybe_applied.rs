//! Writes that may have been applied.

use super::{story::*, *};
use crate::report::StopReason::{Attempts, Permanent};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

const LIMIT: Duration = Duration::from_millis(20);
const UNAVAILABLE: TestError = TestError::status(503);

fn limited(combined: Combined) -> Combined {
    combined.attempt_timeout(LIMIT)
}

#[test]
fn which_changes_are_applied_again() {
    let cut = TestError::cut(LIMIT);
    run([
        story("after a lost reply, a change that recognises its effect is asked again")
            .server(|| Server::failing([], [LOST]))
            .callers([adds(1).unchanged(), appends(2).maybe_applied(UNAVAILABLE)])
            .ends([1, 2], 2, 1),
        story("after a lost write, a change that recognises its effect is applied again")
            .server(|| Server::failing([], [BUSY]))
            .callers([adds(1), appends(2).maybe_applied(UNAVAILABLE)])
            .ends([1], 2, 2),
        story("with a policy that is not idempotent, no change is applied again")
            .policy(AT_ONCE.idempotent(false))
            .server(|| Server::failing([], [LOST]))
            .callers([adds(1), appends(2)].map(|caller| caller.maybe_applied(UNAVAILABLE)))
            .ends([1, 2], 1, 1),
        story(
            "with a version too, a change that does not recognise its effect is not applied again",
        )
        .combined(|combined| combined.version(|members| members.version))
        .server(|| Server::failing([], [RESET]))
        .callers([appends(1).maybe_applied(TestError::LOST), adds(2)])
        .ends([2], 2, 2),
        story("after conflicts and throttling, all changes are applied again")
            .server(|| Server::failing([], [STALE, fails(429)]))
            .callers([appends(1)])
            .ends([1], 3, 3),
        story("after a cut read, all changes are applied")
            .combined(limited)
            .server(|| Server::failing([Fate::Hang], []))
            .callers([appends(1).until(30)])
            .ends([1], 2, 1),
        story("after a cut write, a change that recognises its effect")
            .combined(limited)
            .server(|| Server::failing([], [Fate::Hang]))
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
            .server(|| Server::failing([], [RESET, STALE]))
            .callers([stale.attempts(2)])
            .ends([], 2, 2),
        story("a read is refused after a lost write")
            .server(|| Server::failing([Fate::Fine, fails(403)], [RESET]))
            .callers([denied])
            .ends([], 2, 1),
        story("the change fails after a lost write")
            .server(|| Server::failing([], [RESET]))
            .callers([fails_itself(true)])
            .ends([], 2, 1),
        story("out of time in the read")
            .callers(late(3, false))
            .ends([], 1, 0),
        story("out of time in the write")
            .callers(late(7, true))
            .ends([], 1, 1),
        story("out of time in the read after a conflict")
            .server(|| Server::failing([], [STALE]))
            .callers(late(13, false))
            .ends([], 2, 1),
        story("out of time in the read after a lost write")
            .server(|| Server::failing([], [RESET]))
            .callers(late(13, true))
            .ends([], 2, 1),
    ]);
    run([
        (TestError::CONFLICT, Attempts),
        (TestError::status(429), Attempts),
        (TestError::status(400), Permanent),
    ]
    .map(|(refusal, reason)| {
        story(format!("{refusal} shows that nothing was applied"))
            .policy(AT_ONCE.max_attempts(1))
            .server(move || Server::failing([], [Fate::Fail(refusal)]))
            .callers([appends(1).fails(refusal, reason, false)])
            .ends([], 1, 1)
    }));
}

#[test]
fn a_refusal_that_is_retried_shows_that_nothing_was_applied() {
    for status in [400, 401, 404] {
        let last = appends(1).attempts(1).given_up(TestError::status(status));
        for policy in [AT_ONCE, AT_ONCE.idempotent(false)] {
            let refused = |name| {
                story(format!("{status} {name}"))
                    .policy(policy.on(crate::codes![400, 401, 404]))
                    .server(move || Server::failing([], [fails(status)]))
            };
            run([
                refused("is retried").callers([appends(1)]).ends([1], 2, 2),
                refused("of the last attempt")
                    .callers([last.clone()])
                    .ends([], 1, 1),
            ]);
        }
    }
}

/// Timers that are over when the test says so, on a clock that stands still.
#[derive(Clone, Default)]
struct OnWord(CancellationToken);

impl crate::runtime::Sleep for OnWord {
    type Sleep = WaitForCancellationFutureOwned;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        self.0.clone().cancelled_owned()
    }
}

impl crate::runtime::Spawn for OnWord {
    fn spawn(&self, task: core::pin::Pin<Box<dyn Future<Output = ()> + Send>>) {
        tokio::spawn(task);
    }
}

impl crate::runtime::Clock for OnWord {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl crate::runtime::Random for OnWord {
    fn random(&self) -> u64 {
        0
    }
}

#[tokio::test(start_paused = true)]
async fn no_write_begins_where_the_change_took_the_time() {
    let (server, word) = (Arc::new(Server::new(5)), OnWord::default());
    let combined = limited(combine(AT_ONCE, &server)).runtime(word.clone());
    let slow = move |members: &mut Members| {
        word.0.cancel();
        members.names.push(1);
    };
    let error = combined.update(0, slow).await.unwrap_err();
    assert_eq!(error.error(), Some(&TestError::cut(LIMIT)));
    assert_eq!((error.reason(), error.may_be_applied()), (Attempts, false));
    assert_eq!(server.calls(), (5, 0));
}
