//! Writes that may have been applied.

use super::{story::*, *};
use crate::report::StopReason;

const LIMIT: Duration = Duration::from_millis(20);
const UNAVAILABLE: TestError = TestError::status(503);

fn versioned(combined: Combined) -> Combined {
    combined.version(|members| members.version)
}

fn limited(combined: Combined) -> Combined {
    combined.attempt_timeout(LIMIT)
}

#[test]
fn who_is_applied_again() {
    let cut = TestError::cut(LIMIT);
    run([
        story("after a lost reply, who recognises itself is asked again")
            .server(|| Server::failing([], [LOST]))
            .callers(|| [adds(1).unchanged(), appends(2).in_doubt(UNAVAILABLE)])
            .ends([1, 2], 2, 1),
        story("after a lost write, who recognises itself is applied again")
            .server(|| Server::failing([], [BUSY]))
            .callers(|| [adds(1), appends(2).in_doubt(UNAVAILABLE)])
            .ends([1], 2, 2),
        story("with a policy that is not idempotent, nobody")
            .policy(AT_ONCE.idempotent(false))
            .server(|| Server::failing([], [LOST]))
            .callers(|| {
                [
                    adds(1).in_doubt(UNAVAILABLE),
                    appends(2).in_doubt(UNAVAILABLE),
                ]
            })
            .ends([1, 2], 1, 1),
        story("with the same version, all")
            .combined(versioned)
            .server(|| Server::failing([], [RESET]))
            .callers(|| [appends(1), adds(2)])
            .ends([1, 2], 2, 2),
        story("with another version, who recognises itself")
            .combined(versioned)
            .server(|| Server::failing([], [RESET, LOST]))
            .callers(|| [appends(1).in_doubt(UNAVAILABLE), adds(2).unchanged()])
            .ends([1, 2], 3, 2),
        story("who was faster than a second write may have been the first")
            .combined(versioned)
            .server(|| Server::failing([], [RESET, STALE]))
            .callers(|| [appends(1).in_doubt(TestError::CONFLICT)])
            .ends([], 2, 2),
        // The late change joins the second attempt, is refused with it, and is alone in the end. The conflict
        // comes after the left half was written, and is one like any other.
        story("a write upon the same version leaves no doubt about the one before")
            .combined(versioned)
            .server(|| {
                Server::failing([], [RESET, Fate::Fine, Fate::Fine, STALE]).refusing([9], 400)
            })
            .callers(|| [appends(1), appends(2), appends(9).at(12).refused(400)])
            .ends([1, 2], 6, 6),
        story("after conflicts and throttling, all")
            .server(|| Server::failing([], [STALE, fails(429)]))
            .callers(|| [appends(1)])
            .ends([1], 3, 3),
        story("after a cut read, all")
            .combined(limited)
            .server(|| Server::failing([Fate::Hang], []))
            .callers(|| [appends(1).until(30)])
            .ends([1], 2, 1),
        story("after a cut write, who recognises itself")
            .combined(limited)
            .server(|| Server::failing([], [Fate::Hang]))
            .callers(move || [adds(2), appends(3).in_doubt(cut)])
            .ends([2], 2, 2),
    ]);
}

#[test]
fn what_the_error_says_of_earlier_writes() {
    let stays = |error, reason| adds(1).fails(error, reason, true);
    run([
        story("a conflict after a lost write")
            .server(|| Server::failing([], [RESET, STALE]))
            .callers(move || {
                [stays(TestError::CONFLICT, StopReason::Attempts).with(|it| it.max_attempts(2))]
            })
            .ends([], 2, 2),
        story("a read is refused after a lost write")
            .server(|| Server::failing([Fate::Fine, fails(403)], [RESET]))
            .callers(move || [stays(TestError::status(403), StopReason::Permanent)])
            .ends([], 2, 1),
        story("the change fails after a lost write")
            .server(|| Server::failing([], [RESET]))
            .callers(|| [fails_itself(true)])
            .ends([], 2, 1),
        story("out of time in the read")
            .callers(|| [adds(1).with(|it| it.deadline(ms(3))).out_of_time(false)])
            .ends([], 1, 0),
        story("out of time in the write")
            .callers(|| [adds(1).with(|it| it.deadline(ms(7))).out_of_time(true)])
            .ends([], 1, 1),
        story("out of time in the read after a conflict")
            .server(|| Server::failing([], [STALE]))
            .callers(|| [adds(1).with(|it| it.deadline(ms(13))).out_of_time(false)])
            .ends([], 2, 1),
        story("out of time in the read after a lost write")
            .server(|| Server::failing([], [RESET]))
            .callers(|| [adds(1).with(|it| it.deadline(ms(13))).out_of_time(true)])
            .ends([], 2, 1),
    ]);
    run([
        (TestError::CONFLICT, StopReason::Attempts),
        (TestError::status(429), StopReason::Attempts),
        (TestError::status(400), StopReason::Permanent),
    ]
    .map(|(refusal, reason)| {
        story(format!("{refusal} leaves no doubt"))
            .policy(AT_ONCE.max_attempts(1))
            .server(move || Server::failing([], [Fate::Fail(refusal)]))
            .callers(move || [appends(1).fails(refusal, reason, false)])
            .ends([], 1, 1)
    }));
}

#[test]
fn a_sure_refusal_that_is_retried_leaves_no_doubt() {
    for status in [400, 401, 404] {
        let (error, reason) = (TestError::status(status), StopReason::Attempts);
        for policy in [AT_ONCE, AT_ONCE.idempotent(false)] {
            let refused = |name| {
                story(format!("{status} {name}"))
                    .policy(policy.on(crate::codes![400, 401, 404]))
                    .server(move || Server::failing([], [fails(status)]))
            };
            run([
                refused("is retried")
                    .callers(|| [appends(1)])
                    .ends([1], 2, 2),
                refused("of the last attempt")
                    .callers(move || {
                        [appends(1)
                            .with(|it| it.max_attempts(1))
                            .fails(error, reason, false)]
                    })
                    .ends([], 1, 1),
            ]);
        }
    }
}

/// Timers that are over when the test says so, on a clock that stands still.
#[derive(Clone, Default)]
struct OnWord(Arc<AtomicU32>);

impl Future for OnWord {
    type Output = ();

    fn poll(self: core::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.0.load(Relaxed) {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }
}

impl crate::runtime::Sleep for OnWord {
    type Sleep = OnWord;

    fn sleep(&self, _: Duration) -> OnWord {
        self.clone()
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
        word.0.store(1, Relaxed);
        members.names.push(1);
    };
    let error = combined.update(0, slow).await.unwrap_err();
    assert_eq!(error.error(), Some(&TestError::cut(LIMIT)));
    assert_eq!(
        (error.reason(), error.may_be_applied()),
        (StopReason::Attempts, false)
    );
    assert_eq!(server.calls(), (5, 0));
}
