//! Calls on two threads at one rate, in every order that loom finds.

use super::*;
use crate::runtime::{Clock, Sleep};
use core::{
    future::{Ready, poll_fn, ready},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};
use loom::{future::block_on, thread};

/// A clock that goes on by a second with each reading. A wait is over at once.
#[derive(Default)]
struct Runs(AtomicU64);

impl Clock for Runs {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Relaxed))
    }
}

impl Sleep for Runs {
    type Sleep = Ready<()>;
    fn sleep(&self, _wait: Duration) -> Ready<()> {
        ready(())
    }
}

/// A rate that is closed, its clock, and a running probe.
fn closed() -> (Arc<(Rate, Runs)>, u16) {
    let rate = Rate::new();
    let runs = Runs::default();
    rate.replied(RateReply::Refused { hint: 0 }, 0, || runs.now());
    let probe = enter(&rate, &runs).ok().expect("the turn of the probe");
    (Arc::new((rate, runs)), probe)
}

fn enter(rate: &Rate, runs: &Runs) -> Result<u16, Queued<Ready<()>>> {
    Queued::enter(rate, runs.now(), (Duration::MAX, true), 0)
}

/// Waits for a turn, and ends the attempt.
fn call(shared: &(Rate, Runs)) {
    let (rate, runs) = shared;
    let epoch = enter(rate, runs).unwrap_or_else(|mut queued| {
        let turn = block_on(poll_fn(|cx| queued.poll(runs, cx)));
        turn.expect("no limit").expect("a turn")
    });
    rate.replied(RateReply::Admitted, epoch, || runs.now());
}

/// Both calls go, whoever is the first in the queue, and whether the probe ends before, between or after them.
#[test]
fn each_call_goes() {
    loom::model(|| {
        let (shared, probe) = closed();
        let other = shared.clone();
        let other = thread::spawn(move || call(&other));
        call(&shared);
        let (rate, runs) = &*shared;
        rate.replied(RateReply::Admitted, probe, || runs.now());
        other.join().expect("the other call");
        assert_eq!(rate.waiting(), 0);
    });
}

/// A call that is never polled, and then leaves the queue, holds up nobody.
#[test]
fn a_call_that_is_not_polled_holds_nobody_up() {
    loom::model(|| {
        let (shared, probe) = closed();
        let (rate, runs) = &*shared;
        let first = Queued::<Ready<()>>::enter(rate, Duration::ZERO, (Duration::MAX, true), 0);
        let other = shared.clone();
        let other = thread::spawn(move || call(&other));
        rate.replied(RateReply::Admitted, probe, || runs.now());
        drop(first);
        other.join().expect("the other call");
        assert_eq!(rate.waiting(), 0);
    });
}
