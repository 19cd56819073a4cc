//! The caller that drives, and callers that are dropped, or kept and not polled.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_kept_and_not_polled_holds_nobody_up() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let mut kept = combined.update(0, add(1));
    let mut other = tokio::spawn(combined.update(0, add(2)));
    tokio::task::yield_now().await;
    for _ in 0..3 {
        // This caller polls the driver once, and is then forgotten.
        assert!(poll(&mut kept).is_pending());
        pass(1).await;
    }
    let told = tokio::time::timeout(Duration::from_secs(1), &mut other).await;
    assert!(written(&told.expect("nobody hangs").unwrap()));
    let again = tokio::time::timeout(Duration::from_secs(1), combined.update(0, add(3)));
    assert!(written(&again.await.expect("nobody hangs")));
    assert!(written(&kept.await));
    assert_eq!(combined.busy(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_caller_drops_no_write() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let mut first = combined.update(0, add(1));
    assert!(poll(&mut first).is_pending());
    let second = tokio::spawn(combined.update(0, add(2)));
    pass(7).await;
    assert_eq!(server.calls(), (1, 1));
    drop(first);
    assert!(written(&second.await.unwrap()));
    assert_eq!(server.get(0).names, [1, 2], "the change was taken");
    assert_eq!(server.calls(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_dropped_before_it_is_taken_is_not_applied() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let mut first = combined.update(0, add(1));
    assert!(poll(&mut first).is_pending());
    let second = tokio::spawn(combined.update(0, add(2)));
    pass(4).await;
    drop(first);
    assert!(written(&second.await.unwrap()));
    assert_eq!(server.get(0).names, [2]);
    assert_eq!(server.calls(), (1, 1), "the read went on");
}

#[tokio::test(start_paused = true)]
async fn dropping_all_drops_the_step() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let mut both = [combined.update(0, add(1)), combined.update(0, add(2))];
    for caller in &mut both {
        assert!(poll(caller).is_pending());
    }
    assert_eq!(server.steps.load(Relaxed), 1);
    drop(both);
    assert_eq!((server.steps.load(Relaxed), combined.busy()), (0, 0));
    pass(100).await;
    assert_eq!(server.get(0), Members::default());
}

#[tokio::test(start_paused = true)]
async fn the_step_is_dropped_where_only_those_are_left_who_were_told() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let mut told = combined.update(0, add(1));
    assert!(poll(&mut told).is_pending());
    pass(6).await;
    assert!(poll(&mut told).is_pending());
    let mut other = combined.update(0, add(2));
    assert!(poll(&mut other).is_pending());
    pass(6).await;
    // This poll ends the write of the first caller, and begins a read of its own.
    assert!(poll(&mut other).is_pending());
    assert_eq!(server.steps.load(Relaxed), 1);
    drop(other);
    assert_eq!(server.steps.load(Relaxed), 0);
    let Poll::Ready(told) = poll(&mut told) else {
        panic!("it was told")
    };
    assert!(written(&told));
    assert_eq!(combined.busy(), 0);
}

/// No lock may be held while a caller's code runs. The thread would wait for itself.
#[test]
fn no_callers_code_runs_or_is_dropped_under_a_lock() {
    let (ends, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        runtime.unwrap().block_on(callers_code_uses_the_resource());
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
    let server = Server::new(5);
    let (nosy, woken) = (combine(AT_ONCE, &server), combine(AT_ONCE, &server));
    let held = Nosy(nosy.clone());
    let change = move |members: &mut Members| {
        held.look();
        members.add(1)
    };
    let mut one = nosy.update(0, change);
    let waker = Waker::from(Arc::new(Nosy(woken.clone())));
    let mut two = woken.update(0, add(2));
    let polled = pin!(&mut two).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    drop(waker);
    assert!(written(&(&mut one).await));
    drop(one);
    // Another waker takes the place of the one that looks.
    assert!(written(&two.await));
    let held = Nosy(nosy.clone());
    let mut dropped = nosy.update(0, move |members: &mut Members| {
        let _ = &held;
        members.add(3)
    });
    assert!(poll(&mut dropped).is_pending());
    drop(dropped);
    assert_eq!((nosy.busy(), woken.busy()), (0, 0));
    assert_eq!(server.get(0).names, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_read_goes_to_the_caller_in_whose_poll_it_happens() {
    let server = Server::new(5);
    server.on_read([Fate::Panic]);
    let combined = combine(AT_ONCE, &server);
    let mut begins = combined.update(0, append(1));
    assert!(poll(&mut begins).is_pending());
    let mut other = combined.update(0, append(2));
    assert!(poll(&mut other).is_pending());
    pass(6).await;
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| poll(&mut other)));
    assert!(panicked.is_err(), "the panic goes where it happens");
    drop(other);
    assert!(written(&begins.await));
    assert_eq!(server.get(0).names, [1]);
    assert_eq!(server.calls(), (2, 1));
    assert_eq!(combined.busy(), 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_panic_of_the_write_only_those_begin_again_who_recognise_themselves() {
    let server = Server::new(5);
    server.on_write([Fate::Panic]);
    let combined = combine(AT_ONCE, &server);
    let mut drives = combined.update(0, add(1));
    let mut blind = combined.update(0, append(2));
    let mut sees = combined.update(0, add(3));
    assert!(poll(&mut drives).is_pending());
    assert!(poll(&mut blind).is_pending() && poll(&mut sees).is_pending());
    pass(6).await;
    assert!(poll(&mut drives).is_pending());
    pass(6).await;
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| poll(&mut drives)));
    assert!(panicked.is_err());
    let Poll::Ready(Err(error @ CombineError::Interrupted)) = poll(&mut blind) else {
        panic!("it is not written again")
    };
    assert!(error.may_be_applied());
    assert!(written(&sees.await));
    assert_eq!(server.get(0).names, [3]);
    drop(drives);
    drop(blind);
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

#[tokio::test(start_paused = true)]
async fn a_panic_after_the_write_leaves_the_others_in_doubt() {
    let server = Server::new(5);
    let (reader, writer) = (Arc::clone(&server), Arc::clone(&server));
    let copies = Arc::new(AtomicU32::new(0));
    let combined: Combining<u32, Members, Fragile, Failure> = AT_ONCE.combine(
        move |key| {
            let server = Arc::clone(&reader);
            async move { server.read(key).await }
        },
        move |key, members| {
            let (server, copies) = (Arc::clone(&writer), Arc::clone(&copies));
            async move { server.write(key, members).await.map(|_| Fragile(copies)) }
        },
    );
    let mut drives = combined.update(0, append(1));
    let mut other = combined.update(0, append(2));
    let mut sees = combined.update(0, add(3));
    assert!(poll(&mut drives).is_pending());
    assert!(poll(&mut other).is_pending() && poll(&mut sees).is_pending());
    pass(6).await;
    assert!(poll(&mut drives).is_pending());
    pass(6).await;
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| poll(&mut drives)));
    assert!(panicked.is_err(), "the copy panics in this poll");
    let Poll::Ready(Err(CombineError::Interrupted)) = poll(&mut other) else {
        panic!("it may have been applied, and is not applied again")
    };
    assert!(matches!(sees.await, Ok(Updated::Unchanged(_))));
    assert_eq!(server.get(0).names, [1, 2, 3]);
    assert_eq!(server.calls(), (2, 1));
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

/// Whether the waker was woken.
#[derive(Default)]
struct Bell(AtomicU32);

impl std::task::Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// The steps drop a key at several moments. A new caller comes at each of these moments once, the last
/// time when all work is done and no caller has learnt this yet.
#[test]
fn one_who_comes_when_the_driver_is_done_is_not_forgotten() {
    let server = Server::new(0);
    let mut came = 0;
    for moment in 0..20 {
        let combined: Combining<Key, Members, u64, Failure> = {
            let (reader, writer) = (Arc::clone(&server), Arc::clone(&server));
            AT_ONCE.combine(
                move |_| {
                    let server = Arc::clone(&reader);
                    async move { server.read(moment).await }
                },
                move |_, members| {
                    let server = Arc::clone(&writer);
                    async move { server.write(moment, members).await }
                },
            )
        };
        let silent = || Key(Arc::new(|| ()));
        let bell = Arc::new(Bell::default());
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
                    let polled = pin!(&mut newcomer.1).poll(&mut Context::from_waker(&waker));
                    newcomer.2 = Some(polled);
                }
            }
        };
        let first = poll(&mut combined.update(Key(Arc::new(look)), add(1)));
        assert!(matches!(first, Poll::Ready(told) if written(&told)));
        let mut newcomer = newcomer.lock().unwrap();
        let Some(polled) = newcomer.2.take() else {
            continue;
        };
        came += 1;
        let told = match polled {
            Poll::Ready(told) => told,
            Poll::Pending => {
                assert!(bell.0.load(Relaxed) > 0, "forgotten at moment {moment}");
                let Poll::Ready(told) = poll(&mut newcomer.1) else {
                    panic!("nothing is to be waited for at moment {moment}")
                };
                told
            }
        };
        assert!(written(&told));
        assert_eq!((server.get(moment).names.len(), combined.busy()), (2, 0));
    }
    assert!(came > 3, "it came at {came} moments");
}
