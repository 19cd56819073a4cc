//! Read-modify-write: an attempt with two steps. A failure of either leads back to the read.

use super::operation::{AnyOperation, CallOf, Closure, Failed, Memory, Operation};
use crate::{
    report::{UpdateReport, Updated},
    stage::Stage,
};
use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

/// The return type of a change: nothing, a `bool` (whether the change changed anything), or a `Result`
/// of either.
#[diagnostic::on_unimplemented(
    message = "a change returns `bool`: whether it changed anything",
    label = "`{Self}` does not say whether there was a change",
    note = "nothing counts as a change; `Result<bool, E>` and `Result<(), E>` may fail"
)]
pub trait Changed<E> {
    /// Whether the change can say that there is nothing to do. Such a change recognises its own effect in a
    /// value that was read after a write whose reply was lost.
    const RECOGNISES: bool;

    /// Whether the service refuses a write if somebody else has written since the read.
    #[doc(hidden)]
    const IS_CONDITIONAL: bool = false;

    /// Whether this change recognises its own effect.
    #[doc(hidden)]
    #[inline]
    fn recognises(&self) -> bool {
        Self::RECOGNISES
    }

    /// Whether there is something to write.
    ///
    /// # Errors
    /// The error of the change.
    fn changed(self) -> Result<bool, E>;
}

impl<E> Changed<E> for () {
    const RECOGNISES: bool = false;

    fn changed(self) -> Result<bool, E> {
        Ok(true)
    }
}

impl<E> Changed<E> for bool {
    const RECOGNISES: bool = true;

    fn changed(self) -> Result<bool, E> {
        Ok(self)
    }
}

impl<E> Changed<E> for Result<(), E> {
    const RECOGNISES: bool = false;

    fn changed(self) -> Result<bool, E> {
        self.map(|()| true)
    }
}

impl<E> Changed<E> for Result<bool, E> {
    const RECOGNISES: bool = true;

    fn changed(self) -> Result<bool, E> {
        self
    }
}

/// The three functions of a read-modify-write. Made by [`Policy::update`](crate::Policy::update) and
/// [`Policy::blocking_update`](crate::Policy::blocking_update).
#[derive(Clone, Copy)]
pub struct Update<Read, Change, Write, M = NoWriteMemory> {
    read: Read,
    change: Change,
    write: Write,
    writes: u32,
    memory: M,
}

/// The memory of an update: at the next read it knows about a write that may have been applied. Only a
/// change that cannot recognise its own effect uses the memory.
#[doc(hidden)]
pub trait WriteMemory<V, E> {
    /// Whether the memory is used.
    const KEEPS: bool = false;

    /// Whether the service refuses a write if somebody else has written since the read.
    const IS_CONDITIONAL: bool = false;

    /// Takes note of a value that was read. Returns the error of the earlier write that may have been
    /// applied, if the value shows that somebody has written since and the change would not recognise that
    /// write as its own.
    #[inline]
    fn read(
        &mut self,
        _value: &V,
        _recognises: bool,
        _now: impl FnOnce() -> Duration,
    ) -> Option<E> {
        None
    }

    /// The part that gets the failures.
    #[inline]
    fn memory(&mut self) -> Option<&mut dyn Memory<E>> {
        None
    }
}

/// An update that remembers no write.
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct NoWriteMemory;

impl<V, E> WriteMemory<V, E> for NoWriteMemory {}

/// An update whose writes are conditional, and that remembers none. Made by
/// [`Retrying::conditional`](crate::Retrying::conditional).
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct Conditional;

impl<V, E> WriteMemory<V, E> for Conditional {
    const IS_CONDITIONAL: bool = true;
}

/// An update whose writes are conditional. Made by [`Retrying::conditional`](crate::Retrying::conditional).
pub type ConditionalUpdate<Read, Change, Write> = Update<Read, Change, Write, Conditional>;

impl<Read, Change, Write> Update<Read, Change, Write> {
    pub(super) const fn new(read: Read, change: Change, write: Write) -> Self {
        Update {
            read,
            change,
            write,
            writes: 0,
            memory: NoWriteMemory,
        }
    }

    /// The same update with a memory.
    pub(super) fn with_memory<M>(self, memory: M) -> Update<Read, Change, Write, M> {
        Update {
            read: self.read,
            change: self.change,
            write: self.write,
            writes: self.writes,
            memory,
        }
    }
}

impl<Read, Change, Write, M> Update<Read, Change, Write, M> {
    /// The value to write, or the end of the attempt without a write.
    #[inline]
    fn changed<V, W, E, Changes>(
        &mut self,
        mut value: V,
        now: impl FnOnce() -> Duration,
    ) -> Changing<V, W, E>
    where
        Change: FnMut(&mut V) -> Changes,
        Changes: Changed<E>,
        M: WriteMemory<V, E>,
    {
        if let Some(error) = self.memory.read(&value, Changes::RECOGNISES, now) {
            return Err(Err(Failed::at(Stage::Version, error)));
        }
        let changes = (self.change)(&mut value);
        let is_repeatable = changes.recognises() || M::KEEPS && !Changes::RECOGNISES;
        match changes.changed() {
            Ok(true) => Ok((value, is_repeatable)),
            Ok(false) => Err(Ok(Updated::Unchanged(value))),
            Err(error) => Err(Err(Failed::at(Stage::Change, error))),
        }
    }
}

/// An end of the attempt.
type Ended<V, W, E> = Result<Updated<V, W>, Failed<E>>;

/// A value to write and whether the write may be repeated, or the end of the attempt without a write.
type Changing<V, W, E> = Result<(V, bool), Ended<V, W, E>>;

impl<Read, Change, Write, M> fmt::Debug for Update<Read, Change, Write, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Update(..)")
    }
}

pin_project! {
    /// An attempt at a read-modify-write.
    #[derive(Debug)]
    #[project = UpdateProjection]
    #[allow(missing_docs, reason = "only the operation below uses the variants")]
    #[doc(hidden)]
    pub enum UpdateAttempt<Reading, Writing> {
        Reading { #[pin] read: Reading },
        // The time of an attempt that is cut was over before the write began.
        Over,
        Writing { #[pin] write: Writing, is_repeatable: bool },
    }
}

impl<Read, Change, Write, M, Changes, V, W, E> Operation for Update<Read, Change, Write, M>
where
    M: WriteMemory<V, E>,
    Read: Closure<(), Value = V, Error = E>,
    Change: FnMut(&mut V) -> Changes,
    Changes: Changed<E>,
    Write: Closure<(V,), Value = W, Error = E>,
{
    type Value = Updated<V, W>;
    type Error = E;
    type Running = UpdateAttempt<Read::Running, Write::Running>;
    type Report = UpdateReport;

    fn writes(&self) -> u32 {
        self.writes
    }

    #[inline]
    fn erased(&mut self) -> AnyOperation<'_, E> {
        AnyOperation {
            name: core::any::type_name::<Write::Function>(),
            memory: self.memory.memory(),
        }
    }

    #[inline]
    fn begin(&mut self, _call: &impl CallOf<Self::Value, E>) -> Self::Running {
        let read = self.read.call(());
        UpdateAttempt::Reading { read }
    }

    #[inline]
    fn poll(
        &mut self,
        mut running: Pin<&mut Self::Running>,
        call: &impl CallOf<Self::Value, E>,
        cx: &mut Context<'_>,
    ) -> Poll<Ended<V, W, E>> {
        if let UpdateProjection::Reading { read } = running.as_mut().project() {
            let value = match ready!(read.poll(cx)) {
                Ok(value) => value,
                Err(error) => return Poll::Ready(Err(Failed::at(Stage::Read, error))),
            };
            match self.changed(value, || call.run().clock.now()) {
                Ok(_) if call.run().is_over() => running.set(UpdateAttempt::Over),
                Ok((value, is_repeatable)) => {
                    self.writes = self.writes.saturating_add(1);
                    let write = self.write.call((value,));
                    running.set(UpdateAttempt::Writing {
                        write,
                        is_repeatable,
                    });
                }
                Err(ended) => return Poll::Ready(ended),
            }
        }
        match running.as_mut().project() {
            UpdateProjection::Writing { write, .. } => Poll::Ready(match ready!(write.poll(cx)) {
                Ok(written) => Ok(Updated::Written(written)),
                Err(error) => Err(Failed::at(Self::stage(running.as_ref()), error)),
            }),
            UpdateProjection::Reading { .. } | UpdateProjection::Over => Poll::Pending,
        }
    }

    #[inline]
    fn stage(running: Pin<&Self::Running>) -> Stage {
        match running.get_ref() {
            UpdateAttempt::Reading { .. } | UpdateAttempt::Over => Stage::Read,
            UpdateAttempt::Writing { is_repeatable, .. } => {
                let is_conditional = M::IS_CONDITIONAL || Changes::IS_CONDITIONAL;
                Stage::write(*is_repeatable, is_conditional)
            }
        }
    }
}
