//! Where an attempt failed, and why it ended.

/// The part of an attempt that failed. This part decides how the failure is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(hidden)]
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
    /// A write that is not repeated if it may have been applied: the next attempt would not find out whether it was, because the
    /// change does not recognise its own effect, and the update compares no versions.
    WriteOnce,
    /// A [`Write`](Self::Write) that the service refuses if somebody else has written since the read.
    ConditionalWrite,
    /// A [`WriteOnce`](Self::WriteOnce) that the service refuses if somebody else has written since the read.
    ConditionalWriteOnce,
    /// The write's reply, which says that another writer was faster.
    Reply,
    /// The value, which is not yet the expected one.
    Value,
}

/// Why an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum EndedBy {
    /// The operation returned.
    Operation,
    /// A signal cut the attempt.
    Signal,
    /// The attempt was cut, because its time was over.
    Clock,
}

impl Stage {
    /// The stage of a write.
    #[inline]
    pub(crate) const fn write(is_repeatable: bool, is_conditional: bool) -> Self {
        match (is_repeatable, is_conditional) {
            (true, false) => Stage::Write,
            (false, false) => Stage::WriteOnce,
            (true, true) => Stage::ConditionalWrite,
            (false, true) => Stage::ConditionalWriteOnce,
        }
    }

    pub(crate) const fn is_write(self) -> bool {
        self.is_conditional() || matches!(self, Stage::Write | Stage::WriteOnce)
    }

    /// Whether this is a write that must not be repeated if it may have been applied.
    #[inline]
    pub(crate) const fn is_write_once(self) -> bool {
        matches!(self, Stage::WriteOnce | Stage::ConditionalWriteOnce)
    }

    /// Whether this is a write that the service refuses if somebody else has written since the read.
    #[inline]
    pub(crate) const fn is_conditional(self) -> bool {
        matches!(self, Stage::ConditionalWrite | Stage::ConditionalWriteOnce)
    }

    /// Whether this is a step of a read-modify-write that is one request.
    pub(crate) const fn is_step(self) -> bool {
        self.is_write() || matches!(self, Stage::Read)
    }

    /// Whether the judge decides about an error of this stage. The other stages have one verdict each.
    #[inline]
    pub(crate) const fn is_judged(self) -> bool {
        self.is_step() || matches!(self, Stage::Whole)
    }
}
