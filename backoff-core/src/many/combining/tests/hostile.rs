//! Callers whose wakers, destructors and keys panic.

use super::*;

/// Polls an update that then waits.
fn waiting(mut update: Pending, waker: &Waker) -> Pending {
    assert!(poll_with(&mut update, waker).is_pending());
    update
}

/// A change whose destructor panics.
fn nasty(name: u32) -> impl FnMut(&mut Members) -> bool + Send + 'static {
    let held = Calls(|| panic!("the destructor panics"));
    move |members| {
        let _ = &held;
        members.add(name)
    }
}

#[test]
fn a_waker_that_panics_leaves_nobody_asleep() {
    let _here = entered();
    let server = Arc::new(Server::new(0));
    let combined = combine(AT_ONCE, &server);
    let callers = [true, false].map(|panics| {
        let rung = AtomicU32::new(0);
        let update = combined.update(0, add(2 + u32::from(panics)));
        (update, Arc::new(Bell { rung, panics }))
    });
    let callers = Arc::new(Mutex::new(callers));
    let entering = Arc::clone(&callers);
    *server.in_read.lock().unwrap() = Some(Box::new(move || {
        for (update, bell) in &mut *entering.lock().unwrap() {
            assert!(poll_with(update, &Waker::from(Arc::clone(bell))).is_pending());
        }
    }));
    let mut first = combined.update(0, add(1));
    assert!(
        panics(|| poll(&mut first)),
        "the panic goes to whoever has woken"
    );
    for (update, bell) in &mut *callers.lock().unwrap() {
        assert_eq!(bell.rung.load(Relaxed), 1);
        assert!(written(&ready(update)));
    }
    assert_eq!(server.get(0).names, [1, 3, 2]);
    drop(first);
    assert_eq!(combined.busy(), 0);
}

#[test]
fn a_change_is_dropped_by_its_owner_or_harms_nobody_where_the_owner_has_gone() {
    let _here = entered();
    for has_gone in [false, true] {
        let server = Arc::new(Server::new(0));
        let combined = combine(AT_ONCE, &server);
        let other = Arc::new(Mutex::new(Some(combined.update(0, nasty(2)))));
        let (entering, going) = (Arc::clone(&other), Arc::clone(&other));
        *server.in_read.lock().unwrap() = Some(Box::new(move || {
            let mut entering = entering.lock().unwrap();
            *entering = entering.take().map(polled);
        }));
        // The other change has been taken when this change runs.
        let first = ready(&mut combined.update(0, move |members: &mut Members| {
            drop(going.lock().unwrap().take_if(|_| has_gone));
            members.add(1)
        }));
        assert!(written(&first));
        if let Some(mut other) = other.lock().unwrap().take() {
            assert!(panics(|| poll(&mut other)), "its owner drops it");
        }
        assert_eq!((server.get(0).names, combined.busy()), (vec![1, 2], 0));
    }
}

#[test]
fn a_caller_who_was_told_does_not_begin_the_next_read() {
    let _here = entered();
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
    let mut next = next.lock().unwrap().take().expect("it has entered");
    assert!(panics(|| poll(&mut next)), "it begins the read that panics");
    drop((first, next));
    assert_eq!(combined.busy(), 0);
}

#[test]
fn a_change_is_not_dropped_under_the_lock_where_the_hash_of_a_key_panics() {
    let _here = entered();
    let combined = AT_ONCE.combine(
        |_: Key| core::future::pending::<Result<Members, TestError>>(),
        |_, _| async { Ok(()) },
    );
    let [is_bad, is_free] = [(); 2].map(|()| Arc::<AtomicBool>::default());
    let (other, is_told) = (combined.clone(), Arc::clone(&is_free));
    // Records, when it is dropped, whether the lock was free.
    let held = Calls(move || {
        let (other, (tell, told)) = (other.clone(), std::sync::mpsc::channel());
        std::thread::spawn(move || tell.send(other.busy()));
        is_told.store(told.recv_timeout(SECOND * 60).is_ok(), Relaxed);
    });
    let moody = Arc::clone(&is_bad);
    let on = move |is_hashed: bool| assert!(!(is_hashed && moody.load(Relaxed)), "the hash panics");
    let update = polled(combined.update(Key(Arc::new(on)), move |_: &mut Members| {
        let _ = &held;
    }));
    is_bad.store(true, Relaxed);
    assert!(panics(|| drop(update)) && is_free.load(Relaxed));
}
