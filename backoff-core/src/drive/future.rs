//! The async loop: a future written by hand, so that it is `Send` when its parts are, has a name,
//! and allocates nothing.

use super::{NotYet, OfPolicy, Outcome, Own, Pace, Plain, Until, WithAttempt, setup::Setup};
use crate::{
    Attempt, Clock, Decision, Event, Judge, Notify, Random, Report, Retry, RetryError, Silent,
    Sleep, StopReason, TimedOut,
    delay::Delay,
    time::{AsyncRuntime, nanos},
};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

/// An async operation that can be begun again and again, under a runtime `R`.
///
/// Implemented for what [`Policy::retry`](crate::Policy::retry) and [`Policy::retry_with`](crate::Policy::retry_with) are given.
pub trait Operation<R> {
    /// What a success gives.
    type Value;
    /// What a failure gives.
    type Error;
    /// One attempt.
    type Attempt: Future<Output = Result<Self::Value, Self::Error>>;
    /// Whether it asks how much time has passed.
    const TIMED: bool;

    /// The error to give up with where no time remains for an attempt that would be cut.
    fn expired(&self, attempt: &Attempt) -> Option<Self::Error> {
        let _ = attempt;
        None
    }

    /// The error for a value that is not yet what is awaited.
    fn not_yet(&mut self, value: &Self::Value) -> Option<Self::Error> {
        let _ = value;
        None
    }

    /// Begins an attempt.
    fn begin(&mut self, runtime: &R, attempt: impl FnOnce() -> Attempt) -> Self::Attempt;

    /// How logs name it.
    fn name() -> &'static str;
}

impl<R, F, Fut, T, E> Operation<R> for Plain<F>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Value = T;
    type Error = E;
    type Attempt = Fut;
    const TIMED: bool = false;

    #[inline]
    fn begin(&mut self, _runtime: &R, _attempt: impl FnOnce() -> Attempt) -> Fut {
        (self.0)()
    }

    fn name() -> &'static str {
        core::any::type_name::<F>()
    }
}

impl<R, F, Fut, T, E> Operation<R> for WithAttempt<F>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Value = T;
    type Error = E;
    type Attempt = Fut;
    const TIMED: bool = true;

    #[inline]
    fn begin(&mut self, _runtime: &R, attempt: impl FnOnce() -> Attempt) -> Fut {
        (self.0)(attempt())
    }

    fn name() -> &'static str {
        core::any::type_name::<F>()
    }
}

/// An operation whose attempts are cut. Made by [`Retrying::attempt_timeout`].
#[derive(Clone, Copy, Debug)]
pub struct Bounded<O> {
    pub(super) operation: O,
    pub(super) limit: Duration,
}

impl<R, O> Operation<R> for Bounded<O>
where
    O: Operation<R>,
    O::Error: From<TimedOut>,
    R: Sleep,
{
    type Value = O::Value;
    type Error = O::Error;
    type Attempt = Timed<O::Attempt, R::Sleep>;
    const TIMED: bool = O::TIMED;

    #[inline]
    fn begin(&mut self, runtime: &R, attempt: impl FnOnce() -> Attempt) -> Self::Attempt {
        let attempt = attempt();
        let limit = attempt.bounded(self.limit);
        Timed::new(self.operation.begin(runtime, || attempt), limit, runtime)
    }

    fn not_yet(&mut self, value: &O::Value) -> Option<O::Error> {
        self.operation.not_yet(value)
    }

    fn expired(&self, attempt: &Attempt) -> Option<Self::Error> {
        let limit = attempt.bounded(self.limit);
        limit.is_zero().then(|| TimedOut::new(limit).into())
    }

    fn name() -> &'static str {
        O::name()
    }
}

pin_project! {
    /// One attempt that ends as [`TimedOut`] when its time is over.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Timed<A, S> {
        #[pin]
        attempt: A,
        #[pin]
        sleep: S,
        limit: Duration,
        polled: bool,
    }
}

impl<A, S> Timed<A, S> {
    pub(crate) fn new<R: Sleep<Sleep = S>>(attempt: A, limit: Duration, runtime: &R) -> Self {
        Timed {
            attempt,
            sleep: runtime.sleep(limit),
            limit,
            polled: false,
        }
    }
}

impl<A, S, T, E> Future for Timed<A, S>
where
    A: Future<Output = Result<T, E>>,
    S: Future<Output = ()>,
    E: From<TimedOut>,
{
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        // Woken too late: no time remains, and the attempt is not even begun.
        if this.limit.is_zero() {
            return Poll::Ready(Err(TimedOut::new(*this.limit).into()));
        }
        // An attempt that is always busy uses up what tokio lets a task do at a time, and then no
        // timer is ever ready: from the second time on the timer goes first. The first time it
        // would be set up in vain for an attempt that is ready at once.
        let is_over = *this.polled && this.sleep.as_mut().poll(cx).is_ready();
        if let Poll::Ready(outcome) = this.attempt.poll(cx) {
            return Poll::Ready(outcome);
        }
        if !*this.polled {
            *this.polled = true;
            ready!(this.sleep.poll(cx));
        } else if !is_over {
            return Poll::Pending;
        }
        Poll::Ready(Err(TimedOut::new(*this.limit).into()))
    }
}

pin_project! {
    /// An operation that is being retried: a future of the operation's own `Result`.
    ///
    /// Made by [`Policy::retry`](crate::Policy::retry), [`Policy::retry_with`](crate::Policy::retry_with), and their namesakes behind
    /// [`Policy::when`](crate::Policy::when). Before it is awaited, more can be said by its methods. It is `Send` when
    /// its parts are, and allocates nothing. Dropping it ends everything: the attempt that is
    /// running, and the retries.
    ///
    /// # Panics
    /// When it is polled again after it has finished, as futures may.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Retrying<O, J, N = Silent, R = AsyncRuntime, P = OfPolicy>
    where
        O: Operation<R>,
        R: Sleep,
    {
        setup: Setup<O, J, N, R, P>,
        timed: bool,
        retry: Retry,
        slept: u64,
        #[pin]
        phase: Phase<O::Attempt, R::Sleep>,
    }
}

pin_project! {
    #[project = PhaseProjection]
    enum Phase<A, S> {
        New,
        Ready,
        Running { #[pin] attempt: A },
        Waiting { #[pin] sleep: S },
        Done,
    }
}

impl<O: Operation<R>, J, N, R: Sleep, P> Retrying<O, J, N, R, P> {
    pub(super) fn new(setup: Setup<O, J, N, R, P>) -> Self {
        let (timed, retry) = (O::TIMED, Retry::start_at(Duration::ZERO));
        Retrying {
            setup,
            timed,
            retry,
            slept: 0,
            phase: Phase::New,
        }
    }

    /// Cuts each attempt after `limit`, or when the deadline is over, whichever comes first.
    ///
    /// An attempt that is cut has no error of its own; one is made from [`TimedOut`]. A limit of zero
    /// counts as a nanosecond: each attempt is begun, and cut if it is not done at once.
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
    pub fn attempt_timeout(self, limit: Duration) -> Retrying<Bounded<O>, J, N, R, P>
    where
        O::Error: From<TimedOut>,
    {
        let mut setup = self
            .setup
            .operation(|operation| Bounded { operation, limit });
        setup.policy = setup.policy.__bounded();
        Retrying::new(setup)
    }

    /// Asks again until the value is what is awaited: a long-running operation that is done, a new
    /// resource that is ready.
    ///
    /// A value that is not yet what is awaited counts as an attempt, is waited after as a failure
    /// is, and costs no budget. Errors are retried as ever. So say how long it may take, by
    /// [`deadline`](crate::Policy::deadline): without one, five attempts are made. When attempts or time are used up, the
    /// error is made from [`NotYet`](crate::NotYet).
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
    pub fn until<F>(self, is_done: F) -> Retrying<Until<O, F>, J, N, R, P>
    where
        F: FnMut(&O::Value) -> bool,
        O::Error: From<NotYet>,
    {
        Retrying::new(
            self.setup
                .operation(|operation| Until { operation, is_done }),
        )
    }

    /// Calls a hook before each wait, and when the operation is given up.
    ///
    /// The hook goes with the future: once that is dropped, it is called no more.
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
    pub fn notify<H>(self, hook: H) -> Retrying<O, J, H, R, P>
    where
        H: FnMut(&Event<'_, O::Error>),
    {
        Retrying::new(self.setup.notify(hook))
    }

    /// Takes clock, timer and random numbers from here instead of from tokio: for another executor,
    /// or for a test that states an exact schedule.
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
    pub fn runtime<Q>(self, runtime: Q) -> Retrying<O, J, N, Q, P>
    where
        O: Operation<Q>,
        Q: Clock + Sleep + Random,
    {
        Retrying::new(self.setup.runtime(runtime))
    }

    /// Takes the waits from here instead of from the policy: an algorithm of your own, a closure of
    /// the retry's number, a list of waits. The policy's limits hold; its cap and its jitter do
    /// not, for what you say is what is waited.
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
    pub fn delays<D: Delay>(self, delays: D) -> Retrying<O, J, N, R, Own<D>> {
        Retrying::new(self.setup.delays(delays))
    }

    /// Also says what it took: a success comes with a [`Report`], a failure as a [`RetryError`].
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
    pub fn reported(mut self) -> Reported<O, J, N, R, P> {
        self.timed = true;
        Reported { retrying: self }
    }
}

impl<O, J, N, R, P> Retrying<O, J, N, R, P>
where
    O: Operation<R>,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    R: Clock + Sleep + Random,
    P: Pace,
{
    /// Runs until the operation has succeeded or is given up.
    #[inline]
    fn run(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome<O::Value, O::Error>> {
        let mut this = self.project();
        let setup = this.setup;
        loop {
            match this.phase.as_mut().project() {
                PhaseProjection::New => {
                    *this.retry = setup.start(*this.timed);
                    this.phase.set(Phase::Ready);
                }
                PhaseProjection::Ready => {
                    let Setup {
                        policy,
                        operation,
                        runtime,
                        ..
                    } = &mut *setup;
                    let (runtime, retry) = (&*runtime, &*this.retry);
                    let next = || retry.attempt(policy, || runtime.now());
                    // Read once, so that what is decided here still holds when it is begun.
                    let bounded = policy.bounded.then(next);
                    if retry.failures() > 0
                        && let Some(error) = bounded.and_then(|next| operation.expired(&next))
                    {
                        setup.woke_late(retry.failures(), O::name(), &error);
                        this.phase.set(Phase::Done);
                        return Poll::Ready(Err((error, StopReason::Deadline)));
                    }
                    let attempt = operation.begin(runtime, || bounded.unwrap_or_else(next));
                    this.phase.set(Phase::Running { attempt });
                }
                PhaseProjection::Running { attempt } => {
                    let (error, decision) = match ready!(attempt.poll(cx)) {
                        Ok(value) => match setup.operation.not_yet(&value) {
                            None => {
                                this.retry.succeeded(&setup.policy);
                                this.phase.set(Phase::Done);
                                return Poll::Ready(Ok(value));
                            }
                            Some(error) => setup.not_yet(this.retry, O::name(), error),
                        },
                        Err(error) => {
                            let decision = setup.conclude(this.retry, O::name(), &error);
                            (error, decision)
                        }
                    };
                    match decision {
                        Decision::Wait(wait) => {
                            if *this.timed {
                                *this.slept = this.slept.saturating_add(nanos(wait.delay));
                            }
                            let sleep = setup.runtime.sleep(wait.delay);
                            this.phase.set(Phase::Waiting { sleep });
                        }
                        Decision::Stop(reason) => {
                            this.phase.set(Phase::Done);
                            return Poll::Ready(Err((error, reason)));
                        }
                    }
                }
                PhaseProjection::Waiting { sleep } => {
                    ready!(sleep.poll(cx));
                    this.phase.set(Phase::Ready);
                }
                PhaseProjection::Done => panic!("a `Retrying` was polled after it had finished"),
            }
        }
    }
}

impl<O, J, N, R, P> Future for Retrying<O, J, N, R, P>
where
    O: Operation<R>,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    R: Clock + Sleep + Random,
    P: Pace,
{
    type Output = Result<O::Value, O::Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.run(cx).map_err(|(error, _)| error)
    }
}

pin_project! {
    /// A retried operation that also says what it took. Made by [`Retrying::reported`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct Reported<O, J, N = Silent, R = AsyncRuntime, P = OfPolicy>
    where
        O: Operation<R>,
        R: Sleep,
    {
        #[pin]
        retrying: Retrying<O, J, N, R, P>,
    }
}

impl<O, J, N, R, P> Future for Reported<O, J, N, R, P>
where
    O: Operation<R>,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    R: Clock + Sleep + Random,
    P: Pace,
{
    type Output = Result<(O::Value, Report), RetryError<O::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut retrying = self.project().retrying;
        let outcome = ready!(retrying.as_mut().run(cx));
        let Retrying {
            retry,
            setup,
            slept,
            ..
        } = &*retrying;
        let report = Report::new(retry, outcome.is_ok(), *slept, || setup.runtime.now());
        Poll::Ready(match outcome {
            Ok(value) => Ok((value, report)),
            Err((error, reason)) => Err(RetryError::new(error, reason, report)),
        })
    }
}
