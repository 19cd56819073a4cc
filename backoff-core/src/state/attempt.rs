//! Which attempt it is, and what time it has.

use crate::policy::NEVER;
use core::time::Duration;

/// Which attempt this is, and what time remains for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    elapsed: u64,
    remaining: u64,
}

impl Attempt {
    #[inline]
    pub(super) const fn new(number: u32, elapsed: u64, remaining: u64) -> Self {
        Attempt {
            number,
            elapsed,
            remaining,
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
        match self.remaining {
            NEVER => Duration::MAX,
            nanos => Duration::from_nanos(nanos),
        }
    }
}
