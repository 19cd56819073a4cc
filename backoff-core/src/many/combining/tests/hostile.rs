//! Callers whose wakers, destructors and keys panic.

use super::*;
use core::sync::atomic::AtomicBool;

type Hook = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;
type Kept = Arc<Mutex<Option<Pending>>>;

/// A server that answers at once, and a function that runs during the first read.
fn hooked(server: &Arc<Server>) -> (Combined, Hook) {
    let hook = Hook::default();
    let taken = Arc::clone(&hook);
    let on_read = move |_: &u32| {
        let hook = taken.lock().unwrap().take();
        hook.into_iter().for_each(|hook| hook());
    };
    let combined = combine_by(AT_ONCE, server, on_read, |key| *key, |version| version);
    (combined, hook)
}

/// Polls an update that then waits.
fn waiting(mut update: Pending, waker: &Waker) -> Pending {
    assert!(poll_with(&mut update, waker).is_pending());
    update
}

/// A caller enters in the first read, and is kept.
fn entering(hook: &Hook, combined: &Combined) -> Kept {
    let (kept, combined) = (Kept::default(), combined.clone());
    let held = Arc::clone(&kept);
    *hook.lock().unwrap() = Some(Box::new(move || {
        *held.lock().unwrap() = Some(polled(combined.update(0, nasty(2))));
    }));
    kept
}

fn taken(kept: &Kept) -> Pending {
    kept.lock().unwrap().take().expect("it was kept")
}

/// Its destructor panics.
struct Nasty;

impl Drop for Nasty {
    fn drop(&mut self) {
        panic!("the destructor panics");
    }
}

/// A change whose destructor panics.
fn nasty(name: u32) -> impl FnMut(&mut Members) -> bool + Send + 'static {
    let held = Nasty;
    move |members| {
        let _ = &held;
        members.add(name)
    }
}

#[test]
fn a_waker_that_panics_leaves_nobody_asleep() {
    let server = Arc::new(Server::new(0));
    let (combined, hook) = hooked(&server);
    let rung = AtomicU32::default;
    let bells = [true, false].map(|panics| {
        Arc::new(Bell {
            rung: rung(),
            panics,
        })
    });
    let kept = Arc::new(Mutex::new(Vec::new()));
    let enter = {
        let (combined, bells, kept) = (combined.clone(), bells.clone(), Arc::clone(&kept));
        move || {
            for (name, bell) in (2..).zip(bells) {
                let update = combined.update(0, add(name));
                kept.lock()
                    .unwrap()
                    .push(waiting(update, &Waker::from(bell)));
            }
        }
    };
    *hook.lock().unwrap() = Some(Box::new(enter));
    let mut first = combined.update(0, add(1));
    assert!(
        panics(|| poll(&mut first)),
        "the panic goes to whoever has woken"
    );
    assert_eq!(bells.map(|bell| bell.rung.load(Relaxed)), [1, 1]);
    for update in &mut *kept.lock().unwrap() {
        assert!(written(&ready(update)));
    }
    assert_eq!(server.get(0).names, [1, 2, 3]);
    drop(first);
    assert_eq!(combined.busy(), 0);
}

#[test]
fn a_change_is_dropped_by_its_owner() {
    let server = Arc::new(Server::new(0));
    let (combined, hook) = hooked(&server);
    let other = entering(&hook, &combined);
    assert!(written(&ready(&mut combined.update(0, add(1)))));
    let mut other = taken(&other);
    assert!(panics(|| poll(&mut other)), "its owner drops it");
    assert_eq!((server.get(0).names, combined.busy()), (vec![1, 2], 0));
}

#[test]
fn a_change_whose_owner_has_gone_harms_nobody() {
    let server = Arc::new(Server::new(0));
    let (combined, hook) = hooked(&server);
    let other = entering(&hook, &combined);
    // The other caller goes when its change has been taken.
    let first = ready(&mut combined.update(0, move |members: &mut Members| {
        drop(other.lock().unwrap().take());
        members.add(1)
    }));
    assert!(written(&first));
    assert_eq!((server.get(0).names, combined.busy()), (vec![1, 2], 0));
}

#[test]
fn a_caller_who_was_told_does_not_begin_the_next_read() {
    let server = Arc::new(Server::failing([Fate::Fine, Fate::Panic], []).without_hops());
    let combined = combine(AT_ONCE, &server);
    let (bell, next) = (Arc::<Bell>::default(), Kept::default());
    let mut first = {
        let (others, next, bell) = (combined.clone(), Arc::clone(&next), Arc::clone(&bell));
        combined.update(0, move |members: &mut Members| {
            let entered = waiting(others.update(0, add(2)), &Waker::from(Arc::clone(&bell)));
            *next.lock().unwrap() = Some(entered);
            members.add(1)
        })
    };
    assert!(written(&ready(&mut first)));
    assert_eq!((server.calls(), bell.rung.load(Relaxed)), ((1, 1), 1));
    let mut next = taken(&next);
    assert!(panics(|| poll(&mut next)), "it begins the read that panics");
    drop((first, next));
    assert_eq!(combined.busy(), 0);
}

/// A key whose hash panics on command.
#[derive(Clone, Debug)]
struct Moody(Arc<AtomicBool>);

impl PartialEq for Moody {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Moody {}

impl core::hash::Hash for Moody {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {
        assert!(!self.0.load(Relaxed), "the hash panics");
    }
}

/// Records, when it is dropped, whether the lock was free.
struct Witness(Combining<Moody, Members, u64, TestError>, Arc<AtomicBool>);

impl Drop for Witness {
    fn drop(&mut self) {
        let combined = self.0.clone();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(combined.busy()));
        let is_free = told.recv_timeout(Duration::from_secs(60)).is_ok();
        self.1.store(is_free, Relaxed);
    }
}

#[test]
fn a_change_is_not_dropped_under_the_lock_where_the_hash_of_a_key_panics() {
    let combined: Combining<Moody, Members, u64, TestError> = AT_ONCE.combine(
        |_| core::future::pending::<Result<Members, TestError>>(),
        |_, _| async { Ok(0) },
    );
    let [is_bad, is_free] = [(); 2].map(|()| Arc::<AtomicBool>::default());
    let held = Witness(combined.clone(), Arc::clone(&is_free));
    let key = Moody(Arc::clone(&is_bad));
    let update = polled(combined.update(key, move |_: &mut Members| {
        let _ = &held;
    }));
    is_bad.store(true, Relaxed);
    assert!(panics(|| drop(update)) && is_free.load(Relaxed));
}
