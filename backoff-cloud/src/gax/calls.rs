//! Which calls are under way. gax names the loop of an attempt that fails, but of an attempt that
//! succeeds it says no more than that one did.
//!
//! A call is looked for in the task that polls it. Where a task has several attempts under way, nobody
//! knows which of them succeeded, and nobody is told.

use super::Loop;
use backoff_core::__private::ForeignCall;
use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};
use tokio::task;

/// A call of which nothing was heard for so long counts as dropped.
const SILENCE: Duration = Duration::from_secs(600);

/// So many calls of one task are remembered.
const MOST: usize = 1024;

/// So many calls of one task that may have succeeded are remembered.
const MOST_DOUBTFUL: usize = 32;

/// One call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    start: Instant,
    is_idempotent: bool,
    failures: u32,
    /// When the attempt under way began, or the next one begins.
    begins: Instant,
    pub(super) foreign: ForeignCall,
}

impl Call {
    /// A call of which no more is known than what gax tells.
    pub(super) fn resumed(state: &Loop, failures: u32) -> Self {
        Call {
            start: state.start,
            is_idempotent: state.idempotent,
            failures,
            begins: state.start,
            foreign: ForeignCall::resumed(Duration::ZERO, failures),
        }
    }

    /// When it began.
    pub(super) const fn start(&self) -> Instant {
        self.start
    }

    fn is(&self, state: &Loop, failures: u32) -> bool {
        (self.start, self.is_idempotent, self.failures) == (state.start, state.idempotent, failures)
    }

    fn is_running(&self, now: Instant) -> bool {
        self.begins <= now
    }

    fn is_silent(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.begins) > SILENCE
    }
}

/// The calls of one task.
#[derive(Debug, Default)]
struct Task {
    /// Those that are under way, or were dropped. What was heard of last stands last.
    calls: Vec<Call>,
    /// In place of each success that could not be told apart, the youngest call that may have been it.
    doubtful: VecDeque<Call>,
    /// When that happened last.
    doubted: Option<Instant>,
    /// Some calls are not remembered, and until then one of them may succeed.
    incomplete_until: Option<Instant>,
}

impl Task {
    fn forget_silent(&mut self, now: Instant) {
        let silent = self.calls.iter().take_while(|it| it.is_silent(now)).count();
        self.calls.drain(..silent);
    }

    /// Whether a success can only be that of a call that is remembered.
    fn is_clear(&self, now: Instant) -> bool {
        self.incomplete_until.is_none_or(|until| until < now)
            && self
                .doubted
                .is_none_or(|doubted| self.calls.iter().all(|it| it.start > doubted))
    }

    fn push(&mut self, call: Call, now: Instant) {
        self.forget_silent(now);
        if self.calls.len() >= MOST {
            self.calls.remove(0);
            self.incomplete_until = now.checked_add(SILENCE);
        }
        self.calls.push(call);
    }

    fn take(&mut self, state: &Loop, failures: u32, now: Instant) -> Option<Call> {
        let is_it = |call: &Call| call.is(state, failures);
        let running = |call: &Call| is_it(call) && call.is_running(now);
        let place = self.calls.iter().position(running);
        if let Some(place) = place.or_else(|| self.calls.iter().position(is_it)) {
            return Some(self.calls.remove(place));
        }
        // It was under way all the time: then another one has succeeded.
        let place = self.doubtful.iter().position(is_it)?;
        let call = self.doubtful.remove(place);
        self.doubt(now);
        call
    }

    /// One of those that are under way has succeeded.
    fn doubt(&mut self, now: Instant) {
        let running = self.calls.iter().enumerate();
        let running = running.filter(|(_, call)| call.is_running(now));
        let Some((youngest, _)) = running.max_by_key(|(_, call)| call.start) else {
            return;
        };
        if self.doubtful.len() >= MOST_DOUBTFUL {
            self.doubtful.pop_front();
        }
        self.doubtful.push_back(self.calls.remove(youngest));
    }

    fn succeeded(&mut self, now: Instant) -> Option<Call> {
        self.forget_silent(now);
        let running = self.calls.iter().enumerate();
        let mut running = running.filter(|(_, call)| call.is_running(now));
        match (running.next(), running.next()) {
            (Some((only, _)), None) if self.is_clear(now) => Some(self.calls.remove(only)),
            _ => {
                self.doubt(now);
                self.doubted = Some(now);
                None
            }
        }
    }

    /// Whether nothing of it need be remembered.
    fn is_over(&self, now: Instant) -> bool {
        self.calls.is_empty() && self.incomplete_until.is_none_or(|until| until < now)
    }
}

/// The calls of all tasks, and in one row those of no task, which any thread may poll.
#[derive(Debug, Default)]
pub(super) struct Calls {
    tasks: HashMap<Option<task::Id>, Task>,
    /// With so many tasks, those are forgotten whose calls were dropped.
    sweep_at: usize,
}

impl Calls {
    /// A call begins, or waits until `begins`.
    pub(super) fn put(&mut self, call: Call, now: Instant) {
        if self.tasks.len() >= self.sweep_at {
            self.tasks.retain(|_, task| {
                task.forget_silent(now);
                !task.is_over(now)
            });
            self.sweep_at = self.tasks.len().saturating_mul(2).max(64);
        }
        let task = self.tasks.entry(task::try_id()).or_default();
        task.push(call, now);
    }

    /// A call waits after a failure.
    pub(super) fn wait(&mut self, call: Call, delay: Duration, now: Instant) {
        let call = Call {
            failures: call.failures.saturating_add(1),
            begins: now.checked_add(delay).unwrap_or(now),
            ..call
        };
        self.put(call, now);
    }

    /// The call of this loop after so many failures, which is no longer remembered.
    pub(super) fn take(&mut self, state: &Loop, failures: u32, now: Instant) -> Option<Call> {
        self.of_task(now, |task| task.take(state, failures, now))
    }

    /// The call that has succeeded, if there is one alone that can be meant.
    pub(super) fn succeeded(&mut self, now: Instant) -> Option<Call> {
        self.of_task(now, |task| task.succeeded(now))
    }

    fn of_task(
        &mut self,
        now: Instant,
        find: impl FnOnce(&mut Task) -> Option<Call>,
    ) -> Option<Call> {
        let id = task::try_id();
        let task = self.tasks.get_mut(&id)?;
        let found = find(task);
        if task.is_over(now) {
            self.tasks.remove(&id);
        }
        found
    }

    /// The calls that wait.
    pub(super) fn waiting(&mut self, now: Instant) -> impl Iterator<Item = &mut Call> {
        let calls = self.tasks.values_mut().flat_map(|task| &mut task.calls);
        calls.filter(move |call| !call.is_running(now))
    }

    /// How many calls are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let tasks = self.tasks.values();
        tasks.map(|it| it.calls.len() + it.doubtful.len()).sum()
    }

    /// Whether nothing is remembered.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}
