//! The type of all calls, and the async loop. The loop is a future written by hand, so that the future is `Send` when
//! its parts are, has a name, and allocates nothing.

use super::{
    call::{After, Call, Outcome},
    cut_flag,
    operation::{Failed, Operation},
    plan::Plan,
    race::{Attempt, Hedged, Hedging, Unhedged},
    setting::{Setting, Surrounds},
    settings::judges::{By, ByCodes},
    signal::{Signal, Stopped, Unstopped},
    timer::Timer,
};
use crate::{
    judge::Stage,
    rate::Queued,
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

/// What a call stores of the second request of an attempt.
type Second<O, S, R, H> = <H as Hedging>::Second<
    Attempt<O, S>,
    <R as Sleep>::Sleep,
    <O as Operation>::Value,
    <O as Operation>::Error,
>;

#[diagnostic::do_not_recommend]
impl<O: Operation, R: Sleep, G, H: Hedging> Driver<O, R> for Awaited<G, H> {
    type Phase<S: Surrounds> =
        Phase<Attempt<O, S>, S::Timer<R::Sleep>, R::Sleep, Second<O, S, R, H>>;
}

pin_project! {
    /// What an async call stores of its attempt.
    #[project = PhaseProjection]
    #[allow(missing_docs, reason = "only the loop below uses the variants")]
    pub enum Phase<A, T, S, D> {
        New,
        // The timer is a field beside the attempt. In one struct with the attempt it cost 130 instructions.
        Running { #[pin] attempt: A, #[pin] timer: T, #[pin] second: D },
        Waiting { #[pin] wait: Wait<S> },
        Over,
    }
}

pin_project! {
    /// What an async call waits for. One type for both, so that the drop of a phase is one comparison and one call.
    #[project = WaitProjection]
    #[allow(missing_docs, reason = "only the loop below uses the variants")]
    pub enum Wait<S> {
        Until { #[pin] sleep: S },
        // For its turn, in the queue of its rate.
        Queued { queued: Queued<S> },
    }
}

impl<A, T, S, D> Default for Phase<A, T, S, D> {
    #[inline]
    fn default() -> Self {
        Phase::New
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
        pub(crate) call: Call<P, O, S, R>,
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
        let (call, mut phase) = (this.call, this.phase);
        let driver = this.driver.project();
        let (mut signal, hedge) = (driver.signal, &*driver.hedge);
        // One phase after the other, and no `match`: so the compiler knows the phase after each step.
        let outcome = loop {
            let runs = if let PhaseProjection::New = phase.as_mut().project() {
                if let Some(ended) = call.arrives(signal.as_mut(), cx) {
                    break ended;
                }
                if call.guard.plan.has_gate() {
                    match call.enters(signal.as_mut()) {
                        Err(outcome) => break outcome,
                        Ok(Some(queued)) => {
                            waits_for_its_turn(phase.as_mut(), queued);
                            continue;
                        }
                        Ok(None) => {}
                    }
                } else if call.guard.state.retry.failures() > 0 {
                    call.guard.state.begins(&call.runtime);
                }
                let runs = call.guard.runs();
                let after_wait = call.guard.state.retry.failures() > 0;
                let attempt = call.begins_attempt(signal.as_mut(), after_wait);
                let (timer, second) = Default::default();
                phase.set(Phase::Running {
                    attempt,
                    timer,
                    second,
                });
                runs
            } else {
                call.guard.runs()
            };
            if let PhaseProjection::Running {
                attempt,
                timer,
                second,
            } = phase.as_mut().project()
            {
                let second = hedge.of(second);
                let polled = call.poll_attempt::<G, H>(attempt, second, timer, signal.as_mut(), cx);
                let Poll::Ready(outcome) = polled else {
                    return Poll::Pending;
                };
                if let Err(failed) = &outcome
                    && (G::IS_ONE || <S::Timer<R::Sleep> as Timer<R::Sleep>>::CUTS)
                    && failed.stage.is_cut()
                {
                    cut(phase.as_mut(), failed.is_stopped);
                } else if H::IS_ONE {
                    // The other request is dropped before anything is told.
                    phase.set(Phase::Over);
                }
                drop(runs);
                match call.after(outcome) {
                    After::Done(outcome) => break outcome,
                    After::Wait(wait, last) => {
                        let sleep = call.runtime.sleep(wait);
                        let wait = Wait::Until { sleep };
                        phase.set(Phase::Waiting { wait });
                        call.keep(signal.as_mut(), last);
                    }
                }
            }
            let PhaseProjection::Waiting { wait } = phase.as_mut().project() else {
                finished_before()
            };
            let has_come = G::IS_ONE && signal.as_mut().has_come(cx);
            if has_come && let Some(ended) = call.stopped(signal.as_mut()) {
                break ended;
            }
            match wait.project() {
                WaitProjection::Until { sleep } => {
                    ready!(sleep.poll(cx));
                    phase.set(Phase::New);
                }
                WaitProjection::Queued { queued } => {
                    let ended = ready!(call.poll_queue(queued, has_come, signal.as_mut(), cx));
                    if let Some(ended) = ended {
                        break ended;
                    }
                    let _runs = call.guard.runs();
                    let attempt = call.begins_attempt(signal.as_mut(), true);
                    let (timer, second) = Default::default();
                    phase.set(Phase::Running {
                        attempt,
                        timer,
                        second,
                    });
                }
            }
        };
        phase.set(Phase::Over);
        Poll::Ready(outcome)
    }
}

impl<P, O, S, R> Call<P, O, S, R>
where
    P: Plan,
    O: Operation,
    S: Setting<O::Value, O::Error>,
    R: Clock + Random,
{
    /// Begins an attempt, perhaps after a wait. A failure that the call has kept for its signal goes to a report.
    #[inline]
    fn begins_attempt<G>(&mut self, signal: Pin<&mut G>, after_wait: bool) -> Attempt<O, S>
    where
        G: Signal<O::Value, O::Error>,
    {
        self.recalls(signal);
        self.begins(after_wait);
        self.attempt()
    }

    /// Begins an attempt.
    #[inline]
    pub(super) fn attempt(&mut self) -> Attempt<O, S> {
        let entered = self.settings.enter();
        let run = Self::run(&self.guard, &self.settings, &self.runtime);
        let attempt = self.operation.begin(&run);
        drop(entered);
        self.settings.around(attempt)
    }

    /// Polls an attempt until it is ready, its time is over, or a signal cuts it.
    #[inline]
    fn poll_attempt<G, H: Hedging>(
        &mut self,
        mut attempt: Pin<&mut Attempt<O, S>>,
        second: Option<Hedged<'_, Attempt<O, S>, R::Sleep, O::Value, O::Error>>,
        mut timer: Pin<&mut S::Timer<R::Sleep>>,
        mut signal: Pin<&mut G>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<O>>
    where
        R: Sleep,
        G: Signal<O::Value, O::Error>,
    {
        let cuts = match signal.cuts() {
            Some(cuts) if G::IS_ONE && signal.as_mut().has_come(cx) => Some(cuts),
            _ => None,
        };
        let is_over = timer.as_mut().is_over(cx);
        // A read whose time is over, or that is ready together with the signal, must begin no write.
        let is_refused =
            (is_over || cuts.is_some()) && Self::stage(attempt.as_mut()) == Stage::Read;
        if !is_refused {
            // Without a hedge, the race is not compiled.
            let polled = if H::IS_ONE
                && let Some(second) = second
            {
                self.race(attempt.as_mut(), second, signal.as_mut(), cx)
            } else {
                self.polled(attempt.as_mut(), cx)
            };
            if polled.is_ready() {
                return polled;
            }
        }
        let stage = || Self::stage(attempt).cut();
        if let Some(cuts) = cuts {
            return Poll::Ready(Err(Failed {
                is_stopped: true,
                ..Failed::at(stage(), cuts(Stopped))
            }));
        }
        let Some(late) = timer.expired(is_over, |_| self.limit(), cx) else {
            return Poll::Pending;
        };
        let Some(error) = S::expired(late) else {
            unreachable!("a setting that cuts attempts makes an error")
        };
        Poll::Ready(Err(Failed::at(stage(), error)))
    }

    /// Polls the attempt, in its span.
    #[inline]
    pub(super) fn polled(
        &mut self,
        attempt: Pin<&mut Attempt<O, S>>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<O>> {
        let _entered = self.settings.enter();
        let run = Self::run(&self.guard, &self.settings, &self.runtime);
        S::inside(attempt, |attempt| self.operation.poll(attempt, &run, cx))
    }

    /// The part of the attempt that is running.
    fn stage(attempt: Pin<&mut Attempt<O, S>>) -> Stage {
        S::inside(attempt, |attempt| O::stage(attempt.as_ref()))
    }

    /// The time of an attempt (its limit, or the rest of the deadline if that is shorter), and its timer.
    fn limit(&self) -> (Duration, Option<R::Sleep>)
    where
        R: Sleep,
    {
        let rules = self.rules();
        let limit = Duration::from_nanos(rules.attempt_timeout);
        let remaining = self.guard.state.remaining(&rules, &self.runtime);
        timer_of(&self.runtime, limit.min(remaining))
    }
}

/// The call stands in the queue.
#[cold]
#[inline(never)]
fn waits_for_its_turn<A, T, S, D>(mut phase: Pin<&mut Phase<A, T, S, D>>, queued: Queued<S>) {
    let wait = Wait::Queued { queued };
    phase.set(Phase::Waiting { wait });
}

/// Drops an attempt that was cut, before anything is decided. The destructors of the attempt may ask whether its time
/// is over.
#[cold]
#[inline(never)]
fn cut<A, T, S, D>(mut phase: Pin<&mut Phase<A, T, S, D>>, is_stopped: bool) {
    match is_stopped {
        true => phase.set(Phase::Over),
        false => cut_flag::cutting(|| phase.set(Phase::Over)),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn finished_before() -> ! {
    panic!("a `Retrying` was polled after it had finished")
}
