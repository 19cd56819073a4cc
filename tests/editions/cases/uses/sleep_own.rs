//! A timer of the user's own; no runtime is needed then.

use std::cell::Cell;
use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use backoff_core::retry;
use ui::{ApiError, Flaky};

static SLEPT: AtomicU64 = AtomicU64::new(0);

fn my_timer(wait: Duration) -> Ready<()> {
    SLEPT.fetch_add(wait.as_secs(), Ordering::Relaxed);
    ready(())
}

async fn async_timer(wait: Duration) {
    SLEPT.fetch_add(wait.as_secs(), Ordering::Relaxed);
}

#[retry(base = "3s", jitter = none, sleep = my_timer)]
async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "3s", jitter = none, sleep = async_timer)]
async fn with_async(flaky: &Flaky) -> Result<u32, ApiError> {
    flaky.call()
}

#[retry(base = "3s", jitter = none, sleep = |wait| slept.set(slept.get() + wait))]
fn blocking(flaky: &Flaky, slept: &Cell<Duration>) -> Result<u32, ApiError> {
    flaky.call()
}

fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[test]
fn works() {
    assert_eq!(run(is_send(get(&Flaky::failing(2)))), Ok(3));
    assert_eq!(SLEPT.load(Ordering::Relaxed), 9);
    assert_eq!(run(is_send(with_async(&Flaky::failing(1)))), Ok(2));
    assert_eq!(SLEPT.load(Ordering::Relaxed), 12);
    let slept = Cell::default();
    assert_eq!(blocking(&Flaky::failing(2), &slept), Ok(3));
    assert_eq!(slept.get(), Duration::from_secs(9));
}
