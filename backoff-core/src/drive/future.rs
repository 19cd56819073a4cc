//! The async loop: a future written by hand, so that it is `Send` when its parts are, has a name,
//! and allocates nothing.

use super::{
    attempt::{At, Failed, Operation, Run},
    bounded::Bounded,
    course::{Course, rarely},
    deposit::Deposit,
    ending::Ending,
    handler::{ByCodes, Delayed, Funded, Handle, Handler, Measured, Notified, Owning, Under},
    recall::recalling,
    stopping::{Signal, Stopped, Unstopped, stopped, unless_cut},
    until::{Conflict, ConflictIf, NotYet, Responding, Until},
    write_outcome::{JudgedWrite, WriteOutcome},
};
use crate::{
    budget::Budget,
    delay::Delay,
    facts::fault::{Fault, TimedOut},
    judge::Stage,
    observe::{Event, Failure},
    policy::Policy,
    report::{Reporting, RetryError, Updated},
    runtime::{Clock, Random, Sleep},
};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

pin_project! {
    /// An operation that is being retried: a future of the operation's own `Result`.
    ///
    /// Made by [`Policy::retry`], [`Policy::retry_with`], [`Policy::update`], and by the methods of the
    /// same names after [`Policy::when`]. The methods of this type configure the call; write them before
    /// the `.await`. The future is `Send` when its parts are, and allocates nothing. Dropping the future
    /// ends the running attempt and all retries. A write that was running may then have been applied. For a
    /// program that shuts down there are [other ways to end a call](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/traps/#ending-a-call-early).
    ///
    /// # The future borrows the policy
    ///
    /// A policy that is a constant is borrowed for ever, so the future can be stored and spawned. A
    /// policy that is changed in the expression lives until the end of the statement, which is
    /// long enough for an `.await`. To store, spawn or join the future, write one of these:
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let get = || std::future::ready(Ok::<_, TimedOut>(42));
    ///
    /// // The future takes a copy of the policy along.
    /// let owned = tokio::spawn(POLICY.max_attempts(3).retry(get).owned());
    /// // The changed policy is a constant as well.
    /// let constant = tokio::spawn(const { POLICY.max_attempts(3) }.retry(get));
    /// // The policy is moved into the task.
    /// let policy = POLICY.max_attempts(3);
    /// let moved = tokio::spawn(async move { policy.retry(get).await });
    /// // The policy stays where it is for as long as the future is used.
    /// let policy = POLICY.max_attempts(3);
    /// let borrowed = policy.retry(get);
    ///
    /// let (owned, constant, moved, borrowed) = tokio::join!(owned, constant, moved, borrowed);
    /// # assert!([owned.unwrap(), constant.unwrap(), moved.unwrap(), borrowed] == [Ok(42); 4]);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    ///
    /// In `tokio::join!`, write parentheses around a `const` block:
    /// `(const { POLICY.max_attempts(3) }).retry(get)`. Macros written before edition 2024 do not accept a
    /// `const` block without parentheses.
    ///
    /// # Panics
    /// When the future is polled again after it has finished.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Retrying<'p, O, H = ByCodes, S = Unstopped>
    where
        O: Operation<<H as Handler>::Runtime>,
        H: Handler,
        <H as Handler>::Runtime: Sleep,
    {
        deposit: Deposit<&'p Policy>,
        operation: O,
        handler: H,
        #[pin]
        phase: Phase<
            <O as Operation<<H as Handler>::Runtime>>::Running,
            <<H as Handler>::Runtime as Sleep>::Sleep,
        >,
        #[pin]
        signal: S,
    }
}

pin_project! {
    #[project = PhaseProjection]
    enum Phase<A, S> {
        New,
        Running { #[pin] attempt: A },
        Waiting { #[pin] sleep: S },
        Done,
    }
}

/// The policy of a future that owns one.
const OWNED: &Policy = &Policy::exponential();

impl<'p, O, H> Retrying<'p, O, H>
where
    O: Operation<<H as Handler>::Runtime>,
    H: Handler,
    <H as Handler>::Runtime: Sleep,
{
    pub(super) const fn new(policy: &'p Policy, operation: O, handler: H) -> Self {
        Retrying {
            deposit: Deposit::new(policy),
            operation,
            handler,
            phase: Phase::New,
            signal: Unstopped,
        }
    }
}

impl<'p, O, H, S> Retrying<'p, O, H, S>
where
    O: Operation<<H as Handler>::Runtime>,
    H: Handler,
    <H as Handler>::Runtime: Sleep,
{
    #[inline]
    pub(super) fn operation<P>(self, change: impl FnOnce(O) -> P) -> Retrying<'p, P, H, S>
    where
        P: Operation<<H as Handler>::Runtime>,
    {
        let Retrying {
            deposit,
            operation,
            handler,
            signal,
            ..
        } = self;
        Retrying::new(deposit.payer, change(operation), handler).signal(signal)
    }

    #[inline]
    fn handler<G>(self, change: impl FnOnce(H) -> G) -> Retrying<'p, O, G, S>
    where
        O: Operation<<G as Handler>::Runtime>,
        G: Handler,
        <G as Handler>::Runtime: Sleep,
    {
        let Retrying {
            deposit,
            operation,
            handler,
            signal,
            ..
        } = self;
        Retrying::new(deposit.payer, operation, change(handler)).signal(signal)
    }

    #[inline]
    pub(super) fn signal<Q>(self, signal: Q) -> Retrying<'p, O, H, Q> {
        let Retrying {
            deposit,
            operation,
            handler,
            phase,
            ..
        } = self;
        Retrying {
            deposit,
            operation,
            handler,
            phase,
            signal,
        }
    }

    /// Cuts each attempt after `limit`, or when the deadline is over, whichever comes first.
    ///
    /// An attempt of an update is the read and the write together. If the time is over during the read, the
    /// write is not begun. A write that was cut may have been applied.
    ///
    /// An attempt that is cut has no error of its own, so its error is made from [`TimedOut`]. A limit of
    /// zero counts as a nanosecond: each attempt is begun, and is cut if it does not finish at once.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let answer: Result<(), TimedOut> = Policy::exponential()
    ///     .retry(std::future::pending)
    ///     .attempt_timeout(Duration::from_secs(10))
    ///     .await;
    /// assert_eq!(answer, Err(TimedOut::new(Duration::from_secs(10))));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn attempt_timeout(self, limit: Duration) -> Retrying<'p, Bounded<O>, H, S>
    where
        O::Error: From<TimedOut>,
    {
        self.operation(|operation| Bounded::attempts(operation, limit))
    }

    /// Limits the time of the whole call, whatever the server does: no attempt begins and no wait ends
    /// after `limit`, and an attempt that is still running at `limit` is cut. The time counts from the
    /// first poll of the future. If the policy has a deadline too, the shorter one holds. With a time limit
    /// and no `max_attempts`, the call makes as many attempts as fit into the time.
    ///
    /// When an attempt is cut, the error is made from [`TimedOut`]; when the next wait would end after the
    /// limit, the call ends at once with the operation's own error. A report also keeps the last real error
    /// ([`RetryError::last`]).
    ///
    /// To limit a call inside an attempt of another call, write `.timeout(attempt.remaining())`.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let hangs = || std::future::pending::<Result<(), TimedOut>>();
    /// let minute = Duration::from_secs(60);
    /// let start = tokio::time::Instant::now();
    /// assert_eq!(POLICY.retry(hangs).timeout(minute).await, Err(TimedOut::new(minute)));
    /// assert_eq!(start.elapsed(), minute);
    ///
    /// // The inner call has what remains of the outer one.
    /// let outer = POLICY.retry_with(|attempt| async move {
    ///     POLICY.retry(hangs).timeout(attempt.remaining()).await
    /// });
    /// assert!(outer.timeout(minute).await.is_err());
    /// assert_eq!(start.elapsed(), 2 * minute);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn timeout(self, limit: Duration) -> Retrying<'p, Bounded<O>, H, S>
    where
        O::Error: From<TimedOut>,
    {
        self.operation(|operation| Bounded::whole(operation, limit))
    }

    /// Repeats the operation until its value is the awaited one: a long-running operation is done, a new
    /// resource is ready.
    ///
    /// A value that is not the awaited one counts as an attempt. The call waits after it as after a
    /// failure, but pays nothing from the budget. Errors are retried as usual. Set the time for the whole
    /// call by [`deadline`](crate::Policy::deadline): without a deadline, five attempts are made. When
    /// attempts or time are used up, the error is made from [`NotYet`](crate::NotYet).
    ///
    /// After an [`update`](crate::Policy::update) the whole update is repeated, including its write. To
    /// wait for the effect of a write, await the update first, and then a call that only reads.
    ///
    /// The first awaited value ends the call. If an older value may follow an awaited one, because replicas
    /// answer in turn, require several awaited values [in a row](Self::consecutive).
    ///
    /// ```
    /// use backoff_core::{NotYet, Policy};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLL: Policy = Policy::exponential().deadline(Duration::from_secs(600));
    /// let mut progress = 0;
    /// let done: Result<u32, NotYet> = POLL
    ///     .retry(|| {
    ///         progress += 10;
    ///         std::future::ready(Ok(progress))
    ///     })
    ///     .until(|percent| *percent >= 100)
    ///     .await;
    /// assert_eq!(done, Ok(100));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn until<F>(self, is_done: F) -> Retrying<'p, Until<O, F>, H, S>
    where
        F: FnMut(&O::Value) -> bool,
        O::Error: From<NotYet>,
    {
        self.operation(|operation| Until { operation, is_done })
    }

    /// Treats the reply of a write as a conflict where the function returns `true`. For example, etcd
    /// answers a failed compare-and-swap with status 200 and without `succeeded`, and Redis answers a
    /// failed `EXEC` with nil.
    ///
    /// If the last attempt ends with such a reply, the error is made from [`Conflict`].
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
    pub fn conflict_if<F, V, W>(self, is_conflict: F) -> Retrying<'p, ConflictIf<O, F>, H, S>
    where
        O: Operation<<H as Handler>::Runtime, Value = Updated<V, W>>,
        F: FnMut(&W) -> bool,
        O::Error: From<Conflict>,
    {
        self.operation(|operation| ConflictIf {
            operation,
            is_conflict,
        })
    }

    /// Judges a value by the policy's codes, as an error is judged: for an operation that returns a
    /// response with status 503 as `Ok`. If the policy retries the response, the call waits and obeys its
    /// `Retry-After`. When no attempt follows, the call returns the last response unchanged.
    ///
    /// ```
    /// use backoff_core::{Fault, Policy, TimedOut};
    ///
    /// #[derive(Debug, PartialEq)]
    /// struct Response(u16);
    /// impl Fault for Response {
    ///     fn status(&self) -> Option<u16> { Some(self.0) }
    /// }
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential().max_attempts(3);
    /// let mut replies = [503, 503, 200].into_iter();
    /// let get = || std::future::ready(Ok::<_, TimedOut>(Response(replies.next().unwrap())));
    /// assert_eq!(POLICY.retry(get).responses().await, Ok(Response(200)));
    ///
    /// let busy = || std::future::ready(Ok::<_, TimedOut>(Response(503)));
    /// assert_eq!(POLICY.retry(busy).responses().await, Ok(Response(503)));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn responses(self) -> Retrying<'p, O::Responses, H, S>
    where
        O: Responding<Responses: Operation<<H as Handler>::Runtime>>,
        O::Value: Fault,
    {
        self.operation(O::responses)
    }

    /// Calls `hook` before each wait, when the operation is given up, and when it succeeds after retries.
    /// If the first attempt succeeds, `hook` is not called.
    ///
    /// The hook belongs to the future: after the future is dropped, the hook is not called any more.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut log = Vec::new();
    /// let _: Result<(), TimedOut> = Policy::exponential()
    ///     .max_attempts(2)
    ///     .retry(|| std::future::ready(Err(TimedOut::new(Duration::ZERO))))
    ///     .notify(|event| log.push(event.to_string()))
    ///     .await;
    /// assert_eq!(log.len(), 2);
    /// assert_eq!(log[1], "gave up after 2 attempts (attempts): the attempt was cut after 0ns");
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn notify<N>(self, hook: N) -> Retrying<'p, O, Notified<H, N>, S>
    where
        N: FnMut(&Event<'_, O::Error>),
    {
        self.handler(|inner| Notified { inner, hook })
    }

    /// Uses the clock, timer and random numbers of `runtime` instead of tokio's: for another executor, or
    /// for a test that checks an exact schedule.
    ///
    /// ```
    /// use backoff_core::{Clock, Policy, Random, Sleep, TimedOut};
    /// use std::{cell::Cell, future::Ready, rc::Rc, time::Duration};
    ///
    /// /// Time is what the waits sum up to; chance always draws the longest.
    /// #[derive(Clone, Default)]
    /// struct Simulated(Rc<Cell<Duration>>);
    ///
    /// impl Clock for Simulated {
    ///     fn now(&self) -> Duration { self.0.get() }
    /// }
    /// impl Sleep for Simulated {
    ///     type Sleep = Ready<()>;
    ///     fn sleep(&self, wait: Duration) -> Ready<()> {
    ///         self.0.set(self.0.get() + wait);
    ///         std::future::ready(())
    ///     }
    /// }
    /// impl Random for Simulated {
    ///     fn random(&self) -> u64 { u64::MAX }
    /// }
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let time = Simulated::default();
    /// let busy = || std::future::ready(Err::<(), _>(TimedOut::new(Duration::ZERO)));
    /// let _ = Policy::exponential().max_attempts(4).retry(busy).runtime(time.clone()).await;
    /// assert_eq!(time.now(), Duration::from_secs(1 + 2 + 4));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn runtime<R>(self, runtime: R) -> Retrying<'p, O, Under<H, R>, S>
    where
        O: Operation<R>,
        R: Clock + Sleep + Random,
    {
        self.handler(|inner| Under { inner, runtime })
    }

    /// Takes the waits from `delays` instead of from the policy: an algorithm of your own, a closure that
    /// takes the retry's number, or a list of waits. The policy's limits hold, but its `max_backoff` and
    /// its jitter do not: the call waits exactly as long as `delays` says.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let busy = || std::future::ready(Err::<(), _>(TimedOut::new(Duration::ZERO)));
    /// let second = Duration::from_secs(1);
    /// let gave_up =
    ///     Policy::exponential().retry(busy).delays([second, 5 * second]).reported().await.unwrap_err();
    /// assert_eq!((gave_up.report.attempts, gave_up.report.slept), (3, 6 * second));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn delays<D: Delay>(self, delays: D) -> Retrying<'p, O, Delayed<H, D>, S> {
        self.handler(|inner| Delayed { inner, delays })
    }

    /// Pays for this call's retries from `budget` instead of from the policy's budget: for example from the
    /// budget of one host or one tenant. The budget can have any lifetime.
    ///
    /// ```
    /// use backoff_core::{Budget, Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let of_this_host = Budget::ratio(0.2, 1);
    /// let busy = || std::future::ready(Err::<(), _>(TimedOut::new(Duration::ZERO)));
    /// let gave_up = POLICY.retry(busy).budget(&of_this_host).reported().await.unwrap_err();
    /// assert_eq!((gave_up.report.attempts, gave_up.reason.name()), (2, "budget"));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn budget<'b>(self, budget: &'b Budget) -> Retrying<'p, O, Funded<'b, H>, S> {
        self.handler(|inner| Funded::new(inner, budget))
    }

    /// Stores a copy of the policy in the future. The future then borrows no policy, and can be stored,
    /// spawned or joined. The future grows by the size of a policy.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let get = || std::future::ready(Ok::<_, TimedOut>(42));
    /// let task = tokio::spawn(Policy::exponential().max_attempts(3).retry(get).owned());
    /// assert_eq!(task.await.unwrap(), Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn owned(self) -> Retrying<'static, O, Owning<H>, S> {
        let policy = *self.handler.policy(self.deposit.payer);
        let Retrying {
            operation,
            handler,
            signal,
            ..
        } = self;
        Retrying::new(OWNED, operation, Owning::new(handler, policy)).signal(signal)
    }

    /// Also returns a report: a success comes with a [`Report`](crate::Report), and a failure is a
    /// [`RetryError`]. The report of an update is an [`UpdateReport`](crate::UpdateReport).
    ///
    /// ```
    /// use backoff_core::{Policy, StopReason, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let busy = || std::future::ready(Err::<(), _>(TimedOut::new(Duration::ZERO)));
    /// let gave_up = Policy::exponential().max_attempts(3).retry(busy).reported().await.unwrap_err();
    /// assert_eq!(gave_up.reason, StopReason::Attempts);
    /// assert_eq!(gave_up.report.attempts, 3);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn reported(self) -> Reported<'p, O, H, S> {
        Reported {
            retrying: self.handler(Measured::new),
        }
    }
}

impl<O, H, S> Future for Retrying<'_, O, H, S>
where
    O: Operation<<H as Handler>::Runtime>,
    H: Handle<O::Error>,
    S: Signal<O::Value, O::Error>,
    <H as Handler>::Runtime: Clock + Sleep + Random,
{
    type Output = Result<O::Value, O::Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Deposit { payer, course } = this.deposit;
        let borrowed = *payer;
        let error = loop {
            let begins = match this.phase.as_mut().project() {
                PhaseProjection::Running { .. } => false,
                PhaseProjection::New => {
                    let timed = O::TIMED || H::MEASURES;
                    let policy = this.handler.policy(borrowed);
                    let overrides = this.handler.overrides(this.operation.overrides());
                    let clock = this.handler.runtime();
                    course.start(policy, overrides.as_ref(), clock, timed);
                    if S::IS_ONE
                        && let Some(cuts) = this.signal.cuts()
                        && this.signal.as_mut().has_come(cx)
                    {
                        let error = cuts(Stopped);
                        let failure = Failure::new(Some(&error), this.handler.fault(&error));
                        course.stopped(
                            borrowed,
                            this.handler,
                            O::name(),
                            failure,
                            WriteOutcome::Known,
                        );
                        break error;
                    }
                    true
                }
                PhaseProjection::Waiting { sleep } => {
                    if S::IS_ONE && this.signal.as_mut().has_come(cx) {
                        let (operation, signal) = (&mut *this.operation, this.signal.as_mut());
                        if let Some(outcome) =
                            stopped(operation, this.handler, course, borrowed, signal)
                        {
                            this.phase.set(Phase::Done);
                            return Poll::Ready(outcome);
                        }
                    }
                    ready!(sleep.poll(cx));
                    if S::IS_ONE
                        && let Some(Err(failed)) = this.signal.as_mut().take()
                    {
                        this.handler.keep(failed.error, failed.stage);
                    }
                    let policy = this.handler.policy(borrowed);
                    let overrides = this.handler.overrides(this.operation.overrides());
                    if O::CUT
                        && let clock = this.handler.runtime()
                        && course.is_late(policy, overrides.as_ref(), clock)
                        && let Some(error) = O::expired()
                    {
                        let write = this.operation.write_outcome();
                        course.expired(borrowed, this.handler, O::name(), &error, write);
                        break error;
                    }
                    course.begins(this.handler);
                    true
                }
                PhaseProjection::Done => finished_before(),
            };
            let policy = this.handler.policy(borrowed);
            let overrides = this.handler.overrides(this.operation.overrides());
            let run = Run {
                policy,
                overrides: overrides.as_ref(),
                course,
                runtime: this.handler.runtime(),
            };
            if begins {
                let attempt = this.operation.begin(&run);
                this.phase.set(Phase::Running { attempt });
            }
            let PhaseProjection::Running { mut attempt } = this.phase.as_mut().project() else {
                continue;
            };
            let cuts = this.signal.cuts().filter(|_| S::IS_ONE);
            let cuts = cuts.filter(|_| this.signal.as_mut().has_come(cx));
            // Without this, a write would begin after a read that is ready together with the signal.
            let polled = if cuts.is_some() && O::stage(attempt.as_ref()) == Stage::Read {
                Poll::Pending
            } else {
                this.operation.poll(attempt.as_mut(), &run, cx)
            };
            let outcome = match ready!(unless_cut(polled, cuts)) {
                Ok(outcome) => outcome,
                Err(cuts) => {
                    let (error, stage) = (cuts(Stopped), O::stage(attempt.as_ref()).cut());
                    this.phase.set(Phase::Done);
                    let at = At {
                        policy,
                        clock: this.handler.runtime(),
                        is_lost_race: false,
                    };
                    this.operation.failed(&error, stage, at);
                    let write = this.operation.write_outcome();
                    let ending = Ending::stopped(stage, this.handler.fault(&error));
                    course.cut(borrowed, this.handler, O::name(), &error, ending, write);
                    this.operation.ended(Some(ending));
                    break error;
                }
            };
            let Failed { error, stage } = match outcome {
                Ok(value) => {
                    let name = O::name();
                    let next = O::fault(&value).and_then(|fault| {
                        let (handler, overrides) = (&mut *this.handler, this.operation.overrides());
                        recalling!(this.operation, handler => {
                            course.answered(borrowed, handler, name, fault, overrides.as_ref())
                        })
                    });
                    let failure = next.and_then(|_| O::fault(&value)).map(Ending::of_value);
                    this.operation.ended(failure);
                    match next {
                        Some(next) if next.is_wait() => {
                            let sleep = this.handler.runtime().sleep(next.wait());
                            this.phase.set(Phase::Waiting { sleep });
                            if S::IS_ONE {
                                let _ = this.signal.as_mut().keep(Ok(value));
                            }
                            continue;
                        }
                        // The call returns the last response unchanged.
                        Some(_) => {}
                        None => succeeded(this.operation, this.handler, borrowed, course),
                    }
                    this.phase.set(Phase::Done);
                    return Poll::Ready(Ok(value));
                }
                Err(failed) => failed,
            };
            rarely();
            let said = O::JUDGED.then(|| this.handler.rule(policy, stage, &error));
            let at = At {
                policy,
                clock: this.handler.runtime(),
                is_lost_race: said.is_some_and(|ruling| ruling.is_lost_race(stage)),
            };
            this.operation.failed(&error, stage, at);
            let (handler, name, overrides) =
                (&mut *this.handler, O::name(), this.operation.overrides());
            let (outcome, overrides) = (this.operation.write_outcome(), overrides.as_ref());
            let next = recalling!(this.operation, handler => {
                match said {
                    Some(ruling) => {
                        let write = JudgedWrite { ruling, outcome };
                        course.failed(borrowed, handler, name, &error, stage, overrides, write)
                    }
                    None => course.failed(borrowed, handler, name, &error, stage, overrides, ()),
                }
            });
            let fault = this.handler.fault(&error);
            this.operation.ended(Some(Ending::failed(stage, fault)));
            if !next.is_wait() {
                break error;
            }
            if let Some(error) = this.operation.keep(error)
                && let failed = Err(Failed { error, stage })
                && let Some(Err(failed)) = this.signal.as_mut().keep(failed)
            {
                this.handler.keep(failed.error, failed.stage);
            }
            let sleep = this.handler.runtime().sleep(next.wait());
            this.phase.set(Phase::Waiting { sleep });
        };
        this.phase.set(Phase::Done);
        Poll::Ready(Err(this.operation.last_word(error)))
    }
}

/// An attempt succeeded.
#[inline]
fn succeeded<O, H>(operation: &O, handler: &mut H, borrowed: &Policy, course: &mut Course)
where
    O: Operation<<H as Handler>::Runtime>,
    H: Handle<O::Error>,
    <H as Handler>::Runtime: Clock,
{
    course.succeeded(borrowed, handler, O::name(), operation.overrides());
}

#[cold]
#[inline(never)]
#[track_caller]
fn finished_before() -> ! {
    panic!("a `Retrying` was polled after it had finished")
}

pin_project! {
    /// A retried operation that also returns a report. Made by [`Retrying::reported`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct Reported<'p, O, H = ByCodes, S = Unstopped>
    where
        O: Operation<<H as Handler>::Runtime>,
        H: Handler,
        <H as Handler>::Runtime: Sleep,
    {
        #[pin]
        retrying: Retrying<'p, O, Measured<H, <O as Operation<<H as Handler>::Runtime>>::Error>, S>,
    }
}

impl<O, H, S> Future for Reported<'_, O, H, S>
where
    O: Operation<<H as Handler>::Runtime>,
    H: Handle<O::Error>,
    S: Signal<O::Value, O::Error>,
    <H as Handler>::Runtime: Clock + Sleep + Random,
{
    type Output = Reporting<O::Value, O::Error, O::Report>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut retrying = self.project().retrying;
        let outcome = ready!(retrying.as_mut().poll(cx));
        let this = retrying.project();
        let (course, handler, operation) = (&this.deposit.course, this.handler, this.operation);
        let report = operation.report(course.measures(handler));
        Poll::Ready(match outcome {
            Ok(value) => Ok((value, report)),
            Err(error) => {
                let (reason, last) = (handler.reason(), handler.take_last());
                Err(RetryError::new(error, reason, report)
                    .with_last(last)
                    .with_hint(handler.hint()))
            }
        })
    }
}
