//! The queue: who waits, in the order of arrival, whom to wake, and when each call asks by itself.

use super::quotas::Share;
use core::task::Waker;
use std::collections::BTreeMap;

/// The number of a call in the queue.
pub(super) type Ticket = u64;

/// The waiting calls: when each asks by itself, in nanoseconds, and what its attempt uses.
#[derive(Default)]
pub(super) struct Line {
    next: Ticket,
    waiting: BTreeMap<Ticket, (Waker, u64, Share)>,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// What the attempt of the first call uses; nothing if nobody waits.
    pub(super) fn share(&self) -> Share {
        let first = self.waiting.first_key_value();
        first.map_or_else(Share::default, |(_, call)| call.2)
    }

    /// A call joins the end of the queue.
    pub(super) fn join(&mut self, share: Share) -> Ticket {
        self.next += 1;
        let call = (Waker::noop().clone(), u64::MAX, share);
        self.waiting.insert(self.next, call);
        self.next
    }

    /// How many calls stand before this one, or more, if some have left.
    pub(super) fn before(&self, ticket: Ticket) -> usize {
        let first = self.waiting.keys().next().copied().unwrap_or(ticket);
        (ticket.saturating_sub(first) as usize).min(self.waiting.len())
    }

    /// The call asks again at this time, or is woken by this. A call that was passed over takes its place again.
    /// Returns the waker before, because dropping a waker may drop another call of the queue, which takes the lock.
    pub(super) fn listens(
        &mut self,
        ticket: Ticket,
        (waker, at): (Waker, u64),
        share: Share,
    ) -> Option<Waker> {
        let before = self.waiting.insert(ticket, (waker, at, share));
        before.map(|it| it.0)
    }

    /// The first call, if its turn comes before it asks by itself.
    pub(super) fn first(&mut self, turn: u64) -> Option<Waker> {
        let (waker, at, _) = self.waiting.first_entry()?.into_mut();
        (turn < core::mem::replace(at, turn.min(*at))).then(|| waker.clone())
    }

    /// The first call has not taken its slot, and leaves until it asks again.
    pub(super) fn passes(&mut self) -> Option<Waker> {
        self.waiting.pop_first().map(|(_, it)| it.0)
    }

    /// A call leaves. Returns its waker, as [`listens`](Self::listens) does.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Waker> {
        self.waiting.remove(&ticket).map(|it| it.0)
    }
}
