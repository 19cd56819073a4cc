//! A policy that is made at each call: no borrow of `self` and no guard lives as long as the call.

use backoff_core::{Policy, retry, retry_block};
use std::sync::{LazyLock, Mutex};

static LAZY: LazyLock<Policy> = LazyLock::new(|| Policy::exponential().max_attempts(3));

fn make() -> Policy {
    Policy::exponential().max_attempts(2)
}

struct Client {
    policy: Policy,
    calls: u32,
}

impl Client {
    fn next(&mut self) -> Result<u32, &'static str> {
        self.calls += 1;
        if self.calls < 3 {
            Err("busy")
        } else {
            Ok(self.calls)
        }
    }

    #[retry(policy = self.policy, when = |_| true)]
    async fn field(&mut self) -> Result<u32, &'static str> {
        self.next()
    }

    #[retry(policy = self.policy, when = |_| true)]
    fn blocking(&mut self) -> Result<u32, &'static str> {
        self.next()
    }

    async fn block(&mut self) -> Result<u32, &'static str> {
        retry_block!(policy = self.policy, when = |_| true, async { self.next() }).await
    }
}

#[retry(policy = *LAZY, when = |_| true)]
async fn lazy(calls: &Mutex<u32>) -> Result<(), u32> {
    let mut calls = calls.lock().unwrap();
    *calls += 1;
    Err(*calls)
}

#[retry(policy = make(), when = |_| true)]
async fn made(calls: &Mutex<u32>) -> Result<(), u32> {
    let mut calls = calls.lock().unwrap();
    *calls += 1;
    Err(*calls)
}

#[retry(policy = *shared.lock().unwrap(), when = |_| true)]
async fn guarded(shared: &Mutex<Policy>) -> Result<(), bool> {
    Err(shared.try_lock().is_ok())
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test(start_paused = true)]
async fn works() {
    let client = || Client {
        policy: Policy::exponential().base(std::time::Duration::ZERO),
        calls: 0,
    };
    assert_eq!(client().field().await, Ok(3));
    assert_eq!(client().blocking(), Ok(3));
    assert_eq!(client().block().await, Ok(3));
    assert_eq!(lazy(&Mutex::new(0)).await, Err(3));
    assert_eq!(made(&Mutex::new(0)).await, Err(2));
    let shared = Mutex::new(make());
    assert_eq!(is_send(guarded(&shared)).await, Err(true));
}
