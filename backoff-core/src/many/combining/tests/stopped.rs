//! Callers whose waiting ends by a signal.

use super::{story::*, *};
use tokio_util::sync::CancellationToken;

#[test]
fn a_signal_ends_the_waiting_of_its_caller() {
    run([
        story("in a wait, of its caller alone")
            .policy(EACH_SECOND)
            .server(|| Server::failing([BUSY], []))
            .callers(|| {
                let stops = appends(1).stops(100).stopped(false);
                [
                    stops.until(100).reports([1, 0, 0, 1_000]),
                    appends(2).until(1_015),
                ]
            })
            .ends([2], 2, 1),
        story("in a read that hangs")
            .server(|| Server::failing([Fate::Hang], []))
            .callers(|| [appends(1).stops(100).stopped(false).until(100)])
            .ends([], 1, 0),
        story("not in a write")
            .callers(|| [appends(1).stops(7).until(10)])
            .ends([1], 1, 1),
        story("not in a write that hangs, whose end is the deadline")
            .server(|| Server::failing([], [Fate::Hang]))
            .callers(|| {
                [appends(2)
                    .stops(7)
                    .with(|it| it.deadline(ms(1_000)))
                    .out_of_time(true)
                    .until(1_000)]
            })
            .ends([], 1, 1),
        story("before its change is made")
            .callers(|| {
                let stops = appends(1).at(100).stops(0).stopped(false);
                [stops.until(100).reports([0, 0, 0, 0])]
            })
            .ends([], 0, 0),
        story("between two writes of a group that is halved")
            .server(|| Server::new(5).refusing([2], 400))
            .callers(|| [appends(1).stops(7).stopped(false), appends(2).refused(400)])
            .ends([], 2, 2),
        story("with the end of a lone wait")
            .policy(EACH_SECOND)
            .server(|| Server {
                hops: [1, 0, 5],
                ..Server::failing([], [BUSY; 2])
            })
            .callers(|| [adds(1).stops(1_006).stopped(true)])
            .ends([], 1, 1),
    ]);
}

/// Holds for both drivers of the write: the caller with the signal and another caller. Reads after the
/// first one are ready at once, so that the next write could begin in the poll that ends the one before.
#[test]
fn no_write_of_a_stopped_change_begins() {
    for (name, policy, status, may_be_applied, stops, until) in [
        ("halved: in the write", AT_ONCE, 422, false, 3, 6),
        ("halved: as the write ends", AT_ONCE, 422, false, 6, 6),
        ("failed: in the write", AT_ONCE, 503, true, 3, 6),
        ("failed: as the write ends", AT_ONCE, 503, true, 6, 6),
        ("before a wait: in the write", EACH_SECOND, 503, true, 3, 6),
        (
            "before a wait: as the write ends",
            EACH_SECOND,
            503,
            true,
            6,
            6,
        ),
        (
            "with the end of a wait",
            EACH_SECOND,
            503,
            true,
            1_006,
            1_006,
        ),
    ] {
        let told = move || adds(1).stops(stops).stopped(may_be_applied).until(until);
        for both in [[1, 2], [2, 1]] {
            let server = move || Server {
                hops: [1, 0, 5],
                ..Server::failing([], [fails(status)])
            };
            run([story(format!("{name}, in the order {both:?}"))
                .policy(policy)
                .server(server)
                .callers(move || both.map(|name| if name == 1 { told() } else { adds(name) }))
                .then(move |server| {
                    let writes = server.writes.lock().unwrap();
                    assert_eq!(*writes, [both.to_vec(), vec![2]]);
                })]);
        }
    }
}

/// As if both were polled by threads of their own.
#[tokio::test(start_paused = true)]
async fn a_caller_that_was_polled_during_the_write_is_woken_when_it_fails() {
    type Kept = Arc<Mutex<Option<Pending>>>;
    let (kept, token) = (Kept::default(), CancellationToken::new());
    let bell = Arc::<Bell>::default();
    let poll_kept = {
        let (kept, bell) = (Arc::clone(&kept), Arc::clone(&bell));
        move || {
            let waker = Waker::from(Arc::clone(&bell));
            let polled = poll_with(kept.lock().unwrap().as_mut().expect("it is kept"), &waker);
            bell.rung.store(0, Relaxed);
            polled
        }
    };
    let in_write = {
        let (token, poll_kept) = (token.clone(), poll_kept.clone());
        move || {
            token.cancel();
            assert!(poll_kept().is_pending(), "the write is finished");
        }
    };
    let combined = EACH_SECOND.combine(
        |_: u32| core::future::ready(Ok(Members::default())),
        move |_, _| {
            let in_write = in_write.clone();
            async move {
                pass(5).await;
                in_write();
                Err(TestError::status(503))
            }
        },
    );
    let stops = combined.update(0, add(1));
    *kept.lock().unwrap() = Some(stops.stop_on(token.cancelled_owned()));
    assert!(poll_kept().is_pending());
    let mut other = combined.update(0, add(2));
    pass(6).await;
    assert!(poll(&mut other).is_pending(), "it waits for a second");
    assert_eq!(bell.rung.load(Relaxed), 1);
    let Poll::Ready(told) = poll_kept() else {
        panic!("the wait is ended")
    };
    assert_eq!(
        came(&told),
        "Stopped { may_be_applied: true }",
        "a 503 may have been applied"
    );
}
