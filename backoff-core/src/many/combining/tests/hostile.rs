//! Callers whose wakers, destructors and keys panic.

use super::*;
use core::{panic::AssertUnwindSafe, sync::atomic::AtomicBool};
use std::panic::catch_unwind;

type Hook = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;
type Kept = Arc<Mutex<Option<Updating<u32, Members, u64, Failure>>>>;

/// A server that answers at once, and a function that runs during the first read.
fn hooked(server: &Arc<Server>) -> (Combined, Hook) {
    let hook = Hook::default();
    let (reader, writer, on_read) = (Arc::clone(server), Arc::clone(server), Arc::clone(&hook));
    let combined = AT_ONCE.combine(
        move |key| {
            let (server, on_read) = (Arc::clone(&reader), Arc::clone(&on_read));
            async move {
                let hook = on_read.lock().unwrap().take();
                hook.into_iter().for_each(|hook| hook());
                server.read(key).await
            }
        },
        move |key, members| {
            let server = Arc::clone(&writer);
            async move { server.write(key, members).await }
        },
    );
    (combined, hook)
}

/// Polls an update that then waits, and keeps it.
fn keep(mut update: Updating<u32, Members, u64, Failure>, waker: &Waker) -> Kept {
    let polled = pin!(&mut update).poll(&mut Context::from_waker(waker));
    assert!(polled.is_pending());
    Arc::new(Mutex::new(Some(update)))
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

/// A waker that panics, or that counts.
struct Bell(bool, AtomicU32);

impl std::task::Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Relaxed);
        assert!(!self.0, "the waker panics");
    }
}

#[test]
fn a_waker_that_panics_leaves_nobody_asleep() {
    let server = Server::new(0);
    let (combined, hook) = hooked(&server);
    let bells = [true, false].map(|panics| Arc::new(Bell(panics, AtomicU32::new(0))));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let enter = {
        let (combined, bells, kept) = (combined.clone(), bells.clone(), Arc::clone(&kept));
        move || {
            for (name, bell) in (2..).zip(bells) {
                let update = combined.update(0, add(name));
                kept.lock().unwrap().push(keep(update, &Waker::from(bell)));
            }
        }
    };
    *hook.lock().unwrap() = Some(Box::new(enter));
    let mut first = combined.update(0, add(1));
    let panicked = catch_unwind(AssertUnwindSafe(|| poll(&mut first)));
    assert!(panicked.is_err(), "the panic goes to whoever has woken");
    assert_eq!(bells.map(|bell| bell.1.load(Relaxed)), [1, 1]);
    for kept in &*kept.lock().unwrap() {
        let mut update = kept.lock().unwrap().take().expect("it was kept");
        assert!(matches!(poll(&mut update), Poll::Ready(told) if written(&told)));
    }
    assert_eq!(server.get(0).names, [1, 2, 3]);
    drop(first);
    assert_eq!(combined.busy(), 0);
}

#[test]
fn a_change_is_dropped_by_its_owner() {
    let server = Server::new(0);
    let (combined, hook) = hooked(&server);
    let other = Kept::default();
    let enter = {
        let (combined, other) = (combined.clone(), Arc::clone(&other));
        move || {
            let entered = keep(combined.update(0, nasty(2)), Waker::noop());
            *other.lock().unwrap() = entered.lock().unwrap().take();
        }
    };
    *hook.lock().unwrap() = Some(Box::new(enter));
    let first = poll(&mut combined.update(0, add(1)));
    assert!(matches!(first, Poll::Ready(told) if written(&told)));
    let mut other = other.lock().unwrap().take().expect("it was kept");
    let panicked = catch_unwind(AssertUnwindSafe(|| poll(&mut other)));
    assert!(panicked.is_err(), "its owner drops it");
    assert_eq!((server.get(0).names, combined.busy()), (vec![1, 2], 0));
}

#[test]
fn a_change_whose_owner_has_gone_harms_nobody() {
    let server = Server::new(0);
    let (combined, hook) = hooked(&server);
    let other = Kept::default();
    let enter = {
        let (combined, other) = (combined.clone(), Arc::clone(&other));
        move || {
            let entered = keep(combined.update(0, nasty(2)), Waker::noop());
            *other.lock().unwrap() = entered.lock().unwrap().take();
        }
    };
    *hook.lock().unwrap() = Some(Box::new(enter));
    // The other caller goes when its change has been taken.
    let first = poll(&mut combined.update(0, move |members: &mut Members| {
        drop(other.lock().unwrap().take());
        members.add(1)
    }));
    assert!(matches!(first, Poll::Ready(told) if written(&told)));
    assert_eq!((server.get(0).names, combined.busy()), (vec![1, 2], 0));
}

#[test]
fn a_caller_who_was_told_does_not_begin_the_next_read() {
    let server = Server::new(0);
    server.on_read([Fate::Fine, Fate::Panic]);
    let combined = combine(AT_ONCE, &server);
    let bell = Arc::new(Bell(false, AtomicU32::new(0)));
    let next = Kept::default();
    let mut first = {
        let (combined, next, bell) = (combined.clone(), Arc::clone(&next), Arc::clone(&bell));
        combined.clone().update(0, move |members: &mut Members| {
            let entered = keep(combined.update(0, add(2)), &Waker::from(Arc::clone(&bell)));
            *next.lock().unwrap() = entered.lock().unwrap().take();
            members.add(1)
        })
    };
    assert!(matches!(poll(&mut first), Poll::Ready(told) if written(&told)));
    assert_eq!((server.calls(), bell.1.load(Relaxed)), ((1, 1), 1));
    let mut next = next.lock().unwrap().take().expect("it was kept");
    let panicked = catch_unwind(AssertUnwindSafe(|| poll(&mut next)));
    assert!(panicked.is_err(), "it begins the read that panics");
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
struct Witness(Combining<Moody, Members, u64, Failure>, Arc<AtomicBool>);

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
    let combined: Combining<Moody, Members, u64, Failure> = AT_ONCE.combine(
        |_| core::future::pending::<Result<Members, Failure>>(),
        |_, _| async { Ok(0) },
    );
    let (is_bad, is_free) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let held = Witness(combined.clone(), Arc::clone(&is_free));
    let mut update = combined.update(Moody(Arc::clone(&is_bad)), move |_: &mut Members| {
        let _ = &held;
    });
    assert!(poll(&mut update).is_pending());
    is_bad.store(true, Relaxed);
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(update)));
    assert!(panicked.is_err() && is_free.load(Relaxed));
}
