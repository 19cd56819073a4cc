//! An async closure that borrows mutably what is around it. Its future cannot be named, so this loop is
//! an async function; what it does around an attempt is the course's affair, as everywhere.

use super::{deposit::Deposit, entry::Judged, handler::Handle};
use crate::{
    facts::fault::Fault,
    judge::Stage,
    policy::Policy,
    runtime::{AsyncRuntime, Sleep},
};

impl Policy {
    /// As [`retry`](Self::retry), for an async closure that borrows mutably what is around it, which the
    /// compiler refuses there: "captured variable cannot escape `FnMut` closure body".
    ///
    /// To say more about such a call (a timeout, a hook), write `retry_block!`.
    ///
    /// # Errors
    /// The operation's last error, once it is not to be retried any more.
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
    pub async fn retry_mut<T, E>(
        &self,
        operation: impl AsyncFnMut() -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: Fault,
    {
        self.by_codes().retry_mut(operation).await
    }
}

impl<H> Judged<'_, H> {
    /// As [`Policy::retry_mut`].
    ///
    /// # Errors
    /// The operation's last error, once it is not to be retried any more.
    pub async fn retry_mut<T, E>(
        self,
        mut operation: impl AsyncFnMut() -> Result<T, E>,
    ) -> Result<T, E>
    where
        H: Handle<E, Runtime = AsyncRuntime>,
    {
        let Judged {
            policy,
            mut handler,
        } = self;
        let mut deposit = Deposit::new(policy);
        let course = &mut deposit.course;
        course.start(policy, None, handler.runtime(), false);
        loop {
            // The error ends before the sleep, so that the future need not keep it.
            let wait = {
                let name = core::any::type_name::<E>();
                let error = match operation().await {
                    Ok(value) => {
                        course.succeeded(policy, &mut handler, name, None);
                        return Ok(value);
                    }
                    Err(error) => error,
                };
                let next = course.failed(policy, &mut handler, name, &error, Stage::Whole, None);
                if !next.is_wait() {
                    return Err(error);
                }
                next.wait()
            };
            handler.runtime().sleep(wait).await;
            course.begins(&mut handler);
        }
    }
}
