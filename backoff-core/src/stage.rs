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
    Write,
    /// The write of a read-modify-write whose change cannot recognise its own effect. A write that may
    /// have been applied is not repeated.
    WriteOnce,
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
        matches!(self, Stage::Read | Stage::Write | Stage::WriteOnce)
    }

    /// Whether the judge decides about an error of this stage. The other stages have one verdict each.
    #[inline]
    pub(crate) const fn is_judged(self) -> bool {
        matches!(self, Stage::Whole) || self.is_step()
    }
}
