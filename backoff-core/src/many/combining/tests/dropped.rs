//! The caller that drives, and callers that are dropped, or kept and not polled.

use super::{story::*, *};

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_kept_and_not_polled_holds_nobody_up() {
    let server = Arc::new(Server::new(5));
    let combined = combine(AT_ONCE, &server);
    let mut kept = combined.update(0, add(1));
    let mut other = tokio::spawn(combined.update(0, add(2)));
    tokio::task::yield_now().await;
    for _ in 0..3 {
        // This caller polls the driver once, and is then forgotten.
        kept = polled(kept);
        pass(1).await;
    }
    let told = tokio::time::timeout(SECOND, &mut other).await;
    assert!(written(&told.expect("nobody hangs").unwrap()));
    let again = tokio::time::timeout(SECOND, combined.update(0, add(3)));
    assert!(written(&again.await.expect("nobody hangs")));
    assert!(written(&kept.await));
    assert_eq!(combined.busy(), 0);
}

#[test]
fn dropping_one_caller_drops_no_step() {
    run([
        story("a change that is dropped in its write was taken")
            .callers(|| [adds(1).leaves(7), adds(2).until(10)])
            .ends([1, 2], 1, 1),
        story("a change that is dropped in the read is not applied, and the read goes on")
            .callers(|| [adds(1).leaves(4), adds(2).until(10)])
            .ends([2], 1, 1),
        story("dropping all drops the step")
            .callers(|| [adds(1).leaves(1), adds(2).leaves(1)])
            .ends([], 1, 0),
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
    /// Uses the resource when the value is dropped and when it is called.
    struct Nosy(Combined);
    impl Nosy {
        fn look(&self) {
            let mut update = self.0.update(0, add(9));
            let _ = poll(&mut update);
            assert!(self.0.busy() > 0);
        }
    }
    impl Drop for Nosy {
        fn drop(&mut self) {
            self.look();
        }
    }
    impl std::task::Wake for Nosy {
        fn wake(self: Arc<Self>) {
            self.look();
        }
    }
    let server = Arc::new(Server::new(5));
    let (nosy, woken) = (combine(AT_ONCE, &server), combine(AT_ONCE, &server));
    let held = Nosy(nosy.clone());
    let change = move |members: &mut Members| {
        held.look();
        members.add(1)
    };
    let mut one = nosy.update(0, change);
    let waker = Waker::from(Arc::new(Nosy(woken.clone())));
    let mut two = woken.update(0, add(2));
    assert!(poll_with(&mut two, &waker).is_pending());
    drop(waker);
    assert!(written(&(&mut one).await));
    drop(one);
    // Another waker takes the place of the one that looks.
    assert!(written(&two.await));
    let held = Nosy(nosy.clone());
    drop(polled(nosy.update(0, move |members: &mut Members| {
        let _ = &held;
        members.add(3)
    })));
    assert_eq!((nosy.busy(), woken.busy()), (0, 0));
    assert_eq!(server.get(0).names, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_read_goes_to_the_caller_in_whose_poll_it_happens() {
    let server = Arc::new(Server::failing([Fate::Panic], []));
    let combined = combine(AT_ONCE, &server);
    let begins = polled(combined.update(0, append(1)));
    let mut other = polled(combined.update(0, append(2)));
    pass(6).await;
    assert!(
        panics(|| poll(&mut other)),
        "the panic goes where it happens"
    );
    drop(other);
    assert!(written(&begins.await));
    assert_eq!((server.get(0).names, server.calls()), (vec![1], (2, 1)));
    assert_eq!(combined.busy(), 0);
}

/// A reply whose first copy panics.
#[derive(Debug)]
struct Fragile(Arc<AtomicU32>);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(self.0.fetch_add(1, Relaxed) > 0, "the copy panics");
        Fragile(Arc::clone(&self.0))
    }
}

/// Three callers, the first of which drives: the write, or the copy of its reply, panics. Only those begin
/// again who recognise themselves.
async fn a_write_panics<W>(combined: Combining<u32, Members, W, TestError>, is_written: bool)
where
    W: Clone + Send + Sync + core::fmt::Debug + 'static,
{
    let drives = polled(combined.update(0, append(1)));
    let mut blind = polled(combined.update(0, append(2)));
    let sees = polled(combined.update(0, add(3)));
    pass(6).await;
    let mut drives = polled(drives);
    pass(6).await;
    assert!(panics(|| poll(&mut drives)), "in this poll");
    let Err(error @ CombineError::Interrupted) = ready(&mut blind) else {
        panic!("it may have been applied, and is not applied again")
    };
    assert!(error.may_be_applied());
    assert_eq!(written(&sees.await), !is_written);
    drop((drives, blind));
    assert_eq!(combined.busy(), 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_panic_of_the_write_only_those_begin_again_who_recognise_themselves() {
    let server = Arc::new(Server::failing([], [Fate::Panic]));
    a_write_panics(combine(AT_ONCE, &server), false).await;
    assert_eq!((server.get(0).names, server.calls()), (vec![3], (2, 2)));
    let (server, copies) = (Arc::new(Server::new(5)), Arc::new(AtomicU32::new(0)));
    let reply = move |_| Fragile(Arc::clone(&copies));
    a_write_panics(
        combine_by(AT_ONCE, &server, |_| (), |key| *key, reply),
        true,
    )
    .await;
    assert_eq!(
        (server.get(0).names, server.calls()),
        (vec![1, 2, 3], (2, 1))
    );
}

/// A key that calls a function when the key is dropped.
struct Key(Arc<dyn Fn() + Send + Sync>);

impl Clone for Key {
    fn clone(&self) -> Self {
        Key(Arc::clone(&self.0))
    }
}

impl PartialEq for Key {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Key {}

impl core::hash::Hash for Key {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl Drop for Key {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The steps drop a key at several moments. A new caller comes at each of these moments once, the last
/// time when all work is done and no caller has learnt this yet.
#[test]
fn one_who_comes_when_the_driver_is_done_is_not_forgotten() {
    let server = Arc::new(Server::new(0));
    let mut came = 0;
    for moment in 0..20 {
        let combined = combine_by(
            AT_ONCE,
            &server,
            |_| (),
            move |_: &Key| moment,
            |version| version,
        );
        let silent = || Key(Arc::new(|| ()));
        let bell = Arc::<Bell>::default();
        let newcomer = combined.update(silent(), add(2));
        let newcomer = Arc::new(Mutex::new((0, newcomer, None)));
        let look = {
            let (newcomer, bell) = (Arc::clone(&newcomer), Arc::clone(&bell));
            move || {
                let Ok(mut newcomer) = newcomer.try_lock() else {
                    return;
                };
                newcomer.0 += 1;
                if newcomer.0 == moment + 1 {
                    let waker = Waker::from(Arc::clone(&bell));
                    newcomer.2 = Some(poll_with(&mut newcomer.1, &waker));
                }
            }
        };
        let first = ready(&mut combined.update(Key(Arc::new(look)), add(1)));
        assert!(written(&first));
        let mut newcomer = newcomer.lock().unwrap();
        let Some(polled) = newcomer.2.take() else {
            continue;
        };
        came += 1;
        let told = match polled {
            Poll::Ready(told) => told,
            Poll::Pending => {
                assert!(bell.rung.load(Relaxed) > 0, "forgotten at moment {moment}");
                ready(&mut newcomer.1)
            }
        };
        assert!(written(&told));
        assert_eq!((server.get(moment).names.len(), combined.busy()), (2, 0));
    }
    assert!(came > 3, "it came at {came} moments");
}
