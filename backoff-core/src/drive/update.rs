//! Read-modify-write: an attempt with two steps. A failure of either leads back to the read.

use super::attempt::{Call, Failed, Operation, Reports, Run};
use crate::{
    judge::Stage,
    report::{Measures, UpdateReport, Updated},
    runtime::Clock,
};
use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use pin_project_lite::pin_project;

/// What a change may return: nothing, whether it changed anything, or a `Result` of either.
#[diagnostic::on_unimplemented(
    message = "a change returns `bool`: whether it changed anything",
    label = "`{Self}` does not say that",
    note = "nothing counts as a change; `Result<bool, E>` and `Result<(), E>` may fail"
)]
pub trait Changed<E> {
    /// Whether there is something to write.
    ///
    /// # Errors
    /// The change's own.
    fn changed(self) -> Result<bool, E>;
}

impl<E> Changed<E> for () {
    fn changed(self) -> Result<bool, E> {
        Ok(true)
    }
}

impl<E> Changed<E> for bool {
    fn changed(self) -> Result<bool, E> {
        Ok(self)
    }
}

impl<E> Changed<E> for Result<(), E> {
    fn changed(self) -> Result<bool, E> {
        self.map(|()| true)
    }
}

impl<E> Changed<E> for Result<bool, E> {
    fn changed(self) -> Result<bool, E> {
        self
    }
}

/// The three functions of a read-modify-write. Made by [`Policy::update`](crate::Policy::update) and
/// [`Policy::blocking_update`](crate::Policy::blocking_update).
#[derive(Clone, Copy)]
pub struct Update<Read, Change, Write> {
    read: Read,
    change: Change,
    write: Write,
    writes: u32,
}

impl<Read, Change, Write> Update<Read, Change, Write> {
    pub(super) const fn new(read: Read, change: Change, write: Write) -> Self {
        Update {
            read,
            change,
            write,
            writes: 0,
        }
    }

    /// Begins a write.
    #[inline]
    fn write<V, Writing>(&mut self, value: V) -> Writing
    where
        Write: FnMut(V) -> Writing,
    {
        self.writes = self.writes.saturating_add(1);
        (self.write)(value)
    }

    /// The value to write, or what ends the attempt without a write.
    #[inline]
    fn changed<V, W, E, Changes>(&mut self, mut value: V) -> Changing<V, W, E>
    where
        Change: FnMut(&mut V) -> Changes,
        Changes: Changed<E>,
    {
        match (self.change)(&mut value).changed() {
            Ok(true) => Ok(value),
            Ok(false) => Err(Ok(Updated::Unchanged(value))),
            Err(error) => Err(Err(Failed::at(Stage::Change, error))),
        }
    }
}

/// What ends an attempt.
type Ended<V, W, E> = Result<Updated<V, W>, Failed<E>>;

/// A value to write, or what ends the attempt without a write.
type Changing<V, W, E> = Result<V, Ended<V, W, E>>;

impl<Read, Change, Write> fmt::Debug for Update<Read, Change, Write> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Update(..)")
    }
}

impl<Read, Change, Write> Reports for Update<Read, Change, Write> {
    type Report = UpdateReport;

    fn name() -> &'static str {
        core::any::type_name::<Write>()
    }

    fn report(&self, measures: Measures) -> UpdateReport {
        UpdateReport::new(measures, self.writes)
    }
}

pin_project! {
    /// An attempt at a read-modify-write.
    #[derive(Debug)]
    pub struct Running<Reading, Writing> {
        #[pin]
        step: Step<Reading, Writing>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = StepProjection]
    enum Step<Reading, Writing> {
        Reading { #[pin] read: Reading },
        // The time of an attempt that is cut was over before the write began.
        Over,
        Writing { #[pin] write: Writing },
    }
}

impl<R, Read, Change, Write, Reading, Changes, Writing, V, W, E> Operation<R>
    for Update<Read, Change, Write>
where
    Read: FnMut() -> Reading,
    Reading: Future<Output = Result<V, E>>,
    Change: FnMut(&mut V) -> Changes,
    Changes: Changed<E>,
    Write: FnMut(V) -> Writing,
    Writing: Future<Output = Result<W, E>>,
{
    type Value = Updated<V, W>;
    type Error = E;
    type Running = Running<Reading, Writing>;

    #[inline]
    fn begin(&mut self, _run: &Run<'_, R>) -> Self::Running {
        let read = (self.read)();
        Running {
            step: Step::Reading { read },
        }
    }

    #[inline]
    fn poll(
        &mut self,
        running: Pin<&mut Self::Running>,
        run: &Run<'_, R>,
        cx: &mut Context<'_>,
    ) -> Poll<Ended<V, W, E>>
    where
        R: Clock,
    {
        let mut step = running.project().step;
        if let StepProjection::Reading { read } = step.as_mut().project() {
            let value = match ready!(read.poll(cx)) {
                Ok(value) => value,
                Err(error) => return Poll::Ready(Err(Failed::at(Stage::Read, error))),
            };
            match self.changed(value) {
                Ok(_) if run.is_over() => step.set(Step::Over),
                Ok(value) => {
                    let write = self.write(value);
                    step.set(Step::Writing { write });
                }
                Err(ended) => return Poll::Ready(ended),
            }
        }
        match step.project() {
            StepProjection::Writing { write } => Poll::Ready(match ready!(write.poll(cx)) {
                Ok(written) => Ok(Updated::Written(written)),
                Err(error) => Err(Failed::at(Stage::Write, error)),
            }),
            StepProjection::Reading { .. } | StepProjection::Over => Poll::Pending,
        }
    }

    #[inline]
    fn stage(running: Pin<&Self::Running>) -> Stage {
        match running.get_ref().step {
            Step::Reading { .. } | Step::Over => Stage::Read,
            Step::Writing { .. } => Stage::Write,
        }
    }
}

impl<Read, Change, Write, Changes, V, W, E> Call for Update<Read, Change, Write>
where
    Read: FnMut() -> Result<V, E>,
    Change: FnMut(&mut V) -> Changes,
    Changes: Changed<E>,
    Write: FnMut(V) -> Result<W, E>,
{
    type Value = Updated<V, W>;
    type Error = E;

    #[inline]
    fn call<R: Clock>(&mut self, _run: &Run<'_, R>) -> Ended<V, W, E> {
        let value = (self.read)().map_err(|error| Failed::at(Stage::Read, error))?;
        match self.changed(value) {
            Ok(value) => match self.write(value) {
                Ok(written) => Ok(Updated::Written(written)),
                Err(error) => Err(Failed::at(Stage::Write, error)),
            },
            Err(ended) => ended,
        }
    }
}
