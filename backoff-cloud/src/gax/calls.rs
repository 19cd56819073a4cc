//! Which calls are under way. gax names the loop of an attempt that fails, but of an attempt that
//! succeeds it says no more than that one did.
//!
//! A call is looked for in the task that polls it. Where a task has several attempts under way, nobody
//! knows which of them succeeded, and nobody is told.

use backoff_core::__private::ForeignCall;
use google_cloud_gax_1::retry_state::RetryState as Loop;
use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    time::{Duration, Instant},
};
use tokio::task;

/// A call of which nothing was heard for so long counts as dropped.
const SILENCE: Duration = Duration::from_secs(600);

/// After so long, calls that were dropped are looked for in all tasks.
const SWEEP: Duration = Duration::from_secs(60);

/// The calls of so many tasks are remembered: a few MiB.
const MOST_TASKS: usize = 16_384;

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
    /// The same of a call that came before this row was made, when there were too many tasks.
    was_left_out_until: Option<Instant>,
}

impl Task {
    /// Its first call is about to come. Most tasks have one at a time.
    fn new(was_left_out_until: Option<Instant>) -> Self {
        Task {
            calls: Vec::with_capacity(1),
            was_left_out_until,
            ..Task::default()
        }
    }

    /// Most of these were dropped. The attempt of another may still be under way, so that nobody can tell a
    /// success for a while.
    fn forget_silent(&mut self, now: Instant) {
        let silent = self.calls.iter().take_while(|it| it.is_silent(now)).count();
        if silent > 0 {
            self.calls.drain(..silent);
            self.incomplete_until = now.checked_add(SILENCE);
        }
    }

    /// Whether a success can only be that of a call that is remembered.
    fn is_clear(&self, now: Instant) -> bool {
        let is_over = |until: Option<Instant>| until.is_none_or(|until| until < now);
        is_over(self.incomplete_until)
            && is_over(self.was_left_out_until)
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
    /// With so many tasks, those are forgotten whose calls were dropped,
    sweep_at: usize,
    /// and at this time too, however many there are.
    sweep_after: Option<Instant>,
    /// There were too many tasks to remember a call, and until then it may succeed.
    left_out_until: Option<Instant>,
}

impl Calls {
    /// A call begins, or waits until `begins`.
    pub(super) fn put(&mut self, call: Call, now: Instant) {
        let is_late = self.sweep_after.is_none_or(|after| after <= now);
        if is_late || self.tasks.len() >= self.sweep_at {
            self.sweep(now);
        }
        let count = self.tasks.len();
        match self.tasks.entry(task::try_id()) {
            Entry::Occupied(task) => task.into_mut().push(call, now),
            Entry::Vacant(place) if count < MOST_TASKS => {
                place.insert(Task::new(self.left_out_until)).push(call, now);
            }
            Entry::Vacant(_) => self.left_out_until = now.checked_add(SILENCE),
        }
    }

    /// Forgets the tasks whose calls were dropped.
    fn sweep(&mut self, now: Instant) {
        let is_full = self.tasks.len() >= MOST_TASKS;
        self.tasks.retain(|_, task| {
            task.forget_silent(now);
            task.calls.shrink_to_fit();
            let is_over = task.is_over(now) || is_full && task.calls.is_empty();
            !is_over
        });
        if is_full {
            // In place of what the rows without a call knew.
            self.left_out_until = now.checked_add(SILENCE);
        }
        self.sweep_at = self.tasks.len().saturating_mul(2).max(64);
        self.sweep_after = now.checked_add(SWEEP);
        self.tasks.shrink_to(self.sweep_at);
    }

    /// A call waits after a failure. Where nobody knows how long, a `delay` of zero makes it count as under
    /// way, so that no other call of the task is taken for the one that succeeded.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::RefCell, rc::Rc};

    const SECOND: Duration = Duration::from_secs(1);

    type Shared = Rc<RefCell<Calls>>;

    /// In a task of its own.
    async fn in_a_task(calls: &Shared, work: impl FnOnce(&mut Calls) + 'static) {
        let calls = Rc::clone(calls);
        let task = async move { work(&mut calls.borrow_mut()) };
        task::spawn_local(task).await.unwrap()
    }

    fn begins(calls: &mut Calls, at: Instant) {
        calls.put(Call::resumed(&Loop::default().set_start(at), 0), at);
    }

    #[tokio::test(flavor = "local")]
    async fn dropped_calls_are_bounded_and_forgotten_after_a_burst() {
        let (calls, start) = (Shared::default(), Instant::now());
        for _ in 0..MOST_TASKS + 100 {
            in_a_task(&calls, move |calls| begins(calls, start)).await;
        }
        assert_eq!(calls.borrow().tasks.len(), MOST_TASKS);
        // A few calls, far fewer than there were: time alone has to bring the sweep.
        for n in 1..=30 {
            let now = start + n * SWEEP;
            in_a_task(&calls, move |calls| {
                begins(calls, now);
                assert!(calls.succeeded(now).is_some() || n < 22);
            })
            .await;
        }
        assert!(calls.borrow().is_empty());
        assert!(calls.borrow().tasks.capacity() < 1_000);
    }

    #[tokio::test(flavor = "local")]
    async fn a_task_whose_call_was_left_out_tells_no_success_for_a_while() {
        let (calls, start) = (Shared::default(), Instant::now());
        in_a_task(&calls, move |calls| begins(calls, start)).await;
        for _ in 0..MOST_TASKS {
            let later = start + 500 * SECOND;
            in_a_task(&calls, move |calls| begins(calls, later)).await;
        }
        in_a_task(&calls, move |calls| {
            let mut now = start + 501 * SECOND;
            // All rows are taken.
            begins(calls, now);
            assert!(calls.succeeded(now).is_none());
            // The first row is forgotten, and the call that was left out may be the one that succeeds.
            for n in [800, 1_000] {
                now = start + n * SECOND;
                begins(calls, now);
                assert!(calls.succeeded(now).is_none(), "after {n} s");
            }
            now = start + 2_500 * SECOND;
            begins(calls, now);
            assert!(calls.succeeded(now).is_some());
        })
        .await;
    }

    /// A row: when a call begins, when one succeeds, and whether it is known which, in seconds.
    #[test]
    fn a_call_that_counts_as_dropped_may_be_the_one_that_succeeds() {
        for steps in [
            // An attempt of more than ten minutes, and twenty minutes later.
            [
                (0, 0, None),
                (601, 602, Some(false)),
                (1_204, 1_204, Some(true)),
            ],
            // The second of two that may have succeeded may still be under way.
            [
                (0, 0, None),
                (599, 600, Some(false)),
                (601, 601, Some(false)),
            ],
        ] {
            let (mut calls, start) = (Calls::default(), Instant::now());
            for (begun, succeeded, is_known) in steps {
                begins(&mut calls, start + begun * SECOND);
                let found = is_known.map(|_| calls.succeeded(start + succeeded * SECOND));
                assert_eq!(found.map(|it| it.is_some()), is_known, "{steps:?}");
            }
        }
    }

    /// Calls that began one second after the other, the last one now.
    fn begun(n: u32) -> (Calls, Vec<Loop>, Instant) {
        let first = Instant::now();
        let states = (0..n).map(|n| Loop::default().set_start(first + n * SECOND));
        let (states, mut calls): (Vec<_>, _) = (states.collect(), Calls::default());
        for state in &states {
            calls.put(Call::resumed(state, 0), state.start);
        }
        let now = states.last().map_or(first, |state| state.start);
        (calls, states, now)
    }

    #[test]
    fn one_of_several_is_known_when_all_others_have_failed() {
        for failing in [[0, 1], [0, 2], [1, 2]] {
            let (mut calls, states, now) = begun(3);
            assert!(calls.succeeded(now).is_none());
            for n in failing {
                assert!(calls.take(&states[n], 0, now).is_some(), "{failing:?}");
            }
            assert!(calls.is_empty(), "{failing:?}");
        }
    }

    #[test]
    fn none_of_several_is_told_until_all_are_over() {
        let (mut calls, states, now) = begun(3);
        let call = calls.take(&states[2], 0, now).unwrap();
        calls.wait(call, SECOND, now);
        // Two that are under way, and one that waits; then the last of the two.
        assert!(calls.succeeded(now).is_none());
        assert!(calls.succeeded(now).is_none());
        // The wait is over, and the others are, too.
        let later = now + 2 * SECOND;
        let found = calls.succeeded(later).map(|call| call.start());
        assert_eq!(found, None, "it began before the others were over");
        assert!(calls.is_empty());
    }

    #[test]
    fn a_call_is_found_after_as_many_failures_as_it_had() {
        let (mut calls, states, now) = begun(1);
        assert!(calls.take(&states[0], 1, now).is_none());
        let other = states[0].clone().set_idempotent(true);
        assert!(calls.take(&other, 0, now).is_none());
        let call = calls.take(&states[0], 0, now).unwrap();
        calls.wait(call, SECOND, now);
        assert!(calls.succeeded(now).is_none(), "it waits");
        assert!(calls.take(&states[0], 1, now + SECOND).is_some());
    }

    #[test]
    fn where_calls_are_not_remembered_nothing_is_told_for_a_while() {
        let (mut calls, ..) = begun(0);
        let first = Instant::now();
        let state = |n: u32| Loop::default().set_start(first + Duration::from_nanos(n.into()));
        let last = first + SECOND;
        for n in 0..=MOST as u32 {
            calls.put(Call::resumed(&state(n), 0), last);
        }
        assert_eq!(calls.len(), MOST);
        for n in 1..=MOST as u32 {
            assert!(calls.take(&state(n), 0, last).is_some());
        }
        calls.put(Call::resumed(&state(7), 0), last);
        // It may be the one that is not remembered.
        assert!(calls.succeeded(last).is_none());
        let later = last + SILENCE + SECOND;
        let state = Loop::default().set_start(later);
        calls.put(Call::resumed(&state, 0), later);
        assert!(calls.succeeded(later).is_some());
        assert!(calls.is_empty());
    }
}
