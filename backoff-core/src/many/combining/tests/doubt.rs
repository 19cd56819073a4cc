//! Writes that may have been applied.

use super::*;

const LOST: [Fate; 1] = [Fate::DoneBut(Failure::Status(503))];

#[tokio::test(start_paused = true)]
async fn after_a_lost_reply_only_changes_that_recognise_themselves_are_applied_again() {
    for is_applied in [true, false] {
        let server = Server::new(5);
        let [lost] = LOST;
        server.on_write([if is_applied {
            lost
        } else {
            Fate::Fail(Failure::Status(503))
        }]);
        let combined = combine(AT_ONCE, &server);
        let (sees, blind) = tokio::join!(combined.update(0, add(1)), combined.update(0, append(2)));
        assert_eq!(
            shared(&blind),
            (Failure::Status(503), StopReason::MaybeApplied, true)
        );
        assert_eq!(
            (unchanged(&sees), written(&sees)),
            (is_applied, !is_applied)
        );
        let names = if is_applied { &[1, 2][..] } else { &[1] };
        assert_eq!(server.get(0).names, names);
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_policy_is_not_idempotent_no_change_is_applied_again() {
    let server = Server::new(5);
    server.on_write(LOST);
    let combined = combine(AT_ONCE.idempotent(false), &server);
    let (one, two) = tokio::join!(combined.update(0, add(1)), combined.update(0, append(2)));
    let lost = (Failure::Status(503), StopReason::MaybeApplied, true);
    assert_eq!((shared(&one), shared(&two)), (lost.clone(), lost));
    assert_eq!(server.calls(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn where_the_version_is_the_same_a_change_is_written_again_and_otherwise_not() {
    for is_applied in [true, false] {
        let server = Server::new(5);
        let [lost] = LOST;
        let reset = Fate::Fail(Failure::Reset);
        server.on_write([reset, if is_applied { lost } else { Fate::Fine }]);
        let combined = combine(AT_ONCE, &server).version(|members| members.version);
        let (blind, sees) = tokio::join!(combined.update(0, append(1)), combined.update(0, add(2)));
        if is_applied {
            let lost = (Failure::Status(503), StopReason::MaybeApplied, true);
            assert_eq!((shared(&blind), unchanged(&sees)), (lost, true));
        } else {
            assert!(written(&blind) && written(&sees));
        }
        assert_eq!(server.get(0).names, [1, 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_was_faster_than_a_second_write_may_have_been_the_first() {
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Reset), Fate::Fail(Failure::Stale)]);
    let combined = combine(AT_ONCE, &server).version(|members| members.version);
    let told = combined.update(0, append(1)).await;
    assert_eq!(
        shared(&told),
        (Failure::Stale, StopReason::MaybeApplied, true)
    );
    assert_eq!(server.calls(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_write_upon_the_same_version_leaves_no_doubt_about_the_one_before() {
    let server = Server::new(5);
    server.refuse([9], 400);
    let combined = combine(AT_ONCE, &server).version(|members| members.version);
    let late = async {
        pass(12).await;
        // This change joins the second attempt, is refused with it, and is alone in the end.
        combined.update(0, add(9)).await
    };
    server.on_write([
        Fate::Fail(Failure::Reset),
        Fate::Fine,
        Fate::Fine,
        // After the left half was written: a conflict like any other.
        Fate::Fail(Failure::Stale),
    ]);
    let (one, two, late) = tokio::join!(
        combined.update(0, append(1)),
        combined.update(0, append(2)),
        late
    );
    assert!(written(&one) && written(&two), "{one:?}, {two:?}");
    assert_eq!(
        shared(&late),
        (Failure::Status(400), StopReason::Permanent, false)
    );
    assert_eq!(server.get(0).names, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_sure_refusal_leaves_no_doubt() {
    for (refusal, reason) in [
        (Failure::Stale, StopReason::Attempts),
        (Failure::Status(429), StopReason::Attempts),
        (Failure::Status(400), StopReason::Permanent),
    ] {
        let server = Server::new(5);
        server.on_write([Fate::Fail(refusal.clone())]);
        let combined = combine(AT_ONCE.max_attempts(1), &server);
        let told = combined.update(0, append(1)).await;
        assert_eq!(shared(&told), (refusal, reason, false));
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_applied_stays_in_doubt() {
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Reset), Fate::Fail(Failure::Stale)]);
    let combined = combine(AT_ONCE, &server);
    let told = combined.update(0, add(1)).max_attempts(2).await;
    assert_eq!(shared(&told), (Failure::Stale, StopReason::Attempts, true));

    server.on_write([Fate::Fail(Failure::Reset)]);
    server.on_read([Fate::Fine, Fate::Fail(Failure::Status(403))]);
    let told = combined.update(0, add(2)).await;
    assert_eq!(
        shared(&told),
        (Failure::Status(403), StopReason::Permanent, true)
    );

    server.on_write([Fate::Fail(Failure::Reset)]);
    let mut is_first = true;
    let fails_then = move |_: &mut Members| match core::mem::take(&mut is_first) {
        true => Ok(true),
        false => Err(Failure::Own),
    };
    let told = combined.update(0, fails_then).await;
    assert!(matches!(
        told,
        Err(CombineError::Own {
            may_be_applied: true,
            ..
        })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_does_not_recognise_itself_is_written_again_after_a_conflict() {
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Stale), Fate::Fail(Failure::Status(429))]);
    assert!(written(
        &combine(AT_ONCE, &server).update(0, append(1)).await
    ));
    assert_eq!((server.get(0).names, server.calls()), (vec![1], (3, 3)));
}

#[tokio::test(start_paused = true)]
async fn out_of_time_says_whether_the_change_may_be_applied() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let wait = |ms| {
        combined
            .update(0, add(1))
            .deadline(Duration::from_millis(ms))
    };
    let told = wait(3).await;
    assert!(matches!(
        told,
        Err(CombineError::OutOfTime {
            may_be_applied: false
        })
    ));
    let told = wait(7).await;
    assert!(matches!(
        told,
        Err(CombineError::OutOfTime {
            may_be_applied: true
        })
    ));
    // A conflict, and then the next read.
    server.on_write([Fate::Fail(Failure::Stale)]);
    let told = wait(13).await;
    assert!(matches!(
        told,
        Err(CombineError::OutOfTime {
            may_be_applied: false
        })
    ));
    // A write that may have arrived, and then the next read.
    server.on_write([Fate::Fail(Failure::Reset)]);
    let told = wait(13).await;
    assert!(matches!(
        told,
        Err(CombineError::OutOfTime {
            may_be_applied: true
        })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_cut_write_may_have_been_applied_and_a_cut_read_was_not() {
    let limit = Duration::from_millis(20);
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server).attempt_timeout(limit);
    server.on_read([Fate::Hang]);
    let start = tokio::time::Instant::now();
    assert!(written(&combined.update(0, append(1)).await));
    assert_eq!(start.elapsed(), Duration::from_millis(30));
    server.on_write([Fate::Hang]);
    let (sees, blind) = tokio::join!(combined.update(0, add(2)), combined.update(0, append(3)));
    assert!(written(&sees));
    let cut = Failure::TimedOut(TimedOut::new(limit));
    assert_eq!(shared(&blind), (cut, StopReason::MaybeApplied, true));
    assert_eq!(
        (server.get(0).names, server.steps.load(Relaxed)),
        (vec![1, 2], 0)
    );
}

/// Timers that are over when the test says so.
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
    let (server, word) = (Server::new(5), OnWord::default());
    let limit = Duration::from_millis(20);
    let combined = combine(AT_ONCE, &server).attempt_timeout(limit);
    let combined = combined.runtime(word.clone());
    let slow = move |members: &mut Members| {
        word.0.store(1, Relaxed);
        members.names.push(1);
    };
    let told = combined.update(0, slow).await;
    let cut = Failure::TimedOut(TimedOut::new(limit));
    assert_eq!(shared(&told), (cut, StopReason::Attempts, false));
    assert_eq!(server.calls(), (5, 0));
}

#[tokio::test(start_paused = true)]
async fn a_sure_refusal_that_is_retried_leaves_no_doubt() {
    for status in [400, 401, 404] {
        for policy in [AT_ONCE, AT_ONCE.idempotent(false)] {
            let policy = policy.on(crate::codes![400, 401, 404]);
            let server = Server::new(5);
            server.on_write([Fate::Fail(Failure::Status(status))]);
            let combined = combine(policy, &server);
            assert!(written(&combined.update(0, append(1)).await));
            assert_eq!((server.get(0).names, server.calls()), (vec![1], (2, 2)));
            server.on_write([Fate::Fail(Failure::Status(status))]);
            let told = combined.update(0, append(1)).max_attempts(1).await;
            let refused = (Failure::Status(status), StopReason::Attempts, false);
            assert_eq!(shared(&told), refused);
        }
    }
}
