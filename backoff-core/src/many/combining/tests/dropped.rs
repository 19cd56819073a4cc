//! The caller that drives, and callers that are dropped, or kept and not polled.

use super::{story::*, *};

#[test]
fn who_is_dropped_or_not_polled_harms_nobody() {
    let kept = adds(1).polled([0, 1, 2, 40]);
    let drives = appends(1).polled([0, 6, 12]).panics();
    let (blind, sees) = (appends(2).polled([0, 13]), adds(3).polled([0, 14]));
    let blind = blind.error(CombineError::Interrupted);
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
        // The kept caller begins again.
        story("a panic of the read goes to the caller in whose poll it happens")
            .server(|| Server::failing([Fate::Panic], []))
            .callers([
                appends(1).polled([0, 20]),
                appends(2).polled([0, 6]).panics(),
            ])
            .ends([1], 2, 1),
        story("after a panic of the write, changes that recognise their effect begin again")
            .server(|| Server::failing([], [Fate::Panic]))
            .callers([drives.clone(), blind.clone(), sees.clone()])
            .ends([3], 2, 2),
        story("after a panic of a copy of the reply, the same")
            .server(|| Server::failing([], [Fate::Fragile]))
            .callers([drives, blind, sees.unchanged()])
            .then(|server| {
                let mut names = server.get(0).names;
                names.sort_unstable();
                assert_eq!((names, server.calls()), (vec![1, 2, 3], (2, 1)));
            }),
    ]);
}

#[tokio::test(start_paused = true)]
async fn the_step_is_dropped_where_only_those_are_left_who_were_told() {
    let server = Arc::new(Server::new(5));
    let combined = combine(AT_ONCE, &server);
    let told = polled(combined.update(0, add(1)));
    pass(6).await;
    let mut told = polled(told);
    let other = polled(combined.update(0, add(2)));
    pass(6).await;
    // This poll ends the write of the first caller, and begins a read of its own.
    let other = polled(other);
    assert_eq!(server.steps.load(Relaxed), 1);
    drop(other);
    assert_eq!(server.steps.load(Relaxed), 0);
    assert!(written(&ready(&mut told)));
    assert_eq!(combined.busy(), 0);
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
    // Another waker takes the place of the one that looks.
    assert!(written(&two.await));
    let held = looks(&nosy);
    drop(polled(nosy.update(0, move |members: &mut Members| {
        let _ = &held;
        members.add(3)
    })));
    assert_eq!((nosy.busy(), woken.busy()), (0, 0));
    assert_eq!(server.get(0).names, [1, 2]);
}

/// The steps drop a key at several moments. A new caller comes at each of these moments once, the last
/// time when all work is done and no caller has learnt this yet.
#[test]
fn one_who_comes_when_the_driver_is_done_is_not_forgotten() {
    let _here = entered();
    let server = Arc::new(Server::new(0));
    let mut came = 0;
    for moment in 0..20 {
        let combined = combine_by(AT_ONCE, &server, move |_: &Key| moment);
        let (bell, seen) = (Arc::<Bell>::default(), AtomicU32::new(0));
        let update = combined.update(Key(Arc::new(|_| ())), add(2));
        let newcomer = Arc::new(Mutex::new((update, None)));
        let (comes, waker) = (Arc::clone(&newcomer), Waker::from(Arc::clone(&bell)));
        let look = move |is_hashed: bool| {
            if !is_hashed && seen.fetch_add(1, Relaxed) == moment {
                let (update, polled) = &mut *comes.lock().unwrap();
                *polled = Some(poll_with(update, &waker));
            }
        };
        let first = ready(&mut combined.update(Key(Arc::new(look)), add(1)));
        assert!(written(&first));
        let mut newcomer = newcomer.lock().unwrap();
        let Some(polled) = newcomer.1.take() else {
            continue;
        };
        came += 1;
        let told = match polled {
            Poll::Ready(told) => told,
            Poll::Pending => {
                assert!(bell.rung.load(Relaxed) > 0, "forgotten at moment {moment}");
                ready(&mut newcomer.0)
            }
        };
        assert!(written(&told));
        assert_eq!((server.get(moment).names.len(), combined.busy()), (2, 0));
    }
    assert!(came > 3, "it came at {came} moments");
}
