//! The async loop: a future written by hand, so that it is `Send` when its parts are, has a name,
//! and allocates nothing.

use super::{OfPolicy, Outcome, Own, Pace, Plain, WithAttempt, conclude};
use crate::{
    Attempt, Clock, Decision, Judge, Notify, Policy, Random, Report, Retry, RetryError, Silent,
    Sleep, TimedOut,
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
/// Implemented for what [`Policy::retry`] and [`Policy::retry_with`] are given.
pub trait Operation<R> {
    /// What a success gives.
    type Value;
    /// What a failure gives.
    type Error;
    /// One attempt.
    type Attempt: Future<Output = Result<Self::Value, Self::Error>>;
    /// Whether it asks how much time has passed.
    const TIMED: bool;

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
    operation: O,
    limit: Duration,
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
        let limit = self.limit.min(attempt.remaining());
        Timed::new(self.operation.begin(runtime, || attempt), limit, runtime)
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
    }
}

impl<A, S> Timed<A, S> {
    pub(crate) fn new<R: Sleep<Sleep = S>>(attempt: A, limit: Duration, runtime: &R) -> Self {
        Timed {
            attempt,
            sleep: runtime.sleep(limit),
            limit,
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
        let this = self.project();
        // Where no time remains, the attempt is not even begun.
        if !this.limit.is_zero()
            && let Poll::Ready(outcome) = this.attempt.poll(cx)
        {
            return Poll::Ready(outcome);
        }
        if !this.limit.is_zero() {
            ready!(this.sleep.poll(cx));
        }
        Poll::Ready(Err(TimedOut::new(*this.limit).into()))
    }
}

pin_project! {
    /// An operation that is being retried: a future of the operation's own `Result`.
    ///
    /// Made by [`Policy::retry`], [`Policy::retry_with`], and their namesakes behind
    /// [`Policy::when`]. Before it is awaited, more can be said by its methods. It is `Send` when
    /// its parts are, and allocates nothing. Dropping it ends everything: the attempt that is
    /// running, and the retries.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Retrying<O, J, N = Silent, R = AsyncRuntime, P = OfPolicy>
    where
        O: Operation<R>,
        R: Sleep,
    {
        policy: Policy,
        judge: J,
        operation: O,
        notify: N,
        runtime: R,
        pace: P,
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

impl<O: Operation<R>, J, R: Sleep> Retrying<O, J, Silent, R> {
    pub(super) fn new(policy: Policy, judge: J, operation: O, runtime: R) -> Self {
        Retrying {
            policy,
            judge,
            operation,
            notify: Silent,
            runtime,
            pace: OfPolicy,
            timed: O::TIMED,
            retry: Retry::start_at(Duration::ZERO),
            slept: 0,
            phase: Phase::New,
        }
    }
}

impl<O: Operation<R>, J, N, R: Sleep, P> Retrying<O, J, N, R, P> {
    /// Cuts each attempt after `limit`, or when the deadline is over, whichever comes first.
    ///
    /// An attempt that is cut has no error of its own; one is made from [`TimedOut`].
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
        let Retrying {
            policy,
            judge,
            operation,
            notify,
            runtime,
            pace,
            timed,
            retry,
            slept,
            ..
        } = self;
        let operation = Bounded { operation, limit };
        let phase = Phase::New;
        Retrying {
            policy,
            judge,
            operation,
            notify,
            runtime,
            pace,
            timed,
            retry,
            slept,
            phase,
        }
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
        H: FnMut(&crate::Event<'_, O::Error>),
    {
        let Retrying {
            policy,
            judge,
            operation,
            runtime,
            pace,
            timed,
            retry,
            slept,
            ..
        } = self;
        let phase = Phase::New;
        Retrying {
            policy,
            judge,
            operation,
            notify: hook,
            runtime,
            pace,
            timed,
            retry,
            slept,
            phase,
        }
    }

    /// Takes clock, timer and random numbers from here instead of from tokio.
    pub fn runtime<Q>(self, runtime: Q) -> Retrying<O, J, N, Q, P>
    where
        O: Operation<Q>,
        Q: Clock + Sleep + Random,
    {
        let Retrying {
            policy,
            judge,
            operation,
            notify,
            pace,
            timed,
            retry,
            slept,
            ..
        } = self;
        let phase = Phase::New;
        Retrying {
            policy,
            judge,
            operation,
            notify,
            runtime,
            pace,
            timed,
            retry,
            slept,
            phase,
        }
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
        let Retrying {
            policy,
            judge,
            operation,
            notify,
            runtime,
            timed,
            retry,
            slept,
            ..
        } = self;
        let (pace, phase) = (Own(delays), Phase::New);
        Retrying {
            policy,
            judge,
            operation,
            notify,
            runtime,
            pace,
            timed,
            retry,
            slept,
            phase,
        }
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
        loop {
            match this.phase.as_mut().project() {
                PhaseProjection::New => {
                    let now = || this.runtime.now();
                    *this.retry = if *this.timed {
                        Retry::start_at(now())
                    } else {
                        Retry::start(this.policy, now)
                    };
                    this.phase.set(Phase::Ready);
                }
                PhaseProjection::Ready => {
                    let (policy, retry, runtime) = (&*this.policy, &*this.retry, &*this.runtime);
                    let now = || runtime.now();
                    let attempt = this.operation.begin(runtime, || retry.attempt(policy, now));
                    this.phase.set(Phase::Running { attempt });
                }
                PhaseProjection::Running { attempt } => {
                    let error = match ready!(attempt.poll(cx)) {
                        Ok(value) => {
                            this.retry.succeeded(this.policy);
                            this.phase.set(Phase::Done);
                            return Poll::Ready(Ok(value));
                        }
                        Err(error) => error,
                    };
                    let decision = conclude(
                        this.policy,
                        this.retry,
                        this.judge,
                        this.pace,
                        this.notify,
                        this.runtime,
                        O::name(),
                        &error,
                    );
                    match decision {
                        Decision::Wait(wait) => {
                            if *this.timed {
                                *this.slept = this.slept.saturating_add(nanos(wait.delay));
                            }
                            let sleep = this.runtime.sleep(wait.delay);
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
            runtime,
            slept,
            ..
        } = &*retrying;
        let elapsed = retry.elapsed(|| runtime.now());
        let report = |attempts| Report {
            attempts,
            elapsed,
            slept: Duration::from_nanos(*slept),
        };
        Poll::Ready(match outcome {
            Ok(value) => Ok((value, report(retry.failures().saturating_add(1)))),
            Err((error, reason)) => Err(RetryError::new(error, reason, report(retry.failures()))),
        })
    }
}
