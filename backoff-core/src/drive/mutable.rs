//! An async closure that mutably borrows values around it. Its future has no name in Rust, so this loop
//! is an async function. The state of the call does the work around each attempt, as in every loop.

use super::{context::Context, entry::Judged, judges::Judge, plan::Guard, settings::Settings};
use crate::{
    facts::fault::Fault,
    judge::Stage,
    policy::Policy,
    rate::Reply,
    runtime::{ASYNC, Sleep},
};
use core::future::{Future, poll_fn};

impl Policy {
    /// As [`retry`](Self::retry), for an async closure that mutably borrows values around it. For such a
    /// closure `retry` does not compile: "captured variable cannot escape `FnMut` closure body".
    ///
    /// For settings of the call (a timeout, a hook, a signal), write `retry_block!`.
    ///
    /// # Errors
    /// The operation's last error, when no further attempt is made.
    ///
    /// ```
    /// use backoff_core::{Policy, TimedOut};
    ///
    /// struct Client { calls: u32 }
    ///
    /// impl Client {
    ///     async fn get(&mut self) -> Result<u32, TimedOut> {
    ///         self.calls += 1;
    ///         if self.calls < 3 { Err(TimedOut::new(Default::default())) } else { Ok(self.calls) }
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// const POLICY: Policy = Policy::exponential();
    /// let mut client = Client { calls: 0 };
    /// assert_eq!(POLICY.retry_mut(async || client.get().await).await, Ok(3));
    /// # }
    /// ```
    pub fn retry_mut<T, E>(
        &self,
        operation: impl AsyncFnMut() -> Result<T, E>,
    ) -> impl Future<Output = Result<T, E>>
    where
        E: Fault,
    {
        self.by_codes().retry_mut(operation)
    }
}

impl<J> Judged<'_, J> {
    /// As [`Policy::retry_mut`].
    ///
    /// # Errors
    /// The operation's last error, when no further attempt is made.
    pub async fn retry_mut<O, T, E>(self, mut operation: O) -> Result<T, E>
    where
        O: AsyncFnMut() -> Result<T, E>,
        J: Judge<E>,
    {
        let policy = self.policy;
        let mut settings = Settings::of(self.judge);
        // A function that is called again each time, so that the future need not keep the name.
        let context = || Context::of(policy, core::any::type_name::<O>());
        let mut guard = Guard::new(policy);
        let state = &mut guard.state;
        state.start(&context(), &ASYNC, false);
        loop {
            if let Some(rate) = policy.shared_rate()
                && let Some(mut queued) = state.enters(rate, None, context(), &ASYNC)
            {
                poll_fn(|cx| state.turn(&mut queued, &ASYNC, cx)).await;
            }
            // The error is dropped before the sleep, so that the future need not keep it.
            let wait = {
                let error = match operation().await {
                    Ok(value) => {
                        let admitted = Some(Reply::Admitted);
                        state.replied::<E, _, _>(admitted, &context(), &mut settings, &ASYNC);
                        state.succeeded::<E, _, _>(&context(), &mut settings, &ASYNC);
                        return Ok(value);
                    }
                    Err(error) => error,
                };
                let stage = Stage::Whole;
                let next = state.failed(&context(), &mut settings, &ASYNC, &error, stage, ());
                if !next.is_wait() {
                    return Err(error);
                }
                next.wait()
            };
            ASYNC.sleep(wait).await;
            state.rested(&context(), &ASYNC);
        }
    }
}
