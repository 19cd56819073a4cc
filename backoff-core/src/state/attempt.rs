//! Which attempt it is, and what time it has.

use super::request_id::RequestId;
use crate::policy::NEVER;
use core::time::Duration;

/// Which attempt this is, what time remains for it, and the id of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    elapsed: u64,
    remaining: u64,
    id: RequestId,
}

impl Attempt {
    #[inline]
    pub(super) const fn new(number: u32, elapsed: u64, remaining: u64, id: RequestId) -> Self {
        Attempt {
            number,
            elapsed,
            remaining,
            id,
        }
    }

    /// The number of the attempt, from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The time since before the first attempt.
    pub const fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed)
    }

    /// What remains of the deadline, or of the call's `timeout` if that is less; [`Duration::MAX`] where
    /// there is neither.
    #[inline]
    pub const fn remaining(&self) -> Duration {
        shown(self.remaining)
    }

    /// The id of the call: the same in each of its attempts, and another one in each call, as long
    /// as the runtime draws other numbers for each ([`RequestId`]).
    pub const fn id(&self) -> RequestId {
        self.id
    }
}

/// What remains, as users read it.
#[inline]
pub(super) const fn shown(remaining: u64) -> Duration {
    match remaining {
        NEVER => Duration::MAX,
        nanos => Duration::from_nanos(nanos),
    }
}
