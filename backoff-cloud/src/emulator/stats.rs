//! The emulator's counts.

use std::collections::HashMap;

/// The counts of an [`Emulator`](super::Emulator) since its start, or since
/// [`reset_stats`](super::Emulator::reset_stats).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// HTTP requests that arrived, whatever their replies were.
    pub calls: u64,
    /// Reads of policies, instances and operations, and lists of them.
    pub reads: u64,
    /// Reads that returned an old policy, because a write was not visible yet or not always. Part of
    /// [`reads`](Self::reads).
    pub stale_reads: u64,
    /// Writes of policies, and creations and deletions of instances that began, also if the client got
    /// another reply.
    pub writes: u64,
    /// Writes refused because their etag was stale.
    pub conflicts: u64,
    /// Writes without an etag, which replaced the policy. Part of [`writes`](Self::writes).
    pub blind_writes: u64,
    /// Writes that were applied although the caller got an injected status, a reset, a stall or
    /// half a reply. Part of [`writes`](Self::writes).
    pub lost_replies: u64,
    /// Creates and deletes with a `requestId` that was used before. They got the operation that the first
    /// request started.
    pub recognised: u64,
    /// Creates refused because the instance existed: 409 `ALREADY_EXISTS`.
    pub already_exists: u64,
    /// Calls for an instance or operation that does not exist, or that reads do not find yet: 404
    /// `NOT_FOUND`.
    pub not_found: u64,
    /// Calls refused by the rate limit.
    pub throttled: u64,
    /// Invalid requests: an unknown path, a wrong method, a body that is not a policy, a write of bindings
    /// with conditions that does not say version 3, a deletion of an instance that is not ready.
    pub rejected: u64,
    /// Injected faults, by kind.
    pub faults: FaultCounts,
}

/// How many faults of each kind were injected by script or by rate.
///
/// The refusals of the rate limit are not included: see [`Stats::throttled`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultCounts {
    /// HTTP statuses sent instead of the real reply.
    pub statuses: u64,
    /// Real replies sent late.
    pub delays: u64,
    /// Calls whose connection was closed after a while without a byte of a reply.
    pub stalls: u64,
    /// Replies that stopped in the middle of the body while the connection stayed open.
    pub body_stalls: u64,
    /// Connections reset before any byte of a reply.
    pub resets: u64,
    /// Replies cut in the middle of the body, because the connection was closed.
    pub cuts: u64,
    /// Operations that were started in order to fail.
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

    /// Counts a request that named no resource.
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
