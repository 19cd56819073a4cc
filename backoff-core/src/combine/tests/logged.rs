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
fn whoever_leaves_a_group_with_an_error_is_an_event() {
    listen();
    let too_many = adds(3).error(CombineError::Full);
    let stale = TestError::CONFLICT;
    for (story, events) in [
        (
            story("a deadline and a signal, while a read hangs")
                .server(|| Server::failing([Fate::Hang], []))
                .callers([
                    adds(1).out_of_time(false).deadline(100).until(100),
                    adds(2).stopped(false).stops(200).until(200),
                ])
                .ends([], 1, 0),
            2,
        ),
        (
            story("no room")
                .combined(|combined| combined.at_most(2))
                .callers([adds(1), adds(2), too_many])
                .ends([1, 2], 1, 1),
            1,
        ),
        // The others wait: an event for all of them. The end of the first caller is one for the caller alone.
        (
            slowly("its own attempts")
                .server(|| Server::failing([], [STALE]))
                .callers([
                    adds(1).attempts(1).fails(stale, Attempts, false).until(10),
                    adds(2),
                ])
                .ends([2], 2, 2),
            3,
        ),
    ] {
        EVENTS.set(0);
        run([story]);
        assert_eq!(EVENTS.get(), events * FORMS.len() as u32);
    }
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
