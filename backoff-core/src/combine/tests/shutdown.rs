//! Runtimes that end while callers wait.

use super::*;
use std::{sync::mpsc, thread};
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap()
}

/// A runtime with a caller whose task waits for a write that never ends.
fn hanging(combined: &Combined, server: &Arc<Server>) -> Runtime {
    let (begins, begun) = mpsc::channel();
    *server.in_write.lock().unwrap() = Some(Box::new(move || begins.send(()).unwrap()));
    let first = runtime();
    first.spawn(combined.update(0, add(1)));
    begun.recv().unwrap();
    first
}

#[test]
fn one_group_serves_one_runtime_after_the_other() {
    static GROUP: LazyLock<(Arc<Server>, Combined)> = LazyLock::new(|| {
        let server = Arc::new(Server::new(0));
        (Arc::clone(&server), combine(AT_ONCE, &server))
    });
    for name in 0..3 {
        let told = paused().block_on(GROUP.1.update(0, add(name)));
        assert!(written(&told));
    }
    assert_eq!((GROUP.0.get(0).names, GROUP.1.busy()), (vec![0, 1, 2], 0));
}

#[test]
fn callers_of_a_runtime_that_ends_in_the_write_are_interrupted_and_later_ones_begin_anew() {
    let server = Arc::new(Server::failing([], [Fate::DoneAndHang]).without_hops());
    let combined = combine(AT_ONCE, &server);
    let first = hanging(&combined, &server);
    let second = runtime();
    let later = second.spawn(combined.update(0, add(2)));
    while combined.shared.resources()[&0].waiting.is_empty() {
        thread::yield_now();
    }
    first.shutdown_background();
    let told = second.block_on(later).unwrap();
    assert!(written(&told), "{told:?}");
    assert_eq!(server.get(0).names, [1, 2]);
}

#[test]
fn a_caller_on_another_runtime_is_told_that_its_change_may_be_applied() {
    let server = Arc::new(Server::failing([], [Fate::DoneAndHang]).without_hops());
    let combined = combine(AT_ONCE, &server);
    let second = runtime();
    let (other, entering) = (combined.clone(), second.handle().clone());
    let (tells, told) = mpsc::channel();
    // Joins the group during the read.
    *server.in_read.lock().unwrap() = Some(Box::new(move || {
        let joins = polled_on(&entering, other.update(0, append(2)));
        tells.send(entering.spawn(joins)).unwrap();
    }));
    let first = hanging(&combined, &server);
    first.shutdown_background();
    let told = second.block_on(told.recv().unwrap()).unwrap();
    let error = told.unwrap_err();
    assert!(
        matches!(
            error,
            CombineError::Interrupted {
                may_be_applied: true
            }
        ),
        "{error:?}"
    );
    assert_eq!(error.reason(), crate::report::StopReason::MaybeApplied);
}

/// Polls a caller once on this runtime.
fn polled_on(on: &tokio::runtime::Handle, update: Pending) -> Pending {
    let _here = on.enter();
    polled(update)
}

#[test]
fn a_runtime_that_has_ended_runs_no_task_and_tells_its_callers() {
    let combined = combine(AT_ONCE, &Arc::new(Server::new(0)));
    let ended = runtime();
    let handle = ended.handle().clone();
    drop(ended);
    let _here = handle.enter();
    let mut update = combined.update(0, add(1));
    assert!(poll(&mut update).is_pending());
    let Poll::Ready(told) = poll(&mut update) else {
        panic!("the task never ran")
    };
    assert_eq!(came(&told), "Interrupted { may_be_applied: false }");
    assert_eq!(combined.busy(), 0);
}
