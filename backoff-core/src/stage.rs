//! Where an attempt failed, and why it ended.

/// The part of an attempt that failed. This part decides how the failure is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The whole attempt.
    Whole,
    /// The read of a read-modify-write. A read can always be repeated, and after a conflict the next
    /// step is a read.
    Read,
    /// The version of the value that was read: a write may have been applied, and the version is another one.
    Version,
    /// The change of a read-modify-write refused the value that it was given: no attempt follows.
    Change,
    /// The write of a read-modify-write. After a conflict, the next step is a read.
    Write {
        /// Whether the next attempt finds out whether this write was applied: the change recognises its own effect, or
        /// the update compares versions. Otherwise a write that may have been applied is not repeated.
        is_repeatable: bool,
        /// Whether the service refuses the write if somebody else has written since the read.
        is_conditional: bool,
    },
    /// The write's reply, which says that another writer was faster.
    Reply,
    /// The value, which is not yet the expected one.
    Value,
}

/// Why an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The operation returned.
    Operation,
    /// A signal cut the attempt.
    Signal,
    /// The attempt was cut, because its time was over.
    Clock,
}

impl Stage {
    /// Whether this is a step of a read-modify-write that is one request.
    pub(crate) const fn is_step(self) -> bool {
        matches!(self, Stage::Read | Stage::Write { .. })
    }

    /// Whether this is a write that must not be repeated if it may have been applied.
    #[inline]
    pub(crate) const fn is_write_once(self) -> bool {
        matches!(
            self,
            Stage::Write {
                is_repeatable: false,
                ..
            }
        )
    }

    /// Whether the judge decides about an error of this stage. The other stages have one verdict each.
    #[inline]
    pub(crate) const fn is_judged(self) -> bool {
        matches!(self, Stage::Whole) || self.is_step()
    }
}
