//! The type of all calls, and the async loop. The loop is a future written by hand, so that the future is `Send` when
//! its parts are, has a name, and allocates nothing.

use super::{
    call::{Call, Outcome},
    cut_flag,
    operation::{CallOf, Failed, Operation},
    plan::{Plan, Running},
    race::{Attempt, Hedging, Unhedged},
    setting::{Setting, Surrounds},
    settings::judges::{By, ByCodes},
    signal::{Signal, Stopped, Unstopped},
    timer::Timer,
    turn::Wait,
};
use crate::{
    judge::Stage,
    runtime::{AsyncRuntime, Clock, Random, Sleep, timer_of},
};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use pin_project_lite::pin_project;

/// The driver of a call: a future, the thread of the call, or the loop of the caller. The driver also has the signal
/// that ends the waits.
pub trait Driver<O, R> {
    /// What the call stores of its attempt.
    type Phase<S: Surrounds>: Default;
}

pin_project! {
    /// The call is awaited. `G` is its signal; `H` says whether attempts get second requests.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Awaited<G, H = Unhedged> {
        #[pin]
        pub(crate) signal: G,
        pub(crate) hedge: H,
    }
}

/// What a call that is awaited stores of an attempt at the operation `O`.
type PhaseOf<O, S, R, H> = Phase<
    Attempt<O, S>,
    <S as Surrounds>::Timer<<R as Sleep>::Sleep>,
    <R as Sleep>::Sleep,
    <H as Hedging>::Second<
        Attempt<O, S>,
        <R as Sleep>::Sleep,
        <O as Operation>::Value,
        <O as Operation>::Error,
    >,
>;

#[diagnostic::do_not_recommend]
impl<O: Operation, R: Sleep, G, H: Hedging> Driver<O, R> for Awaited<G, H> {
    type Phase<S: Surrounds> = PhaseOf<O, S, R, H>;
}

pin_project! {
    /// What an async call stores of its attempt.
    #[project = PhaseProjection]
    #[allow(missing_docs, reason = "only the loop below uses the variants")]
    pub enum Phase<A, T, S, D> {
        Waiting { #[pin] wait: Wait<S> },
        // The timer is a field beside the attempt. In one struct with the attempt it cost 130 instructions.
        Running { #[pin] attempt: A, #[pin] timer: Option<T>, #[pin] second: Option<D> },
    }
}

impl<A, T, S, D> Phase<A, T, S, D> {
    /// An attempt that has begun.
    #[inline]
    const fn running(attempt: A) -> Self {
        Phase::Running {
            attempt,
            timer: None,
            second: None,
        }
    }
}

impl<A, T, S, D> Default for Phase<A, T, S, D> {
    #[inline]
    fn default() -> Self {
        Phase::Waiting { wait: Wait::New }
    }
}

pin_project! {
    /// An operation that is being retried. There are three forms:
    ///
    /// | made by | the form |
    /// |---|---|
    /// | [`retry`], [`retry_with`], [`update`] | a future of the operation's own `Result` ([`Async`](super::Async)) |
    /// | [`blocking`], [`blocking_with`], [`blocking_update`] | a call that runs on this thread at [`call`](Self::call) ([`Blocking`](super::Blocking)) |
    /// | [`resuming`], [`blocking_resuming`] | the waits of a loop that you write ([`Resuming`](super::Resuming)) |
    ///
    /// The methods of the same names after [`Policy::when`](crate::Policy::when) make these forms, too.
    ///
    /// The methods of this type configure the call; write them before the `.await` or the `.call()`. The
    /// order of the settings does not matter, except that [`consecutive`](Self::consecutive) follows
    /// [`until`](Self::until), and [`reported`](Self::reported) is the last one. If a limit is set twice, the
    /// shorter one holds. A method that makes no sense for a form does not compile there.
    ///
    /// The future is `Send` when its parts are, and allocates nothing. Dropping the future
    /// ends the running attempt and all retries. A write that was running may then have been applied. For a
    /// program that shuts down there are [other ways to end a call](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/waits_and_limits/#ending-a-call-early).
    ///
    /// The parameters are the policy, perhaps [`With`](super::With) a budget, a rate or a name (`P`), the
    /// operation (`O`), the list of the settings (`S`), the runtime (`R`), and how the call waits (`W`).
    ///
    /// [`retry`]: crate::Policy::retry
    /// [`retry_with`]: crate::Policy::retry_with
    /// [`update`]: crate::Policy::update
    /// [`blocking`]: crate::Policy::blocking
    /// [`blocking_with`]: crate::Policy::blocking_with
    /// [`blocking_update`]: crate::Policy::blocking_update
    /// [`resuming`]: crate::Policy::resuming
    /// [`blocking_resuming`]: crate::Policy::blocking_resuming
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
    #[must_use = "an async call does nothing unless awaited, a blocking one before `.call()`"]
    pub struct Retrying<P, O, S = By<ByCodes>, R = AsyncRuntime, W = Awaited<Unstopped>>
    where
        P: Plan,
        S: Surrounds,
        W: Driver<O, R>,
    {
        pub(crate) call: Call<P, S, R>,
        pub(crate) operation: O,
        #[pin]
        pub(crate) phase: W::Phase<S>,
        #[pin]
        pub(crate) driver: W,
    }
}

impl<P, O, S, R, G, H> Future for Retrying<P, O, S, R, Awaited<G, H>>
where
    P: Plan,
    O: Operation,
    S: Setting<O::Value, O::Error>,
    R: Clock + Sleep + Random,
    G: Signal<O::Value, O::Error>,
    H: Hedging,
{
    type Output = Result<O::Value, O::Error>;

    // Not inlined: the compiler would write the loop again in each codegen unit that uses the caller's future.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (call, operation, mut phase) = (this.call, this.operation, this.phase);
        let driver = this.driver.project();
        let (mut signal, hedge) = (driver.signal, &*driver.hedge);
        // One phase after the other, and no `match`: so the compiler knows the phase after each step.
        loop {
            if let PhaseProjection::Waiting { wait } = phase.as_mut().project() {
                let (memory, signal) = (operation.memory(), signal.as_mut());
                if let Some(polled) = call.arrives(memory, O::TIMED, wait, signal, cx) {
                    return polled;
                }
            }
            // Only one of the two is compiled. With an `if` here, rustc would also look through the other one.
            let poll = const {
                match G::IS_ONE || H::IS_ONE || <S::Timer<()> as Timer<()>>::CUTS {
                    true => Call::<P, S, R>::poll_guarded::<O, G, H>,
                    false => Call::<P, S, R>::poll_plain::<O, G, H>,
                }
            };
            let outcome = ready!(poll(
                call,
                operation,
                phase.as_mut(),
                hedge,
                signal.as_mut(),
                cx
            ));
            let wait = over(&mut phase);
            let mut memory = operation.memory();
            let last = match call.succeeds(&mut memory, outcome) {
                Ok(value) => return Poll::Ready(Ok(value)),
                Err(last) => last,
            };
            let ended = call.sleeps(memory, last, wait, signal.as_mut());
            if ended.is_ready() {
                return ended;
            }
        }
    }
}

impl<P: Plan, S: Surrounds, R: Clock + Random> Call<P, S, R> {
    /// While the value is alive, this thread runs the attempt, in its span.
    #[inline]
    fn enters(&self) -> (Running, S::Entered<'_>) {
        (self.guard.runs(), self.settings.enter())
    }

    /// Begins an attempt.
    #[inline]
    pub(super) fn attempt<O>(&self, operation: &mut O) -> Attempt<O, S>
    where
        O: Operation,
        S: Setting<O::Value, O::Error>,
    {
        let _entered = self.enters();
        self.settings.around(operation.begin(self))
    }

    /// Polls an attempt.
    #[inline]
    pub(super) fn polled<O>(
        &self,
        operation: &mut O,
        attempt: Pin<&mut Attempt<O, S>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<O::Value, O::Failure>>
    where
        O: Operation,
        S: Setting<O::Value, O::Error>,
    {
        let _entered = self.enters();
        operation.poll(self.settings.inner(attempt), self, cx)
    }

    /// Polls an attempt that only ends by itself, and begins the attempt after a wait.
    #[inline]
    fn poll_plain<O, G, H: Hedging>(
        &mut self,
        operation: &mut O,
        mut phase: Pin<&mut PhaseOf<O, S, R, H>>,
        _hedge: &H,
        _signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<O::Value, O::Error>>
    where
        O: Operation,
        S: Setting<O::Value, O::Error>,
        R: Sleep,
        G: Signal<O::Value, O::Error>,
    {
        // Written out, and not `attempt` and `polled`, because each function would be compiled for each call.
        let _entered = self.enters();
        if let PhaseProjection::Waiting { .. } = phase.as_mut().project() {
            let attempt = self.settings.around(operation.begin(self));
            phase.set(Phase::running(attempt));
        }
        let PhaseProjection::Running { attempt, .. } = phase.project() else {
            unreachable!("the attempt has begun")
        };
        let polled = operation.poll(self.settings.inner(attempt), self, cx);
        polled.map_err(Into::into)
    }

    /// As `poll_plain`, or until the time of the attempt is over, or a signal cuts it.
    fn poll_guarded<O, G, H: Hedging>(
        &mut self,
        operation: &mut O,
        mut phase: Pin<&mut PhaseOf<O, S, R, H>>,
        hedge: &H,
        mut signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<O::Value, O::Error>>
    where
        O: Operation,
        S: Setting<O::Value, O::Error>,
        R: Sleep,
        G: Signal<O::Value, O::Error>,
    {
        if let PhaseProjection::Waiting { .. } = phase.as_mut().project() {
            phase.set(Phase::running(self.attempt(operation)));
        }
        let PhaseProjection::Running {
            mut attempt,
            mut timer,
            second,
        } = phase.as_mut().project()
        else {
            unreachable!("the attempt has begun")
        };
        let stage = |call: &Self, attempt: Pin<&mut Attempt<O, S>>| {
            O::stage(call.settings.inner::<O::Running>(attempt).as_ref())
        };
        let cuts = match signal.cuts() {
            Some(cuts) if G::IS_ONE && signal.as_mut().has_come(cx) => Some(cuts),
            _ => None,
        };
        let made = timer.as_mut().as_pin_mut();
        let is_over = made.is_some_and(|timer| timer.is_over(cx));
        // A read whose time is over, or that is ready together with the signal, must begin no write.
        let is_refused =
            (is_over || cuts.is_some()) && stage(self, attempt.as_mut()) == Stage::Read;
        if !is_refused {
            // Without a hedge, the race is not compiled.
            let polled = if H::IS_ONE
                && let Some(second) = hedge.of(second)
            {
                self.race(operation, attempt.as_mut(), second, signal, cx)
            } else {
                self.polled(operation, attempt.as_mut(), cx)
                    .map_err(Into::into)
            };
            if polled.is_ready() {
                return polled;
            }
        }
        if timer.is_none() {
            timer.set(Timer::new());
        }
        // The limit, or the rest of the deadline if that is shorter.
        let limited = |_| {
            let run = self.run();
            let limit = Duration::from_nanos(run.rules.attempt_timeout);
            let remaining = run.state.remaining(&run.rules, run.clock);
            timer_of(&self.runtime, limit.min(remaining))
        };
        let error = if let Some(cuts) = cuts {
            cuts(Stopped)
        } else if let Some(timer) = timer.as_pin_mut()
            && let Some(late) = timer.expired(is_over, limited, cx)
        {
            S::expired(late).expect("a setting that cuts attempts makes an error")
        } else {
            return Poll::Pending;
        };
        let stage = stage(self, attempt).cut();
        let is_stopped = cuts.is_some();
        cut(phase, is_stopped);
        Poll::Ready(Err(Failed {
            is_stopped,
            ..Failed::at(stage, error)
        }))
    }
}

/// Drops the attempt that has ended, and a second request. Returns what the call waits for next: nothing yet.
#[inline]
fn over<'p, A, T, S, D>(phase: &'p mut Pin<&mut Phase<A, T, S, D>>) -> Pin<&'p mut Wait<S>> {
    phase.set(Phase::Waiting { wait: Wait::Over });
    match phase.as_mut().project() {
        PhaseProjection::Waiting { wait } => wait,
        PhaseProjection::Running { .. } => unreachable!("the phase was set just now"),
    }
}

/// Drops an attempt that was cut, before anything is decided. The destructors of the attempt may ask whether its time
/// is over.
#[cold]
#[inline(never)]
fn cut<A, T, S, D>(mut phase: Pin<&mut Phase<A, T, S, D>>, is_stopped: bool) {
    match is_stopped {
        true => phase.set(Phase::Waiting { wait: Wait::Over }),
        false => cut_flag::cutting(|| phase.set(Phase::Waiting { wait: Wait::Over })),
    }
}
