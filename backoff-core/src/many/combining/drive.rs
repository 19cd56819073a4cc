//! The reads and writes of one resource, one group after another, until nobody waits.

use super::{
    caller::{Outcome, Place},
    failed_step::{self, Concerned, FailedStep},
    group::{self, Applied},
    key_queue::KeyQueue,
    pieces::Pieces,
    rules::{AnyVersion, Rules, Shared, Step},
};
use crate::{
    call::{
        call_state::CallState,
        cut_flag,
        operation::Named,
        parts::{End, Parts},
        plan::{Guard, Whose},
        settings::{
            judges::{By, ByCodes},
            values::Conflict,
        },
        timer::{Limit, Timer as _},
    },
    delay::Pace,
    facts::fault::{Fault, TimedOut},
    judge::Stage,
    policy::Policy,
    rate::Reply,
    report::Updated,
    runtime::{Clock, Random, Sleep, timer_of},
    state::{self, Together},
};
use core::{
    future::{Future, poll_fn},
    hash::Hash,
    mem,
    pin::{Pin, pin},
    task::{self, Poll},
    time::Duration,
};
use std::sync::Arc;

/// Drives a resource until nobody waits for it.
pub(super) async fn drive<K, V, W, E, R>(
    shared: Arc<Shared<K, V, W, E, R>>,
    queue: Arc<KeyQueue<V, W, E>>,
    key: K,
) where
    K: Clone + Eq + Hash,
    V: Clone,
    W: Clone,
    E: Fault,
    R: Clock + Sleep + Random,
{
    let rules = &shared.rules;
    let mut driver = DriverState {
        rules,
        queue: &queue,
        guard: Guard::new(rules.policy),
        pieces: Pieces::default(),
        last: None,
        maybe_applied: None,
        pace: Pace::new(),
        settings: By(ByCodes),
        operation: Named(rules.operation),
    };
    while queue.read_begins().is_some() {
        driver.guard.state.start_if_metered(&*rules.runtime);
        driver.enters().await;
        // Callers may have come or left while the driver waited for its turn.
        let Some(mark) = queue.read_begins() else {
            break;
        };
        if let Some(now) = driver.now() {
            queue.rested(now);
        }
        let wait = match driver.attempt(&key, mark).await {
            Ok(()) => None,
            Err((error, failed)) => driver.failed(error, failed),
        };
        if let Some(wait) = wait {
            rules.runtime.sleep(wait).await;
            if rules.policy.shared_rate().is_none() {
                driver.guard.state.begins(&*rules.runtime);
            }
        }
        // The next read does not concern a caller that has its outcome, and signals must be asked before.
        let mut are_asked = false;
        poll_fn(|_| {
            let asks = !mem::replace(&mut are_asked, true) && queue.asks_signals();
            match asks || queue.ends_poll() {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
    }
}

/// The state of the driver of a resource.
struct DriverState<'d, K, V, W, E, R> {
    rules: &'d Rules<K, V, W, E, R>,
    queue: &'d KeyQueue<V, W, E>,
    /// The waits and their payments belong to the resource.
    guard: Guard<Policy>,
    pieces: Pieces,
    /// The version that was read last, if values have a version.
    last: Option<AnyVersion>,
    /// The error of a write on top of that version that may have been applied.
    maybe_applied: Option<Arc<E>>,
    /// The waits after conflicts with other writers.
    pace: Pace,
    settings: By<ByCodes>,
    operation: Named,
}

impl<'d, K, V, W, E, R> DriverState<'d, K, V, W, E, R>
where
    K: Clone,
    V: Clone,
    W: Clone,
    E: Fault,
    R: Clock + Sleep + Random,
{
    /// One read-modify-write for the waiting callers. A write that is refused for its value is neither a
    /// success nor a failure: its parts are written next.
    async fn attempt(&mut self, key: &K, mark: Place) -> Result<(), (E, FailedStep)> {
        let (queue, rules) = (self.queue, self.rules);
        let limit = rules.attempt_timeout.map(|(limit, _)| limit);
        let (runtime, mut timer) = (&*rules.runtime, pin!(limit.map(Limit::new)));
        let read = (rules.read)(key.clone());
        let read = within(timer.as_mut(), runtime, read, Stage::Read).await;
        let value = self.judged(Stage::Read, read, Concerned::Before(mark))?;
        self.compare(&value);
        let now = self.now();
        let piece = self.pieces.next(|places| queue.keep_waiting(places));
        let mut changes = queue.take(&rules.policy, mark, piece, now);
        let applied = group::apply(value, &mut changes.all).await;
        drop(changes);
        let Applied {
            value,
            changed,
            told,
            later,
        } = applied;
        queue.tell(told);
        let Some(value) = value else {
            drop(later);
            queue.give_back();
            self.pieces.done(false);
            self.succeeded();
            return Ok(());
        };
        let is_over = poll_fn(|cx| {
            let timer = timer.as_mut().as_pin_mut();
            Poll::Ready(timer.is_some_and(|timer| timer.is_over(cx)))
        });
        if is_over.await {
            return self.judged(Stage::Read, None, Concerned::Taken);
        }
        self.pace
            .combines(u32::try_from(changed.len()).unwrap_or(u32::MAX));
        queue.write_begins();
        let write = (rules.write)(key.clone(), value);
        let written = within(timer, runtime, write, Stage::Write).await;
        let (stage, written) = match (written, &rules.conflict) {
            (Some(Ok(reply)), Some((is_conflict, error))) if is_conflict(&reply) => {
                (Stage::Conflict, Some(Err(error(Conflict))))
            }
            (written, _) => (Stage::Write, written),
        };
        let reply = match self.judged(stage, written, Concerned::Taken) {
            Ok(reply) => reply,
            // A part of the changes may be accepted.
            Err((error, failed)) if changed.len() > 1 && failed.refuses_value(&error) => {
                queue.give_back();
                self.pieces.done(false);
                self.pieces.halve(changed);
                return Ok(());
            }
            Err(failed) => return Err(failed),
        };
        let written = changed.into_iter();
        let written = written.map(|place| (place, Updated::Written(reply.clone())));
        let later = later.into_iter();
        let later = later.map(|(place, value)| (place, Updated::Unchanged(value)));
        let done = |(place, updated)| (place, Outcome::Done(updated));
        queue.tell(written.chain(later).map(done).collect());
        queue.give_back();
        if self.maybe_applied.take().is_some() {
            queue.resolved();
        }
        self.pieces.done(true);
        self.succeeded();
        Ok(())
    }

    /// Waits for a turn at the rate of the policy, if it has one.
    async fn enters(&mut self) {
        let (policy, runtime) = (&self.rules.policy, &*self.rules.runtime);
        let Some(rate) = policy.shared_rate() else {
            return;
        };
        // A write that was refused for its value, and whose parts are written next, was a reply.
        {
            self.parts(&self.rules.policy)
                .replied(Some(Reply::Admitted));
        }
        let waiting = &mut self.guard.state;
        let queued = waiting.enters(rate, &state::Rules::of(policy), runtime);
        if let Some(mut queued) = queued {
            if self.queue.is_timed() {
                self.queue.rests(runtime.now());
            }
            let stands = poll_fn(|cx| waiting.turn(&mut queued, runtime, cx));
            let _ = stands.await;
        }
    }

    /// The time of the clock. The clock is read here only if a caller needs the time.
    fn now(&self) -> Option<Duration> {
        let is_timed = self.queue.is_timed();
        is_timed.then(|| self.rules.runtime.now())
    }

    /// Gives the version that was read to the pace, and compares it with the version of a write that may
    /// have been applied.
    fn compare(&mut self, value: &V) {
        let Some(versions) = &self.rules.versions else {
            return;
        };
        let version = (versions.read)(value);
        let last = self.last.as_deref();
        let is_same = last.is_some_and(|last| (versions.compare)(last, &*version));
        self.pace.read(self.rules.runtime.now(), is_same);
        if !is_same && let Some(error) = self.maybe_applied.take() {
            self.queue.overtaken(&error);
        }
        self.last = Some(version);
    }

    /// The result of a step; `None` if the step was cut. A failure is judged here, once.
    fn judged<T>(
        &self,
        stage: Stage,
        result: Option<Result<T, E>>,
        concerned: Concerned,
    ) -> Result<T, (E, FailedStep)> {
        let (stage, error) = match (result, self.rules.attempt_timeout) {
            (Some(Ok(value)), _) => return Ok(value),
            (Some(Err(error)), _) => (stage, error),
            (None, Some((limit, error))) => (stage.cut(), error(TimedOut::new(limit))),
            (None, None) => unreachable!("only attempts with a limit are cut"),
        };
        let has_versions = self.rules.versions.is_some();
        let Rules { policy, judge, .. } = self.rules;
        let failed = FailedStep::new(policy, &**judge, stage, &error, concerned, has_versions);
        Err((error, failed))
    }

    /// The parts of the call that decide. The judge of the settings is not asked: `FailedStep` has the ruling.
    fn parts<'c>(&'c mut self, whose: &'c dyn Whose) -> Parts<'c, (), E, By<ByCodes>, R> {
        let (state, runtime) = (&mut self.guard.state, &*self.rules.runtime);
        Parts::new(
            whose,
            &mut self.operation,
            state,
            &mut self.settings,
            runtime,
        )
    }

    /// The resource works: the next failure counts as the first one.
    fn succeeded(&mut self) {
        self.parts(&self.rules.policy).succeeded(None);
        self.guard.state = CallState::new();
        self.pace = Pace::new();
    }

    /// A step failed. Each caller whom the failure concerns and who makes no further attempt gets its
    /// outcome. Returns the wait before the next attempt, if a caller continues; the other callers begin
    /// anew. If all callers whom the failure concerns have left, nobody waits for this call any more: it
    /// ends as a stopped call.
    fn failed(&mut self, error: E, failed: FailedStep) -> Option<Duration> {
        let (policy, runtime) = (&self.rules.policy, &*self.rules.runtime);
        let stage = failed.stage;
        if self.rules.versions.is_some() {
            let now = || runtime.now();
            policy.keep_pace(&mut self.pace, failed.ruling.kind_at(stage), now);
        }
        let now = self.now().unwrap_or_default();
        let is_paced = self.pace.range().is_some();
        let together_now = self.queue.step_failed(policy, failed, is_paced, now);
        let Some(failed_step::Together { ruling, patience }) = together_now else {
            self.parts(policy).abandoned(&error, stage);
            self.anew();
            return None;
        };
        let elapsed = self.guard.state.retry.elapsed(|| now);
        let deadline = patience.map(|patience| elapsed.saturating_add(patience));
        let of_all = Together::new(policy, self.pace, deadline);
        let next = self.parts(&of_all).ruled(&error, stage, ruling);
        let error = Arc::new(error);
        let continues = self.queue.decided(policy, failed, &error, next, now);
        // All callers who would have continued have left meanwhile.
        if next.is_wait() && !continues {
            self.parts(policy).ends(Some(&*error), None, End::Stopped);
        }
        if failed.maybe_applied && self.last.is_some() {
            self.maybe_applied = Some(error);
        }
        if !continues {
            self.anew();
        }
        continues.then(|| next.wait())
    }

    /// The next callers have no failures yet. The budget gets back the tokens of a wait that does not take
    /// place.
    fn anew(&mut self) {
        self.guard = Guard::new(self.rules.policy);
        self.pace = Pace::new();
    }
}

/// The result of the step, or nothing if the time of the attempt is over first.
async fn within<R: Sleep, T>(
    mut timer: Pin<&mut Option<Limit<R::Sleep>>>,
    runtime: &R,
    mut step: Step<T>,
    stage: Stage,
) -> Option<T> {
    let outcome = poll_fn(|cx| match timer.as_mut().as_pin_mut() {
        Some(timer) => {
            let make = |limit| timer_of(runtime, limit);
            let poll = |step: Pin<&mut Step<T>>, cx: &mut task::Context<'_>| step.poll(cx);
            let polled = timer.poll_attempt(Pin::new(&mut step), make, cx, stage, poll);
            polled.map(Result::ok)
        }
        None => step.as_mut().poll(cx).map(Some),
    });
    let outcome = outcome.await;
    if outcome.is_none() {
        cut_flag::cutting(|| drop(step));
    }
    outcome
}
