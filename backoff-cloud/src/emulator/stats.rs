//! What the emulator counted.

use std::collections::HashMap;

/// What an [`Emulator`](super::Emulator) has seen and done since it started, or since
/// [`reset_stats`](super::Emulator::reset_stats).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// HTTP requests that arrived, whatever became of them.
    pub calls: u64,
    /// Policies, instances and operations read, and lists of them.
    pub reads: u64,
    /// Policies read that were not the newest one, because a write was not visible yet or not always.
    /// Part of [`reads`](Self::reads).
    pub stale_reads: u64,
    /// Policies written, and instances whose creation or deletion began, also where the caller
    /// was told otherwise.
    pub writes: u64,
    /// Writes refused because their etag was stale.
    pub conflicts: u64,
    /// Writes that carried no etag, and so replaced whatever was there. Part of
    /// [`writes`](Self::writes).
    pub blind_writes: u64,
    /// Writes that were applied although the caller got an injected status, a reset, a stall or
    /// half a reply. Part of [`writes`](Self::writes).
    pub lost_replies: u64,
    /// Creates and deletes that were known by their `requestId`, and answered with the operation
    /// that they had started before.
    pub recognised: u64,
    /// Creates refused because the instance was there: 409 `ALREADY_EXISTS`.
    pub already_exists: u64,
    /// Calls for an instance or operation that is not there, or not there yet: 404 `NOT_FOUND`.
    pub not_found: u64,
    /// Calls refused by the rate limit.
    pub throttled: u64,
    /// Requests refused for what they are: an unknown path, a wrong method, a body that is no
    /// policy, a write of bindings with conditions that does not say version 3, a deletion of an
    /// instance that is not ready.
    pub rejected: u64,
    /// Injected faults, by kind.
    pub faults: FaultCounts,
}

/// How many faults of each kind were injected, by script or by rate.
///
/// The rate limit's refusals are not here: see [`Stats::throttled`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultCounts {
    /// Statuses answered instead of the real reply.
    pub statuses: u64,
    /// Replies held back for a time and then sent.
    pub delays: u64,
    /// Calls that got no reply byte before the connection was closed.
    pub stalls: u64,
    /// Replies that stopped in the middle of the body and left the caller waiting.
    pub body_stalls: u64,
    /// Connections reset before any reply byte.
    pub resets: u64,
    /// Replies cut in the middle of the body by closing the connection.
    pub cuts: u64,
    /// Operations that were started to fail.
    pub failed_operations: u64,
}

impl FaultCounts {
    /// Faults of all kinds together.
    ///
    /// ```
    /// use backoff_cloud::emulator::FaultCounts;
    ///
    /// assert_eq!(FaultCounts::default().total(), 0);
    /// ```
    #[must_use]
    pub fn total(&self) -> u64 {
        self.statuses
            + self.delays
            + self.stalls
            + self.body_stalls
            + self.resets
            + self.cuts
            + self.failed_operations
    }
}

/// The totals, and the same counts by resource.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    total: Stats,
    by_resource: HashMap<String, Stats>,
}

impl Ledger {
    pub(super) fn total(&self) -> Stats {
        self.total.clone()
    }

    pub(super) fn of(&self, resource: &str) -> Stats {
        self.by_resource.get(resource).cloned().unwrap_or_default()
    }

    /// Counts something that belongs to a resource.
    pub(super) fn count(&mut self, resource: &str, add: impl Fn(&mut Stats)) {
        add(&mut self.total);
        match self.by_resource.get_mut(resource) {
            Some(stats) => add(stats),
            None => add(self.by_resource.entry(resource.to_owned()).or_default()),
        }
    }

    /// Counts a request that never got as far as naming a resource.
    pub(super) fn count_rejected(&mut self) {
        self.total.calls += 1;
        self.total.rejected += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_reaches_the_total_and_its_resource_only() {
        let mut ledger = Ledger::default();
        ledger.count("a", |stats| stats.calls += 1);
        ledger.count("a", |stats| stats.calls += 1);
        ledger.count("b", |stats| stats.calls += 1);
        ledger.count_rejected();
        assert_eq!(ledger.of("a").calls, 2);
        assert_eq!(ledger.of("b").calls, 1);
        assert_eq!(ledger.of("c"), Stats::default());
        assert_eq!((ledger.total().calls, ledger.total().rejected), (4, 1));
    }

    #[test]
    fn the_total_adds_every_kind() {
        let counts = FaultCounts {
            statuses: 1,
            delays: 2,
            stalls: 4,
            body_stalls: 8,
            resets: 16,
            cuts: 32,
            failed_operations: 64,
        };
        assert_eq!(counts.total(), 127);
    }
}
