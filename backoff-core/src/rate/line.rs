//! The queue: who waits, in the order of arrival, and whom to wake.

use core::task::Waker;
use std::collections::BTreeMap;

/// The number of a call in the queue.
pub(super) type Ticket = u64;

/// The waiting calls.
pub(super) struct Line {
    next: Ticket,
    waiting: BTreeMap<Ticket, Waker>,
}

impl Line {
    pub(super) const fn new() -> Self {
        Line {
            next: 0,
            waiting: BTreeMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A call joins the end of the queue.
    pub(super) fn join(&mut self) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        self.waiting.insert(ticket, Waker::noop().clone());
        ticket
    }

    pub(super) fn is_first(&self, ticket: Ticket) -> bool {
        self.waiting.first_key_value().map(|(first, _)| *first) == Some(ticket)
    }

    /// The call is woken by this. Returns the waker before, because dropping a waker may drop another call of
    /// the queue, which takes the lock.
    pub(super) fn listens(&mut self, ticket: Ticket, waker: Waker) -> Option<Waker> {
        self.waiting.insert(ticket, waker)
    }

    /// The waker of the first call.
    pub(super) fn first(&self) -> Option<Waker> {
        self.waiting.values().next().cloned()
    }

    /// A call leaves. Returns its waker, as [`listens`](Self::listens) does.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Waker> {
        self.waiting.remove(&ticket)
    }
}
