//! A function whose context is a constant: its loop begins in one call, because each call in an annotated function
//! takes compile time.

use super::context::{Context, WithoutBudget, start};
use crate::{call::plan::Guard, policy::Policy, runtime::Clock};
use core::ops::Deref;

/// A context that is a constant, named by a closure: the closure takes no room in the future, and if
/// the constant names no budget, the compiler removes the return of tokens.
#[derive(Clone, Copy)]
pub struct ConstantContext<F>(F);

impl<F: Fn() -> &'static Context<'static>> ConstantContext<F> {
    #[inline]
    fn context(&self) -> &'static Context<'static> {
        (self.0)()
    }
}

impl<F: Fn() -> &'static Context<'static>> Deref for ConstantContext<F> {
    type Target = Policy;

    #[inline]
    fn deref(&self) -> &Policy {
        self.context().policy
    }
}

/// Before the first attempt of a function whose context is a constant without a budget.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub fn begin<C: Clock>(context: &Context<'_>, runtime: &C, timed: bool) -> Guard<WithoutBudget> {
    let mut guard = Guard::new(WithoutBudget);
    start(context, runtime, &mut guard.state, timed);
    guard
}

/// The same, if the constant may name a budget.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub fn begin_known<F, C>(context: F, runtime: &C, timed: bool) -> Guard<ConstantContext<F>>
where
    F: Fn() -> &'static Context<'static>,
    C: Clock,
{
    let mut guard = Guard::new(ConstantContext(context));
    start(guard.plan.context(), runtime, &mut guard.state, timed);
    guard
}

/// The constant.
#[inline]
pub fn known<F>(guard: &Guard<ConstantContext<F>>) -> &'static Context<'static>
where
    F: Fn() -> &'static Context<'static>,
{
    guard.plan.context()
}
