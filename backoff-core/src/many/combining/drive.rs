//! The reads and writes of one resource, one group after another, until nobody waits.

use super::{
    caller::{Bound, Failing, Going, Outcome, Place},
    error::CombineError,
    group::{self, Applied},
    key_queue::KeyQueue,
    pieces::Pieces,
    rules::{Rules, Shared, Step, Told},
};
use crate::drive::write_outcome::WriteOutcome;
use crate::{
    delay::Pace,
    drive::{
        attempt::Failed,
        course::Course,
        deposit::Deposit,
        ending::Ending,
        handler::{ByCodes, Handle, Under},
        mark,
        until::Conflict,
    },
    facts::fault::{Fault, TimedOut},
    judge::{Ruling, Stage, is_perhaps_written, refuses_value},
    observe::Failure,
    policy::Policy,
    report::Updated,
    runtime::{Clock, Random, Sleep},
    state::{Decision, Overrides},
};
use core::{
    future::{Future, poll_fn},
    hash::Hash,
    mem,
    pin::Pin,
    task::{Poll, ready},
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
    let mut shift = Shift {
        rules,
        queue: &queue,
        deposit: Deposit::new(rules.policy),
        pieces: Pieces::default(),
        last: None,
        doubt: None,
        pace: Pace::new(),
    };
    while let Some(mark) = queue.read_begins() {
        shift.deposit.course.start_if_metered(&*rules.runtime);
        let wait = match shift.attempt(&key, mark).await {
            Ok(Ended::Works) => {
                shift.succeeded();
                None
            }
            Ok(Ended::Halved) => None,
            Err((failed, bound)) => shift.failed(failed, bound),
        };
        if let Some(wait) = wait {
            rules.runtime.sleep(wait).await;
            shift.deposit.begins();
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

/// The end of an attempt that did not fail.
enum Ended {
    /// The resource works.
    Works,
    /// The write was refused for its value, and its parts are written next: neither a success nor a
    /// failure.
    Halved,
}

/// The state of the driver of a resource.
struct Shift<'d, K, V, W, E, R> {
    rules: &'d Rules<K, V, W, E, R>,
    queue: &'d KeyQueue<V, W, E>,
    /// The waits and their payments belong to the resource.
    deposit: Deposit<Policy>,
    pieces: Pieces,
    /// The version that was read last, if values have a version.
    last: Option<Told>,
    /// The error of a write on top of that version that may have been applied.
    doubt: Option<Arc<E>>,
    /// The waits after conflicts with other writers.
    pace: Pace,
}

impl<K, V, W, E, R> Shift<'_, K, V, W, E, R>
where
    K: Clone,
    V: Clone,
    W: Clone,
    E: Fault,
    R: Clock + Sleep + Random,
{
    /// One read-modify-write for the waiting callers.
    async fn attempt(&mut self, key: &K, mark: Place) -> Result<Ended, (Failed<E>, Bound)> {
        let queue = self.queue;
        let bound = Bound::Before(mark);
        let mut time = Allowance::new(&*self.rules.runtime, self.rules.limit());
        let value = match time
            .within((self.rules.read)(key.clone()), Stage::Read)
            .await
        {
            Some(Ok(value)) => value,
            Some(Err(error)) => return Err((Failed::at(Stage::Read, error), bound)),
            None => return Err((self.cut(Stage::CutRead), bound)),
        };
        self.compare(&value);
        let now = self.now();
        let piece = self.pieces.next(|places| queue.keep_waiting(places));
        let is_piece = piece.is_some();
        let mut changes = queue.take(mark, piece, now);
        let applied = group::apply(value, &mut changes.all);
        drop(changes);
        let Applied {
            value,
            changed,
            unchanged,
            later,
            failed,
        } = applied;
        let done = |(place, value)| (place, Outcome::Done(Updated::Unchanged(value)));
        let told = unchanged.into_iter().map(done);
        queue.tell(told.chain(failed.into_iter().map(failing)).collect());
        let Some(value) = value else {
            drop(later);
            queue.give_back();
            if is_piece {
                self.pieces.done(false);
            }
            return Ok(Ended::Works);
        };
        if time.is_over().await {
            return Err((self.cut(Stage::CutRead), Bound::Taken));
        }
        self.pace
            .combines(u32::try_from(changed.len()).unwrap_or(u32::MAX));
        queue.write_begins();
        let written = time.within((self.rules.write)(key.clone(), value), Stage::Write);
        let written = written.await;
        let failed = match written {
            Some(Ok(reply)) => match &self.rules.conflict {
                Some((is_conflict, error)) if is_conflict(&reply) => {
                    Failed::at(Stage::Conflict, error(Conflict))
                }
                _ => {
                    let written = changed.into_iter().map(|place| (place, reply.clone()));
                    let written = written.map(|(place, reply)| (place, Updated::Written(reply)));
                    let later = later
                        .into_iter()
                        .map(|(place, value)| (place, Updated::Unchanged(value)));
                    let told = written.chain(later);
                    queue.tell(
                        told.map(|(place, done)| (place, Outcome::Done(done)))
                            .collect(),
                    );
                    queue.give_back();
                    if self.doubt.take().is_some() {
                        queue.resolved();
                    }
                    if is_piece {
                        self.pieces.done(true);
                    }
                    return Ok(Ended::Works);
                }
            },
            Some(Err(error)) => Failed::at(Stage::Write, error),
            None => self.cut(Stage::Cut),
        };
        if self.is_halved(&failed, changed.len()) {
            queue.give_back();
            if is_piece {
                self.pieces.done(false);
            }
            self.pieces.halve(changed);
            return Ok(Ended::Halved);
        }
        Err((failed, Bound::Taken))
    }

    /// The time of the clock. The clock is read here only if a caller has a deadline.
    fn now(&self) -> Option<Duration> {
        let is_asked = self.queue.has_deadlines();
        is_asked.then(|| self.rules.runtime.now())
    }

    /// Gives the version that was read to the pace, and compares it with the version of a write that may
    /// have been applied.
    fn compare(&mut self, value: &V) {
        let Some(versions) = &self.rules.versions else {
            return;
        };
        let version = (versions.read)(value);
        let last = self.last.as_deref();
        let passed = (versions.passed)(last.unwrap_or(&*version), &*version);
        self.pace.read(self.rules.runtime.now(), passed);
        if let (Some(error), Some(last)) = (&self.doubt, last)
            && !(versions.is_same)(last, &*version)
        {
            self.queue.overtaken(error);
            self.doubt = None;
        }
        self.last = Some(version);
    }

    /// Whether a part of the changes may be accepted.
    fn is_halved(&self, failed: &Failed<E>, changes: usize) -> bool {
        let Failed { error, stage } = failed;
        let policy = &self.rules.policy;
        *stage == Stage::Write
            && changes > 1
            && refuses_value(error)
            && policy.rule(Stage::Write, error).is_permanent()
    }

    /// An attempt was cut.
    fn cut(&self, stage: Stage) -> Failed<E> {
        let (limit, error) = match self.rules.attempt_timeout {
            Some((limit, error)) => (limit, error),
            None => unreachable!("only attempts with a limit are cut"),
        };
        Failed::at(stage, error(TimedOut::new(limit)))
    }

    /// The resource works: the next failure counts as the first one.
    fn succeeded(&mut self) {
        let mut handler = Under {
            inner: ByCodes,
            runtime: &*self.rules.runtime,
        };
        let (policy, name) = (&self.rules.policy, self.rules.name);
        let course = &self.deposit.course;
        course.succeeded::<E, _>(policy, &mut handler, name, None);
        self.deposit.course = Course::new();
        self.pace = Pace::new();
    }

    /// A step failed. Each caller whom the failure concerns and who makes no further attempt gets its
    /// outcome. Returns the wait before the next attempt, if a caller continues; the other callers begin
    /// anew. If all callers whom the failure concerns have left, nobody waits for this call any more: it
    /// ends as a stopped call.
    fn failed(&mut self, failed: Failed<E>, bound: Bound) -> Option<Duration> {
        let Failed { error, stage } = failed;
        let policy = &self.rules.policy;
        let ruling = |stage: Stage| ByCodes.rule(policy, stage, &error);
        self.keep_pace(ruling(stage).is_lost_race(stage));
        let is_doubtful = match stage {
            Stage::Write => is_perhaps_written(&error),
            stage => stage == Stage::Cut,
        };
        let stage = match stage {
            // A write that surely did nothing may be repeated, like a read.
            Stage::Write if !is_doubtful => Stage::Read,
            stage => stage,
        };
        let once = match stage {
            // The version decides.
            _ if self.rules.versions.is_some() => stage,
            Stage::Write => Stage::WriteOnce,
            Stage::Cut => Stage::CutOnce,
            other => other,
        };
        let failing = Failing {
            bound,
            is_doubtful,
            ends_blind: ruling(once) == Ruling::MAYBE_APPLIED,
            is_conflict: ruling(stage).is_conflict(),
            is_paced: self.pace.range().is_some(),
        };
        let standing = self.queue.step_failed(failing);
        let name = self.rules.name;
        let mut handler = Under {
            inner: ByCodes,
            runtime: &*self.rules.runtime,
        };
        if standing.all == 0 {
            let course = &mut self.deposit.course;
            let ending = Ending::failed(stage, Some(&error));
            course.cut(
                policy,
                &mut handler,
                name,
                &error,
                ending,
                WriteOutcome::Known,
            );
            self.anew();
            return None;
        }
        let now = self.now();
        let allowed = self.allowed(standing.able, standing.until.zip(now));
        let stage = if standing.repeatable == 0 {
            once
        } else {
            stage
        };
        let overrides = self
            .rules
            .versions
            .is_some()
            .then(|| Overrides::paced(&self.pace));
        let course = &mut self.deposit.course;
        let next = course.failed(
            &allowed,
            &mut handler,
            name,
            &error,
            stage,
            overrides.as_ref(),
            (),
        );
        let decided = match next.into() {
            Decision::Stop(reason) => Err(reason),
            Decision::Wait(wait) => Ok(Going {
                wait,
                begins: now.map(|now| now.saturating_add(wait.delay)),
            }),
        };
        let error = Arc::new(error);
        let going = self.queue.decided(failing, &error, decided);
        // All callers who would have continued have left meanwhile.
        let is_left = decided.is_ok() && going == 0;
        if is_left {
            let failure = Failure::new(Some(&*error), Some(&*error));
            let course = &mut self.deposit.course;
            course.stopped(policy, &mut handler, name, failure, WriteOutcome::Known);
        }
        if failing.is_doubtful && self.last.is_some() {
            self.doubt = Some(error);
        }
        match decided {
            Ok(next) if !is_left => Some(next.wait.delay),
            _ => {
                self.anew();
                None
            }
        }
    }

    /// Reports the failure to the pace.
    fn keep_pace(&mut self, is_conflict: bool) {
        if self.rules.versions.is_none() {
            return;
        }
        let now = || self.rules.runtime.now();
        self.rules
            .policy
            .keep_pace(&mut self.pace, is_conflict, now);
    }

    /// The policy with the limits of the callers: the call continues as long as one of them may continue.
    fn allowed(&self, able: usize, until: Option<(Duration, Duration)>) -> Policy {
        let failures = self.deposit.course.failures();
        let most = if able > 0 { u32::MAX } else { failures + 1 };
        let allowed = self.rules.policy.max_attempts(most);
        match until {
            // The deadline of a policy counts from the start of the course.
            Some((until, now)) => {
                let passed = self.deposit.course.elapsed_at(now);
                allowed.deadline(until.saturating_sub(now).saturating_add(passed))
            }
            None => allowed,
        }
    }

    /// The next callers have no failures yet. The budget gets back the tokens of a wait that does not take
    /// place.
    fn anew(&mut self) {
        self.deposit = Deposit::new(self.rules.policy);
        self.pace = Pace::new();
    }
}

/// A failed change as the outcome of its caller.
fn failing<V, W, E>(
    (place, failing): (Place, group::ChangeFailed<E>),
) -> (Place, Outcome<V, W, E>) {
    let outcome = match failing {
        group::ChangeFailed::Own(error) => Outcome::Failed(CombineError::Own {
            error,
            may_be_applied: false,
        }),
        group::ChangeFailed::Panicked(panic) => Outcome::Panicked(panic),
    };
    (place, outcome)
}

/// The time that an attempt has. The timer is made when the attempt is first found pending.
struct Allowance<'r, R: Sleep> {
    runtime: &'r R,
    limit: Option<Duration>,
    timer: Option<Pin<Box<R::Sleep>>>,
}

impl<'r, R: Sleep> Allowance<'r, R> {
    const fn new(runtime: &'r R, limit: Option<Duration>) -> Self {
        Allowance {
            runtime,
            limit,
            timer: None,
        }
    }

    /// The result of the step, or nothing if the time is over first. When the time is over, a write is
    /// polled once more, because it may be ready as well.
    async fn within<T>(&mut self, mut step: Step<T>, stage: Stage) -> Option<T> {
        let outcome = poll_fn(|cx| {
            let is_over = match &mut self.timer {
                Some(timer) => timer.as_mut().poll(cx).is_ready(),
                None => false,
            };
            if (!is_over || stage != Stage::Read)
                && let Poll::Ready(value) = step.as_mut().poll(cx)
            {
                return Poll::Ready(Some(value));
            }
            if !is_over {
                let (Some(limit), None) = (self.limit, &self.timer) else {
                    return Poll::Pending;
                };
                let timer = self.timer.insert(Box::pin(self.runtime.sleep(limit)));
                ready!(timer.as_mut().poll(cx));
            }
            Poll::Ready(None)
        });
        let outcome = outcome.await;
        if outcome.is_none() {
            mark::cutting(|| drop(step));
        }
        outcome
    }

    /// Whether the time is over.
    async fn is_over(&mut self) -> bool {
        let Some(timer) = &mut self.timer else {
            return false;
        };
        poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx).is_ready())).await
    }
}
