//! The log events that a subscriber of `tracing` sees.

use super::{story::*, *};
use crate::report::StopReason::{Attempts, Permanent};
use tracing::{
    Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
    subscriber::set_global_default,
};

thread_local! {
    static EVENTS: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
}

/// Counts the events of each thread, and so of each test.
struct Counting;

impl Subscriber for Counting {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {
        EVENTS.set(EVENTS.get() + 1);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn listen() {
    static LISTENS: std::sync::Once = std::sync::Once::new();
    LISTENS.call_once(|| {
        set_global_default(Counting).expect("nobody else listens");
        // A test on another thread may have met an event just before, when nobody listened yet.
        tracing::callsite::rebuild_interest_cache();
    });
}

#[test]
fn a_wait_and_an_end_that_many_share_are_one_event_each() {
    listen();
    let slow = |ms| adds(1).deadline(ms).out_of_time(false);
    let ended = adds(1)
        .attempts(1)
        .fails(TestError::CONFLICT, Attempts, false);
    let denied = |name| adds(name).fails(TestError::status(403), Permanent, true);
    let logs = |events, story: Story| {
        EVENTS.set(0);
        let name = story.name.clone();
        run([story.policy(Policy::exponential())]);
        assert_eq!(EVENTS.get(), events, "{name}");
    };
    let hangs = story("a deadline and a signal, while a read hangs")
        .failing([Fate::Hang], [])
        .callers([slow(100), adds(2).stopped(false).stops(200)]);
    logs(2, hangs);
    let full = story("no room")
        .combined(|combined| combined.at_most(1))
        .callers([adds(1), adds(2).error(CombineError::Full)]);
    logs(1, full);
    // The other one waits: an event for all. The end of the first caller is one for the caller alone.
    let attempts = story("its own attempts")
        .failing([], [STALE])
        .callers([ended, adds(2)]);
    logs(3, attempts);
    let success = story("a wait and a success of a hundred")
        .failing([], [BUSY])
        .callers((0..100).map(adds));
    logs(2, success);
    let failure = story("a wait and a failure of a hundred")
        .failing([], [BUSY, fails(403)])
        .callers((0..100).map(denied));
    logs(2, failure);
}
