//! The settings that go along with a call: the judge, the hook, the runtime and the waits. One type
//! holds all of them; each method of the call wraps the settings made before.

use super::{ending::Ending, purse::Purse};
use crate::{
    budget::Budget,
    delay::Delay,
    facts::fault::Fault,
    judge::{Ruling, Stage, Verdict},
    observe::{Event, Notify},
    policy::Policy,
    report::{Measures, StopReason},
    runtime::{ASYNC, AsyncRuntime, BlockingSleep, Clock, Random, nanos},
    state::{Next, Overrides, RetryState},
};
use core::{fmt, time::Duration};

/// The settings of a call, apart from the operation: the runtime, and sometimes the policy.
pub trait Handler {
    /// Clock, timer and random numbers.
    type Runtime;
    /// Whether a hook or the log asks how much time has passed.
    const MEASURES: bool = false;
    /// Whether a hook is called.
    const LISTENS: bool = false;
    /// Whether [`judged`](Self::judged) is called.
    const WANTS_RULINGS: bool = false;

    /// Clock, timer and random numbers.
    fn runtime(&self) -> &Self::Runtime;

    /// The policy: the borrowed one, unless this handler owns one.
    #[inline]
    fn policy<'p>(&'p self, borrowed: &'p Policy) -> &'p Policy {
        borrowed
    }

    /// The rules of the call beside its policy: those of the operation, and a budget.
    #[inline]
    fn overrides<'b>(&'b self, of_operation: Option<Overrides<'b>>) -> Option<Overrides<'b>> {
        of_operation
    }

    /// Waits or stops.
    #[inline(always)]
    fn decide<R: Clock + Random>(
        &self,
        runtime: &R,
        policy: &Policy,
        retry: &mut RetryState,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
    ) -> Next {
        // The short path of this is inlined; the rest is compiled once for each runtime.
        retry.decide(
            policy,
            ruling,
            overrides,
            || runtime.now(),
            || runtime.random(),
        )
    }

    /// Takes over from the state the payment for the wait that begins, if a budget paid that only this
    /// handler knows.
    #[inline]
    fn hold(&mut self, retry: &mut RetryState) {
        let _ = retry;
    }

    /// Waits on this thread, by this runtime. Returns whether the call is stopped.
    #[inline]
    fn pause<R: BlockingSleep>(&self, runtime: &R, wait: Duration) -> bool {
        runtime.sleep_blocking(wait);
        false
    }

    /// The attempt after the wait begins.
    #[inline]
    fn begins(&mut self) {}

    /// No attempt follows the wait: gives the payment back to a budget that only this handler knows.
    #[inline]
    fn give_back(&mut self) {}

    /// An attempt failed at this stage. The judge gave this ruling, and `fault` holds the failure's facts.
    #[inline]
    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
        let _ = (stage, ruling, fault);
    }

    /// An attempt failed, or the call ended between two attempts. `next` is the next step.
    #[inline]
    fn measure(&mut self, ending: Ending<'_>, is_conflict: bool, next: Next) {
        let _ = (ending, is_conflict, next);
    }

    /// The counts of [`measure`](Self::measure).
    fn measured(&self) -> Measures {
        Measures::default()
    }
}

/// A [`Handler`] for operations whose error is an `E`.
pub trait Handle<E>: Handler {
    /// The ruling about this error, apart from the limits.
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling;

    /// The ruling about a failure at this stage. Asks the judge, if there is one.
    #[inline]
    fn rule(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        if stage.is_judged() {
            self.judge(policy, stage, error)
        } else {
            stage.ruling(policy)
        }
    }

    /// The facts that the error reports about itself, if it reports any.
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault>;

    /// The loop continues after this error. Only a report keeps the error.
    #[inline]
    fn keep(&mut self, error: E, stage: Stage) {
        let _ = (error, stage);
    }

    /// Called before each wait, when the operation is given up, and when it succeeds after retries.
    #[inline]
    fn notify(&mut self, event: &Event<'_, E>) {
        let _ = event;
    }
}

/// With these waits.
#[inline(never)]
fn decide_with<R: Clock + Random, D: Delay>(
    runtime: &R,
    policy: &Policy,
    retry: &mut RetryState,
    ruling: Ruling,
    overrides: Option<&Overrides<'_>>,
    delays: &D,
) -> Next {
    let (now, random) = (|| runtime.now(), || runtime.random());
    retry.decide_with(policy, ruling, overrides, now, random, delays)
}

macro_rules! base {
    () => {
        type Runtime = AsyncRuntime;

        #[inline]
        fn runtime(&self) -> &AsyncRuntime {
            &ASYNC
        }
    };
}

/// The policy's codes judge; the error is a [`Fault`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ByCodes;

impl Handler for ByCodes {
    base!();
}

impl<E: Fault> Handle<E> for ByCodes {
    #[inline]
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        policy.rule(stage, error)
    }

    #[inline]
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }
}

macro_rules! named_in_debug {
    ($($name:ident),+) => {
        $(
            impl<F> fmt::Debug for $name<F> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(concat!(stringify!($name), "(..)"))
                }
            }
        )+
    };
}

named_in_debug!(WhenAny, When);

/// The caller's function judges, about a [`Fault`] whose hints are kept. Made by
/// [`Policy::when`].
#[derive(Clone, Copy)]
pub struct When<F>(pub(super) F);

impl<F> Handler for When<F> {
    base!();
}

impl<E, F, V> Handle<E> for When<F>
where
    E: Fault,
    F: Fn(&E) -> V,
    V: Into<Verdict>,
{
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        policy.said(stage, (self.0)(error).into(), Some(error))
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        Some(error)
    }
}

/// The caller's function judges errors of any type. Made by [`Policy::when`].
#[derive(Clone, Copy)]
pub struct WhenAny<F>(pub(super) F);

impl<F> Handler for WhenAny<F> {
    base!();
}

impl<E, F, V> Handle<E> for WhenAny<F>
where
    F: Fn(&E) -> V,
    V: Into<Verdict>,
{
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        policy.said(stage, (self.0)(error).into(), None)
    }

    fn fault<'e>(&self, _error: &'e E) -> Option<&'e dyn Fault> {
        None
    }
}

/// The methods that each wrapper passes on to the handler inside.
macro_rules! forward {
    ($($part:ident)+) => {
        $(forward!(@ $part);)+
    };
    (@ runtime) => {
        type Runtime = H::Runtime;

        #[inline]
        fn runtime(&self) -> &H::Runtime {
            self.inner.runtime()
        }

        forward!(@ pause);
    };
    (@ pause) => {
        #[inline]
        fn pause<Q>(&self, runtime: &Q, wait: core::time::Duration) -> bool
        where
            Q: crate::runtime::BlockingSleep,
        {
            self.inner.pause(runtime, wait)
        }
    };
    (@ policy) => {
        #[inline]
        fn policy<'p>(&'p self, borrowed: &'p Policy) -> &'p Policy {
            self.inner.policy(borrowed)
        }
    };
    (@ overrides) => {
        #[inline]
        fn overrides<'b>(&'b self, of_operation: Option<Overrides<'b>>) -> Option<Overrides<'b>> {
            self.inner.overrides(of_operation)
        }
    };
    (@ decide) => {
        #[inline(always)]
        fn decide<Q: Clock + Random>(
            &self,
            runtime: &Q,
            policy: &Policy,
            retry: &mut RetryState,
            ruling: Ruling,
            overrides: Option<&Overrides<'_>>,
        ) -> Next {
            self.inner.decide(runtime, policy, retry, ruling, overrides)
        }
    };
    (@ hold) => {
        #[inline]
        fn hold(&mut self, retry: &mut RetryState) {
            self.inner.hold(retry);
        }

        #[inline]
        fn begins(&mut self) {
            self.inner.begins();
        }

        #[inline]
        fn give_back(&mut self) {
            self.inner.give_back();
        }
    };
    (@ measure) => {
        const MEASURES: bool = H::MEASURES;
        const LISTENS: bool = H::LISTENS;

        forward!(@ counts);
    };
    (@ counts) => {
        forward!(@ rulings);
        forward!(@ measures);
    };
    (@ rulings) => {
        const WANTS_RULINGS: bool = H::WANTS_RULINGS;

        #[inline]
        fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
            self.inner.judged(stage, ruling, fault);
        }
    };
    (@ measures) => {
        #[inline]
        fn measure(
            &mut self,
            ending: crate::drive::ending::Ending<'_>,
            is_conflict: bool,
            next: Next,
        ) {
            self.inner.measure(ending, is_conflict, next);
        }

        fn measured(&self) -> Measures {
            self.inner.measured()
        }
    };
    (@ judge) => {
        #[inline]
        fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
            self.inner.judge(policy, stage, error)
        }

        #[inline]
        fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
            self.inner.fault(error)
        }
    };
    (@ keep) => {
        #[inline]
        fn keep(&mut self, error: E, stage: Stage) {
            self.inner.keep(error, stage);
        }
    };
    (@ notify) => {
        #[inline]
        fn notify(&mut self, event: &Event<'_, E>) {
            self.inner.notify(event);
        }
    };
}

/// Also calls a hook. Made by [`Retrying::notify`](super::future::Retrying::notify).
#[derive(Clone, Copy, Debug)]
pub struct Notified<H, N> {
    pub(crate) inner: H,
    pub(crate) hook: N,
}

impl<H: Handler, N> Handler for Notified<H, N> {
    const MEASURES: bool = H::MEASURES;
    const LISTENS: bool = true;

    forward!(runtime policy counts overrides decide hold);
}

impl<E, H: Handle<E>, N: Notify<E>> Handle<E> for Notified<H, N> {
    forward!(judge keep);

    fn notify(&mut self, event: &Event<'_, E>) {
        self.inner.notify(event);
        self.hook.notify(event);
    }
}

/// Uses another runtime. Made by [`Retrying::runtime`](super::future::Retrying::runtime).
#[derive(Clone, Copy, Debug)]
pub struct Under<H, R> {
    pub(crate) inner: H,
    pub(crate) runtime: R,
}

impl<H: Handler, R> Handler for Under<H, R> {
    type Runtime = R;

    #[inline]
    fn runtime(&self) -> &R {
        &self.runtime
    }

    forward!(pause policy measure overrides decide hold);
}

impl<E, H: Handle<E>, R> Handle<E> for Under<H, R> {
    forward!(judge keep notify);
}

/// Uses the caller's own waits. Made by [`Retrying::delays`](super::future::Retrying::delays).
#[derive(Clone, Copy, Debug)]
pub struct Delayed<H, D> {
    pub(crate) inner: H,
    pub(crate) delays: D,
}

impl<H: Handler, D: Delay> Handler for Delayed<H, D> {
    forward!(runtime policy measure overrides hold);

    fn decide<R: Clock + Random>(
        &self,
        runtime: &R,
        policy: &Policy,
        retry: &mut RetryState,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
    ) -> Next {
        // The inner handler does not decide, but it may hold a budget.
        let overrides = self.inner.overrides(overrides.copied());
        decide_with(
            runtime,
            policy,
            retry,
            ruling,
            overrides.as_ref(),
            &self.delays,
        )
    }
}

impl<E, H: Handle<E>, D: Delay> Handle<E> for Delayed<H, D> {
    forward!(judge keep notify);
}

/// Uses a budget for one call. Made by [`Retrying::budget`](super::future::Retrying::budget).
#[derive(Debug)]
pub struct Funded<'b, H> {
    inner: H,
    budget: &'b Budget,
    purse: Purse<'b>,
}

impl<'b, H> Funded<'b, H> {
    pub(super) const fn new(inner: H, budget: &'b Budget) -> Self {
        let purse = Purse::new(Some(budget));
        Funded {
            inner,
            budget,
            purse,
        }
    }
}

impl<H: Handler> Handler for Funded<'_, H> {
    forward!(runtime policy measure);

    // The outermost budget holds. It was set last, and comes first here.
    #[inline]
    fn overrides<'b>(&'b self, of_operation: Option<Overrides<'b>>) -> Option<Overrides<'b>> {
        let overrides = Overrides::with_budget(of_operation.as_ref(), self.budget);
        self.inner.overrides(Some(overrides))
    }

    #[inline]
    fn decide<R: Clock + Random>(
        &self,
        runtime: &R,
        policy: &Policy,
        retry: &mut RetryState,
        ruling: Ruling,
        overrides: Option<&Overrides<'_>>,
    ) -> Next {
        let overrides = Overrides::with_budget(overrides, self.budget);
        self.inner
            .decide(runtime, policy, retry, ruling, Some(&overrides))
    }

    // The outermost budget pays.
    fn hold(&mut self, retry: &mut RetryState) {
        self.purse.hold(retry);
    }

    fn begins(&mut self) {
        self.purse.begins();
        self.inner.begins();
    }

    fn give_back(&mut self) {
        self.purse.give_back();
        self.inner.give_back();
    }
}

impl<E, H: Handle<E>> Handle<E> for Funded<'_, H> {
    forward!(judge keep notify);
}

/// Owns a policy. Made by [`Retrying::owned`](super::future::Retrying::owned).
#[derive(Debug)]
pub struct Owning<H> {
    inner: H,
    policy: Policy,
    purse: Purse<'static>,
}

impl<H> Owning<H> {
    pub(super) const fn new(inner: H, policy: Policy) -> Self {
        Owning {
            inner,
            policy,
            purse: Purse::new(policy.budget),
        }
    }
}

impl<H: Handler> Handler for Owning<H> {
    forward!(runtime measure);

    #[inline]
    fn policy<'p>(&'p self, _borrowed: &'p Policy) -> &'p Policy {
        &self.policy
    }

    // If an earlier setting names a budget, that budget has paid.
    fn hold(&mut self, retry: &mut RetryState) {
        self.inner.hold(retry);
        self.purse.hold(retry);
    }

    fn begins(&mut self) {
        self.purse.begins();
        self.inner.begins();
    }

    fn give_back(&mut self) {
        self.purse.give_back();
        self.inner.give_back();
    }

    forward!(overrides decide);
}

impl<E, H: Handle<E>> Handle<E> for Owning<H> {
    forward!(judge keep notify);
}

/// Counts the numbers of a report, and keeps the last real error. Made by
/// [`Retrying::reported`](super::future::Retrying::reported).
#[derive(Clone, Copy, Debug)]
pub struct Measured<H, E> {
    pub(crate) inner: H,
    /// In nanoseconds.
    slept: u64,
    /// The server's hint with the last failure, in nanoseconds; zero is none.
    hint: u64,
    conflicts: u32,
    reason: Option<StopReason>,
    last: Option<E>,
}

impl<H, E> Measured<H, E> {
    pub(crate) const fn new(inner: H) -> Self {
        Measured {
            inner,
            slept: 0,
            hint: 0,
            conflicts: 0,
            reason: None,
            last: None,
        }
    }

    /// The reason why no further attempt was made, at the end of the call.
    pub(crate) fn reason(&self) -> StopReason {
        self.reason.unwrap_or(StopReason::Permanent)
    }

    /// Whether the call was given up.
    pub(crate) const fn gave_up(&self) -> bool {
        self.reason.is_some()
    }

    /// The server's hint with the last failure.
    pub(crate) fn hint(&self) -> Option<Duration> {
        (self.hint > 0).then(|| Duration::from_nanos(self.hint))
    }

    /// The last real error, if the returned error only stands for an attempt that was cut.
    pub(crate) fn take_last(&mut self) -> Option<E> {
        self.last.take()
    }
}

impl<H: Handler, E> Handler for Measured<H, E> {
    forward!(runtime policy overrides decide hold);

    const MEASURES: bool = true;
    const LISTENS: bool = H::LISTENS;
    const WANTS_RULINGS: bool = true;

    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
        self.inner.judged(stage, ruling, fault);
        self.hint = match (ruling.hint, fault) {
            (0, Some(fault)) if stage.is_judged() => fault.retry_after().map_or(0, nanos),
            (hint, _) => hint,
        };
    }

    fn measure(&mut self, ending: Ending<'_>, is_conflict: bool, next: Next) {
        self.inner.measure(ending, is_conflict, next);
        if !ending.stage().is_cut() {
            self.last = None;
        }
        self.slept = self.slept.saturating_add(next.delay());
        self.conflicts = self.conflicts.saturating_add(is_conflict.into());
        self.reason = next.reason();
    }

    fn measured(&self) -> Measures {
        Measures {
            slept: Duration::from_nanos(self.slept),
            conflicts: self.conflicts,
            ..Measures::default()
        }
    }
}

impl<E, H: Handle<E>> Handle<E> for Measured<H, E> {
    forward!(judge notify);

    fn keep(&mut self, error: E, stage: Stage) {
        if !stage.is_cut() {
            self.last = Some(error);
        }
    }
}

pub(super) use forward;

/// A handler that is called again later.
#[derive(Debug)]
pub(crate) struct Lent<'a, H> {
    pub(crate) inner: &'a mut H,
}

impl<H: Handler> Handler for Lent<'_, H> {
    forward!(runtime policy measure overrides decide hold);
}

impl<E, H: Handle<E>> Handle<E> for Lent<'_, H> {
    forward!(judge keep notify);
}
