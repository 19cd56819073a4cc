//! The emulator's counts.

/// The counts of an [`Emulator`](crate::Emulator) since its start, or since
/// [`reset_stats`](crate::Emulator::reset_stats).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// HTTP requests that arrived, whatever their replies were.
    pub calls: u64,
    /// Calls that got a fault: by a script, by a rate, or from the rate limit.
    pub faults: u64,
    /// Reads of policies, instances and operations, and lists of instances.
    pub reads: u64,
    /// Writes of policies, and creations and deletions of instances that began, also if the client got
    /// another reply.
    pub writes: u64,
    /// Writes without an etag, which replaced the policy. Part of [`writes`](Self::writes).
    pub blind_writes: u64,
    /// Writes that were applied although the caller got an injected status, a reset, a stall or
    /// half a reply. Part of [`writes`](Self::writes).
    pub lost_replies: u64,
    /// Writes refused because their etag was stale.
    pub conflicts: u64,
    /// Creates refused because the instance existed: 409 `ALREADY_EXISTS`.
    pub already_exists: u64,
    /// Creates and deletes with a `requestId` that was used before. They got the operation that the first
    /// request started.
    pub recognised: u64,
}
