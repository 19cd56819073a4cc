//! The type of all calls, and the async loop. The loop is a future written by hand, so that the future is `Send` when
//! its parts are, has a name, and allocates nothing.

use super::{
    attempt::{PhaseOf, PhaseProjection, over},
    erased::Call,
    hedging::{Hedging, Unhedged},
    operation::Operation,
    plan::Plan,
    setting::{Setting, Surrounds},
    settings::judges::{By, ByCodes},
    signal::{Signal, Unstopped},
    timer::Timer,
};
use crate::runtime::{AsyncRuntime, Clock, Random, Sleep};
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use pin_project_lite::pin_project;

/// The driver of a call: a future, the thread of the call, or the loop of the caller. The driver also has the signal
/// that ends the waits.
#[doc(hidden)]
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

#[diagnostic::do_not_recommend]
impl<O: Operation, R: Sleep, G, H: Hedging> Driver<O, R> for Awaited<G, H> {
    type Phase<S: Surrounds> = PhaseOf<O, S, R, H>;
}

pin_project! {
    /// An operation that is being retried. There are three forms:
    ///
    /// | made by | the form |
    /// |---|---|
    /// | [`retry`], [`retry_with`], [`update`] | a future of the operation's own `Result` ([`Async`](super::Async)) |
    /// | [`blocking`], [`blocking_with`], [`blocking_update`] | a call that runs on this thread at [`call`](Self::call) ([`Blocking`](crate::Blocking)) |
    /// | [`resuming`], [`blocking_resuming`] | the waits of a loop that you write ([`Resuming`](crate::Resuming)) |
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
                let (operation, signal) = (operation.erased(), signal.as_mut());
                if let Some(polled) = call.begin_or_wait(operation, O::TIMED, wait, signal, cx) {
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
            let last = match call.value(operation.erased(), outcome) {
                Ok(value) => return Poll::Ready(Ok(value)),
                Err(last) => last,
            };
            if let Some(ended) = call.begin_wait(operation.erased(), last, wait, signal.as_mut()) {
                return Poll::Ready(ended);
            }
        }
    }
}
