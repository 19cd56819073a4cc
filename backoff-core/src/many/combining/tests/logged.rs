//! The log events that a subscriber of `tracing` sees.

use super::{story::*, *};
use crate::report::StopReason::Permanent;
use tracing::{
    Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
    subscriber::set_global_default,
};

thread_local! {
    static EVENTS: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
}

const DENIED: TestError = TestError::status(403);

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
    let success = story("a success")
        .server(|| Server::failing([], [BUSY]))
        .callers((0..100).map(adds))
        .ends(0..100, 2, 2);
    let failure = story("a failure")
        .server(|| Server::failing([], [BUSY, fails(403)]))
        .callers((0..100).map(|name| adds(name).fails(DENIED, Permanent, true)))
        .ends([], 2, 2);
    for story in [success, failure] {
        EVENTS.set(0);
        run([story.policy(Policy::exponential())]);
        assert_eq!(EVENTS.get(), 2 * FORMS.len() as u32);
    }
}
