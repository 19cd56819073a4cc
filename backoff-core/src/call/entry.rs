//! The methods of a policy that begin a call.

use super::{
    blocking::OnThread,
    hedging::Unhedged,
    operation::{Awaits, Blocks, Plain, WithAttempt},
    retrying::{Awaited, Driver, Retrying},
    settings::judges::{By, ByCodes, Judge, When, WhenAny},
    signal::Unstopped,
    update::{Changed, Update},
};
use crate::{
    facts::fault::Fault,
    judge::Verdict,
    policy::Policy,
    runtime::{ASYNC, AsyncRuntime, BLOCKING, BlockingRuntime},
    state::Attempt,
};
use core::future::Future;

/// A call that is awaited, before any setting is added: the type of [`Policy::retry`]'s result.
pub type Async<'p, O, J = ByCodes> =
    Retrying<&'p Policy, O, By<J>, AsyncRuntime, Awaited<Unstopped>>;

/// A blocking call, before any setting is added: the type of [`Policy::blocking`]'s result. Nothing is called until
/// [`call`](Retrying::call).
pub type Blocking<P, O, J = ByCodes, R = BlockingRuntime, N = Unstopped> =
    Retrying<P, O, By<J>, R, OnThread<N>>;

/// A policy with a function that decides which errors are retried, instead of the policy's codes.
///
/// Made by [`Policy::when`] and [`Policy::when_any`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a policy does nothing until it is given an operation"]
pub struct Judged<'p, J> {
    pub(crate) policy: &'p Policy,
    pub(crate) judge: J,
}

/// No signal ends the call.
pub(crate) const AWAITED: Awaited<Unstopped> = Awaited {
    signal: Unstopped,
    hedge: Unhedged,
};

/// An update with async or with blocking closures.
type AsyncUpdate<Read, Change, Write> = Update<Awaits<Read>, Change, Awaits<Write>>;
type BlockingUpdate<Read, Change, Write> = Update<Blocks<Read>, Change, Blocks<Write>>;

impl Policy {
    /// Retries an async operation, and gives the operation's own `Result`. The methods of [`Retrying`] configure the call before
    /// the `.await`. If the closure's future borrows a value mutably, write `retry_block!` or `#[retry]`.
    ///
    /// ```
    /// # use backoff_core::{Policy, TimedOut};
    /// #
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), TimedOut> {
    /// # const POLICY: Policy = Policy::exponential();
    /// # let mut calls = 0;
    /// # let mut get = || {
    /// #     calls += 1;
    /// #     std::future::ready(if calls < 3 { Err(TimedOut::new(Default::default())) } else { Ok(42) })
    /// # };
    /// let answer = POLICY.retry(|| get()).await?;
    /// # assert_eq!((answer, calls), (42, 3));
    /// # Ok(()) }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn retry<F, Fut, T, E>(&self, operation: F) -> Async<'_, Plain<Awaits<F>>>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Fault,
    {
        Retrying::new(self, Plain(Awaits(operation)), By(ByCodes), ASYNC, AWAITED)
    }

    /// As [`retry`](Self::retry). Each attempt gets an [`Attempt`].
    ///
    /// ```
    /// # use backoff_core::{Policy, TimedOut};
    /// # use std::time::Duration;
    /// #
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), TimedOut> {
    /// # const POLICY: Policy = Policy::exponential().deadline(Duration::from_secs(30));
    /// # let get = |limit| {
    /// #     assert!(limit <= Duration::from_secs(30));
    /// #     std::future::ready(Ok::<_, TimedOut>(42))
    /// # };
    /// let answer = POLICY.retry_with(|attempt| get(attempt.remaining())).await?;
    /// # assert_eq!(answer, 42);
    /// # Ok(()) }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn retry_with<F, Fut, T, E>(&self, operation: F) -> Async<'_, WithAttempt<Awaits<F>>>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Fault,
    {
        self.by_codes().retry_with(operation)
    }

    /// Retries a blocking operation, sleeping on this thread. In an async program, call this inside
    /// `tokio::task::spawn_blocking`.
    ///
    /// # Errors
    /// The operation's last error.
    ///
    /// ```
    /// # use backoff_core::{Policy, TimedOut};
    /// # use std::time::Duration;
    /// # fn main() -> Result<(), TimedOut> {
    /// # #[cfg(feature = "std")] {
    /// # const POLICY: Policy = Policy::exponential().base(Duration::from_millis(1));
    /// # let mut calls = 0;
    /// # let mut get = || {
    /// #     calls += 1;
    /// #     if calls < 3 { Err(TimedOut::new(Duration::ZERO)) } else { Ok(42) }
    /// # };
    /// let answer = POLICY.retry_blocking(|| get())?;
    /// # assert_eq!((answer, calls), (42, 3));
    /// # }
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "std")]
    pub fn retry_blocking<F, T, E>(&self, operation: F) -> Result<T, E>
    where
        F: FnMut() -> Result<T, E>,
        E: Fault,
    {
        self.blocking(operation).call()
    }

    /// As [`retry_blocking`](Self::retry_blocking), with the settings of [`Retrying`] before [`call`](Retrying::call).
    ///
    /// ```
    /// # use backoff_core::{Policy, TimedOut};
    /// # use std::time::Duration;
    /// #
    /// # #[cfg(feature = "std")] {
    /// # const POLICY: Policy = Policy::exponential().base(Duration::from_millis(1)).max_attempts(2);
    /// # let get = || Err::<(), _>(TimedOut::new(Duration::ZERO));
    /// let gave_up = POLICY.blocking(get).reported().call().unwrap_err();
    /// # assert_eq!(gave_up.report.attempts, 2);
    /// # }
    /// ```
    pub fn blocking<F, T, E>(&self, operation: F) -> Blocking<&Policy, Plain<Blocks<F>>>
    where
        F: FnMut() -> Result<T, E>,
        E: Fault,
    {
        self.by_codes().blocking(operation)
    }

    /// As [`blocking`](Self::blocking), for an operation that takes an [`Attempt`].
    ///
    /// ```
    /// # use backoff_core::{Policy, TimedOut};
    /// # use std::time::Duration;
    /// #
    /// # #[cfg(feature = "std")] {
    /// # const POLICY: Policy = Policy::exponential().deadline(Duration::from_secs(30));
    /// # let get = |limit| Ok::<_, TimedOut>(limit);
    /// let answer = POLICY.blocking_with(|attempt| get(attempt.remaining())).call();
    /// # assert!(answer.unwrap() <= Duration::from_secs(30));
    /// # }
    /// ```
    pub fn blocking_with<F, T, E>(&self, operation: F) -> Blocking<&Policy, WithAttempt<Blocks<F>>>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        E: Fault,
    {
        self.by_codes().blocking_with(operation)
    }

    /// As [`when`](Self::when), for an error of any type, from which no facts are read: no hint, and not whether the attempt
    /// may have been applied. A [`Verdict`] can carry a hint.
    ///
    /// ```
    /// # use backoff_core::Policy;
    /// #
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// # const POLICY: Policy = Policy::exponential();
    /// # let mut calls = 0;
    /// # let get = || {
    /// #     calls += 1;
    /// #     std::future::ready(if calls < 3 { Err("busy".to_string()) } else { Ok(42) })
    /// # };
    /// let answer = POLICY.when_any(|error: &String| error.contains("busy")).retry(get).await;
    /// # assert_eq!(answer, Ok(42));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn when_any<E, F, V>(&self, judge: F) -> Judged<'_, WhenAny<F>>
    where
        F: Fn(&E) -> V,
        V: Into<Verdict>,
    {
        Judged::new(self, WhenAny(judge))
    }

    /// A function decides instead of the policy's codes, by a `bool` or a [`Verdict`]. The server's hints, [`idempotent(false)`](Policy::idempotent) and all limits hold.
    /// A function that counts keeps its number in a `Cell` or an atomic.
    ///
    /// ```
    /// # use backoff_core::{Fault, Policy};
    /// # use std::time::Duration;
    /// #
    /// # #[derive(Debug)]
    /// # struct Busy;
    /// # impl Fault for Busy {
    /// #     fn retry_after(&self) -> Option<Duration> { Some(Duration::from_secs(30)) }
    /// # }
    /// #
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// # let get = || std::future::ready(Err::<(), _>(Busy));
    /// # const POLICY: Policy = Policy::exponential().max_attempts(2);
    /// let gave_up = POLICY.when(|_: &Busy| true).retry(get).reported().await.unwrap_err();
    /// # assert_eq!(gave_up.report.slept, Duration::from_secs(30));
    /// # }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn when<E, F, V>(&self, judge: F) -> Judged<'_, When<F>>
    where
        E: Fault,
        F: Fn(&E) -> V,
        V: Into<Verdict>,
    {
        Judged::new(self, When(judge))
    }

    /// Changes a value that others change too, and loses no update: reads the value, applies `change`, and writes the value
    /// back on the condition that nobody has written in between:
    /// [read, modify, write](https://docs.rs/backoff-cloud/latest/backoff_cloud/guide/read_modify_write/).
    ///
    /// - After a failed read or write that is retried, the update waits and reads again, and `change` decides anew. Each failure
    ///   is one attempt of the whole update.
    /// - Conflicts (`ABORTED`, 412, [`FaultKind::Conflict`](crate::FaultKind::Conflict)) are retried under every policy, a 409
    ///   without a gRPC code only if the policy names it.
    /// - If `change` returns `false` instead of nothing, nothing is written.
    ///
    /// After a write that may have been applied, nothing is applied twice. If `change` returns a `bool`, the update reads
    /// again, and `false` means that the write has arrived. With [`version`](crate::Retrying::version), the update reads
    /// again, and writes again if the version is the same. Otherwise, and if the policy is not
    /// [idempotent](Policy::idempotent), the update ends with [`StopReason::MaybeApplied`](crate::StopReason::MaybeApplied).
    ///
    /// ```
    /// # use backoff_core::{FaultKind, Fault, Policy, Updated};
    /// # use std::cell::Cell;
    /// #
    /// # #[derive(Debug, PartialEq)]
    /// # struct Stale;
    /// # impl Fault for Stale {
    /// #     fn kind(&self) -> Option<FaultKind> { Some(FaultKind::Conflict) }
    /// # }
    /// #
    /// # /// A number, and the version that a write must name.
    /// # struct Store(Cell<(u32, u64)>);
    /// #
    /// # impl Store {
    /// #     async fn get(&self) -> Result<(u32, u64), Stale> { Ok(self.0.get()) }
    /// #     async fn set(&self, number: u32, version: u64) -> Result<(), Stale> {
    /// #         if version != self.0.get().1 { return Err(Stale) }
    /// #         self.0.set((number, version + 1));
    /// #         Ok(())
    /// #     }
    /// # }
    /// #
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Stale> {
    /// # const POLICY: Policy = Policy::exponential();
    /// # let store = Store(Cell::new((1, 1)));
    /// # let mut others = 2;
    /// # let read = || store.get();
    /// # let write = |(number, version)| store.set(number, version);
    /// # let change = |(number, _): &mut (u32, u64)| {
    /// #     *number += 1;
    /// #     // Meanwhile, somebody else is faster, twice.
    /// #     if others > 0 { others -= 1; store.0.set((10, store.0.get().1 + 1)); }
    /// # };
    /// let updated = POLICY.update(read, change, write).version(|(_, version)| *version).await?;
    /// # assert_eq!(updated, Updated::Written(()));
    /// # assert_eq!(store.0.get().0, 11);
    /// # Ok(()) }
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn update<Read, Change, Write, Reading, Changes, Writing, V, W, E>(
        &self,
        read: Read,
        change: Change,
        write: Write,
    ) -> Async<'_, AsyncUpdate<Read, Change, Write>>
    where
        Read: FnMut() -> Reading,
        Reading: Future<Output = Result<V, E>>,
        Change: FnMut(&mut V) -> Changes,
        Changes: Changed<E>,
        Write: FnMut(V) -> Writing,
        Writing: Future<Output = Result<W, E>>,
        E: Fault,
    {
        self.by_codes().update(read, change, write)
    }

    /// As [`update`](Self::update), blocking, with the settings of [`Retrying`] before [`call`](Retrying::call).
    ///
    /// ```
    /// # use backoff_core::{Policy, TimedOut, Updated};
    /// #
    /// # #[cfg(feature = "std")] {
    /// # const POLICY: Policy = Policy::exponential();
    /// # let mut stored = vec!["ann"];
    /// # let read = || Ok::<_, TimedOut>(vec!["ann"]);
    /// # let write = |members| { stored = members; Ok(()) };
    /// # let change = |members: &mut Vec<_>| {
    /// #     let is_new = !members.contains(&"bob");
    /// #     if is_new { members.push("bob") }
    /// #     is_new
    /// # };
    /// let updated = POLICY.blocking_update(read, change, write).call();
    /// # assert_eq!(updated, Ok(Updated::Written(())));
    /// # assert_eq!(stored, ["ann", "bob"]);
    /// # }
    /// ```
    pub fn blocking_update<Read, Change, Write, Changes, V, W, E>(
        &self,
        read: Read,
        change: Change,
        write: Write,
    ) -> Blocking<&Policy, BlockingUpdate<Read, Change, Write>>
    where
        Read: FnMut() -> Result<V, E>,
        Change: FnMut(&mut V) -> Changes,
        Changes: Changed<E>,
        Write: FnMut(V) -> Result<W, E>,
        E: Fault,
    {
        self.by_codes().blocking_update(read, change, write)
    }

    /// The policy's codes judge the errors.
    pub(super) const fn by_codes(&self) -> Judged<'_, ByCodes> {
        Judged::new(self, ByCodes)
    }
}

impl<'p, J> Judged<'p, J> {
    /// For calls of other crates that have a `when` of their own.
    #[doc(hidden)]
    pub const fn new(policy: &'p Policy, judge: J) -> Self {
        Judged { policy, judge }
    }

    #[inline]
    pub(super) fn begin<O, R, W>(
        self,
        operation: O,
        runtime: R,
        driver: W,
    ) -> Retrying<&'p Policy, O, By<J>, R, W>
    where
        W: Driver<O, R>,
    {
        Retrying::new(self.policy, operation, By(self.judge), runtime, driver)
    }

    /// As [`Policy::retry`].
    pub fn retry<F, Fut, T, E>(self, operation: F) -> Async<'p, Plain<Awaits<F>>, J>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        J: Judge<E>,
    {
        self.begin(Plain(Awaits(operation)), ASYNC, AWAITED)
    }

    /// As [`Policy::retry_with`].
    pub fn retry_with<F, Fut, T, E>(self, operation: F) -> Async<'p, WithAttempt<Awaits<F>>, J>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        J: Judge<E>,
    {
        self.begin(WithAttempt::new(Awaits(operation)), ASYNC, AWAITED)
    }

    /// As [`Policy::retry_blocking`].
    ///
    /// # Errors
    /// The operation's last error, when no further attempt is made.
    #[cfg(feature = "std")]
    pub fn retry_blocking<F, T, E>(self, operation: F) -> Result<T, E>
    where
        F: FnMut() -> Result<T, E>,
        J: Judge<E>,
    {
        self.blocking(operation).call()
    }

    /// As [`Policy::blocking`].
    pub fn blocking<F, T, E>(self, operation: F) -> Blocking<&'p Policy, Plain<Blocks<F>>, J>
    where
        F: FnMut() -> Result<T, E>,
        J: Judge<E>,
    {
        self.begin(Plain(Blocks(operation)), BLOCKING, OnThread(Unstopped))
    }

    /// As [`Policy::blocking_with`].
    pub fn blocking_with<F, T, E>(
        self,
        operation: F,
    ) -> Blocking<&'p Policy, WithAttempt<Blocks<F>>, J>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        J: Judge<E>,
    {
        self.begin(
            WithAttempt::new(Blocks(operation)),
            BLOCKING,
            OnThread(Unstopped),
        )
    }

    /// As [`Policy::update`]. The function judges the errors of the read and of the write alike. A function
    /// given to [`when_any`](Policy::when_any) gets errors without facts, so the function itself must know
    /// which failed writes may have been applied, whatever [`idempotent`](Policy::idempotent) says. A
    /// conflict is counted as a conflict in the report only if a [`Verdict`] of the function says so.
    ///
    /// After a change that returns nothing, `true` for a failed write means that the write may have been
    /// applied, and ends the update. If the write did nothing, return a [`Verdict::Retry`] of the kind
    /// `Conflict` or `Throttled`.
    pub fn update<Read, Change, Write, Reading, Changes, Writing, V, W, E>(
        self,
        read: Read,
        change: Change,
        write: Write,
    ) -> Async<'p, AsyncUpdate<Read, Change, Write>, J>
    where
        Read: FnMut() -> Reading,
        Reading: Future<Output = Result<V, E>>,
        Change: FnMut(&mut V) -> Changes,
        Changes: Changed<E>,
        Write: FnMut(V) -> Writing,
        Writing: Future<Output = Result<W, E>>,
        J: Judge<E>,
    {
        self.begin(
            Update::new(Awaits(read), change, Awaits(write)),
            ASYNC,
            AWAITED,
        )
    }

    /// As [`Policy::blocking_update`].
    pub fn blocking_update<Read, Change, Write, Changes, V, W, E>(
        self,
        read: Read,
        change: Change,
        write: Write,
    ) -> Blocking<&'p Policy, BlockingUpdate<Read, Change, Write>, J>
    where
        Read: FnMut() -> Result<V, E>,
        Change: FnMut(&mut V) -> Changes,
        Changes: Changed<E>,
        Write: FnMut(V) -> Result<W, E>,
        J: Judge<E>,
    {
        self.begin(
            Update::new(Blocks(read), change, Blocks(write)),
            BLOCKING,
            OnThread(Unstopped),
        )
    }
}
