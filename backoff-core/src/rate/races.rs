//! Calls on two threads at one rate, in every order that loom finds.

use super::*;
use crate::runtime::{Clock, Sleep};
use core::{
    future::{Ready, poll_fn, ready},
    sync::atomic::AtomicU64,
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

/// A rate that is closed, its clock, and a probe in flight.
fn closed() -> (Arc<(Rate, Runs)>, u8) {
    let rate = Rate::new();
    let epoch = rate.begins_if_off().expect("the rate is off");
    let runs = Runs::default();
    rate.replied(Reply::Refused { hint: 0 }, epoch, || runs.now());
    let Ok(probe) = rate.enters(runs.now()) else {
        panic!("the turn of the probe")
    };
    (Arc::new((rate, runs)), probe)
}

/// Waits for a turn, and ends the attempt.
fn call(shared: &(Rate, Runs)) {
    let (rate, runs) = shared;
    let entered = Queued::enter(rate, runs.now(), Duration::MAX);
    let epoch = entered.unwrap_or_else(|mut queued| {
        let turn = block_on(poll_fn(|cx| queued.poll(rate, runs, cx)));
        turn.expect("no limit")
    });
    rate.replied(Reply::Admitted, epoch, || runs.now());
}

fn is_at_rest(rate: &Rate) {
    assert_eq!((rate.waiting(), rate.in_flight.load(Relaxed)), (0, 0));
}

/// Both calls go, whoever is the first in the queue, and whether the probe ends before, between or after them.
#[test]
fn each_call_goes() {
    loom::model(|| {
        let (shared, probe) = closed();
        let other = shared.clone();
        let other = thread::spawn(move || {
            call(&other);
        });
        call(&shared);
        let (rate, runs) = &*shared;
        rate.replied(Reply::Admitted, probe, || runs.now());
        other.join().expect("the other call");
        is_at_rest(rate);
    });
}

/// A call that leaves the queue wakes the one behind it.
#[test]
fn a_call_that_leaves_holds_nobody_up() {
    loom::model(|| {
        let (shared, probe) = closed();
        let (rate, runs) = &*shared;
        // The first in the queue, which is never polled.
        let Err(first) = rate.enters(Duration::ZERO) else {
            panic!("a probe is in flight")
        };
        let other = shared.clone();
        let other = thread::spawn(move || {
            call(&other);
        });
        drop(first);
        rate.replied(Reply::Admitted, probe, || runs.now());
        other.join().expect("the other call");
        is_at_rest(rate);
    });
}

/// A call that waits for a reply sees the reply of another thread.
#[test]
fn a_reply_wakes_the_call_that_waits_for_it() {
    loom::model(|| {
        let (shared, probe) = closed();
        let (rate, runs) = &*shared;
        rate.replied(Reply::Admitted, probe, || runs.now());
        // The window is full.
        let mut epoch = None;
        while let Ok(next) = rate.enters(runs.now()) {
            epoch = Some(next);
        }
        let in_flight = rate.in_flight.load(Relaxed);
        let other = shared.clone();
        let other = thread::spawn(move || {
            call(&other);
        });
        for _ in 0..in_flight {
            let epoch = epoch.expect("a call in flight");
            rate.replied(Reply::Admitted, epoch, || runs.now());
        }
        other.join().expect("the other call");
        is_at_rest(rate);
    });
}
