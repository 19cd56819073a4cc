//! What goes along with a call: who judges, who is told, which runtime and whose waits. One type
//! holds all of it; each thing that the caller says wraps what was said before.

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
    state::{Next, RetryState, Terms},
};
use core::{fmt, time::Duration};

/// What goes along with a call, apart from the operation: the runtime, and sometimes the policy.
pub trait Handler {
    /// Clock, timer and random numbers.
    type Runtime;
    /// Whether somebody asks how much time has passed.
    const MEASURES: bool = false;
    /// Whether a hook is called.
    const LISTENS: bool = false;
    /// Whether [`judged`](Self::judged) is called.
    const WANTS_RULINGS: bool = false;

    /// Clock, timer and random numbers.
    fn runtime(&self) -> &Self::Runtime;

    /// The policy: the one that the call borrows, unless this holds one.
    #[inline]
    fn policy<'p>(&'p self, borrowed: &'p Policy) -> &'p Policy {
        borrowed
    }

    /// What the call says beside its policy: what its operation says, and a budget.
    #[inline]
    fn terms<'b>(&'b self, of_operation: Option<Terms<'b>>) -> Option<Terms<'b>> {
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
        terms: Option<&Terms<'_>>,
    ) -> Next {
        // The short way of it is inlined; the rest is compiled once for a runtime.
        retry.decide(policy, ruling, terms, || runtime.now(), || runtime.random())
    }

    /// What is to be done about a failure, after what was ruled. Only a [`Doubt`](super::doubt::Doubt)
    /// changes it.
    #[inline]
    fn corrected(&self, stage: Stage, ruling: Ruling) -> Ruling {
        let _ = stage;
        ruling
    }

    /// What comes next, after what was decided. Only a [`Doubt`](super::doubt::Doubt) changes it.
    #[inline]
    fn concluded(&self, next: Next) -> Next {
        next
    }

    /// Takes over from the state what was paid for the wait that begins, if a budget paid that only
    /// this knows.
    #[inline]
    fn hold(&mut self, retry: &mut RetryState) {
        let _ = retry;
    }

    /// Waits on this thread, by this runtime; whether the call is stopped.
    #[inline]
    fn pause<R: BlockingSleep>(&self, runtime: &R, wait: Duration) -> bool {
        runtime.sleep_blocking(wait);
        false
    }

    /// The attempt that was waited for begins.
    #[inline]
    fn begins(&mut self) {}

    /// No attempt follows on the wait: what was paid for it goes back to a budget that only this knows.
    #[inline]
    fn give_back(&mut self) {}

    /// An attempt failed at this stage, this was ruled of the failure, and the fault is what the failure
    /// says of itself.
    #[inline]
    fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
        let _ = (stage, ruling, fault);
    }

    /// An attempt failed, or the call ended while no attempt was under way. `next` is what follows.
    #[inline]
    fn measure(&mut self, ending: Ending<'_>, is_conflict: bool, next: Next) {
        let _ = (ending, is_conflict, next);
    }

    /// What was counted by [`measure`](Self::measure).
    fn measured(&self) -> Measures {
        Measures::default()
    }
}

/// A [`Handler`] for operations whose error is an `E`.
pub trait Handle<E>: Handler {
    /// What is to be done about this error, apart from the limits.
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling;

    /// What is to be done about a failure at this stage: what the judge says, where one is asked.
    #[inline]
    fn rule(&self, policy: &Policy, stage: Stage, error: &E) -> Ruling {
        if stage.is_judged() {
            self.judge(policy, stage, error)
        } else {
            stage.ruling(policy)
        }
    }

    /// What the error says of itself, if it says something.
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault>;

    /// The loop goes on after this error. Only a report keeps it.
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

/// By these waits.
#[inline(never)]
fn decide_with<R: Clock + Random, D: Delay>(
    runtime: &R,
    policy: &Policy,
    retry: &mut RetryState,
    ruling: Ruling,
    terms: Option<&Terms<'_>>,
    delays: &D,
) -> Next {
    let (now, random) = (|| runtime.now(), || runtime.random());
    retry.decide_with(policy, ruling, terms, now, random, delays)
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

/// What each wrapper hands on to what it wraps.
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
    (@ terms) => {
        #[inline]
        fn terms<'b>(&'b self, of_operation: Option<Terms<'b>>) -> Option<Terms<'b>> {
            self.inner.terms(of_operation)
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
            terms: Option<&Terms<'_>>,
        ) -> Next {
            self.inner.decide(runtime, policy, retry, ruling, terms)
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
        const WANTS_RULINGS: bool = H::WANTS_RULINGS;

        #[inline]
        fn judged(&mut self, stage: Stage, ruling: Ruling, fault: Option<&dyn Fault>) {
            self.inner.judged(stage, ruling, fault);
        }

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

/// A hook is called as well. Made by [`Retrying::notify`](super::future::Retrying::notify).
#[derive(Clone, Copy, Debug)]
pub struct Notified<H, N> {
    pub(crate) inner: H,
    pub(crate) hook: N,
}

impl<H: Handler, N> Handler for Notified<H, N> {
    const MEASURES: bool = H::MEASURES;
    const LISTENS: bool = true;

    forward!(runtime policy counts terms decide hold);
}

impl<E, H: Handle<E>, N: Notify<E>> Handle<E> for Notified<H, N> {
    forward!(judge keep);

    fn notify(&mut self, event: &Event<'_, E>) {
        self.inner.notify(event);
        self.hook.notify(event);
    }
}

/// Another runtime. Made by [`Retrying::runtime`](super::future::Retrying::runtime).
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

    forward!(pause policy measure terms decide hold);
}

impl<E, H: Handle<E>, R> Handle<E> for Under<H, R> {
    forward!(judge keep notify);
}

/// Waits of its own. Made by [`Retrying::delays`](super::future::Retrying::delays).
#[derive(Clone, Copy, Debug)]
pub struct Delayed<H, D> {
    pub(crate) inner: H,
    pub(crate) delays: D,
}

impl<H: Handler, D: Delay> Handler for Delayed<H, D> {
    forward!(runtime policy measure terms hold);

    fn decide<R: Clock + Random>(
        &self,
        runtime: &R,
        policy: &Policy,
        retry: &mut RetryState,
        ruling: Ruling,
        terms: Option<&Terms<'_>>,
    ) -> Next {
        // What is inside is not asked to decide, but it may hold a budget.
        let terms = self.inner.terms(terms.copied());
        decide_with(runtime, policy, retry, ruling, terms.as_ref(), &self.delays)
    }
}

impl<E, H: Handle<E>, D: Delay> Handle<E> for Delayed<H, D> {
    forward!(judge keep notify);
}

/// A budget for one call. Made by [`Retrying::budget`](super::future::Retrying::budget).
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

    // The budget that was said last holds, and so the outermost one, which is the first here.
    #[inline]
    fn terms<'b>(&'b self, of_operation: Option<Terms<'b>>) -> Option<Terms<'b>> {
        let terms = Terms::with_budget(of_operation.as_ref(), self.budget);
        self.inner.terms(Some(terms))
    }

    #[inline]
    fn decide<R: Clock + Random>(
        &self,
        runtime: &R,
        policy: &Policy,
        retry: &mut RetryState,
        ruling: Ruling,
        terms: Option<&Terms<'_>>,
    ) -> Next {
        let terms = Terms::with_budget(terms, self.budget);
        self.inner
            .decide(runtime, policy, retry, ruling, Some(&terms))
    }

    // The outermost budget has paid.
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

/// A policy of its own. Made by [`Retrying::owned`](super::future::Retrying::owned).
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

    // A budget that was named before has paid, if there is one.
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

    forward!(terms decide);
}

impl<E, H: Handle<E>> Handle<E> for Owning<H> {
    forward!(judge keep notify);
}

/// Counts what a report says, and keeps the last real error. Made by
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

    /// Why no further attempt was made, once none is.
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

    /// The last real error, where the one that is handed back stands for an attempt that was cut.
    pub(crate) fn take_last(&mut self) -> Option<E> {
        self.last.take()
    }
}

impl<H: Handler, E> Handler for Measured<H, E> {
    forward!(runtime policy terms decide hold);

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

/// A handler that is asked and told again later.
#[derive(Debug)]
pub(crate) struct Lent<'a, H> {
    pub(crate) inner: &'a mut H,
}

impl<H: Handler> Handler for Lent<'_, H> {
    forward!(runtime policy measure terms decide hold);
}

impl<E, H: Handle<E>> Handle<E> for Lent<'_, H> {
    forward!(judge keep notify);
}

/// What the judge has said of a failure, so that nobody asks twice.
pub(super) struct Ruled<'a, H> {
    pub(super) inner: &'a mut H,
    pub(super) ruling: Ruling,
}

impl<H: Handler> Handler for Ruled<'_, H> {
    forward!(runtime policy measure terms decide hold);
}

impl<E, H: Handle<E>> Handle<E> for Ruled<'_, H> {
    fn judge(&self, _policy: &Policy, _stage: Stage, _error: &E) -> Ruling {
        self.ruling
    }

    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        self.inner.fault(error)
    }

    forward!(keep notify);
}
