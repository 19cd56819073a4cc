//! The runtime of these tests: time passes only in its waits, and the test gives the random numbers.

// Without some features nothing uses a part of this.
#![allow(dead_code)]

pub(crate) mod error;
#[cfg(all(feature = "macros", feature = "tokio"))]
pub(crate) mod forms;
#[cfg(feature = "tokio")]
pub(crate) mod store;
#[cfg(feature = "tokio")]
pub(crate) mod time;
pub(crate) mod tokens;

use backoff_core::{BlockingSleep, Clock, Random, Sleep};
use std::{
    cell::{Cell, RefCell},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

/// A clock, a timer and a random source. Clones share the time, the record and the numbers.
#[derive(Clone, Default)]
pub(crate) struct Scripted {
    pub(crate) now: Rc<Cell<Duration>>,
    /// Every wait that was begun, as it was asked for.
    pub(crate) waits: Rc<RefCell<Vec<Duration>>>,
    /// The number that is drawn next.
    pub(crate) random: Rc<Cell<u64>>,
    /// What is added to the number after each draw.
    pub(crate) step: u64,
    /// By how much the timer wakes too late.
    pub(crate) late: Duration,
    /// No wait of an async function ever ends.
    pub(crate) stuck: bool,
    /// How often anything was asked for: the time, a wait, a number.
    pub(crate) asked: Rc<Cell<u32>>,
}

impl Scripted {
    /// Draws `random` and nothing else.
    pub(crate) fn drawing(random: u64) -> Self {
        let runtime = Self::default();
        runtime.random.set(random);
        runtime
    }

    /// With a timer that wakes too late by this.
    pub(crate) fn late(late: Duration) -> Self {
        Self {
            late,
            ..Self::default()
        }
    }

    /// Lets time pass outside the waits.
    pub(crate) fn pass(&self, time: Duration) {
        self.now.set(self.now.get().saturating_add(time));
    }

    fn count(&self) {
        self.asked.set(self.asked.get() + 1);
    }
}

impl Clock for Scripted {
    fn now(&self) -> Duration {
        self.count();
        self.now.get()
    }
}

impl BlockingSleep for Scripted {
    fn sleep_blocking(&self, wait: Duration) {
        self.count();
        self.waits.borrow_mut().push(wait);
        self.pass(wait.saturating_add(self.late));
    }
}

impl Sleep for Scripted {
    type Sleep = Waiting;
    fn sleep(&self, wait: Duration) -> Waiting {
        self.count();
        Waiting(self.clone(), wait)
    }
}

impl Random for Scripted {
    fn random(&self) -> u64 {
        self.count();
        let random = self.random.get();
        self.random.set(random.wrapping_add(self.step));
        random
    }
}

/// A wait: time passes when it is waited for, and not when the timer is made.
pub(crate) struct Waiting(Scripted, Duration);

impl Future for Waiting {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0.stuck {
            return Poll::Pending;
        }
        self.0.sleep_blocking(self.1);
        Poll::Ready(())
    }
}

/// What a future gives that never waits for anybody.
pub(crate) fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}
