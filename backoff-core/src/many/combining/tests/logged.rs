//! The log events that a subscriber of `tracing` sees.

use super::*;
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

#[tokio::test(start_paused = true)]
async fn a_success_after_a_shared_wait_is_one_event() {
    listen();
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Status(503))]);
    let combined = combine(Policy::exponential(), &server);
    let tasks: Vec<_> = (0..100)
        .map(|name| tokio::spawn(combined.update(0, add(name))))
        .collect();
    for task in tasks {
        assert!(task.await.unwrap().is_ok());
    }
    assert_eq!(EVENTS.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_shared_wait_and_a_shared_failure_are_one_event_each() {
    listen();
    let server = Server::new(5);
    let fails = [503, 403].map(|status| Fate::Fail(Failure::Status(status)));
    server.on_write(fails);
    let combined = combine(Policy::exponential(), &server);
    let tasks: Vec<_> = (0..100)
        .map(|name| tokio::spawn(combined.update(0, add(name))))
        .collect();
    for task in tasks {
        assert_eq!(shared(&task.await.unwrap()).0, Failure::Status(403));
    }
    assert_eq!(EVENTS.get(), 2);
}
