//! Callers that are dropped, or kept and not polled, and reads and writes that panic.

use super::{story::*, *};

#[test]
fn who_is_dropped_or_not_polled_harms_nobody() {
    let kept = adds(1).polled([0, 1, 2, 40]);
    let interrupted =
        |caller: Caller, may_be_applied| caller.error(CombineError::Interrupted { may_be_applied });
    run([
        story("a change that is dropped in its write was taken")
            .callers([adds(1).leaves(7), adds(2).until(10)])
            .ends([1, 2], 1, 1),
        story("a change that is dropped in the read is not applied, and the read goes on")
            .callers([adds(1).leaves(4), adds(2).until(10)])
            .ends([2], 1, 1),
        story("dropping all drops the step")
            .callers([adds(1).leaves(1), adds(2).leaves(1)])
            .ends([], 1, 0),
        story("a caller that stops polling blocks no one")
            .callers([kept, adds(2).until(10), adds(3).at(20).until(30)])
            .ends([1, 2, 3], 2, 2),
        story("a panic of the read ends those who waited for it")
            .server(|| Server::failing([Fate::Panic], []))
            .callers([interrupted(appends(1), false), adds(2).at(2)])
            .ends([2], 2, 1),
        story("a panic of the write ends its group, and the next task serves the next group")
            .server(|| Server::failing([], [Fate::Panic]))
            .callers([
                interrupted(appends(1), true),
                interrupted(adds(2), true),
                adds(3).at(7),
            ])
            .ends([3], 2, 2),
        story("a panic of a copy of the reply, the same")
            .server(|| Server::failing([], [Fate::Fragile]))
            .callers([
                interrupted(adds(1), true),
                interrupted(adds(2), true),
                adds(3).at(7),
            ])
            .ends([1, 2, 3], 2, 2),
        story("a step that hangs is dropped when nobody waits for it")
            .server(|| Server::failing([], [Fate::DoneAndHang]))
            .callers([
                adds(1).leaves(50),
                adds(2).leaves(60),
                adds(3).at(70).until(80),
            ])
            .ends([1, 2, 3], 2, 2),
    ]);
}

/// No lock may be held while a caller's code runs. The thread would wait for itself.
#[test]
fn no_callers_code_runs_or_is_dropped_under_a_lock() {
    let (ends, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        paused().block_on(callers_code_uses_the_resource());
        ends.send(()).unwrap();
    });
    let patience = Duration::from_secs(120);
    ended.recv_timeout(patience).expect("nothing hangs");
}

async fn callers_code_uses_the_resource() {
    let looks = |combined: &Combined| {
        let combined = combined.clone();
        Calls(move || {
            let mut update = combined.update(0, add(9));
            let _ = poll(&mut update);
            assert!(combined.busy() > 0);
        })
    };
    let server = Arc::new(Server::new(5));
    let (nosy, woken) = (combine(AT_ONCE, &server), combine(AT_ONCE, &server));
    let held = looks(&nosy);
    let change = move |members: &mut Members| {
        (held.0)();
        members.add(1)
    };
    let mut one = nosy.update(0, change);
    let waker = Waker::from(Arc::new(looks(&woken)));
    let mut two = woken.update(0, add(2));
    assert!(poll_with(&mut two, &waker).is_pending());
    drop(waker);
    assert!(written(&(&mut one).await));
    drop(one);
    // Another waker takes the receiver of the one that looks.
    assert!(written(&two.await));
    let held = looks(&nosy);
    drop(polled(nosy.update(0, move |members: &mut Members| {
        let _ = &held;
        members.add(3)
    })));
    pass(1).await;
    assert_eq!((nosy.busy(), woken.busy()), (0, 0));
    let mut names = server.get(0).names;
    names.sort_unstable();
    assert_eq!(names, [1, 2]);
}
