//! How a future is driven while it is measured.

use std::{
    cell::Cell,
    future::Future,
    hint::black_box,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

/// Made, moved to where it is polled, and polled once: a future that is spawned or joined.
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

/// Awaited inside of an async function, which is polled once a call: most calls in a program.
pub fn in_place<F: Future>(n: u64, make: impl Fn(u64) -> F) {
    // For those who make a timer although they do not wait for it.
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

/// Calls that fail so many times before they succeed, in place.
pub fn failing<F: Future>(n: u64, failures: u32, make: impl Fn(&'static Cell<u32>) -> F) {
    let left: &'static Cell<u32> = Box::leak(Box::new(Cell::new(0)));
    in_place(n, |_| {
        left.set(failures);
        make(left)
    });
}

/// The same on tokio's timer, whose clock is paused: no time passes, and nothing is waited for.
pub fn failing_on_tokio<F: Future>(n: u64, failures: u32, make: impl Fn(&'static Cell<u32>) -> F) {
    let left: &'static Cell<u32> = Box::leak(Box::new(Cell::new(0)));
    paused().block_on(async {
        for _ in 0..n {
            left.set(failures);
            black_box(make(left).await);
        }
    });
}

/// A runtime of tokio whose clock stands still until nothing else is to be done.
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
