//! One call: its plan, its state, its operation, its settings and its runtime. Every form has a call and asks the call
//! for the next step after each attempt.

use super::{
    call_state::CallState,
    operation::{Failed, Memory, Operation, Run},
    parts::{End, Parts},
    plan::{CallPlan, Guard, Plan},
    setting::Setting,
    settings::until,
};
use crate::{
    event::attempt_event::Started,
    policy::NEVER,
    runtime::{Clock, Random},
    state::{Decision, Rules},
};
use core::time::Duration;

/// A call.
pub struct Call<P: Plan, O, S, R> {
    pub(crate) guard: Guard<P>,
    pub(crate) operation: O,
    pub(crate) settings: S,
    pub(crate) runtime: R,
}

/// The next step after an attempt.
pub(super) enum After<T, E> {
    Done(Result<T, E>),
    /// The wait, and what ended the attempt.
    Wait(Duration, Result<T, Failed<E>>),
}

/// The outcome of an attempt of an operation.
pub(super) type Outcome<O> = Result<<O as Operation>::Value, Failed<<O as Operation>::Error>>;

/// The outcome of a call that ends without a further attempt; nothing if the attempt begins.
pub(super) type Ended<O> = Option<Result<<O as Operation>::Value, <O as Operation>::Error>>;

/// Tells the compiler that this path is rarely taken, so that the path of a success keeps the
/// registers.
#[cold]
#[inline]
pub(crate) fn rarely() {}

impl<P, O, S, R> Call<P, O, S, R>
where
    P: Plan,
    O: Operation,
    S: Setting<O::Value, O::Error>,
    R: Clock + Random,
{
    /// The parts that decide and are told.
    #[inline(always)]
    pub(super) fn parts(&mut self) -> Parts<'_, O::Value, O::Error, S, R> {
        let Guard { plan, state } = &mut self.guard;
        Parts::new(
            plan,
            &mut self.operation,
            state,
            &mut self.settings,
            &self.runtime,
        )
    }

    /// The rules of the call as they are now.
    #[inline]
    pub(super) fn rules(&self) -> Rules<'_> {
        Self::rules_of(&self.guard.plan, &self.settings)
    }

    /// The rules of a call of this plan and these settings, while another part of the call changes.
    #[inline]
    pub(super) fn rules_of<'r>(plan: &'r P, settings: &'r S) -> Rules<'r> {
        let mut rules = Rules::of(plan.policy());
        settings.rules(&mut rules);
        rules
    }

    /// Whether the timer woke so late that no time remains for the next attempt.
    #[inline]
    pub(super) fn is_late(&self) -> bool {
        let state = &self.guard.state.retry;
        state.is_late(&self.rules(), || self.runtime.now())
    }

    /// What the attempt can ask.
    #[inline]
    pub(super) fn run<'r>(guard: &'r Guard<P>, settings: &'r S, runtime: &'r R) -> Run<'r> {
        Run {
            rules: Self::rules_of(&guard.plan, settings),
            state: &guard.state,
            clock: runtime,
            random: runtime,
        }
    }

    /// Before the first attempt. Reads the clock only if something asks for the time.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn starts(&mut self) {
        let timed = O::TIMED || S::TIMED || self.rules().deadline() != NEVER;
        self.guard.state.start(&self.runtime, timed);
    }

    /// An attempt begins. `after_wait` says that a wait was before it.
    #[inline]
    pub(super) fn begins(&mut self, after_wait: bool) {
        if S::MEASURES {
            self.emit_beginning(after_wait);
        }
    }

    /// A function of its own, so that the path of a success keeps the registers.
    #[cold]
    #[inline(never)]
    fn emit_beginning(&mut self, after_wait: bool) {
        let Guard { plan, state } = &self.guard;
        let name = plan.operation().unwrap_or_else(|| self.operation.name());
        self.settings.begins(&Started {
            name,
            failures: state.retry.failures(),
            elapsed: match after_wait && S::TIMED {
                true => state.retry.elapsed(|| self.runtime.now()),
                false => Duration::ZERO,
            },
        });
    }

    /// After an attempt: a wait, or the outcome of the call.
    #[inline]
    pub(super) fn after(&mut self, outcome: Outcome<O>) -> After<O::Value, O::Error> {
        let (plan, settings) = (&self.guard.plan, &mut self.settings);
        let is_refused = |value: &O::Value| until::is_retried(plan.policy(), S::answer(value));
        let checked = match outcome {
            Ok(value) => match settings.conflict(&value) {
                Some(failed) => Err(failed),
                None => settings.check(value, is_refused),
            },
            failed => failed,
        };
        let failed = match checked {
            Ok(value) => return self.after_value(value),
            Err(failed) => failed,
        };
        rarely();
        let Guard { plan, state } = &mut self.guard;
        let (settings, runtime) = (&mut self.settings, &self.runtime);
        match after_failure::<_, O::Value, _, _, _>(
            plan,
            &mut self.operation,
            state,
            settings,
            runtime,
            &failed,
        ) {
            Decision::Wait(wait) => After::Wait(wait.delay, Err(failed)),
            Decision::Stop(_) => After::Done(Err(self.operation.last_word(failed.error))),
        }
    }

    #[inline]
    fn after_value(&mut self, value: O::Value) -> After<O::Value, O::Error> {
        if S::ANSWERS
            && let Some(fault) = S::answer(&value)
        {
            return match self.parts().answered(fault) {
                Some(wait) => After::Wait(wait, Ok(value)),
                None => After::Done(Ok(value)),
            };
        }
        if S::ANSWERS && self.guard.state.retry.is_in_flight() {
            let _runs = self.guard.runs();
            S::observe(&value);
        }
        self.parts().succeeded(None);
        After::Done(Ok(value))
    }

    /// The call ends between two attempts, with an error that the library has made.
    #[cold]
    pub(super) fn gives_up(&mut self, error: O::Error, end: End) -> O::Error {
        self.parts().ends(Some(&error), None, end);
        self.operation.last_word(error)
    }

    /// The call ends between two attempts with what ended the last attempt: a response unchanged, or an error.
    #[cold]
    pub(super) fn ends(&mut self, last: Outcome<O>, end: End) -> Result<O::Value, O::Error> {
        match last {
            Ok(value) => {
                self.parts().ends(None, S::answer(&value), end);
                Ok(value)
            }
            Err(failed) => Err(self.gives_up(failed.error, end)),
        }
    }
}

/// As [`Parts::failed`]. Compiled once for each plan, error type, list of settings and runtime, and not for each
/// operation.
#[cold]
#[inline(never)]
fn after_failure<P: CallPlan, T, E, S: Setting<T, E>, R: Clock + Random>(
    plan: &P,
    memory: &mut dyn Memory<E>,
    state: &mut CallState,
    settings: &mut S,
    runtime: &R,
    failed: &Failed<E>,
) -> Decision {
    let parts = Parts::new(plan, memory, state, settings, runtime);
    parts.failed(&failed.error, failed.stage, failed.is_stopped)
}
