//! A setting of a call: one trait with default methods. Most settings write one to three of them.

use super::{operation::Failed, timer::Timer};
use crate::{
    event::attempt_event::AttemptEvent,
    facts::fault::{Fault, TimedOut},
    judge::Verdict,
    policy::Policy,
    stage::Stage,
    state::Rules,
};
use core::{pin::Pin, time::Duration};

/// What a setting puts around each attempt. This is a trait of its own, so that the type of a call does not depend on
/// the types of its outcome.
#[doc(hidden)]
pub trait Surrounds {
    /// The timer that cuts an attempt; [`Infallible`](core::convert::Infallible) is none.
    type Timer<S>: Timer<S>;
    /// An attempt, with its span if it has one.
    type Wrapped<A>;
    /// While this is alive, the attempt runs.
    type Scope<'s>
    where
        Self: 's;

    /// The attempt begins, or is polled.
    fn enter(&self) -> Self::Scope<'_>;

    /// The attempt, with its span if it has one. A call that is dropped drops its attempt inside of the span.
    fn around<A>(&self, attempt: A) -> Self::Wrapped<A>;

    /// The attempt inside.
    fn inner<'s, A>(&'s self, attempt: Pin<&'s mut Self::Wrapped<A>>) -> Pin<&'s mut A>;
}

/// A setting of a call whose outcome is a `Result<T, E>`, or a list of settings.
#[diagnostic::on_unimplemented(
    message = "the settings of this call do not fit its values, `{T}`, or its errors, `{E}`",
    label = "see the error at the method that makes the setting"
)]
#[doc(hidden)]
pub trait Setting<T, E>: Surrounds {
    /// Whether the setting is a hook, for which [`notify`](Self::notify) is called.
    const LISTENS: bool = false;
    /// Whether the setting gets the beginning and the end of each attempt.
    const MEASURES: bool = false;
    /// Whether the setting asks how much time has passed. Then the call reads the clock.
    const TIMED: bool = false;
    /// Whether a value may be judged as an error is.
    const ANSWERS: bool = false;
    /// Changes the rules of the call.
    #[inline]
    fn rules<'a>(&'a self, _rules: &mut Rules<'a>) {}

    /// Says whether an error is retried. Only the judge of a call does so.
    #[inline]
    fn judge(&self, _policy: &Policy, _stage: Stage, _error: &E) -> Option<Verdict> {
        None
    }

    /// The facts of an error.
    #[inline]
    fn fault<'e>(&self, _error: &'e E) -> Option<&'e dyn Fault> {
        None
    }

    /// The failure that counts in place of a value that reports a conflict. All settings are asked this before
    /// the first one is asked to [`check`](Self::check), so the order of the settings does not matter.
    #[inline]
    fn conflict(&mut self, _value: &T) -> Option<Failed<E>> {
        None
    }

    /// The value, or the failure that counts in its place. `is_refused` says whether the policy's codes refuse the
    /// value.
    ///
    /// # Errors
    /// The value counts as this failure.
    #[inline]
    fn check(&mut self, value: T, _is_refused: impl Fn(&T) -> bool) -> Result<T, Failed<E>> {
        Ok(value)
    }

    /// The facts of a value, if values are judged as errors are.
    #[inline]
    fn answer(_value: &T) -> Option<&dyn Fault> {
        None
    }

    /// A value is a reply: a rate learns from its headers.
    #[inline]
    fn observe(_value: &T) {}

    /// An attempt failed at this stage. Called before [`rules`](Self::rules).
    #[inline]
    fn failed(&mut self, _stage: Stage) {}

    /// An attempt of this operation begins, after so many failures. `elapsed` is the time since the start; zero if
    /// no wait came before, or if no setting asks for the time.
    #[inline]
    fn begins(&mut self, _operation: &'static str, _failures: u32, _elapsed: Duration) {}

    /// An attempt ended, or the call ended between two attempts. Called before the log and the hooks.
    #[inline]
    fn ended(&mut self, _event: &AttemptEvent<'_>) {}

    /// Calls the hook.
    #[inline]
    fn notify(&mut self, _event: &AttemptEvent<'_>, _error: Option<&E>) {}

    /// The call continues after this failure. Returns the failure if the setting does not keep it.
    #[inline]
    fn keep(&mut self, failed: Failed<E>) -> Option<Failed<E>> {
        Some(failed)
    }

    /// The failure that the setting has kept.
    #[inline]
    fn kept(&mut self) -> Option<Failed<E>> {
        None
    }

    /// The error of a call whose time is over.
    #[inline]
    fn expired(_late: TimedOut) -> Option<E> {
        None
    }
}

/// For a setting that puts nothing around an attempt, as nearly all settings. A setting that cuts attempts names its
/// timer.
macro_rules! surrounds_nothing {
    ($setting:ty $(: $generic:ident)?) => {
        $crate::call::setting::surrounds_nothing!($setting $(: $generic)?, core::convert::Infallible);
    };
    ($setting:ty $(: $generic:ident)?, $timer:ty) => {
        impl$(<$generic>)? $crate::call::setting::Surrounds for $setting {
            type Timer<Sleep> = $timer;
            type Wrapped<Inner> = Inner;
            type Scope<'s>
                = ()
            where
                Self: 's;

            #[inline]
            fn enter(&self) {}

            #[inline]
            fn around<Inner>(&self, attempt: Inner) -> Inner {
                attempt
            }

            #[inline]
            fn inner<'s, Inner>(
                &'s self,
                attempt: core::pin::Pin<&'s mut Inner>,
            ) -> core::pin::Pin<&'s mut Inner> {
                attempt
            }
        }
    };
}

pub(crate) use surrounds_nothing;

impl<A: Surrounds, B: Surrounds> Surrounds for (A, B) {
    type Timer<S> = <A::Timer<S> as Timer<S>>::Or<B::Timer<S>>;
    type Wrapped<F> = A::Wrapped<B::Wrapped<F>>;
    type Scope<'s>
        = (A::Scope<'s>, B::Scope<'s>)
    where
        Self: 's;

    #[inline]
    fn enter(&self) -> Self::Scope<'_> {
        (self.0.enter(), self.1.enter())
    }

    #[inline]
    fn around<F>(&self, attempt: F) -> Self::Wrapped<F> {
        self.0.around(self.1.around(attempt))
    }

    #[inline]
    fn inner<'s, F>(&'s self, attempt: Pin<&'s mut Self::Wrapped<F>>) -> Pin<&'s mut F> {
        self.1.inner(self.0.inner(attempt))
    }
}

/// The list: the settings before, and one more.
#[diagnostic::do_not_recommend]
impl<T, E, A: Setting<T, E>, B: Setting<T, E>> Setting<T, E> for (A, B) {
    const LISTENS: bool = A::LISTENS || B::LISTENS;
    const MEASURES: bool = A::MEASURES || B::MEASURES;
    const TIMED: bool = A::TIMED || B::TIMED;
    const ANSWERS: bool = A::ANSWERS || B::ANSWERS;
    #[inline]
    fn rules<'a>(&'a self, rules: &mut Rules<'a>) {
        self.0.rules(rules);
        self.1.rules(rules);
    }

    #[inline]
    fn judge(&self, policy: &Policy, stage: Stage, error: &E) -> Option<Verdict> {
        let later = self.1.judge(policy, stage, error);
        later.or_else(|| self.0.judge(policy, stage, error))
    }

    #[inline]
    fn fault<'e>(&self, error: &'e E) -> Option<&'e dyn Fault> {
        self.1.fault(error).or_else(|| self.0.fault(error))
    }

    #[inline]
    fn conflict(&mut self, value: &T) -> Option<Failed<E>> {
        self.0.conflict(value).or_else(|| self.1.conflict(value))
    }

    #[inline]
    fn check(&mut self, value: T, is_refused: impl Fn(&T) -> bool) -> Result<T, Failed<E>> {
        match self.0.check(value, &is_refused) {
            Ok(value) => self.1.check(value, is_refused),
            Err(failed) => {
                // The second setting got no value, so its row of awaited values ends.
                self.1.failed(Stage::Whole);
                Err(failed)
            }
        }
    }

    #[inline]
    fn answer(value: &T) -> Option<&dyn Fault> {
        A::answer(value).or_else(|| B::answer(value))
    }

    #[inline]
    fn observe(value: &T) {
        A::observe(value);
        B::observe(value);
    }

    #[inline]
    fn failed(&mut self, stage: Stage) {
        self.0.failed(stage);
        self.1.failed(stage);
    }

    #[inline]
    fn begins(&mut self, operation: &'static str, failures: u32, elapsed: Duration) {
        self.0.begins(operation, failures, elapsed);
        self.1.begins(operation, failures, elapsed);
    }

    #[inline]
    fn ended(&mut self, event: &AttemptEvent<'_>) {
        self.0.ended(event);
        self.1.ended(event);
    }

    #[inline]
    fn notify(&mut self, event: &AttemptEvent<'_>, error: Option<&E>) {
        self.0.notify(event, error);
        self.1.notify(event, error);
    }

    #[inline]
    fn keep(&mut self, failed: Failed<E>) -> Option<Failed<E>> {
        let failed = self.1.keep(failed)?;
        self.0.keep(failed)
    }

    #[inline]
    fn kept(&mut self) -> Option<Failed<E>> {
        self.1.kept().or_else(|| self.0.kept())
    }

    #[inline]
    fn expired(late: TimedOut) -> Option<E> {
        B::expired(late).or_else(|| A::expired(late))
    }
}
