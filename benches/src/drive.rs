//! How the measured futures are driven.

use std::{
    cell::Cell,
    future::Future,
    hint::black_box,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

/// Makes the future, moves it, and polls it once, as a spawned or joined future is.
pub fn moved<F: Future>(n: u64, make: impl Fn(u64) -> F) {
    let mut cx = Context::from_waker(Waker::noop());
    for i in 0..n {
        black_box(poll_moved(make(black_box(i)), &mut cx));
    }
}

#[inline(never)]
fn poll_moved<F: Future>(future: F, cx: &mut Context<'_>) -> F::Output {
    match pin!(future).poll(cx) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}

/// Awaits the future inside an async function, which is polled once for each call, as most calls are.
pub fn in_place<F: Future>(n: u64, make: impl Fn(u64) -> F) {
    // Some crates make a timer even if they do not wait for it.
    let runtime = running();
    let _inside = runtime.enter();
    let mut cx = Context::from_waker(Waker::noop());
    let caller = async {
        for i in 0..n {
            black_box(make(black_box(i)).await);
        }
    };
    finished(pin!(caller), &mut cx);
}

/// Calls, in place, that fail this many times before they succeed.
pub fn failing<F: Future>(n: u64, failures: u32, make: impl Fn(&'static Cell<u32>) -> F) {
    let left: &'static Cell<u32> = Box::leak(Box::new(Cell::new(0)));
    in_place(n, |_| {
        left.set(failures);
        make(left)
    });
}

/// The same with tokio's timer, whose clock is paused, so that no call really waits.
pub fn failing_on_tokio<F: Future>(n: u64, failures: u32, make: impl Fn(&'static Cell<u32>) -> F) {
    let left: &'static Cell<u32> = Box::leak(Box::new(Cell::new(0)));
    paused().block_on(async {
        for _ in 0..n {
            left.set(failures);
            black_box(make(left).await);
        }
    });
}

/// Awaits each future on tokio's runtime.
pub fn on_tokio<F: Future>(n: u64, make: impl Fn(u64) -> F) {
    running().block_on(async {
        for i in 0..n {
            black_box(make(black_box(i)).await);
        }
    });
}

/// A runtime of tokio with a paused clock: time moves only when no task can run.
pub fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing from the system")
}

fn running() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O needs nothing from the system")
}

#[inline(never)]
fn finished<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> F::Output {
    match future.poll(cx) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}
