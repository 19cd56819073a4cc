//! What every attempt of a call has in common.

use crate::rate::Rate;
use crate::{budget::Budget, policy::Policy, state::Overrides};
use core::time::Duration;

/// The rules of a call and the name of its operation. A constant, if it belongs to an annotated function
/// whose policy is a constant.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The rules of the call beside its policy: time limits, a budget, and rules of the operation.
    pub overrides: Option<Overrides<'a>>,
    /// The operation. A success without an event does not pay for its name.
    pub called: Called<'a>,
}

/// The operation of a call, from which events, spans and metrics have its name.
#[derive(Clone, Copy, Debug)]
pub enum Called<'a> {
    /// The name of the operation, or the name of its type.
    Name(&'static str),
    /// Its host, too. Behind a reference, so that other calls do not pay for it.
    OnHost(&'a OnHost<'a>),
}

/// The name of an operation, and the host that it calls.
#[derive(Clone, Copy, Debug)]
pub struct OnHost<'a> {
    name: &'static str,
    host: &'a str,
}

impl<'a> Context<'a> {
    /// A call that has only a policy.
    #[inline]
    pub(crate) const fn of(policy: &'a Policy, operation: &'static str) -> Self {
        Context {
            policy,
            overrides: None,
            called: Called::Name(operation),
        }
    }

    /// The operation and its host, for [`at`](Self::at), if it has one and there are logs.
    #[inline]
    pub(crate) fn on_host<'h>(&self, host: impl FnOnce() -> Option<&'h str>) -> Option<OnHost<'h>> {
        if !cfg!(feature = "tracing") {
            return None;
        }
        let name = self.called.name();
        host().map(|host| OnHost { name, host })
    }

    /// The same call, on this host.
    #[inline]
    pub(crate) fn at(self, on_host: &'a Option<OnHost<'a>>) -> Self {
        match on_host {
            Some(on_host) => Context {
                called: Called::OnHost(on_host),
                ..self
            },
            None => self,
        }
    }

    /// By how much this time is after the deadline, unless attempts are cut at the deadline: then the attempt
    /// ended with the timer, or just before.
    pub(crate) fn late(&self, elapsed: Option<Duration>) -> Option<Duration> {
        let overrides = self.overrides.as_ref();
        if Overrides::cut_at_deadline(overrides) {
            return None;
        }
        let deadline = Overrides::deadline(overrides, self.policy);
        elapsed?
            .checked_sub(Duration::from_nanos(deadline))
            .filter(|late| !late.is_zero())
    }

    /// The budget that pays.
    #[inline]
    pub(crate) fn budget(&self) -> Option<&Budget> {
        Overrides::budget(self.overrides.as_ref(), self.policy)
    }

    /// The rate that says when an attempt begins.
    #[inline]
    pub(crate) fn rate(&self) -> Option<&'a Rate> {
        Overrides::rate(self.overrides.as_ref()).or(self.policy.shared_rate())
    }

    /// The name of the operation in hooks, logs, spans and metrics: that of a closure is the path of the
    /// function that holds the closure. The type of a boxed closure says nothing about the operation, in
    /// several hundred characters.
    pub(crate) fn operation(&self) -> &'static str {
        let mut path = self.called.name();
        if path.starts_with("alloc::boxed::Box<dyn ") {
            return "boxed closure";
        }
        // A closure in an async function, or in a closure, has several of these.
        while let Some(function) = path.strip_suffix("::{{closure}}") {
            path = function;
        }
        path
    }

    /// The host that the operation calls, for log events alone: a label of metrics must have few values.
    pub(crate) fn host(&self) -> Option<&'a str> {
        match self.called {
            Called::Name(_) => None,
            Called::OnHost(on_host) => Some(on_host.host),
        }
    }
}

impl Called<'_> {
    #[inline]
    const fn name(&self) -> &'static str {
        match self {
            Called::Name(name) => name,
            Called::OnHost(on_host) => on_host.name,
        }
    }
}
