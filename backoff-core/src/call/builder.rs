//! The methods that configure a call. Each setting is one method, for every form. A method knows the value and the error of
//! the operation, so that closures need no types.

#[cfg(any(feature = "breaker", feature = "rate"))]
use super::settings::limits::MaxQueueTime;
#[cfg(feature = "breaker")]
use super::settings::report::Kept;
#[cfg(feature = "tracing")]
use super::settings::spans::Spans;
use super::{
    blocking::OnThread,
    erased::Call,
    hedging::Hedging,
    operation::{Closure, Operation, RunsTwice},
    plan::{Guard, Plan, With},
    report::Reported,
    retrying::{Awaited, Driver, Retrying},
    setting::Surrounds,
    settings::{
        limits::{AttemptTimeout, Delays, Timeout},
        notify::Notify,
        report::Measured,
        until::{ConsecutiveCount, Counts, NotYet, Until},
        values::{Conflict, ConflictIf, Responses},
    },
    signal::{Stopped, StoppedBy},
    update::{Conditional, ConditionalUpdate, Update},
    version::{Version, Versioned, VersionedUpdate},
};
#[cfg(feature = "breaker")]
use crate::breaker::Breaker;
#[cfg(feature = "rate")]
use crate::rate::{Rate, counted};
#[cfg(feature = "std")]
use crate::stop::Stop;
use crate::{
    budget::Budget,
    delay::Delay,
    event::hook::Event,
    facts::fault::{Fault, TimedOut},
    hedge::Hedge,
    report::Updated,
    runtime::Sleep,
    state::SharedLimits,
};
use core::{future::Future, time::Duration};

/// A call whose attempts this library makes.
#[diagnostic::on_unimplemented(
    message = "the caller makes the attempts of this call, so this setting has no effect",
    label = "leave this setting out",
    note = "the loop of the caller sees each value and can limit each attempt itself"
)]
#[doc(hidden)]
pub trait MakesAttempts {}

impl<G, H> MakesAttempts for Awaited<G, H> {}

impl<N> MakesAttempts for OnThread<N> {}

/// No type implements this trait: its message says that `when` is a method of the policy.
#[diagnostic::on_unimplemented(
    message = "`when` must come before the operation: write `POLICY.when(..).retry(..)`",
    label = "`when` is a method of the policy"
)]
#[doc(hidden)]
pub trait Replaced {}

/// A call whose attempts can be cut.
#[diagnostic::on_unimplemented(
    message = "only an async attempt can be cut",
    label = "a blocking attempt runs until it returns",
    note = "give the client of a blocking call a timeout of its own, such as `attempt.remaining()` in `blocking_with`, and the policy a `deadline`"
)]
#[doc(hidden)]
pub trait CutsAttempts {}

impl<G, H> CutsAttempts for Awaited<G, H> {}

/// A call of the operation `O` whose attempts can have second requests.
#[diagnostic::on_unimplemented(
    message = "this call cannot be hedged: only an async read can run twice at the same time",
    label = "the attempts of this call cannot",
    note = "write `POLICY.retry(|| read()).hedge(&READS)` around an async read, which may be the read of an update"
)]
#[doc(hidden)]
pub trait Hedges<'h, O, R> {
    /// The same call with this hedge.
    type Hedged: Driver<O, R>;

    /// Adds the hedge.
    fn hedged(self, hedge: &'h Hedge) -> Self::Hedged;
}

#[diagnostic::do_not_recommend]
impl<'h, O: RunsTwice, R: Sleep, G, H> Hedges<'h, O, R> for Awaited<G, H> {
    type Hedged = Awaited<G, &'h Hedge>;

    fn hedged(self, hedge: &'h Hedge) -> Self::Hedged {
        Awaited {
            signal: self.signal,
            hedge,
        }
    }
}

impl<P, O, S, R, W> Retrying<P, O, S, R, W>
where
    P: Plan,
    S: Surrounds,
    W: Driver<O, R>,
{
    #[inline]
    pub(crate) fn new(plan: P, operation: O, settings: S, runtime: R, driver: W) -> Self {
        // First, because nothing is dropped if it panics: less to compile in each call.
        let phase = Default::default();
        Retrying {
            call: Call {
                guard: Guard::new(plan),
                settings,
                runtime,
            },
            operation,
            phase,
            driver,
        }
    }

    /// Says that [`Policy::when`](crate::Policy::when) comes before the operation.
    #[doc(hidden)]
    pub fn when<F, V>(self, _judge: F) -> Self
    where
        O: Operation,
        F: Fn(&O::Error) -> V,
        S: Replaced,
    {
        self
    }

    /// The same call before its first attempt, of other parts.
    #[inline]
    fn rebuilt<Q: Plan, N, B: Surrounds, M, V: Driver<N, M>>(
        self,
        change: impl FnOnce(P, O, S, R, W) -> (Q, N, B, M, V),
    ) -> Retrying<Q, N, B, M, V> {
        let Call {
            guard,
            settings,
            runtime,
        } = self.call;
        let plan = guard.plan.clone();
        let (plan, operation, settings, runtime, driver) =
            change(plan, self.operation, settings, runtime, self.driver);
        Retrying::new(plan, operation, settings, runtime, driver)
    }

    /// The same call with another setting.
    #[inline]
    fn set<B: Surrounds>(self, setting: B) -> Retrying<P, O, (S, B), R, W> {
        self.rebuilt(|p, o, settings, r, w| (p, o, (settings, setting), r, w))
    }

    /// The same call with another driver, which waits in another way.
    #[inline]
    pub(super) fn waiting<V: Driver<O, R>>(
        self,
        driver: impl FnOnce(W) -> V,
    ) -> Retrying<P, O, S, R, V> {
        self.rebuilt(|p, o, s, r, w| (p, o, s, r, driver(w)))
    }

    #[inline]
    fn planned<Q: Plan>(self, plan: impl FnOnce(P) -> Q) -> Retrying<Q, O, S, R, W> {
        self.rebuilt(|p, o, s, r, w| (plan(p), o, s, r, w))
    }

    /// The same call with something that calls share.
    #[inline]
    fn sharing(self, shared: SharedLimits<'_>) -> Retrying<With<'_, P>, O, S, R, W> {
        self.planned(|plan| With {
            plan,
            shared,
            operation: None,
        })
    }

    /// Uses the clock, timer and random numbers of `runtime` instead of tokio's: for another executor, or
    /// for a test that checks an exact schedule. A blocking call uses those of the standard library without
    /// this setting, and its runtime implements [`BlockingSleep`](crate::BlockingSleep) instead of
    /// [`Sleep`](crate::Sleep).
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
    pub fn runtime<N>(self, runtime: N) -> Retrying<P, O, S, N, W>
    where
        W: Driver<O, N>,
    {
        self.rebuilt(|p, o, s, _, w| (p, o, s, runtime, w))
    }

    /// The retries of this call take tokens of `budget` instead of the policy's budget: for example of the
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
    pub fn budget(self, budget: &Budget) -> Retrying<With<'_, P>, O, S, R, W> {
        self.sharing(SharedLimits {
            budget: Some(budget),
            ..SharedLimits::NOTHING
        })
    }

    /// Names the operation in hooks, log events, spans and metrics. Without this, the name follows from the
    /// kind of the call: [of a closure](crate::telemetry#the-name-of-an-operation) it is the path of the
    /// function that holds the closure.
    ///
    /// A metric has a label with this name, so do not make it of a value that has many, such as a user. If
    /// two names are set, the later one holds.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential().max_attempts(1);
    /// let mut names = Vec::new();
    /// let busy = || std::future::ready(Err::<(), _>(TimedOut::new(Duration::ZERO)));
    /// let call = POLICY.retry(busy).operation("invoices.get");
    /// assert!(call.notify(|event| names.push(event.operation())).await.is_err());
    /// assert_eq!(names, ["invoices.get"]);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn operation(self, operation: &'static str) -> Retrying<With<'static, P>, O, S, R, W> {
        self.planned(|plan| With {
            plan,
            shared: SharedLimits::NOTHING,
            operation: Some(operation),
        })
    }

    /// Stores a copy of the policy in the call. The call then borrows no policy: a future can be stored,
    /// spawned or joined, and a blocking call can be moved to another thread. The call grows by the size of a
    /// policy.
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
    pub fn owned(self) -> Retrying<P::Owned, O, S, R, W> {
        self.planned(|plan| plan.owned())
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
    pub fn delays<D: Delay>(self, delays: D) -> Retrying<P, O, (S, Delays<D>), R, W> {
        self.set(Delays(delays))
    }
}

impl<P, O, S, R, W> Retrying<P, O, S, R, W>
where
    P: Plan,
    O: Operation,
    S: Surrounds,
    W: Driver<O, R>,
{
    /// Cuts each attempt after `limit`, or when the deadline is over, whichever comes first.
    ///
    /// An attempt of an update is the read and the write together. If the time is over during the read, the
    /// write is not begun. A write that was cut may have been applied.
    ///
    /// An attempt that is cut has no error of its own, so its error is made from [`TimedOut`]. A limit of
    /// zero counts as a nanosecond: each attempt is begun, and is cut if it does not finish at once.
    ///
    /// A blocking attempt cannot be cut, so this method does not compile on a blocking call: the
    /// [client limits the attempt](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/blocking/#instead-of-attempt_timeout-and-timeout).
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
    pub fn attempt_timeout(self, limit: Duration) -> Retrying<P, O, (S, AttemptTimeout), R, W>
    where
        O::Error: From<TimedOut>,
        W: CutsAttempts,
    {
        self.set(AttemptTimeout(limit))
    }

    /// Limits the time of the whole call, whatever the server does: no attempt begins and no wait ends
    /// after `limit`, and an attempt that is still running at `limit` is cut. The time counts from the
    /// first poll of the future. If the policy has a deadline too, the shorter one holds. With a time limit
    /// and no `max_attempts`, the call makes as many attempts as fit into the time.
    ///
    /// When an attempt is cut, the error is made from [`TimedOut`]; when the next wait would end after the
    /// limit, the call ends at once with the operation's own error. A report also keeps the last real error
    /// ([`RetryError::last`](crate::RetryError::last)).
    ///
    /// To limit a call inside an attempt of another call, write `.timeout(attempt.remaining())`.
    ///
    /// As [`attempt_timeout`](Self::attempt_timeout), this method does not compile on a blocking call. The
    /// policy's [`deadline`](crate::Policy::deadline) limits such a call.
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
    /// // The inner call has the remaining time of the outer one.
    /// let outer = POLICY.retry_with(|attempt| async move {
    ///     POLICY.retry(hangs).timeout(attempt.remaining()).await
    /// });
    /// assert!(outer.timeout(minute).await.is_err());
    /// assert_eq!(start.elapsed(), 2 * minute);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn timeout(self, limit: Duration) -> Retrying<P, O, (S, Timeout), R, W>
    where
        O::Error: From<TimedOut>,
        W: CutsAttempts,
    {
        self.set(Timeout(limit))
    }

    /// Sends the request of a slow attempt a second time: when the first request has not answered after the delay of
    /// `hedge`. The first success is the outcome of the attempt, and the other request is dropped. [`Hedge`] says when
    /// a second request is sent, and what happens if one of the two fails.
    ///
    /// This is for reads. If the policy is not [idempotent](crate::Policy::idempotent), no second request is sent. The
    /// method does not compile on a blocking call, nor on an [`update`](crate::Policy::update): the read of an update
    /// can be a call with a hedge.
    ///
    /// The operation is called while its first future still runs, so the future must not borrow what the closure
    /// changes. A second request keeps the failure of the other one, so the future is `Send` only if the value and the
    /// error are.
    ///
    /// ```
    /// use backoff_core::{Hedge, Policy, TimedOut};
    /// use std::{cell::Cell, time::Duration};
    ///
    /// static READS: Hedge = Hedge::after(Duration::from_millis(50));
    /// const POLICY: Policy = Policy::exponential();
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// // The first request takes a second, the second one 10 ms.
    /// let requests = Cell::new(0);
    /// let read = || {
    ///     let number = requests.replace(requests.get() + 1);
    ///     async move {
    ///         tokio::time::sleep(Duration::from_millis([1_000, 10][number])).await;
    ///         Ok::<_, TimedOut>(number)
    ///     }
    /// };
    /// let start = tokio::time::Instant::now();
    /// assert_eq!(POLICY.retry(read).hedge(&READS).await, Ok(1));
    /// assert_eq!(start.elapsed().as_millis(), 60);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    // With a projection as its type, the compiler would not show the message of the trait.
    pub fn hedge<'h, V>(self, hedge: &'h Hedge) -> Retrying<P, O, S, R, V>
    where
        W: Hedges<'h, O, R, Hedged = V>,
        V: Driver<O, R>,
    {
        self.waiting(|driver| driver.hedged(hedge))
    }

    /// Waits for a turn of `rate` before each attempt, instead of the policy's rate: for example for the limit
    /// of one customer. The rate can have any lifetime. If the turn does not come before the deadline, the call ends
    /// with an error that is made from [`TimedOut`], and the reason is
    /// [`StopReason::Rate`](crate::StopReason::Rate). After a failed attempt, a blocking call returns the error of
    /// that attempt instead.
    ///
    /// ```
    /// use backoff_core::{Policy, Rate, TimedOut};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let of_this_customer = Rate::new();
    /// let get = || std::future::ready(Ok::<_, TimedOut>(42));
    /// assert_eq!(Policy::exponential().retry(get).rate(&of_this_customer).await, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[cfg(feature = "rate")]
    pub fn rate(self, rate: &Rate) -> Retrying<With<'_, P>, O, (S, MaxQueueTime), R, W>
    where
        O::Error: From<TimedOut>,
        W: MakesAttempts,
    {
        self.max_queue_time(Duration::MAX).sharing(SharedLimits {
            rate: Some(rate),
            ..SharedLimits::NOTHING
        })
    }

    /// Ends the call at once while the service of this breaker is down, instead of the policy's [`Breaker`]: for example for
    /// one host. The breaker can have any lifetime. If no attempt was made, the error is made from [`TimedOut`]; the reason
    /// is [`StopReason::Breaker`](crate::StopReason::Breaker). The call keeps its last error during a wait, in case the breaker
    /// opens. So the future is larger by the error, and `Send` only if the error is.
    ///
    /// ```
    /// use backoff_core::{Breaker, Policy, TimedOut};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let of_this_host = Breaker::new();
    /// let get = || std::future::ready(Ok::<_, TimedOut>(42));
    /// assert_eq!(Policy::exponential().retry(get).breaker(&of_this_host).await, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    ///
    /// An error that cannot be made from `TimedOut` does not compile:
    ///
    /// ```compile_fail,E0277
    /// use backoff_core::{Breaker, Policy};
    ///
    /// let of_this_host = Breaker::new();
    /// let get = || Err::<(), _>(std::fmt::Error);
    /// Policy::exponential().when_any(|_| true).blocking(get).breaker(&of_this_host);
    /// ```
    #[cfg(feature = "breaker")]
    pub fn breaker(
        self,
        breaker: &Breaker,
    ) -> Retrying<With<'_, P>, O, ((S, MaxQueueTime), Kept<O::Error>), R, W>
    where
        O::Error: From<TimedOut>,
        W: MakesAttempts,
    {
        let limited = self.set(MaxQueueTime(Duration::MAX));
        limited.set(Kept(None)).sharing(SharedLimits {
            breaker: Some(breaker),
            ..SharedLimits::NOTHING
        })
    }

    /// Says how many tokens each attempt is likely to use: for a service whose replies state quotas of tokens, such as an
    /// LLM's. The [`Rate`](crate::Rate#quotas) of the call lets an attempt begin when so many tokens remain. The default is
    /// 0: then only the quotas of requests delay the call. [`Attempt::used`](crate::Attempt::used) says what it used. A number
    /// that is no `u32`, such as a negative one, counts as [`u32::MAX`]. Without a rate, this setting does nothing.
    ///
    /// ```
    /// use backoff_core::{Policy, Rate, TimedOut};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// static RATE: Rate = Rate::new();
    /// let (prompt, most) = ("How are you?", 200);
    /// let get = || std::future::ready(Ok::<_, TimedOut>(42));
    /// let tokens = prompt.len() / 3 + most;
    /// assert_eq!(Policy::exponential().retry(get).rate(&RATE).tokens(tokens).await, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[cfg(feature = "rate")]
    pub fn tokens(self, tokens: impl TryInto<u32>) -> Retrying<With<'static, P>, O, S, R, W>
    where
        W: MakesAttempts,
    {
        self.sharing(SharedLimits {
            tokens: counted(tokens),
            ..SharedLimits::NOTHING
        })
    }

    /// Ends the call when it has waited so long for its turn in the queue of its [`Rate`](crate::Rate): for a
    /// server that would rather refuse a request than let it wait. The limit holds for each attempt's wait. The
    /// error is made from [`TimedOut`], and the reason is [`StopReason::Rate`](crate::StopReason::Rate). After a
    /// failed attempt, a blocking call returns the error of that attempt instead.
    ///
    /// Without a rate, this setting does nothing. A limit of zero ends every call that would have to wait.
    ///
    /// ```
    /// use backoff_core::{Policy, Rate, TimedOut};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// static RATE: Rate = Rate::new();
    /// const POLICY: Policy = Policy::exponential().rate(&RATE);
    /// let get = || std::future::ready(Ok::<_, TimedOut>(42));
    /// assert_eq!(POLICY.retry(get).max_queue_time(Duration::from_secs(2)).await, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[cfg(feature = "rate")]
    pub fn max_queue_time(self, limit: Duration) -> Retrying<P, O, (S, MaxQueueTime), R, W>
    where
        O::Error: From<TimedOut>,
        W: MakesAttempts,
    {
        self.set(MaxQueueTime(limit))
    }

    /// Repeats the operation until its value is the awaited one: a long-running operation is done, a new
    /// resource is ready.
    ///
    /// A value that is not the awaited one counts as an attempt. The call waits after it as after a
    /// failure, but takes no token of the budget. Errors are retried as usual. Set the time for the whole
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
    pub fn until<F>(self, is_done: F) -> Retrying<P, O, (S, Until<F>), R, W>
    where
        F: FnMut(&O::Value) -> bool,
        O::Error: From<NotYet>,
        W: MakesAttempts,
    {
        self.set(Until::new(is_done))
    }

    /// Repeats the operation until so many values in a row are the awaited one: for a system that is
    /// eventually consistent, where one read shows a write and the next read, from another replica, does
    /// not. The call returns the last value of the row. Write this method after [`until`](Self::until); only
    /// [`responses`](Self::responses) may stand between the two.
    ///
    /// - A value that is not the awaited one, and a failed attempt, begin the row anew.
    /// - Every value counts as an attempt, so `max_attempts`, `deadline` and `timeout` hold. Allow at least
    ///   as many attempts as values, or the call always ends with [`NotYet`](crate::NotYet). Without a
    ///   deadline five attempts are made.
    /// - After an awaited value that does not complete the row, the call waits as long as the policy's
    ///   first wait, however long earlier waits were: `base`, with the policy's jitter. With
    ///   [`Jitter::Full`](crate::Jitter::Full) this wait can be almost zero. To have some time between the
    ///   reads, use [`Jitter::Equal`](crate::Jitter::Equal) or no jitter.
    /// - Awaited values do not lengthen the later waits: these are as long as if only the other attempts
    ///   had been made.
    /// - Like any value that is not the last, an awaited value costs no budget. For each of them the hook
    ///   is called and `tracing` logs, with the error [`NotYet`](crate::NotYet), which says how many have
    ///   come [in a row](crate::NotYet::consecutive). A report counts these values in `attempts`, and their
    ///   waits in `slept`.
    /// - A value that the policy's codes refuse does not count, even if it is the awaited one. It does not
    ///   matter whether [`responses`](Self::responses) is written before or after this method.
    ///
    /// `consecutive(1)` is the same as [`until`](Self::until) alone.
    ///
    /// # Panics
    /// If `values` is 0.
    ///
    /// ```
    /// use backoff_core::{Jitter, NotYet, Policy};
    /// use std::time::Duration;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLL: Policy =
    ///     Policy::exponential().jitter(Jitter::None).deadline(Duration::from_secs(60));
    ///
    /// // Whether the replica that was asked knows the grant.
    /// let mut replicas = [false, true, false, true, true, true].into_iter();
    /// let steady: Result<_, NotYet> = POLL
    ///     .retry(|| std::future::ready(Ok(replicas.next().unwrap())))
    ///     .until(|visible| *visible)
    ///     .consecutive(3)
    ///     .reported()
    ///     .await
    ///     .map_err(|gave_up| gave_up.error);
    /// let (visible, report) = steady.unwrap();
    /// // Waited: 1 s, 1 s after the awaited value, 2 s, and twice 1 s.
    /// assert_eq!((visible, report.attempts, report.slept.as_secs()), (true, 6, 6));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[track_caller]
    pub fn consecutive(self, values: u32) -> Self
    where
        S: Counts,
    {
        let count = ConsecutiveCount::new(values);
        self.rebuilt(|p, o, settings, r, w| (p, o, settings.counting(count), r, w))
    }

    /// Treats the reply of a write as a conflict where the function returns `true`. For example, etcd
    /// answers a failed compare-and-swap with status 200 and without `succeeded`, and Redis answers a
    /// failed `EXEC` with nil.
    ///
    /// If the last attempt ends with such a reply, the error is made from [`Conflict`]. A function in
    /// [`until`](Self::until) does not see such a reply.
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
    pub fn conflict_if<F, V, B>(self, is_conflict: F) -> Retrying<P, O, (S, ConflictIf<F>), R, W>
    where
        O: Operation<Value = Updated<V, B>>,
        F: FnMut(&B) -> bool,
        O::Error: From<Conflict>,
        W: MakesAttempts,
    {
        self.set(ConflictIf(is_conflict))
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
    pub fn responses(self) -> Retrying<P, O, (S, Responses), R, W>
    where
        O::Value: Fault,
        W: MakesAttempts,
    {
        self.set(Responses)
    }

    /// Calls `hook` before each wait, when the operation is given up, and when it succeeds after retries.
    /// If the first attempt succeeds, `hook` is not called.
    ///
    /// The hook belongs to the call: after the future of a call is dropped, the hook is not called any more. If
    /// several hooks are set, all are called, in the order in which they were set.
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
    pub fn notify<F>(self, hook: F) -> Retrying<P, O, (S, Notify<F>), R, W>
    where
        F: FnMut(&Event<'_, O::Error>),
    {
        self.set(Notify(hook))
    }

    /// Makes a span of `tracing` for each attempt, in which the operation runs. The log events and spans of
    /// the operation are inside; the waits, and the [events](crate::telemetry) that this library logs, are
    /// outside.
    ///
    /// The span has the target `backoff`, the level `INFO` and the name `attempt`. Its fields:
    ///
    /// | field | value |
    /// |---|---|
    /// | `operation` | the [name of the operation](crate::telemetry#the-name-of-an-operation) |
    /// | `http.request.resend_count` | how many attempts were made before: 1 in the second one. The first attempt has no such field |
    /// | `error.type` | how the attempt failed, as in the [metrics](crate::telemetry#metrics-feature-metrics); never an error's text. An attempt that succeeds has no such field |
    ///
    /// An attempt of an update is the read, the change and the write together.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let get = || async {
    ///     // In the span of this attempt.
    ///     tracing::info!("asking");
    ///     Ok::<_, TimedOut>(42)
    /// };
    /// assert_eq!(POLICY.retry(get).attempt_spans().await, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[cfg(feature = "tracing")]
    pub fn attempt_spans(self) -> Retrying<P, O, (S, Spans), R, W>
    where
        W: MakesAttempts,
    {
        self.set(Spans::NONE)
    }

    /// Also returns a report: a success comes with a [`Report`](crate::Report), and a failure is a
    /// [`RetryError`](crate::RetryError). The report of an update is an [`UpdateReport`](crate::UpdateReport). During a wait
    /// the call keeps its last error, and ends with it if its breaker opens.
    /// This method is the last one, before the `.await` or the [`call`](Reported::call) of a blocking call.
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
    pub fn reported(self) -> Reported<P, O, S, R, W>
    where
        W: MakesAttempts,
    {
        Reported {
            retrying: self.set(Measured::new()),
        }
    }
}

/// A call that the signal `F` ends.
type Stoppable<P, O, S, R, F, H> = Retrying<
    P,
    O,
    S,
    R,
    Awaited<StoppedBy<F, <O as Operation>::Value, <O as Operation>::Error>, H>,
>;

impl<P, O, S, R, G, H> Retrying<P, O, S, R, Awaited<G, H>>
where
    H: Hedging,
    P: Plan,
    O: Operation,
    S: Surrounds,
    R: Sleep,
{
    /// Ends the waits of the call when `signal` is ready, for a program that shuts down.
    ///
    /// - The current wait ends at once, and no further attempt begins. The call returns the operation's
    ///   last error, or the last response, with [`StopReason::Stopped`](crate::StopReason::Stopped) in the
    ///   report and in the event `GaveUp`. A budget gets back the tokens that the wait has taken.
    /// - A running attempt is finished. To cut the attempt too, write [`cut_on`](Self::cut_on).
    /// - The first attempt is always made, even if `signal` is ready before it.
    ///
    /// If an update waits while one of its writes may have been applied, it ends with
    /// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), as at its deadline.
    ///
    /// Any future is a signal, whatever its output is. To share a signal between several calls, use one
    /// that gives a future for each call, such as `CancellationToken` in tokio-util. The call keeps the
    /// last error while it waits, so the call is `Send` only if the error is. If two signals are set, the
    /// later one holds.
    ///
    /// ```
    /// use backoff_core::{Jitter, Policy, StopReason, TimedOut};
    /// use std::time::Duration;
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::constant(Duration::from_secs(60)).jitter(Jitter::None);
    /// let busy = || std::future::ready(Err::<(), _>(TimedOut::new(Duration::ZERO)));
    ///
    /// let shutdown = CancellationToken::new();
    /// // A future that is stored or spawned owns its signal.
    /// let call = POLICY.retry(busy).stop_on(shutdown.clone().cancelled_owned()).reported();
    /// let call = tokio::spawn(call);
    /// tokio::task::yield_now().await;
    /// shutdown.cancel();
    /// let ended = call.await.unwrap().unwrap_err();
    /// assert_eq!((ended.reason, ended.report.attempts), (StopReason::Stopped, 1));
    ///
    /// // One that is awaited at once may borrow it.
    /// assert!(POLICY.retry(busy).stop_on(shutdown.cancelled()).await.is_err());
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn stop_on<F: Future>(self, signal: F) -> Stoppable<P, O, S, R, F, H> {
        let signal = StoppedBy::new(signal, None);
        self.waiting(|Awaited { hedge, .. }| Awaited { signal, hedge })
    }

    /// As [`stop_on`](Self::stop_on), but the signal also cuts the running attempt.
    ///
    /// An attempt that is cut has no error of its own, so its error is made from [`Stopped`]. The attempt
    /// may have been applied. If it must not be applied twice (the policy is not
    /// [idempotent](crate::Policy::idempotent), or the change of an update cannot recognise its own
    /// effect), the reason is [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied), otherwise
    /// [`StopReason::Stopped`](crate::StopReason::Stopped). A report also keeps the last real error
    /// ([`RetryError::last`](crate::RetryError::last)). An attempt that is ready together with the signal
    /// is not cut, but an update whose read is running begins no write.
    ///
    /// The errors that this library knows can be made from [`Stopped`], if their crates have a way to make
    /// an error; reqwest and hyper have none. For any other error, write an enum of your own, as on the
    /// page of [`Stopped`].
    ///
    /// If `signal` is ready before the first attempt, no attempt is made, and the error is made from
    /// [`Stopped`], too. If the signal ends a wait, the call returns the operation's last error.
    ///
    /// ```
    /// use backoff_core::{Policy, Stopped};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let shutdown = CancellationToken::new();
    /// let hangs = || {
    ///     shutdown.cancel();
    ///     std::future::pending::<Result<(), Stopped>>()
    /// };
    /// assert_eq!(POLICY.retry(hangs).cut_on(shutdown.cancelled()).await, Err(Stopped::new()));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn cut_on<F: Future>(self, signal: F) -> Stoppable<P, O, S, R, F, H>
    where
        O::Error: From<Stopped>,
    {
        let signal = StoppedBy::new(signal, Some(O::Error::from));
        self.waiting(|Awaited { hedge, .. }| Awaited { signal, hedge })
    }
}

#[cfg(feature = "std")]
impl<P: Plan, O, S: Surrounds, R, N> Retrying<P, O, S, R, OnThread<N>> {
    /// Ends the waits of the call when another thread calls [`Stop::stop`], for a program that shuts down.
    ///
    /// The current wait ends at once, and no further attempt begins: the call returns the operation's last
    /// error, or the last response, with [`StopReason::Stopped`](crate::StopReason::Stopped). A running
    /// attempt is finished, and the first attempt is always made, as in an async call. If two stops are set,
    /// the later one holds.
    ///
    /// A [`runtime`](Self::runtime) of your own ends a wait early only if it has
    /// [`BlockingSleep::sleep_or_stop`](crate::BlockingSleep::sleep_or_stop). If your program has a
    /// `CancellationToken` of tokio-util, pass its signal on from a task:
    /// `token.cancelled().await; stop.stop()`.
    ///
    /// ```
    /// use backoff_core::{Policy, Stop, TimedOut};
    /// use std::{cell::Cell, time::Duration};
    ///
    /// const POLICY: Policy = Policy::constant(Duration::from_secs(60));
    /// let (stop, calls) = (Stop::new(), Cell::new(0));
    /// let busy = || {
    ///     calls.set(calls.get() + 1);
    ///     stop.stop();
    ///     Err::<(), _>(TimedOut::new(Duration::ZERO))
    /// };
    /// assert!(POLICY.blocking(busy).stop_on(&stop).call().is_err());
    /// assert_eq!(calls.get(), 1);
    /// ```
    pub fn stop_on(self, stop: &Stop) -> Retrying<P, O, S, R, OnThread<&Stop>> {
        self.waiting(|_| OnThread(stop))
    }
}

impl<P, Read, Change, Write, S, R, W> Retrying<P, Update<Read, Change, Write>, S, R, W>
where
    P: Plan,
    S: Surrounds,
    W: Driver<Update<Read, Change, Write>, R>,
{
    /// Reads the version of a value. The version does two things: it sets the pace after a conflict, and it
    /// shows whether a write that may have been applied was applied.
    ///
    /// # After a conflict
    ///
    /// The wait follows from the number of conflicts and from how long an attempt takes, and does not
    /// double: see [`Pace`](crate::delay::Pace). In AWS' simulation a hundred writers then need nine tenths
    /// of the calls of full jitter, and seven tenths of the time. The waits are short, so writers who meet
    /// many others make many attempts: give the policy a [`deadline`](crate::Policy::deadline) rather than
    /// a small [`max_attempts`](crate::Policy::max_attempts). A policy without either makes up to 100
    /// attempts after such conflicts, and the usual number after other failures.
    ///
    /// The judge decides whether a failed write is a conflict: the codes, or a function given to
    /// [`when`](crate::Policy::when). After all other failures the policy's waits hold, and three sorts
    /// of failures are counted separately: all throttled ones, of reads and writes alike; other failed
    /// reads since the last answered read; other failed writes.
    /// [`max_backoff`](crate::Policy::max_backoff) holds; [`delays`](Self::delays) replaces all waits.
    ///
    /// # After a write that may have been applied
    ///
    /// A change that cannot recognise its own effect (a counter, a list that is appended to) is retried
    /// after such a write, and never applied twice. The update reads the value again. If the value still
    /// has the version that was read before, the write has not arrived yet, and the change is written again
    /// under that version. If this second write succeeds, the first write can no longer arrive, because its
    /// precondition is stale. If the value has another version, or the second write meets a conflict, then
    /// the winner may have been the first write, and nobody can know: the update ends with
    /// [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied) and the error of the first write.
    ///
    /// This requires that each write names the version as its precondition, and that each write makes
    /// another version. A value without a version (`None`, an empty etag) is never written again. A change
    /// that returns a `bool` recognises its own effect, and is written again whatever the version is.
    ///
    /// ```
    /// use backoff_core::{Delivery, Fault, FaultKind, Policy, Updated};
    /// use std::cell::Cell;
    ///
    /// #[derive(Debug)]
    /// enum Failure { Stale, Lost }
    /// impl Fault for Failure {
    ///     fn kind(&self) -> Option<FaultKind> {
    ///         matches!(self, Failure::Stale).then_some(FaultKind::Conflict)
    ///     }
    ///     fn delivery(&self) -> Option<Delivery> {
    ///         matches!(self, Failure::Lost).then_some(Delivery::MaybeSent)
    ///     }
    /// }
    ///
    /// #[derive(Clone, Copy)]
    /// struct Counter { number: u32, version: u64 }
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let stored = Cell::new(Counter { number: 1, version: 1 });
    /// let mut is_lost = true; // the first write does not arrive
    /// let updated = Policy::exponential()
    ///     .update(
    ///         || std::future::ready(Ok(stored.get())),
    ///         |counter| counter.number += 1,
    ///         |counter| {
    ///             if std::mem::take(&mut is_lost) { return std::future::ready(Err(Failure::Lost)) }
    ///             if counter.version != stored.get().version { return std::future::ready(Err(Failure::Stale)) }
    ///             stored.set(Counter { version: counter.version + 1, ..counter });
    ///             std::future::ready(Ok(()))
    ///         },
    ///     )
    ///     .version(|counter| counter.version)
    ///     .await;
    /// assert!(matches!(updated, Ok(Updated::Written(()))));
    /// assert_eq!(stored.get().number, 2);
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn version<F, T, V, E>(
        self,
        version: F,
    ) -> Retrying<P, VersionedUpdate<Read, Change, Write, F, T, E>, S, R, W>
    where
        Read: Closure<(), Value = V, Error = E>,
        F: FnMut(&V) -> T,
        T: Version,
        E: Fault,
        W: Driver<VersionedUpdate<Read, Change, Write, F, T, E>, R>,
    {
        self.rebuilt(|p, update, s, r, w| (p, update.with_memory(Versioned::new(version)), s, r, w))
    }

    /// Says that each write is conditional: the write names the value that was read, by an etag or another precondition, and
    /// the service refuses the write if somebody has written since. A write that was refused with 400, 401, 404, 413 or 422
    /// was then surely not applied ([`Fault::may_be_written`]). If the policy retries such a code, the write is made again
    /// although the policy is not [idempotent](crate::Policy::idempotent), or although the change returns nothing.
    ///
    /// [`version`](Self::version) says so too.
    ///
    /// ```
    /// use backoff_core::{Fault, Policy, codes};
    /// use std::future::ready;
    ///
    /// #[derive(Debug)]
    /// struct Refused(u16);
    /// impl Fault for Refused {
    ///     fn status(&self) -> Option<u16> { Some(self.0) }
    /// }
    ///
    /// // The row is there a moment later.
    /// const POLICY: Policy = Policy::exponential().on(codes![404, 503]).idempotent(false);
    ///
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut is_there = false;
    /// let updated = POLICY
    ///     .update(
    ///         || ready(Ok(1)),
    ///         |count| *count += 1,
    ///         |_| ready(if std::mem::replace(&mut is_there, true) { Ok(()) } else { Err(Refused(404)) }),
    ///     )
    ///     .conditional()
    ///     .await;
    /// assert!(updated.is_ok_and(|updated| updated.is_written()));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn conditional(self) -> Retrying<P, ConditionalUpdate<Read, Change, Write>, S, R, W>
    where
        W: Driver<ConditionalUpdate<Read, Change, Write>, R>,
    {
        self.rebuilt(|p, update, s, r, w| (p, update.with_memory(Conditional), s, r, w))
    }
}
