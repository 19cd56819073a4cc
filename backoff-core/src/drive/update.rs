//! Read-modify-write: the loop that goes back to the read, whatever of it failed.

use super::{
    Bounded, Changed, Conflict, ConflictIf, Judged, OfPolicy, Own, Pace, Series, Steps,
    setup::Setup,
};
use crate::{
    Attempt, ByPolicy, Class, Clock, Decision, Event, Fault, Judge, Notify, Policy, Random, Retry,
    RetryError, Silent, Sleep, StopReason, TimedOut, UpdateReport, Updated, Verdict, codes,
    delay::Delay,
    report::Steps as Count,
    time::{AsyncRuntime, nanos},
};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

impl Policy {
    /// Changes something that others change too, and loses no update: reads it, changes what was
    /// read, writes it back under the precondition that nobody was faster.
    ///
    /// - A read that fails and is to be retried is made again.
    /// - A write that fails and is to be retried, be it a conflict or not, goes back to the read,
    ///   after a wait. The change then decides anew whether there is still something to do: if the
    ///   write arrived and only its reply was lost, a change that recognises its own effect says
    ///   so, and nothing is written twice.
    /// - A change that changed nothing writes nothing.
    ///
    /// Deadline, attempts and budget are those of the whole: each failure of a read or a write
    /// counts as one attempt. Conflicts (`ABORTED`, 412, [`Class::Conflict`]) are retried whatever
    /// the policy says of them, for here they are what is expected; 409 without a gRPC code only
    /// where the policy names it, since it may also mean that something exists.
    ///
    /// `change` may return nothing, which counts as a change; a `bool`, whether it changed anything;
    /// or a `Result` of either, whose error ends everything. The value that was read, with its etag
    /// or version, is all that `write` gets: it cannot write blindly.
    ///
    /// Where the policy is not [idempotent](Policy::idempotent), a write that may have been applied
    /// ends everything with [`StopReason::PerhapsApplied`], for changes that cannot recognise their
    /// own effect: a counter that is increased. Reads are made again in any case.
    ///
    /// ```
    /// use backoff_core::{Class, Fault, Policy, Updated};
    /// use std::cell::Cell;
    ///
    /// #[derive(Debug, PartialEq)]
    /// struct Stale;
    /// impl Fault for Stale {
    ///     fn class(&self) -> Option<Class> { Some(Class::Conflict) }
    /// }
    ///
    /// /// A number, and the version that a write must name.
    /// struct Store(Cell<(u32, u64)>);
    ///
    /// impl Store {
    ///     async fn get(&self) -> Result<(u32, u64), Stale> { Ok(self.0.get()) }
    ///     async fn set(&self, number: u32, version: u64) -> Result<(), Stale> {
    ///         if version != self.0.get().1 { return Err(Stale) }
    ///         self.0.set((number, version + 1));
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let store = Store(Cell::new((1, 1)));
    /// let mut others = 2;
    /// let updated = Policy::exponential()
    ///     .update(
    ///         || store.get(),
    ///         |(number, _)| {
    ///             *number += 1;
    ///             // Meanwhile, somebody else is faster, twice.
    ///             if others > 0 { others -= 1; store.0.set((10, store.0.get().1 + 1)); }
    ///         },
    ///         |(number, version)| store.set(number, version),
    ///     )
    ///     .await;
    /// assert_eq!(updated, Ok(Updated::Written(())));
    /// assert_eq!(store.0.get().0, 11);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn update<Read, Change, Write, Reading, Changes, Writing, V, W, E>(
        self,
        read: Read,
        change: Change,
        write: Write,
    ) -> Updating<Steps<Read, Change, Write>, ByPolicy>
    where
        Read: FnMut() -> Reading,
        Reading: Future<Output = Result<V, E>>,
        Change: FnMut(&mut V) -> Changes,
        Changes: Changed<E>,
        Write: FnMut(V) -> Writing,
        Writing: Future<Output = Result<W, E>>,
        E: Fault,
    {
        self.judged(ByPolicy).update(read, change, write)
    }
}

impl<J> Judged<J> {
    /// As [`Policy::update`]. What the function says of an error is said of a failed read and of a
    /// failed write alike. A function given to [`when`](Policy::when) sees no facts, so it has to
    /// know by itself what may have been applied, whatever [`idempotent`](Policy::idempotent) says;
    /// and a conflict counts as one in the report only where a [`Verdict`] of it says so.
    pub fn update<Read, Change, Write, Reading, Changes, Writing, V, W, E>(
        self,
        read: Read,
        change: Change,
        write: Write,
    ) -> Updating<Steps<Read, Change, Write>, J>
    where
        Read: FnMut() -> Reading,
        Reading: Future<Output = Result<V, E>>,
        Change: FnMut(&mut V) -> Changes,
        Changes: Changed<E>,
        Write: FnMut(V) -> Writing,
        Writing: Future<Output = Result<W, E>>,
        J: Judge<E>,
    {
        let steps = Steps {
            read,
            change,
            write,
        };
        let policy = self.policy.retry_conflicts(true).also_on(codes::CONFLICTS);
        Updating::new(Setup::new(
            policy,
            self.judge,
            steps,
            AsyncRuntime::default(),
        ))
    }
}

pin_project! {
    /// A read-modify-write under way: a future of [`Updated`], or of the last error.
    ///
    /// Made by [`Policy::update`]. Before it is awaited, more can be said by its methods. It is
    /// `Send` when its parts are, and allocates nothing. If it is dropped, a write that is under
    /// way may have been applied.
    ///
    /// # Panics
    /// When it is polled again after it has finished, as futures may.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Updating<S, J, N = Silent, R = AsyncRuntime, P = OfPolicy>
    where
        S: Series<R>,
        R: Sleep,
    {
        setup: Setup<S, J, N, R, P>,
        // Whether a write may be made twice; a read always may.
        idempotent: bool,
        timed: bool,
        retry: Retry,
        slept: u64,
        count: Count,
        #[pin]
        phase: Phase<S::Read, S::Write, R::Sleep>,
    }
}

pin_project! {
    #[project = PhaseProjection]
    enum Phase<Read, Write, S> {
        New,
        Ready,
        Reading { #[pin] read: Read },
        Writing { #[pin] write: Write },
        Waiting { #[pin] sleep: S },
        Done,
    }
}

/// What came of all, before it is told to the caller.
type Outcome<V, W, E> = Result<Updated<V, W>, (E, StopReason)>;

impl<S: Series<R>, J, N, R: Sleep, P> Updating<S, J, N, R, P> {
    fn new(setup: Setup<S, J, N, R, P>) -> Self {
        Updating {
            idempotent: setup.policy.idempotent,
            setup,
            timed: false,
            retry: Retry::start_at(Duration::ZERO),
            slept: 0,
            count: Count::default(),
            phase: Phase::New,
        }
    }

    /// Cuts each read and each write after `limit`, or when the deadline is over, whichever comes
    /// first. As [`Retrying::attempt_timeout`](crate::Retrying::attempt_timeout); a write that was
    /// cut may have been applied.
    pub fn attempt_timeout(self, limit: Duration) -> Updating<Bounded<S>, J, N, R, P>
    where
        S::Error: From<TimedOut>,
    {
        let mut setup = self
            .setup
            .operation(|operation| Bounded { operation, limit });
        setup.policy = setup.policy.__bounded();
        Updating::new(setup)
    }

    /// Takes a write's reply for a conflict where the function says so: etcd answers a
    /// compare-and-swap that failed with 200 and no `succeeded`, Redis an `EXEC` with nothing.
    ///
    /// When the attempts end with such a reply, the error is made from [`Conflict`].
    ///
    /// ```
    /// use backoff_core::{Conflict, Policy, Updated};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut replies = [false, true].into_iter();
    /// let updated: Result<Updated<u32, bool>, Conflict> = Policy::exponential()
    ///     .update(
    ///         || std::future::ready(Ok(1)),
    ///         |number| *number += 1,
    ///         |_| std::future::ready(Ok(replies.next().unwrap())),
    ///     )
    ///     .conflict_if(|succeeded| !succeeded)
    ///     .await;
    /// assert_eq!(updated, Ok(Updated::Written(true)));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn conflict_if<F>(self, is_conflict: F) -> Updating<ConflictIf<S, F>, J, N, R, P>
    where
        F: FnMut(&S::Written) -> bool,
        S::Error: From<Conflict>,
    {
        Updating::new(self.setup.operation(|series| ConflictIf {
            series,
            is_conflict,
        }))
    }

    /// Calls a hook before each wait, and when all is given up. As
    /// [`Retrying::notify`](crate::Retrying::notify).
    pub fn notify<H>(self, hook: H) -> Updating<S, J, H, R, P>
    where
        H: FnMut(&Event<'_, S::Error>),
    {
        Updating::new(self.setup.notify(hook))
    }

    /// Takes clock, timer and random numbers from here. As
    /// [`Retrying::runtime`](crate::Retrying::runtime).
    pub fn runtime<Q>(self, runtime: Q) -> Updating<S, J, N, Q, P>
    where
        S: Series<Q>,
        Q: Clock + Sleep + Random,
    {
        Updating::new(self.setup.runtime(runtime))
    }

    /// Takes the waits from here instead of from the policy. As
    /// [`Retrying::delays`](crate::Retrying::delays);
    /// [`delay::Versions`](crate::delay::Versions) is made for it.
    pub fn delays<D: Delay>(self, delays: D) -> Updating<S, J, N, R, Own<D>> {
        Updating::new(self.setup.delays(delays))
    }

    /// Also says what it took: a success comes with an [`UpdateReport`], a failure as a
    /// [`RetryError`] that has one.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut, Updated};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let (updated, report) = Policy::exponential()
    ///     .update(
    ///         || std::future::ready(Ok::<_, TimedOut>("as it should be")),
    ///         |_| false,
    ///         |_| std::future::ready(Ok(())),
    ///     )
    ///     .reported()
    ///     .await
    ///     .unwrap();
    /// assert_eq!(updated, Updated::Unchanged("as it should be"));
    /// assert_eq!((report.reads, report.writes, report.conflicts), (1, 0, 0));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn reported(mut self) -> ReportedUpdate<S, J, N, R, P> {
        self.timed = true;
        ReportedUpdate { updating: self }
    }
}

impl<S, J, N, R, P> Updating<S, J, N, R, P>
where
    S: Series<R>,
    J: Judge<S::Error>,
    N: Notify<S::Error>,
    R: Clock + Sleep + Random,
    P: Pace,
{
    /// Runs until it is written, found to need no write, or given up.
    fn run(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<S::Value, S::Written, S::Error>> {
        let mut this = self.project();
        let setup = this.setup;
        loop {
            let (error, verdict) = match this.phase.as_mut().project() {
                PhaseProjection::New => {
                    *this.retry = setup.start(*this.timed);
                    this.phase.set(Phase::Ready);
                    continue;
                }
                PhaseProjection::Ready => {
                    // A read can always be made again.
                    setup.policy.idempotent = true;
                    let attempt = setup.next(this.retry);
                    if this.retry.failures() > 0
                        && let Some(error) = setup.expired(&attempt)
                    {
                        setup.woke_late(this.count.reads, S::name(), &error);
                        this.phase.set(Phase::Done);
                        return Poll::Ready(Err((error, StopReason::Deadline)));
                    }
                    this.count.reads = this.count.reads.saturating_add(1);
                    let read = setup.read(this.retry, attempt);
                    this.phase.set(Phase::Reading { read });
                    continue;
                }
                PhaseProjection::Reading { read } => match ready!(read.poll(cx)) {
                    Ok(mut value) => match setup.operation.change(&mut value) {
                        Ok(false) => {
                            this.retry.succeeded(&setup.policy);
                            this.phase.set(Phase::Done);
                            return Poll::Ready(Ok(Updated::Unchanged(value)));
                        }
                        Ok(true) => {
                            setup.policy.idempotent = *this.idempotent;
                            let attempt = setup.next(this.retry);
                            if let Some(error) = setup.expired(&attempt) {
                                setup.woke_late(this.count.reads, S::name(), &error);
                                this.phase.set(Phase::Done);
                                return Poll::Ready(Err((error, StopReason::Deadline)));
                            }
                            this.count.writes = this.count.writes.saturating_add(1);
                            let write = setup.write(this.retry, attempt, value);
                            this.phase.set(Phase::Writing { write });
                            continue;
                        }
                        // What the change refuses, no repetition cures.
                        Err(error) => (error, Some(Verdict::Permanent)),
                    },
                    Err(error) => (error, None),
                },
                PhaseProjection::Writing { write } => match ready!(write.poll(cx)) {
                    Ok(written) => match setup.operation.conflict(&written) {
                        None => {
                            this.retry.succeeded(&setup.policy);
                            this.phase.set(Phase::Done);
                            return Poll::Ready(Ok(Updated::Written(written)));
                        }
                        Some(error) => (error, Some(Verdict::CONFLICT)),
                    },
                    Err(error) => (error, None),
                },
                PhaseProjection::Waiting { sleep } => {
                    ready!(sleep.poll(cx));
                    this.phase.set(Phase::Ready);
                    continue;
                }
                PhaseProjection::Done => panic!("an `Updating` was polled after it had finished"),
            };
            let mut class = None;
            let decision = setup.conclude_as(this.retry, S::name(), &error, |judged| {
                let verdict = verdict.unwrap_or(judged);
                class = verdict.class();
                verdict
            });
            if class == Some(Class::Conflict) {
                this.count.conflicts = this.count.conflicts.saturating_add(1);
            }
            match decision {
                Decision::Wait(wait) => {
                    *this.slept = this.slept.saturating_add(nanos(wait.delay));
                    let sleep = setup.runtime.sleep(wait.delay);
                    this.phase.set(Phase::Waiting { sleep });
                }
                Decision::Stop(reason) => {
                    this.phase.set(Phase::Done);
                    return Poll::Ready(Err((error, reason)));
                }
            }
        }
    }
}

impl<S, J, N, R, P> Setup<S, J, N, R, P>
where
    S: Series<R>,
    R: Clock,
{
    fn attempt(&self, retry: &Retry) -> Attempt {
        retry.attempt(&self.policy, || self.runtime.now())
    }

    /// The step that is about to begin, where attempts are cut: read once, so that what is decided
    /// by it still holds when the step is begun.
    fn next(&self, retry: &Retry) -> Option<Attempt> {
        self.policy.bounded.then(|| self.attempt(retry))
    }

    fn expired(&self, attempt: &Option<Attempt>) -> Option<S::Error> {
        self.operation.expired(attempt.as_ref()?)
    }

    fn read(&mut self, retry: &Retry, attempt: Option<Attempt>) -> S::Read {
        let now = || self.runtime.now();
        let attempt = || attempt.unwrap_or_else(|| retry.attempt(&self.policy, now));
        self.operation.read(&self.runtime, attempt)
    }

    fn write(&mut self, retry: &Retry, attempt: Option<Attempt>, value: S::Value) -> S::Write {
        let now = || self.runtime.now();
        let attempt = || attempt.unwrap_or_else(|| retry.attempt(&self.policy, now));
        self.operation.write(value, &self.runtime, attempt)
    }
}

impl<S, J, N, R, P> Future for Updating<S, J, N, R, P>
where
    S: Series<R>,
    J: Judge<S::Error>,
    N: Notify<S::Error>,
    R: Clock + Sleep + Random,
    P: Pace,
{
    type Output = Result<Updated<S::Value, S::Written>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.run(cx).map_err(|(error, _)| error)
    }
}

pin_project! {
    /// A read-modify-write that also says what it took. Made by [`Updating::reported`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct ReportedUpdate<S, J, N = Silent, R = AsyncRuntime, P = OfPolicy>
    where
        S: Series<R>,
        R: Sleep,
    {
        #[pin]
        updating: Updating<S, J, N, R, P>,
    }
}

impl<S, J, N, R, P> Future for ReportedUpdate<S, J, N, R, P>
where
    S: Series<R>,
    J: Judge<S::Error>,
    N: Notify<S::Error>,
    R: Clock + Sleep + Random,
    P: Pace,
{
    type Output =
        Result<(Updated<S::Value, S::Written>, UpdateReport), RetryError<S::Error, UpdateReport>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut updating = self.project().updating;
        let outcome = ready!(updating.as_mut().run(cx));
        let Updating {
            retry,
            setup,
            slept,
            count,
            ..
        } = &*updating;
        let now = || setup.runtime.now();
        let report = UpdateReport::new(retry, *slept, *count, now);
        Poll::Ready(match outcome {
            Ok(updated) => Ok((updated, report)),
            Err((error, reason)) => Err(RetryError::new(error, reason, report)),
        })
    }
}
