//! The number of an attempt and the time it has.

use super::request_id::RequestId;
use crate::policy::NEVER;
use core::time::Duration;

/// The number of this attempt, the time that remains for it, and the id of the call.
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

    /// The time since the start of the first attempt.
    pub const fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed)
    }

    /// The rest of the deadline, or of the call's `timeout` if that is shorter; [`Duration::MAX`]
    /// without either.
    #[inline]
    pub const fn remaining(&self) -> Duration {
        shown(self.remaining)
    }

    /// The id of the call: the same in each attempt of the call, and different in each call if the
    /// runtime draws different random numbers for each call ([`RequestId`]).
    pub const fn id(&self) -> RequestId {
        self.id
    }
}

/// The remaining time as a `Duration`.
#[inline]
pub(super) const fn shown(remaining: u64) -> Duration {
    match remaining {
        NEVER => Duration::MAX,
        nanos => Duration::from_nanos(nanos),
    }
}
