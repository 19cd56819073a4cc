//! Callers whose waiting ends by a signal.

use super::{story::*, *};
use tokio_util::sync::CancellationToken;

#[test]
fn a_signal_ends_the_waiting_of_its_caller() {
    let late = appends(2).deadline(1_000).out_of_time(true);
    let now = |report| appends(1).stopped(false).until(100).reports(report);
    run([
        slowly("in a wait, of its caller alone")
            .server(|| Server::failing([BUSY], []))
            .callers([now([1, 0, 0, 95]).stops(100), appends(2).until(1_015)])
            .ends([2], 2, 1),
        story("in a read that hangs")
            .server(|| Server::failing([Fate::Hang], []))
            .callers([now([0; 4]).stops(100)])
            .ends([], 1, 0),
        story("not in a write")
            .callers([appends(1).stops(7).until(10)])
            .ends([1], 1, 1),
        story("not in a write that hangs, whose end is the deadline")
            .server(|| Server::failing([], [Fate::Hang]))
            .callers([late.stops(7).until(1_000)])
            .ends([], 1, 1),
        story("before its change is made")
            .callers([now([0; 4]).at(100).stops(0)])
            .ends([], 0, 0),
        story("between two writes of a group that is halved")
            .server(|| Server::new(5).refusing([2], 400))
            .callers([appends(1).stops(7).stopped(false), appends(2).refused(400)])
            .ends([], 2, 2),
        slowly("with the end of a lone wait")
            .server(|| Server {
                hops: [1, 0, 5],
                ..Server::failing([], [BUSY; 2])
            })
            .callers([adds(1).stops(1_006).stopped(true)])
            .ends([], 1, 1),
    ]);
}

/// Holds for both drivers of the write: the caller with the signal and another caller. Reads after the
/// first one are ready at once, so that the next write could begin in the poll that ends the one before.
#[test]
fn no_write_of_a_stopped_change_begins() {
    let (fast, slow) = (AT_ONCE, EACH_SECOND);
    for (name, policy, status, stops, until) in [
        ("halved: in the write", fast, 422, 3, 6),
        ("halved: as the write ends", fast, 422, 6, 6),
        ("failed: in the write", fast, 503, 3, 6),
        ("failed: as the write ends", fast, 503, 6, 6),
        ("before a wait: in the write", slow, 503, 3, 6),
        ("before a wait: as the write ends", slow, 503, 6, 6),
        ("with the end of a wait", slow, 503, 1_006, 1_006),
    ] {
        let told = adds(1).stops(stops).stopped(status == 503).until(until);
        for both in [[1, 2], [2, 1]] {
            let server = move || Server {
                hops: [1, 0, 5],
                ..Server::failing([], [fails(status)])
            };
            run([story(format!("{name}, in the order {both:?}"))
                .policy(policy)
                .server(server)
                .callers(both.map(|name| if name == 1 { told.clone() } else { adds(name) }))
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
    let server = Arc::new(Server {
        hops: [0, 0, 5],
        ..Server::failing([], [BUSY])
    });
    let combined = combine(EACH_SECOND, &server);
    let (bell, token) = (Arc::<Bell>::default(), CancellationToken::new());
    let stops = combined.update(0, add(1));
    let kept = Mutex::new(stops.stop_on(token.clone().cancelled_owned()));
    let (kept, waker) = (Arc::new(kept), Waker::from(Arc::clone(&bell)));
    let poll_kept = move || poll_with(&mut *kept.lock().unwrap(), &waker);
    assert!(poll_kept().is_pending());
    let (poll_in_write, rung) = (poll_kept.clone(), Arc::clone(&bell));
    *server.in_write.lock().unwrap() = Some(Box::new(move || {
        token.cancel();
        assert!(poll_in_write().is_pending(), "the write is finished");
        rung.rung.store(0, Relaxed);
    }));
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
