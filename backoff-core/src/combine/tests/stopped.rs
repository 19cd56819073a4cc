//! Callers whose waiting ends by a signal.

use super::{story::*, *};

#[test]
fn a_signal_ends_the_waiting_of_its_caller() {
    let late = appends(2).deadline(1_000).out_of_time(true);
    let now = || appends(1).stopped(false).until(100);
    run([
        slowly("in a wait, of its caller alone")
            .server(|| Server::failing([BUSY], []))
            .callers([now().stops(100), appends(2).until(1_015)])
            .ends([2], 2, 1),
        story("in a read that hangs")
            .server(|| Server::failing([Fate::Hang], []))
            .callers([now().stops(100)])
            .ends([], 1, 0),
        story("not in a write")
            .callers([appends(1).stops(7).until(10)])
            .ends([1], 1, 1),
        story("not in a write that hangs, whose end is the deadline")
            .server(|| Server::failing([], [Fate::Hang]))
            .callers([late.stops(7).until(1_000)])
            .ends([], 1, 1),
        story("before its change is made")
            .callers([now().at(100).stops(0)])
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

/// Reads after the first one are ready at once, so that the next write could begin in the poll that ends the one before.
#[test]
fn no_write_of_a_stopped_change_begins() {
    let (fast, slow) = (AT_ONCE, EACH_SECOND);
    for (name, policy, status, stops, until) in [
        ("halved: in the write", fast, 422, 3, 6),
        ("failed: in the write", fast, 503, 3, 6),
        ("before a wait: in the write", slow, 503, 3, 6),
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
