//! The async loop: a future written by hand, so that it is `Send` when its parts are, has a name,
//! and allocates nothing.

use super::{
    around::Around,
    attempt_failure::AttemptFailure,
    call_state::{CallEnd, CallState, rarely},
    consecutive::{ConsecutiveCount, NotYet},
    cut_flag,
    judges::{Judge, Replaced},
    limit::{Expires, Limit, Limited},
    operation::{At, Failed, Operation, Run},
    plan::{Funded, Guard, Named, Plan},
    rules::{Codes, Conflict, ConflictIf, Counts, Responses, Rules, Until},
    settings::{AttemptTypes, Delays, Settings},
    stopping::{Signal, Stopped, Unstopped},
    watch::{Measured, Watch},
    write_outcome::{JudgedWrite, WriteOutcome},
};
#[cfg(feature = "rate")]
use super::{limit::MaxWait, plan::Rated};
#[cfg(feature = "rate")]
use crate::rate::Rate;
use crate::{
    budget::Budget,
    delay::Delay,
    facts::fault::{Fault, FaultKind, TimedOut},
    judge::Stage,
    observe::{Event, Failure, Notify},
    rate::{Queued, Reply},
    report::{Reporting, Updated},
    runtime::{AsyncRuntime, Clock, Random, Sleep},
    state::Decision,
};
use core::{
    future::Future,
    pin::Pin,
    task::{self, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

/// Adds the host of the operation to the context, for the log events of the next step.
macro_rules! on_host {
    ($context:ident, $operation:expr) => {
        let on_host = $context.on_host(|| $operation.host());
        let $context = $context.at(&on_host);
    };
}

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
    pub struct Retrying<P, O, K = Settings, R = AsyncRuntime, S = Unstopped>
    where
        P: Plan,
        O: Operation,
        K: AttemptTypes,
        R: Sleep,
    {
        guard: Guard<P>,
        operation: O,
        settings: K,
        runtime: R,
        #[pin]
        phase: Phase<K::Attempt<O::Running>, K::Timer<R::Sleep>, R::Sleep>,
        #[pin]
        signal: S,
    }
}

pin_project! {
    #[project = PhaseProjection]
    enum Phase<A, T, S> {
        New,
        // The timer is a field beside the attempt. In one struct with the attempt it cost 130 instructions.
        Running { #[pin] attempt: A, #[pin] timer: T },
        Waiting { #[pin] wait: Wait<S> },
        Done,
    }
}

pin_project! {
    // One type for both, so that the drop of a phase is one comparison and one call. With two variants of the
    // phase, a success cost 32 instructions more.
    #[project = WaitProjection]
    enum Wait<S> {
        Until { #[pin] sleep: S },
        // In the queue of the rate.
        Queued { queued: Queued<S> },
    }
}

impl<P: Plan, O: Operation, K: AttemptTypes, R: Sleep> Retrying<P, O, K, R> {
    pub(crate) const fn new(plan: P, operation: O, settings: K, runtime: R) -> Self {
        Retrying::with_signal(plan, operation, settings, runtime, Unstopped)
    }
}

impl<P: Plan, O: Operation, K: AttemptTypes, R: Sleep, S> Retrying<P, O, K, R, S> {
    #[inline]
    pub(super) const fn with_signal(
        plan: P,
        operation: O,
        settings: K,
        runtime: R,
        signal: S,
    ) -> Self {
        Retrying {
            guard: Guard::new(plan),
            operation,
            settings,
            runtime,
            phase: Phase::New,
            signal,
        }
    }

    #[inline]
    pub(super) fn with_operation<Q: Operation>(
        self,
        change: impl FnOnce(O) -> Q,
    ) -> Retrying<P, Q, K, R, S> {
        Retrying {
            guard: self.guard,
            operation: change(self.operation),
            settings: self.settings,
            runtime: self.runtime,
            phase: Phase::New,
            signal: self.signal,
        }
    }

    #[inline]
    pub(super) fn with<G: AttemptTypes>(
        self,
        change: impl FnOnce(K) -> G,
    ) -> Retrying<P, O, G, R, S> {
        Retrying {
            guard: self.guard,
            operation: self.operation,
            settings: change(self.settings),
            runtime: self.runtime,
            phase: Phase::New,
            signal: self.signal,
        }
    }

    #[inline]
    pub(super) fn signal<Q>(self, signal: Q) -> Retrying<P, O, K, R, Q> {
        Retrying {
            guard: self.guard,
            operation: self.operation,
            settings: self.settings,
            runtime: self.runtime,
            phase: self.phase,
            signal,
        }
    }

    #[inline]
    fn plan<Q: Plan>(self, change: impl FnOnce(P) -> Q) -> Retrying<Q, O, K, R, S> {
        Retrying {
            guard: Guard::new(change(self.guard.plan.clone())),
            operation: self.operation,
            settings: self.settings,
            runtime: self.runtime,
            phase: Phase::New,
            signal: self.signal,
        }
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
    pub fn runtime<Q>(self, runtime: Q) -> Retrying<P, O, K, Q, S>
    where
        Q: Clock + Sleep + Random,
    {
        Retrying {
            guard: self.guard,
            operation: self.operation,
            settings: self.settings,
            runtime,
            phase: Phase::New,
            signal: self.signal,
        }
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
    pub fn budget<'b>(self, budget: &'b Budget) -> Retrying<Funded<'b, P>, O, K, R, S> {
        self.plan(|plan| Funded { plan, budget })
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
    pub fn operation(self, operation: &'static str) -> Retrying<Named<P>, O, K, R, S> {
        self.plan(|plan| Named { plan, operation })
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
    pub fn owned(self) -> Retrying<P::Owned, O, K, R, S> {
        self.plan(|plan| plan.owned())
    }
}

impl<P, O, J, N, D, X, L, C, M, R, S> Retrying<P, O, Settings<J, N, D, X, L, C, M>, R, S>
where
    P: Plan,
    O: Operation,
    L: Limit,
    C: Around,
    R: Sleep,
{
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
    pub fn attempt_timeout(
        self,
        limit: Duration,
    ) -> Retrying<P, O, Settings<J, N, D, X, L::Limited, C, M>, R, S>
    where
        O::Error: From<TimedOut>,
    {
        self.with(|settings| settings.limit(|before| before.and(Limited::attempts(limit))))
    }

    /// Waits for a turn of `rate` before each attempt, instead of the policy's rate: for example for the limit
    /// of one customer. The rate can have any lifetime. If the turn does not come before the deadline, the call ends
    /// with an error that is made from [`TimedOut`], and the reason is
    /// [`StopReason::Rate`](crate::StopReason::Rate).
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
    pub fn rate<'r>(
        self,
        rate: &'r Rate,
    ) -> Retrying<Rated<'r, P>, O, Settings<J, N, D, X, MaxWait<L>, C, M>, R, S>
    where
        O::Error: From<TimedOut>,
    {
        self.max_wait(Duration::MAX)
            .plan(|plan| Rated { plan, rate })
    }

    /// Ends the call when it has waited so long for its turn in the queue of its [`Rate`](crate::Rate): for a
    /// server that would rather refuse a request than let it wait. The limit holds for each attempt's wait. The
    /// error is made from [`TimedOut`], and the reason is [`StopReason::Rate`](crate::StopReason::Rate).
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
    /// assert_eq!(POLICY.retry(get).max_wait(Duration::from_secs(2)).await, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    #[cfg(feature = "rate")]
    pub fn max_wait(
        self,
        wait: Duration,
    ) -> Retrying<P, O, Settings<J, N, D, X, MaxWait<L>, C, M>, R, S>
    where
        O::Error: From<TimedOut>,
    {
        self.with(|settings| settings.limit(|limit| MaxWait { limit, wait }))
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
    pub fn timeout(
        self,
        limit: Duration,
    ) -> Retrying<P, O, Settings<J, N, D, X, L::Limited, C, M>, R, S>
    where
        O::Error: From<TimedOut>,
    {
        self.with(|settings| settings.limit(|before| before.and(Limited::whole(limit))))
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
    pub fn until<F>(
        self,
        is_done: F,
    ) -> Retrying<P, O, Settings<J, N, D, (X, Until<F>), L, C, M>, R, S>
    where
        F: FnMut(&O::Value) -> bool,
        O::Error: From<NotYet>,
    {
        self.with(|settings| settings.rules(|before| (before, Until::new(is_done))))
    }

    /// Repeats the operation until so many values in a row are the awaited one: for a system that is
    /// eventually consistent, where one read shows a write and the next read, from another replica, does
    /// not. The call returns the last value of the row. Write this method directly after
    /// [`until`](Retrying::until).
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
    ///   matter whether [`responses`](Retrying::responses) is written before or after this method.
    ///
    /// `consecutive(1)` is the same as [`until`](Retrying::until) alone.
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
        X: Counts,
    {
        let count = ConsecutiveCount::new(values);
        self.with(|settings| settings.rules(|rules| rules.counting(count)))
    }

    /// Says that [`Policy::when`](crate::Policy::when) comes before the operation.
    #[doc(hidden)]
    pub fn when<F, V>(self, _judge: F) -> Self
    where
        F: Fn(&O::Error) -> V,
        J: Replaced,
    {
        self
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
    pub fn conflict_if<F, V, W>(
        self,
        is_conflict: F,
    ) -> Retrying<P, O, Settings<J, N, D, (X, ConflictIf<F>), L, C, M>, R, S>
    where
        O: Operation<Value = Updated<V, W>>,
        F: FnMut(&W) -> bool,
        O::Error: From<Conflict>,
    {
        self.with(|settings| settings.rules(|before| (before, ConflictIf(is_conflict))))
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
    pub fn responses(self) -> Retrying<P, O, Settings<J, N, D, (X, Responses), L, C, M>, R, S>
    where
        O::Value: Fault,
    {
        self.with(|settings| settings.rules(|before| (before, Responses)))
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
    pub fn notify<F>(self, hook: F) -> Retrying<P, O, Settings<J, (N, F), D, X, L, C, M>, R, S>
    where
        F: FnMut(&Event<'_, O::Error>),
    {
        self.with(|settings| settings.hook(|before| (before, hook)))
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
    pub fn delays<W: Delay>(
        self,
        delays: W,
    ) -> Retrying<P, O, Settings<J, N, W, X, L, C, M>, R, S> {
        self.with(|settings| settings.delays(|_| delays))
    }
}

impl<P, O, J, N, D, X, L, C, R, S> Retrying<P, O, Settings<J, N, D, X, L, C>, R, S>
where
    P: Plan,
    O: Operation,
    L: Limit,
    C: Around,
    R: Sleep,
{
    /// Also returns a report: a success comes with a [`Report`](crate::Report), and a failure is a
    /// [`RetryError`](crate::RetryError). The report of an update is an [`UpdateReport`](crate::UpdateReport).
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
    pub fn reported(
        self,
    ) -> Reported<Retrying<P, O, Settings<J, N, D, X, L, C, Measured<O::Error>>, R, S>> {
        Reported {
            retrying: self.with(|settings| settings.watch(|()| Measured::new())),
        }
    }
}

impl<P, O, J, N, D, X, L, C, M, R, S> Future for Retrying<P, O, Settings<J, N, D, X, L, C, M>, R, S>
where
    P: Plan,
    O: Operation,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    D: Delays,
    X: Rules<O::Value, O::Error>,
    L: Expires<O::Error>,
    C: Around + Watch<O::Error>,
    M: Watch<O::Error>,
    R: Clock + Sleep + Random,
    S: Signal<O::Value, O::Error>,
{
    type Output = Result<O::Value, O::Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Guard { plan, state } = this.guard;
        let (plan, policy) = (&*plan, plan.policy());
        let (operation, settings, runtime) = (this.operation, this.settings, &*this.runtime);
        let error = loop {
            let context = settings.context(plan, operation);
            let (mut goes, mut rests) = (false, false);
            let begins = match this.phase.as_mut().project() {
                PhaseProjection::Running { .. } => false,
                PhaseProjection::New => {
                    state.start(&context, runtime, O::TIMED || M::MEASURES);
                    if S::IS_ONE
                        && let Some(cuts) = this.signal.cuts()
                        && this.signal.as_mut().has_come(cx)
                    {
                        let error = cuts(Stopped);
                        let failure = Failure::new(Some(&error), settings.judge.fault(&error));
                        let end = CallEnd::stopped(failure, WriteOutcome::Known);
                        on_host!(context, operation);
                        state.ended(&context, settings, runtime, end);
                        break error;
                    }
                    true
                }
                PhaseProjection::Waiting { wait } => {
                    rests = true;
                    let has_come = S::IS_ONE && this.signal.as_mut().has_come(cx);
                    if has_come
                        && let Some(ended) = stopped_waiting(
                            operation,
                            settings,
                            this.signal.as_mut(),
                            |operation, settings, end| {
                                on_host!(context, operation);
                                state.ended(&context, settings, runtime, end);
                            },
                        )
                    {
                        this.phase.set(Phase::Done);
                        return Poll::Ready(ended);
                    }
                    match wait.project() {
                        WaitProjection::Until { sleep } => {
                            ready!(sleep.poll(cx));
                            if L::CUTS
                                && state.is_late(&context, runtime)
                                && let Some(error) = L::error(TimedOut::new(Duration::ZERO))
                            {
                                recalled(settings, this.signal.as_mut());
                                let fault = settings.judge.fault(&error);
                                let end =
                                    CallEnd::expired(&error, fault, operation.write_outcome());
                                on_host!(context, operation);
                                state.ended(&context, settings, runtime, end);
                                break error;
                            }
                            state.rested(&context, runtime);
                        }
                        // After the signal, the first attempt is made at once.
                        WaitProjection::Queued { .. } if has_come => {
                            state.goes(None, runtime);
                            goes = true;
                        }
                        WaitProjection::Queued { queued } => {
                            let late = ready!(state.turn(queued, runtime, cx));
                            if let Some(error) = late.and_then(L::error) {
                                recalled(settings, this.signal.as_mut());
                                let fault = settings.judge.fault(&error);
                                let failure = Failure::new(Some(&error), fault);
                                let end = CallEnd::too_long(failure, operation.write_outcome());
                                on_host!(context, operation);
                                state.ended(&context, settings, runtime, end);
                                break error;
                            }
                            goes = true;
                        }
                    }
                    // The timer is dropped before the attempt begins. The compiler knows this phase then, so that
                    // to begin costs 3 to 7 instructions less.
                    this.phase.set(Phase::New);
                    true
                }
                PhaseProjection::Done => finished_before(),
            };
            if begins
                && !goes
                && let Some(rate) = context.rate()
            {
                let max_wait = settings.limit.max_wait();
                let queued = state.enters(rate, max_wait, context, runtime);
                if let Some(queued) = queued {
                    waits_for_its_turn(this.phase.as_mut(), queued);
                    continue;
                }
            }
            let run = Run {
                context: &context,
                state,
                runtime,
            };
            if begins {
                recalled(settings, this.signal.as_mut());
                if M::MEASURES && rests {
                    state.has_waited::<O::Error, _, _>(&mut settings.watch, runtime);
                }
                settings.around.begins(&context, state.failures());
                let entered = settings.around.enter();
                let attempt = operation.begin(&run);
                drop(entered);
                let attempt = settings.around.around(attempt);
                let timer = settings.limit.timer();
                this.phase.set(Phase::Running { attempt, timer });
            }
            let PhaseProjection::Running {
                mut attempt,
                mut timer,
            } = this.phase.as_mut().project()
            else {
                continue;
            };
            let cuts = match this.signal.cuts() {
                Some(cuts) if S::IS_ONE && this.signal.as_mut().has_come(cx) => Some(cuts),
                _ => None,
            };
            let is_over = L::is_over(timer.as_mut(), cx);
            // A read whose time is over, or that is ready together with the signal, must begin no write.
            let polled = if (is_over || cuts.is_some())
                && O::stage(C::inner(attempt.as_ref())) == Stage::Read
            {
                Poll::Pending
            } else {
                let _entered = settings.around.enter();
                operation.poll(C::inner_mut(attempt.as_mut()), &run, cx)
            };
            let outcome = match (polled, cuts) {
                (Poll::Ready(outcome), _) => outcome,
                (Poll::Pending, Some(cuts)) => {
                    let stage = O::stage(C::inner(attempt.as_ref())).cut();
                    let error = cuts(Stopped);
                    this.phase.set(Phase::Done);
                    let at = At {
                        policy,
                        clock: runtime,
                        kind: FaultKind::Transient,
                    };
                    operation.failed(&error, stage, at);
                    settings.rules.failed(stage);
                    let write = operation.write_outcome();
                    let failure = AttemptFailure::stopped(stage, settings.judge.fault(&error));
                    on_host!(context, operation);
                    state.cut(&context, settings, runtime, &error, failure, write);
                    break error;
                }
                (Poll::Pending, None) => {
                    let Some(late) = L::expired(timer, is_over, &run, cx) else {
                        return Poll::Pending;
                    };
                    let Some(error) = L::error(late) else {
                        unreachable!("only a call with a limit has attempts that are cut");
                    };
                    let stage = O::stage(C::inner(attempt.as_ref())).cut();
                    // The attempt is dropped at once, marked as cut.
                    cut(|| this.phase.set(Phase::Done));
                    Err(Failed::at(stage, error))
                }
            };
            let codes = Codes {
                policy,
                fault: X::fault,
            };
            let outcome = match outcome {
                Ok(value) => settings.rules.check(value, codes),
                failed => failed,
            };
            let Failed { error, stage } = match outcome {
                Ok(value) => {
                    let next = X::fault(&value).and_then(|fault| {
                        let context = settings.context(plan, operation);
                        match operation.info() {
                            Some(info) if O::WANTS_INFO => {
                                state.answered(&context, settings, runtime, fault, info)
                            }
                            _ => {
                                on_host!(context, operation);
                                state.answered(&context, settings, runtime, fault, ())
                            }
                        }
                    });
                    match next {
                        Some(next) if next.is_wait() => {
                            let sleep = runtime.sleep(next.wait());
                            this.phase.set(Phase::until(sleep));
                            if S::IS_ONE {
                                let _ = this.signal.as_mut().keep(Ok(value));
                            }
                            continue;
                        }
                        // The call returns the last response unchanged.
                        Some(_) => {}
                        None => {
                            if state.is_in_flight() {
                                let reply = X::fault(&value);
                                replied(plan, state, operation, settings, runtime, reply);
                            }
                            // A success at the first attempt has no event.
                            let on_host = context.on_host(|| match state.failures() {
                                0 => None,
                                _ => operation.host(),
                            });
                            let context = context.at(&on_host);
                            state.succeeded(&context, settings, runtime);
                        }
                    }
                    this.phase.set(Phase::Done);
                    return Poll::Ready(Ok(value));
                }
                Err(failed) => failed,
            };
            rarely();
            let next = failed(plan, state, operation, settings, runtime, &error, stage);
            if !next.is_wait() {
                break error;
            }
            if let Some(error) = operation.keep(error)
                && let failed = Err(Failed { error, stage })
                && let Some(Err(failed)) = this.signal.as_mut().keep(failed)
            {
                settings.watch.keep(failed.error, failed.stage);
            }
            let sleep = runtime.sleep(next.wait());
            this.phase.set(Phase::until(sleep));
        };
        this.phase.set(Phase::Done);
        Poll::Ready(Err(operation.last_word(error)))
    }
}

/// The signal has come during a wait: reports the end of the call, and returns the last response unchanged, or
/// the last error. Returns nothing if there is none.
fn stopped_waiting<O, J, N, D, X, L, C, M, S>(
    operation: &mut O,
    settings: &mut Settings<J, N, D, X, L, C, M>,
    mut signal: Pin<&mut S>,
    ends: impl FnOnce(&O, &mut Settings<J, N, D, X, L, C, M>, CallEnd<'_, O::Error>),
) -> Option<Result<O::Value, O::Error>>
where
    O: Operation,
    J: Judge<O::Error>,
    X: Rules<O::Value, O::Error>,
    S: Signal<O::Value, O::Error>,
{
    let outcome = operation.write_outcome();
    let kept = operation.kept();
    let kept = kept.map(|error| Err(Failed::whole(error)));
    let cuts = signal.cuts();
    let first = || cuts.map(|cuts| Err(Failed::whole(cuts(Stopped))));
    let last = kept.or_else(|| signal.as_mut().take()).or_else(first)?;
    let judge = &settings.judge;
    let failure = match &last {
        Ok(value) => Failure::new(None, X::fault(value)),
        Err(Failed { error, .. }) => Failure::new(Some(error), judge.fault(error)),
    };
    ends(operation, settings, CallEnd::stopped(failure, outcome));
    Some(last.map_err(|failed| operation.last_word(failed.error)))
}

impl<A, T, S> Phase<A, T, S> {
    #[inline]
    fn until(sleep: S) -> Self {
        let wait = Wait::Until { sleep };
        Phase::Waiting { wait }
    }
}

/// The call stands in the queue.
#[cold]
#[inline(never)]
fn waits_for_its_turn<A, T, S>(mut phase: Pin<&mut Phase<A, T, S>>, queued: Queued<S>) {
    let wait = Wait::Queued { queued };
    phase.set(Phase::Waiting { wait });
}

/// An attempt is about to begin: a failure that the call kept for its signal may be shown by a report.
#[inline]
fn recalled<J, N, D, X, L, C, M, S, T, E>(
    settings: &mut Settings<J, N, D, X, L, C, M>,
    signal: Pin<&mut S>,
) where
    M: Watch<E>,
    S: Signal<T, E>,
{
    if S::IS_ONE
        && let Some(Err(failed)) = signal.take()
    {
        settings.watch.keep(failed.error, failed.stage);
    }
}

/// An attempt that the rate counts ended with a value. A function of its own, so that a call without a rate need
/// not keep the context in memory.
#[cold]
#[inline(never)]
pub(super) fn replied<P, O, J, N, D, X, L, C, M, R>(
    plan: &P,
    state: &mut CallState,
    operation: &O,
    settings: &mut Settings<J, N, D, X, L, C, M>,
    runtime: &R,
    value: Option<&dyn Fault>,
) where
    P: Plan,
    O: Operation,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    D: Delays,
    X: Rules<O::Value, O::Error>,
    L: Limit,
    C: Watch<O::Error>,
    M: Watch<O::Error>,
    R: Clock,
{
    let context = settings.context(plan, operation);
    on_host!(context, operation);
    state.replied(Reply::to(value), &context, settings, runtime);
}

/// Drops an attempt whose time is over.
#[cold]
#[inline(never)]
fn cut(drop_it: impl FnOnce()) {
    cut_flag::cutting(drop_it);
}

/// An attempt failed: tells the operation and the rules, and decides on the next step.
#[inline(always)]
pub(super) fn failed<P, O, J, N, D, X, L, C, M, R>(
    plan: &P,
    state: &mut CallState,
    operation: &mut O,
    settings: &mut Settings<J, N, D, X, L, C, M>,
    runtime: &R,
    error: &O::Error,
    stage: Stage,
) -> Decision
where
    P: Plan,
    O: Operation,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    D: Delays,
    X: Rules<O::Value, O::Error>,
    L: Limit,
    C: Watch<O::Error>,
    M: Watch<O::Error>,
    R: Clock + Random,
{
    let policy = plan.policy();
    let said = O::JUDGED.then(|| settings.judge.rule(policy, stage, error));
    let at = At {
        policy,
        clock: runtime,
        kind: said.map_or(FaultKind::Transient, |ruling| ruling.kind_at(stage)),
    };
    operation.failed(error, stage, at);
    settings.rules.failed(stage);
    let (context, outcome) = (settings.context(plan, operation), operation.write_outcome());
    match (said, operation.info()) {
        (Some(ruling), _) => {
            let write = JudgedWrite { ruling, outcome };
            state.failed(&context, settings, runtime, error, stage, write)
        }
        (None, Some(info)) if O::WANTS_INFO => {
            state.failed(&context, settings, runtime, error, stage, info)
        }
        (None, _) => {
            on_host!(context, operation);
            state.failed(&context, settings, runtime, error, stage, ())
        }
    }
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
    pub struct Reported<F> {
        #[pin]
        retrying: F,
    }
}

impl<P, O, J, N, D, X, L, C, R, S> Future
    for Reported<Retrying<P, O, Settings<J, N, D, X, L, C, Measured<O::Error>>, R, S>>
where
    P: Plan,
    O: Operation,
    J: Judge<O::Error>,
    N: Notify<O::Error>,
    D: Delays,
    X: Rules<O::Value, O::Error>,
    L: Expires<O::Error>,
    C: Around + Watch<O::Error>,
    R: Clock + Sleep + Random,
    S: Signal<O::Value, O::Error>,
{
    type Output = Reporting<O::Value, O::Error, O::Report>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut retrying = self.project().retrying;
        let outcome = ready!(retrying.as_mut().poll(cx));
        let this = retrying.project();
        let counts = &mut this.settings.watch;
        let measures = this.guard.state.measures(counts, &*this.runtime);
        Poll::Ready(counts.reporting(outcome, this.operation.report(measures)))
    }
}
