//! The task of one resource: it reads, applies the waiting changes, writes and answers, one group after another, until
//! nobody waits.

use super::{
    caller::{Caller, Effect, Outcome},
    error::CombineError,
    failed_step::FailedStep,
    group,
    settings::{AnyVersion, Shared, Step},
};
use crate::{
    call::{
        after::reply_to,
        before::End,
        call_state::CallState,
        cut_flag,
        erased::ErasedCall,
        operation::AnyOperation,
        plan::{CallPlan, Guard},
        settings::{
            judges::{By, ByCodes},
            values::Conflict,
        },
    },
    delay::Pace,
    facts::fault::{Fault, FaultKind, TimedOut},
    judge::Verdict,
    policy::Policy,
    rate::RateReply,
    report::Updated,
    runtime::{Clock, Random, Sleep, Spawn},
    stage::{EndedBy, Stage},
    state::Together,
};
use core::{
    future::{Future, poll_fn},
    hash::Hash,
    mem,
    pin::{Pin, pin},
    task::{Poll, Waker},
    time::Duration,
};
use std::sync::Arc;

/// A task of a resource. When it is dropped, at its end or with the runtime, the callers who still wait begin the next
/// one. A task that never ran answers them: there is no runtime that would run the next one.
struct Running<K: Eq + Hash, V, W, E, R> {
    shared: Arc<Shared<K, V, W, E, R>>,
    key: K,
    has_begun: bool,
}

impl<K: Eq + Hash, V, W, E, R> Drop for Running<K, V, W, E, R> {
    fn drop(&mut self) {
        // Callers are woken and dropped after the lock.
        let (_gone, _removed): (Vec<_>, _);
        let mut resources = self.shared.resources();
        let Some(resource) = resources.get_mut(&self.key) else {
            return;
        };
        resource.has_task = false;
        let waiting = &mut resource.waiting;
        let is_removed = |caller: &mut Caller<V, W, E>| !self.has_begun || !caller.is_waiting();
        _gone = waiting.extract_if(.., is_removed).collect();
        let wakers: Vec<_> = waiting.iter().filter_map(Caller::waker).collect();
        if waiting.is_empty() {
            _removed = resources.remove_entry(&self.key);
        }
        drop(resources);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Begins the work of a resource, unless a task does it already.
pub(super) fn begin<K, V, W, E, R>(shared: &Arc<Shared<K, V, W, E, R>>, key: &K)
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    W: Clone + Send + Sync + 'static,
    E: Fault + Send + Sync + 'static,
    R: Clock + Sleep + Random + Spawn + Send + Sync + 'static,
    R::Sleep: Send + 'static,
{
    // The copy of a key may panic: nothing says yet that there is a task.
    let own_key = key.clone();
    let waker = match shared.resources().get_mut(key) {
        Some(resource) if !resource.has_task => {
            resource.has_task = true;
            resource.task.clone()
        }
        _ => return,
    };
    let mut running = Running {
        shared: Arc::clone(shared),
        key: own_key,
        has_begun: false,
    };
    shared.settings.runtime.spawn(Box::pin(async move {
        running.has_begun = true;
        let mut task = Task::new(&running.shared, &running.key);
        let mut work = pin!(task.work());
        // A read or a write that hangs is dropped when the last caller has left.
        poll_fn(|cx| {
            drop(waker.replace(Some(cx.waker().clone())));
            match running.shared.has_callers(&running.key) {
                true => work.as_mut().poll(cx),
                false => Poll::Ready(()),
            }
        })
        .await;
    }));
}

/// A half of a group whose write was refused for its value.
struct Piece<V, W, E> {
    callers: Vec<Caller<V, W, E>>,
    /// The piece below this one on the stack is the other half.
    is_left: bool,
    /// The other half was accepted, so this half has the refused value.
    is_suspect: bool,
}

struct Task<'t, K, V, W, E, R> {
    shared: &'t Shared<K, V, W, E, R>,
    key: &'t K,
    /// The callers of the running attempt.
    group: Vec<Caller<V, W, E>>,
    /// Set if the group is a piece: whether it is a left half.
    is_left: Option<bool>,
    /// A stack: the next piece is the last one.
    pieces: Vec<Piece<V, W, E>>,
    /// The waits and their payments belong to the resource.
    guard: Guard<Policy>,
    /// The version that was read last, if values have a version.
    last: Option<AnyVersion>,
    /// The waits after conflicts with other writers.
    pace: Pace,
    settings: By<ByCodes>,
}

impl<'t, K, V, W, E, R> Task<'t, K, V, W, E, R>
where
    K: Clone + Eq + Hash,
    V: Clone,
    W: Clone,
    E: Fault,
    R: Clock + Sleep + Random,
{
    fn new(shared: &'t Shared<K, V, W, E, R>, key: &'t K) -> Self {
        Task {
            shared,
            key,
            group: Vec::new(),
            is_left: None,
            pieces: Vec::new(),
            guard: Guard::new(shared.settings.policy),
            last: None,
            pace: Pace::new(),
            settings: By(ByCodes),
        }
    }

    async fn work(&mut self) {
        let settings = &self.shared.settings;
        let runtime = &*settings.runtime;
        while self.has_group() {
            self.guard.state.start_if_metered(runtime);
            self.wait_for_turn().await;
            // Callers may have come or left while the task waited for its turn.
            if !self.has_group() {
                continue;
            }
            let Err((error, failed)) = self.attempt().await else {
                continue;
            };
            if let Some(wait) = self.failed(error, failed) {
                runtime.sleep(wait).await;
                if settings.policy.shared_rate().is_none() {
                    self.guard.state.begins(runtime);
                }
            }
        }
    }

    /// The callers of the next attempt: those who go on, or those of the next piece, and those who came. A piece that
    /// surely has a refused change is halved at once and not written whole.
    fn has_group(&mut self) -> bool {
        self.group.iter_mut().for_each(Caller::give_back);
        self.group.retain(Caller::is_waiting);
        while self.group.is_empty() {
            let Some(piece) = self.pieces.pop() else {
                self.is_left = None;
                break;
            };
            self.group = piece.callers;
            self.is_left = Some(piece.is_left);
            self.group.retain(Caller::is_waiting);
            if piece.is_suspect && self.group.len() > 1 {
                self.halve();
            }
        }
        self.join();
        for caller in &mut self.group {
            caller.was_there = true;
        }
        !self.group.is_empty()
    }

    /// Takes in the callers who came, unless the group is a piece.
    fn join(&mut self) {
        if self.is_left.is_none() {
            self.group.extend(self.shared.newcomers(self.key));
        }
    }

    /// Halves the group: the left half is written first.
    fn halve(&mut self) {
        let mut left = mem::take(&mut self.group);
        let right = left.split_off(left.len() / 2);
        for (callers, is_left) in [(right, false), (left, true)] {
            let is_suspect = false;
            self.pieces.push(Piece {
                callers,
                is_left,
                is_suspect,
            });
        }
    }

    /// All callers that the task has.
    fn all(&mut self) -> impl Iterator<Item = &mut Caller<V, W, E>> {
        let pieces = self.pieces.iter_mut();
        let pieces = pieces.flat_map(|piece| &mut piece.callers);
        self.group.iter_mut().chain(pieces)
    }

    /// The callers whom a failure concerns.
    fn concerned(&mut self, failed: FailedStep) -> impl Iterator<Item = &mut Caller<V, W, E>> {
        let of_group = if failed.is_taken {
            self.group.len()
        } else {
            usize::MAX
        };
        self.all()
            .take(of_group)
            .filter(|caller| caller.is_waiting())
    }

    /// One read-modify-write for the group. A write that is refused for its value is neither a success nor a failure:
    /// its parts are written next.
    async fn attempt(&mut self) -> Result<(), (E, FailedStep)> {
        let (settings, key) = (&self.shared.settings, self.key);
        let limit = settings.attempt_timeout.map(|(limit, _)| limit);
        let mut timer = limit.map(|limit| Box::pin(settings.runtime.sleep(limit)));
        let read = (settings.read)(key.clone());
        let read = within(&mut timer, read).await;
        let value = self.judged(Stage::Read, read, false)?;
        if let Some(versions) = &settings.versions {
            let is_same = versions(&value, &mut self.last);
            self.pace.read(settings.runtime.now(), is_same);
        }
        self.join();
        let now = self.now();
        let take = |caller: &Caller<V, W, E>| caller.take(&settings.policy, now);
        self.group.retain(take);
        let Some((value, copy)) = group::apply(value, &mut self.group).await else {
            self.succeeded();
            return Ok(());
        };
        // The changes may have taken the time.
        let is_over = poll_fn(|cx| {
            let timer = timer.as_mut().map(|timer| timer.as_mut().poll(cx));
            Poll::Ready(timer.is_some_and(|timer| timer.is_ready()))
        });
        if is_over.await {
            return self.judged(Stage::Read, None, true);
        }
        let is_changed = |caller: &Caller<V, W, E>| matches!(caller.effect, Effect::Changed);
        let changes = self
            .group
            .iter()
            .filter(|caller| is_changed(caller))
            .count();
        self.pace
            .combines(u32::try_from(changes).unwrap_or(u32::MAX));
        let write = (settings.write)(key.clone(), value);
        let written = within(&mut timer, write).await;
        let (stage, written) = match (written, &settings.conflict) {
            (Some(Ok(reply)), Some((is_conflict, error))) if is_conflict(&reply) => {
                (Stage::Reply, Some(Err(error(Conflict))))
            }
            (written, _) => (Stage::Write, written),
        };
        let reply = match self.judged(stage, written, true) {
            Ok(reply) => reply,
            // A part of the changes may be accepted.
            Err((error, failed)) if changes > 1 && failed.refuses_value(&error) => {
                let others = self.group.extract_if(.., |caller| !is_changed(caller));
                let mut others: Vec<_> = others.collect();
                let all = self.group.iter_mut().chain(&mut others);
                all.for_each(Caller::give_back);
                self.shared.give_back(key, others);
                self.halve();
                return Ok(());
            }
            Err(failed) => return Err(failed),
        };
        for caller in &self.group {
            let updated = match caller.effect {
                Effect::Changed => Some(Updated::Written(reply.clone())),
                Effect::Unchanged => copy.clone().map(Updated::Unchanged),
                Effect::Waits => None,
            };
            if let Some(updated) = updated {
                caller.answer(Outcome::Done(updated));
            }
        }
        if self.is_left == Some(true)
            && let Some(right) = self.pieces.last_mut()
        {
            right.is_suspect = true;
        }
        self.succeeded();
        Ok(())
    }

    /// Waits for a turn at the rate of the policy, if it has one.
    async fn wait_for_turn(&mut self) {
        let (policy, runtime) = (&self.shared.settings.policy, &*self.shared.settings.runtime);
        // A write that was refused for its value, and whose parts are written next, was a reply.
        self.call(policy)
            .replied(Some(RateReply::Admitted), None, None);
        self.guard.state.wait_for_turn(policy, runtime).await;
    }

    /// The time of the clock. The clock is read here only if a caller needs the time.
    fn now(&mut self) -> Option<Duration> {
        let is_timed = self.all().any(|caller| caller.limits.is_timed());
        is_timed.then(|| self.shared.settings.runtime.now())
    }

    /// The result of a step; `None` if the step was cut. A failure is judged here, once. `is_taken`: the changes were
    /// taken.
    fn judged<T>(
        &self,
        stage: Stage,
        result: Option<Result<T, E>>,
        is_taken: bool,
    ) -> Result<T, (E, FailedStep)> {
        let settings = &self.shared.settings;
        let (ended_by, error) = match (result, settings.attempt_timeout) {
            (Some(Ok(value)), _) => return Ok(value),
            (Some(Err(error)), _) => (EndedBy::Operation, error),
            (None, Some((limit, error))) => (EndedBy::Clock, error(TimedOut::new(limit))),
            (None, None) => unreachable!("only attempts with a limit are cut"),
        };
        let (policy, judge) = (&settings.policy, &*settings.judge);
        let failed = FailedStep::new(policy, judge, (stage, ended_by), &error, is_taken);
        Err((error, failed))
    }

    /// The call without its types. The judge of the settings is not asked: `FailedStep` has the verdict.
    fn call<'c>(&'c mut self, plan: &'c dyn CallPlan) -> ErasedCall<'c, (), E, By<ByCodes>, R> {
        let (state, runtime) = (&mut self.guard.state, &*self.shared.settings.runtime);
        ErasedCall::new(
            plan,
            AnyOperation::named(self.shared.settings.operation),
            state,
            &mut self.settings,
            runtime,
        )
    }

    /// The resource works: the next failure counts as the first one.
    fn succeeded(&mut self) {
        self.call(&self.shared.settings.policy).succeeded(None);
        self.guard.state = CallState::new();
        self.pace = Pace::new();
    }

    /// A step failed. Each caller whom the failure concerns and who makes no further attempt gets its outcome. Returns
    /// the wait before the next attempt, if a caller continues; the other callers begin anew. If all callers whom the
    /// failure concerns have left, nobody waits for this call any more: it ends as a stopped call.
    fn failed(&mut self, error: E, failed: FailedStep) -> Option<Duration> {
        let settings = &self.shared.settings;
        let (policy, runtime, stage) = (&settings.policy, &*settings.runtime, failed.stage);
        if settings.versions.is_some() {
            let now = || runtime.now();
            policy.keep_pace(&mut self.pace, failed.verdict.kind_at(stage), now);
        }
        let now = self.now().unwrap_or_default();
        let is_paced = self.pace.range().is_some();
        // The verdict for the callers whose changes may be applied again, and how long the most patient of them may go
        // on.
        let (mut verdict, mut patience) = (None, None);
        for caller in self.concerned(failed) {
            caller.limits.failed(is_paced);
            caller.fail(failed.maybe_applied);
            let own = failed.verdict_for(caller);
            if own != Verdict::MaybeApplied {
                verdict = Some(own);
                patience = patience.max(caller.limits.patience(policy, now));
            }
            verdict = verdict.or(Some(own));
        }
        let Some(verdict) = verdict else {
            let mut call = self.call(policy);
            let verdict = match failed.ended_by {
                EndedBy::Operation => {
                    let kind = Some(FaultKind::Permanent);
                    call.replied(reply_to(Some(&error)), kind, Some(&error));
                    Verdict::Permanent
                }
                EndedBy::Clock | EndedBy::Signal => policy.rule_unjudged(stage),
            };
            let _stop = call.end_without_retry(failed.judged(&error, verdict));
            self.anew();
            return None;
        };
        let elapsed = self.guard.state.retry.elapsed(|| now);
        let deadline = patience.map(|patience: Duration| elapsed.saturating_add(patience));
        let of_all = Together::new(policy, self.pace, deadline);
        let next = self.call(&of_all).decided(failed.judged(&error, verdict));
        let error = Arc::new(error);
        let mut continues = false;
        for caller in self.concerned(failed) {
            let decided = caller
                .limits
                .decide(policy, failed.verdict_for(caller), next, now);
            let Some(reason) = decided.reason() else {
                caller.give_back();
                continues |= caller.is_waiting();
                continue;
            };
            let error = Arc::clone(&error);
            let may_be_applied = caller.maybe_applied();
            let error = CombineError::Shared {
                error,
                reason,
                may_be_applied,
            };
            let is_logged = next.reason() == Some(reason);
            caller.answer(Outcome::Failed { error, is_logged });
        }
        // All callers who would have continued have left meanwhile.
        if next.is_wait() && !continues {
            self.call(policy).end(Some(&*error), None, End::Stopped);
        }
        if !continues {
            self.anew();
        }
        continues.then(|| next.wait())
    }

    /// The next callers have no failures yet. The budget gets back the tokens of a wait that does not take place.
    fn anew(&mut self) {
        self.guard = Guard::new(self.shared.settings.policy);
        self.pace = Pace::new();
    }
}

/// The result of the step, or nothing if the time of the attempt is over first.
async fn within<S: Future<Output = ()>, T>(
    timer: &mut Option<Pin<Box<S>>>,
    mut step: Step<T>,
) -> Option<T> {
    let outcome = poll_fn(|cx| match (step.as_mut().poll(cx), &mut *timer) {
        (Poll::Pending, Some(timer)) => timer.as_mut().poll(cx).map(|()| None),
        (polled, _) => polled.map(Some),
    });
    let outcome = outcome.await;
    if outcome.is_none() {
        cut_flag::cutting(|| drop(step));
    }
    outcome
}
