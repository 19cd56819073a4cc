//! One call: its plan, its state, its settings and its runtime. Every form has a call and asks its [`Parts`] for the next
//! step after each attempt. The operation is not in it, so that a call is compiled once for all closures.

use super::{
    operation::{CallOf, Failed, Memory, Remembers, Run},
    parts::{End, Parts, rules_of},
    plan::{Guard, Plan},
    setting::Setting,
    settings::until,
};
use crate::{
    event::attempt_event::Started,
    policy::NEVER,
    runtime::{Clock, Random},
};
use core::time::Duration;

/// A call.
pub struct Call<P: Plan, S, R> {
    pub(crate) guard: Guard<P>,
    pub(crate) settings: S,
    pub(crate) runtime: R,
}

/// The outcome of an attempt.
pub(super) type Outcome<T, E> = Result<T, Failed<E>>;

/// The outcome of a call that ends without a further attempt; nothing if the attempt begins.
pub(super) type Ended<T, E> = Option<Result<T, E>>;

impl<T, E, P: Plan, S: Setting<T, E>, R: Clock + Random> CallOf<T, E> for Call<P, S, R> {
    #[inline]
    fn run(&self) -> Run<'_> {
        Run {
            rules: rules_of(&self.guard.plan, &self.settings),
            state: &self.guard.state,
            clock: &self.runtime,
            random: &self.runtime,
        }
    }
}

impl<P: Plan, S, R: Clock + Random> Call<P, S, R> {
    /// The parts that decide and are told.
    #[inline(always)]
    pub(super) fn parts<'c, T, E>(
        &'c mut self,
        memory: &'c mut Remembers<'_, E>,
    ) -> Parts<'c, T, E, S, R> {
        let Guard { plan, state } = &mut self.guard;
        Parts::new(plan, memory.get(), state, &mut self.settings, &self.runtime)
    }

    /// Before the first attempt. Reads the clock only if something asks for the time.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn starts<T, E>(&mut self, is_timed: bool)
    where
        S: Setting<T, E>,
    {
        let rules = rules_of(&self.guard.plan, &self.settings);
        let timed = is_timed || S::TIMED || rules.deadline() != NEVER;
        self.guard.state.start(&self.runtime, timed);
    }

    /// An attempt begins. `after_wait` says that a wait was before it.
    #[inline]
    pub(super) fn begins<T, E>(&mut self, memory: &dyn Memory<E>, after_wait: bool)
    where
        S: Setting<T, E>,
    {
        if S::MEASURES {
            self.emit_beginning(memory, after_wait);
        }
    }

    /// A function of its own, so that the path of a success keeps the registers.
    #[cold]
    #[inline(never)]
    fn emit_beginning<T, E>(&mut self, memory: &dyn Memory<E>, after_wait: bool)
    where
        S: Setting<T, E>,
    {
        let Guard { plan, state } = &self.guard;
        self.settings.begins(&Started {
            name: plan.operation().unwrap_or_else(|| memory.name()),
            failures: state.retry.failures(),
            elapsed: match after_wait && S::TIMED {
                true => state.retry.elapsed(|| self.runtime.now()),
                false => Duration::ZERO,
            },
        });
    }

    /// After an attempt: the value of the call, or what [`Parts::decides`] decides about.
    #[inline]
    pub(super) fn succeeds<T, E>(
        &mut self,
        memory: &mut Remembers<'_, E>,
        outcome: Result<T, impl Into<Failed<E>>>,
    ) -> Result<T, Outcome<T, E>>
    where
        S: Setting<T, E>,
    {
        let (plan, settings) = (&self.guard.plan, &mut self.settings);
        let is_refused = |value: &T| until::is_retried(plan.policy(), S::answer(value));
        let value = outcome.map_err(|failure| Err(failure.into()))?;
        if let Some(failed) = settings.conflict(&value) {
            return Err(Err(failed));
        }
        let value = settings.check(value, is_refused).map_err(Err)?;
        if S::ANSWERS && S::answer(&value).is_some() {
            return Err(Ok(value));
        }
        if S::ANSWERS && self.guard.state.retry.is_in_flight() {
            let _runs = self.guard.runs();
            S::observe(&value);
        }
        let Guard { plan, state } = &self.guard;
        let is_heard = (S::LISTENS || cfg!(feature = "tracing")) && state.retry.failures() > 0;
        if S::MEASURES || is_heard || plan.counts(&state.retry) || state.is_recorded() {
            self.tells(memory);
        } else {
            state.return_tokens(plan.budget());
        }
        Ok(value)
    }

    /// Tells of a success. A function of its own, so that the path of a success makes no [`Parts`].
    #[cold]
    #[inline(never)]
    fn tells<T, E>(&mut self, memory: &mut Remembers<'_, E>)
    where
        S: Setting<T, E>,
    {
        self.parts(memory).succeeded(None);
    }
}

impl<T, E, S: Setting<T, E>, R: Clock + Random> Parts<'_, T, E, S, R> {
    /// After an attempt that has not succeeded: the wait that follows, or the outcome of the call.
    #[inline]
    pub(super) fn decides(
        &mut self,
        last: Outcome<T, E>,
    ) -> Result<(Duration, Outcome<T, E>), Result<T, E>> {
        let wait = match &last {
            Ok(value) => S::answer(value).and_then(|fault| self.answered(fault)),
            Err(failed) => {
                let next = self.failed(&failed.error, failed.stage, failed.is_stopped);
                next.is_wait().then(|| next.wait())
            }
        };
        match wait {
            Some(wait) => Ok((wait, last)),
            None => Err(last.map_err(|failed| self.memory.last_word(failed.error))),
        }
    }

    /// Whether the timer woke so late that no time remains for the next attempt.
    pub(super) fn is_late(&self) -> bool {
        let now = || self.runtime.now();
        self.state.retry.is_late(&self.rules(), now)
    }

    /// The call ends between two attempts, with an error that the library has made.
    #[cold]
    pub(super) fn gives_up(&mut self, error: E, end: End) -> E {
        self.ends(Some(&error), None, end);
        self.memory.last_word(error)
    }

    /// The call ends between two attempts with what ended the last attempt: a response unchanged, or an error.
    #[cold]
    pub(super) fn ends_with(&mut self, last: Outcome<T, E>, end: End) -> Result<T, E> {
        match last {
            Ok(value) => {
                self.ends(None, S::answer(&value), end);
                Ok(value)
            }
            Err(failed) => Err(self.gives_up(failed.error, end)),
        }
    }
}
