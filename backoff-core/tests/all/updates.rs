//! Read-modify-writes in virtual time, with a store that conflicts and fails on command.
use crate::common::Scripted;
use backoff_core::{
    Budget, Conflict, Delivery, Event, Fault, FaultKind, Jitter, Policy, StopReason, TimedOut,
    Updated, codes,
};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    time::Duration,
};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(8);

#[derive(Debug, Clone, PartialEq)]
enum Failure {
    Status(u16),
    Aborted,
    Reset,
    Refused,
    Invalid,
    TimedOut,
    Conflict,
}

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        match self {
            Failure::Status(status) => Some(*status),
            Failure::Aborted => Some(409),
            _ => None,
        }
    }
    fn grpc_code(&self) -> Option<backoff_core::GrpcCode> {
        (*self == Failure::Aborted).then_some(backoff_core::GrpcCode::Aborted)
    }
    fn delivery(&self) -> Option<Delivery> {
        match self {
            Failure::Reset | Failure::TimedOut => Some(Delivery::MaybeSent),
            Failure::Refused => Some(Delivery::NotSent),
            _ => None,
        }
    }
}

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Self {
        Failure::TimedOut
    }
}

impl From<Conflict> for Failure {
    fn from(_: Conflict) -> Self {
        Failure::Conflict
    }
}

/// What befalls the next call.
#[derive(Clone, Debug)]
enum Fate {
    Well,
    Fails(Failure),
    /// Applied, but the reply is lost.
    Lost(Failure),
    /// Somebody else writes just before.
    Overtaken,
    Hangs,
}
use Fate::{Fails, Hangs, Lost, Overtaken, Well};

/// A list of members with a version, as an allow policy has its etag.
#[derive(Default)]
struct Store {
    members: RefCell<Vec<&'static str>>,
    version: Cell<u64>,
    reads: RefCell<VecDeque<Fate>>,
    writes: RefCell<VecDeque<Fate>>,
    calls: RefCell<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Members(Vec<&'static str>, u64);

impl Store {
    fn with(reads: &[Fate], writes: &[Fate]) -> Self {
        Store {
            reads: RefCell::new(reads.to_vec().into()),
            writes: RefCell::new(writes.to_vec().into()),
            ..Store::default()
        }
    }

    async fn get(&self) -> Result<Members, Failure> {
        self.calls.borrow_mut().push('r');
        let fate = self.reads.borrow_mut().pop_front();
        match fate.unwrap_or(Well) {
            Fails(failure) | Lost(failure) => Err(failure),
            Hangs => std::future::pending().await,
            Well | Overtaken => Ok(Members(self.members.borrow().clone(), self.version.get())),
        }
    }

    async fn set(&self, Members(members, version): Members) -> Result<u64, Failure> {
        self.calls.borrow_mut().push('w');
        let fate = self.writes.borrow_mut().pop_front().unwrap_or(Well);
        match &fate {
            Fails(failure) => return Err(failure.clone()),
            Hangs => return std::future::pending().await,
            Overtaken => {
                self.members.borrow_mut().push("somebody");
                self.version.set(self.version.get() + 1);
            }
            Well | Lost(_) => {}
        }
        if version != self.version.get() {
            return Err(Failure::Aborted);
        }
        *self.members.borrow_mut() = members;
        self.version.set(version + 1);
        match fate {
            Lost(failure) => Err(failure),
            _ => Ok(version + 1),
        }
    }

    fn has(&self, member: &str) -> usize {
        let members = self.members.borrow();
        members.iter().filter(|other| **other == member).count()
    }

    fn calls(&self) -> String {
        self.calls.borrow().clone()
    }
}

/// Adds `ann` if she is not there yet.
fn add(Members(members, _): &mut Members) -> bool {
    let is_new = !members.contains(&"ann");
    if is_new {
        members.push("ann");
    }
    is_new
}

/// What befalls reads and writes; the calls that follow; whether the last one wrote; how many
/// attempts, reads, writes and conflicts are reported.
type Case<'a> = (&'a [Fate], &'a [Fate], &'a str, bool, [u32; 4]);

#[tokio::test(start_paused = true)]
async fn each_failure_leads_where_it_should() {
    let cases: [Case<'_>; 8] = [
        (&[], &[], "rw", true, [1, 1, 1, 0]),
        // A failed read: the read again.
        (
            &[Fails(Failure::Status(503)), Fails(Failure::Reset)],
            &[],
            "rrrw",
            true,
            [3, 3, 1, 0],
        ),
        // A conflict: back to the read.
        (&[], &[Overtaken], "rwrw", true, [2, 2, 2, 1]),
        (
            &[],
            &[Fails(Failure::Status(412))],
            "rwrw",
            true,
            [2, 2, 2, 1],
        ),
        // Any other failure of the write: back to the read as well.
        (
            &[],
            &[Fails(Failure::Status(503))],
            "rwrw",
            true,
            [2, 2, 2, 0],
        ),
        (&[], &[Fails(Failure::Refused)], "rwrw", true, [2, 2, 2, 0]),
        // Applied, the reply lost: the change sees its own effect, and writes nothing twice.
        (&[], &[Lost(Failure::Reset)], "rwr", false, [2, 2, 1, 0]),
        // The same, and the next read fails too.
        (
            &[Well, Fails(Failure::Status(500))],
            &[Lost(Failure::Status(503))],
            "rwrr",
            false,
            [3, 3, 1, 0],
        ),
    ];
    for (reads, writes, calls, is_written, [attempts, read, written, conflicts]) in cases {
        let store = Store::with(reads, writes);
        let (updated, report) = POLICY
            .update(|| store.get(), add, |members| store.set(members))
            .reported()
            .await
            .unwrap();
        assert_eq!(store.calls(), calls, "{reads:?} {writes:?}");
        assert_eq!(updated.is_written(), is_written, "{calls}");
        assert_eq!(
            [
                report.attempts,
                report.reads,
                report.writes,
                report.conflicts
            ],
            [attempts, read, written, conflicts],
            "{reads:?} {writes:?}"
        );
        assert_eq!(store.has("ann"), 1, "{calls}");
        assert_eq!(
            store.has("somebody"),
            conflicts.min(1) as usize * usize::from(matches!(writes, [Overtaken]))
        );
        // Without jitter: 1, 2, 4, … seconds.
        assert_eq!(report.slept, SECOND * ((1 << (attempts - 1)) - 1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_as_it_should_be_is_not_written() {
    let store = Store::default();
    store.members.borrow_mut().push("ann");
    let updated = POLICY.update(|| store.get(), add, |m| store.set(m)).await;
    assert_eq!(updated, Ok(Updated::Unchanged(Members(vec!["ann"], 0))));
    assert_eq!(store.calls(), "r");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_may_have_been_applied_is_not_made_twice() {
    let count = |Members(members, _): &mut Members| members.push("one more");
    for (lost, calls, reason) in [
        (Lost(Failure::Reset), "rw", Some(StopReason::MaybeApplied)),
        (
            Lost(Failure::Status(503)),
            "rw",
            Some(StopReason::MaybeApplied),
        ),
        (Fails(Failure::Refused), "rwrw", None),
        (Fails(Failure::Status(429)), "rwrw", None),
        (Overtaken, "rwrw", None),
    ] {
        // The failed reads before say nothing about the write.
        let store = Store::with(&[Fails(Failure::Reset)], std::slice::from_ref(&lost));
        let outcome = POLICY
            .idempotent(false)
            .update(|| store.get(), count, |members| store.set(members))
            .reported()
            .await;
        assert_eq!(store.calls(), format!("r{calls}"), "{lost:?}");
        assert_eq!(outcome.err().map(|error| error.reason), reason, "{lost:?}");
        assert_eq!(store.has("one more"), 1, "{lost:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_for_ever_ends_with_the_attempts_or_the_deadline() {
    let store = Store::with(&[], &vec![Overtaken; 100]);
    let policy = POLICY.max_attempts(5);
    let gave_up = policy
        .update(|| store.get(), add, |members| store.set(members))
        .reported()
        .await
        .unwrap_err();
    assert_eq!(gave_up.error, Failure::Aborted);
    assert_eq!(
        (gave_up.reason, gave_up.report.conflicts),
        (StopReason::Attempts, 5)
    );
    assert_eq!(store.calls(), "rwrwrwrwrw");
    let report = gave_up.report.to_string();
    assert!(
        report.starts_with("5 attempts (5 reads, 5 writes, 5 conflicts) in "),
        "{report}"
    );

    let store = Store::with(&[], &vec![Overtaken; 100]);
    let start = Instant::now();
    let gave_up = Policy::exponential()
        .jitter(Jitter::None)
        .deadline(20 * SECOND)
        .update(|| store.get(), add, |members| store.set(members))
        .reported()
        .await
        .unwrap_err();
    assert_eq!(
        (gave_up.reason, start.elapsed()),
        (StopReason::Deadline, 15 * SECOND)
    );
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_retried_though_the_policy_does_not_name_it() {
    let store = Store::with(&[], &[Overtaken]);
    let policy = POLICY.on(codes![503]).retry_conflicts(false);
    assert!(
        policy
            .update(|| store.get(), add, |m| store.set(m))
            .await
            .is_ok()
    );
    // A bare 409 may also mean that something exists.
    let store = Store::with(&[], &[Fails(Failure::Status(409))]);
    let outcome = policy.update(|| store.get(), add, |m| store.set(m)).await;
    assert_eq!(outcome, Err(Failure::Status(409)));
    let store = Store::with(&[], &[Fails(Failure::Status(409))]);
    let outcome = policy
        .also_on(codes![409])
        .update(|| store.get(), add, |m| store.set(m))
        .await;
    assert_eq!(outcome, Ok(Updated::Written(1)));
}

#[tokio::test(start_paused = true)]
async fn conflicts_cost_no_budget_and_other_failures_do() {
    static BUDGET: Budget = Budget::ratio(0.5, 2);
    let policy = POLICY.budget(&BUDGET);
    let store = Store::with(&[], &[Overtaken, Overtaken, Overtaken]);
    policy
        .update(|| store.get(), add, |m| store.set(m))
        .await
        .unwrap();
    assert_eq!(BUDGET.tokens(), 2.0);
    let store = Store::with(&[], &vec![Fails(Failure::Status(503)); 9]);
    let gave_up = policy
        .update(|| store.get(), add, |m| store.set(m))
        .reported()
        .await
        .unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Budget);
}

#[tokio::test(start_paused = true)]
async fn a_success_gives_to_the_budget_written_or_not() {
    static BUDGET: Budget = Budget::ratio(0.5, 2).starting_with(0);
    let policy = POLICY.budget(&BUDGET);
    let store = Store::default();
    for (is_written, tokens) in [(true, 0.5), (false, 1.0)] {
        let updated = policy.update(|| store.get(), add, |m| store.set(m)).await;
        assert_eq!(updated.map(|updated| updated.is_written()), Ok(is_written));
        assert_eq!(BUDGET.tokens(), tokens);
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_that_sees_the_facts_does_not_repeat_what_may_have_been_applied() {
    let store = Store::with(&[Fails(Failure::Reset)], &[Lost(Failure::Reset)]);
    let gave_up = POLICY
        .idempotent(false)
        .when(|_: &Failure| true)
        .update(
            || store.get(),
            |Members(members, _)| members.push("one more"),
            |members| store.set(members),
        )
        .reported()
        .await
        .unwrap_err();
    assert_eq!(gave_up.reason, StopReason::MaybeApplied);
    assert_eq!(store.has("one more"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_as_a_reply_goes_with_an_attempt_timeout_in_either_order() {
    for timeout_first in [true, false] {
        let store = Store::with(&[], &[Hangs]);
        // What is written first is answered with a conflict nevertheless.
        let update = POLICY.update(
            || store.get(),
            add,
            |members| async { store.set(members).await.map(|version| version > 1) },
        );
        let limit = 10 * SECOND;
        let (updated, report) = if timeout_first {
            update
                .attempt_timeout(limit)
                .conflict_if(|succeeded| !succeeded)
                .reported()
                .await
                .unwrap()
        } else {
            update
                .conflict_if(|succeeded| !succeeded)
                .attempt_timeout(limit)
                .reported()
                .await
                .unwrap()
        };
        // Cut, then answered with a conflict although it is written, so that the change sees it.
        assert_eq!(updated, Updated::Unchanged(Members(vec!["ann"], 1)));
        assert_eq!([report.reads, report.writes, report.conflicts], [3, 2, 1]);
    }
}

#[tokio::test(start_paused = true)]
async fn no_read_is_begun_when_the_timer_wakes_after_the_deadline() {
    for with_conflicts in [true, false] {
        let store = Store::with(&[Fails(Failure::Status(503))], &[]);
        let update = POLICY
            .deadline(5 * SECOND)
            .update(|| store.get(), add, |members| store.set(members))
            .attempt_timeout(SECOND)
            .runtime(Scripted::late(60 * SECOND))
            .owned();
        let gave_up = if with_conflicts {
            update.conflict_if(|_| false).reported().await.unwrap_err()
        } else {
            update.reported().await.unwrap_err()
        };
        assert_eq!(
            (gave_up.error, gave_up.reason),
            (Failure::TimedOut, StopReason::Deadline)
        );
        assert_eq!((store.calls().as_str(), gave_up.report.attempts), ("r", 1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_change_refuses_is_final() {
    let store = Store::default();
    let gave_up = POLICY
        .update(
            || store.get(),
            |_| Err::<bool, _>(Failure::Invalid),
            |m| store.set(m),
        )
        .reported()
        .await
        .unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::Invalid, StopReason::Permanent)
    );
    assert_eq!((store.calls().as_str(), gave_up.report.attempts), ("r", 1));
    // Even an error that a policy would retry: no repetition changes what a change computes.
    let outcome = POLICY
        .update(
            || store.get(),
            |_| Err::<(), _>(Failure::Reset),
            |m| store.set(m),
        )
        .await;
    assert_eq!(
        (outcome, store.calls().as_str()),
        (Err(Failure::Reset), "rr")
    );
}

#[tokio::test(start_paused = true)]
async fn a_reply_can_be_a_conflict() {
    let replies = RefCell::new(VecDeque::from([false, false, true]));
    let update = |attempts| {
        let replies = &replies;
        POLICY
            .max_attempts(attempts)
            .update(
                || async { Ok::<_, Failure>(()) },
                |_| {},
                move |()| async move { Ok(replies.borrow_mut().pop_front().unwrap()) },
            )
            .conflict_if(|succeeded| !succeeded)
            .owned()
            .reported()
    };
    let (updated, report) = update(3).await.unwrap();
    assert_eq!((updated, report.conflicts), (Updated::Written(true), 2));
    replies.borrow_mut().extend([false, false]);
    let gave_up = update(2).await.unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::Conflict, StopReason::Attempts)
    );
}

#[tokio::test(start_paused = true)]
async fn each_step_is_cut_and_a_cut_write_may_have_been_applied() {
    let store = Store::with(&[Hangs], &[Hangs]);
    let start = Instant::now();
    let update = |policy: Policy| {
        policy
            .update(|| store.get(), add, |members| store.set(members))
            .attempt_timeout(10 * SECOND)
            .owned()
            .reported()
    };
    let (_, report) = update(POLICY).await.unwrap();
    assert_eq!(
        (store.calls().as_str(), start.elapsed()),
        ("rrwrw", 23 * SECOND)
    );
    assert_eq!((report.reads, report.writes), (3, 2));

    let store = Store::with(&[], &[Hangs]);
    let gave_up = POLICY
        .idempotent(false)
        .update(|| store.get(), add, |members| store.set(members))
        .attempt_timeout(10 * SECOND)
        .reported()
        .await
        .unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::TimedOut, StopReason::MaybeApplied)
    );
}

#[tokio::test(start_paused = true)]
async fn no_write_is_begun_when_no_time_is_left_for_it() {
    let store = Store::default();
    let mut told = Vec::new();
    let outcome = POLICY
        .deadline(5 * SECOND)
        .update(
            || async {
                // Blocks the thread, as it were: the timer of the read fires too late.
                tokio::time::advance(6 * SECOND).await;
                store.get().await
            },
            add,
            |members| store.set(members),
        )
        .attempt_timeout(10 * SECOND)
        .notify(|event: &Event<'_, Failure>| {
            if let Event::GaveUp { attempts, .. } = event {
                told.push(*attempts);
            }
        })
        .reported()
        .await;
    let gave_up = outcome.unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::TimedOut, StopReason::Deadline)
    );
    assert_eq!((gave_up.report.attempts, gave_up.report.writes), (1, 0));
    assert_eq!(told, [1]);
    assert_eq!(store.has("ann"), 0);
    assert!(!store.calls().contains('w'));
}

#[tokio::test(start_paused = true)]
async fn a_hook_hears_of_every_failure() {
    let store = Store::with(
        &[Fails(Failure::Status(503))],
        &[Overtaken, Fails(Failure::Status(404))],
    );
    let mut log = Vec::new();
    let outcome = POLICY
        .update(|| store.get(), add, |members| store.set(members))
        .notify(|event: &Event<'_, Failure>| match event {
            Event::Waiting { attempt, .. } => {
                log.push(format!("{attempt} {:?}", event.error().unwrap()));
            }
            Event::GaveUp {
                attempts, reason, ..
            } => {
                let error = event.error().unwrap();
                log.push(format!("{attempts} {error:?} {}", reason.name()));
            }
            _ => unreachable!(),
        })
        .await;
    assert_eq!(outcome, Err(Failure::Status(404)));
    assert_eq!(
        log,
        ["1 Status(503)", "2 Aborted", "3 Status(404) permanent"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_function_may_judge_in_place_of_the_codes() {
    let store = Store::with(&[Fails(Failure::Invalid)], &[Fails(Failure::Invalid)]);
    let updated = POLICY
        .when_any(|failure: &Failure| *failure == Failure::Invalid)
        .update(|| store.get(), add, |members| store.set(members))
        .await;
    assert_eq!(
        (updated, store.calls().as_str()),
        (Ok(Updated::Written(1)), "rrwrw")
    );
}

#[test]
fn a_future_of_it_can_be_spawned() {
    fn is_send<T: Send>(_: T) {}
    struct Ok_(u8);
    #[derive(Debug)]
    struct Stale;
    impl Fault for Stale {
        fn kind(&self) -> Option<FaultKind> {
            Some(FaultKind::Conflict)
        }
    }
    is_send(POLICY.update(
        || async { Ok::<_, Stale>(Ok_(1)) },
        |value| value.0 += 1,
        |_| async { Ok(()) },
    ));
}

/// The time of an attempt that is cut is over although no timer has had its turn: within the change, or
/// within a read that is ready at once.
#[tokio::test]
async fn no_write_is_begun_when_a_read_or_a_change_uses_up_the_deadline() {
    for in_the_read in [true, false] {
        let runtime = Scripted::default();
        let store = Store::default();
        let take = |here: bool| {
            if here {
                runtime.pass(5 * SECOND);
            }
        };
        let gave_up = POLICY
            .deadline(5 * SECOND)
            .update(
                || {
                    take(in_the_read);
                    store.get()
                },
                |members| {
                    take(!in_the_read);
                    add(members)
                },
                |members| store.set(members),
            )
            .attempt_timeout(10 * SECOND)
            .runtime(runtime.clone())
            .reported()
            .await
            .unwrap_err();
        assert_eq!(
            (gave_up.error, gave_up.reason),
            (Failure::TimedOut, StopReason::Deadline),
            "{in_the_read}"
        );
        let report = gave_up.report;
        assert_eq!((report.attempts, report.reads, report.writes), (1, 1, 0));
        assert_eq!(report.elapsed, 5 * SECOND);
        assert_eq!((store.calls().as_str(), store.has("ann")), ("r", 0));
        // The limit of the attempt was not begun to be counted.
        assert!(runtime.waits.take().is_empty());
    }
}

/// A nanosecond before, the write is begun.
#[tokio::test]
async fn a_write_is_begun_as_long_as_time_remains_for_it() {
    let runtime = Scripted::default();
    let store = Store::default();
    let updated = POLICY
        .deadline(5 * SECOND)
        .update(
            || {
                runtime.pass(5 * SECOND - Duration::from_nanos(1));
                store.get()
            },
            add,
            |members| store.set(members),
        )
        .attempt_timeout(10 * SECOND)
        .runtime(runtime.clone())
        .await;
    assert_eq!(updated, Ok(Updated::Written(1)));
}

mod blocking {
    use super::*;
    use std::{
        pin::pin,
        task::{Context, Poll, Waker},
    };

    /// The store's own futures are ready at once.
    fn now<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("a blocking call hangs"),
        }
    }

    #[test]
    fn each_failure_leads_back_to_the_read() {
        let cases: [Case<'_>; 5] = [
            (&[], &[], "rw", true, [1, 1, 1, 0]),
            (
                &[Fails(Failure::Status(503))],
                &[],
                "rrw",
                true,
                [2, 2, 1, 0],
            ),
            (&[], &[Overtaken], "rwrw", true, [2, 2, 2, 1]),
            (
                &[],
                &[Fails(Failure::Status(503))],
                "rwrw",
                true,
                [2, 2, 2, 0],
            ),
            (&[], &[Lost(Failure::Reset)], "rwr", false, [2, 2, 1, 0]),
        ];
        for (reads, writes, calls, is_written, counts) in cases {
            let runtime = Scripted::default();
            let store = Store::with(reads, writes);
            let (updated, report) = POLICY
                .blocking_update(|| now(store.get()), add, |m| now(store.set(m)))
                .runtime(runtime.clone())
                .reported()
                .unwrap();
            assert_eq!(store.calls(), calls, "{reads:?} {writes:?}");
            assert_eq!(updated.is_written(), is_written, "{calls}");
            let counted = [
                report.attempts,
                report.reads,
                report.writes,
                report.conflicts,
            ];
            assert_eq!(counted, counts, "{calls}");
            assert_eq!(store.has("ann"), 1, "{calls}");
            let slept = SECOND * (report.attempts - 1);
            assert_eq!((report.slept, report.elapsed), (slept, slept), "{calls}");
            assert_eq!(runtime.waits.take().iter().sum::<Duration>(), slept);
        }
    }

    #[test]
    fn what_a_change_refuses_is_final() {
        let store = Store::default();
        let runtime = Scripted::default();
        let gave_up = POLICY
            .blocking_update(
                || now(store.get()),
                |_| Err::<bool, _>(Failure::Reset),
                |m| now(store.set(m)),
            )
            .runtime(runtime.clone())
            .reported()
            .unwrap_err();
        assert_eq!(
            (gave_up.error, gave_up.reason, gave_up.last),
            (Failure::Reset, StopReason::Permanent, None)
        );
        let report = gave_up.report;
        assert_eq!((report.attempts, report.reads, report.writes), (1, 1, 0));
        assert_eq!(store.calls(), "r");
        assert!(runtime.waits.take().is_empty());
    }

    #[test]
    fn what_is_as_it_should_be_is_not_written() {
        let store = Store::default();
        store.members.borrow_mut().push("ann");
        let updated = POLICY
            .blocking_update(|| now(store.get()), add, |m| now(store.set(m)))
            .call();
        assert_eq!(updated, Ok(Updated::Unchanged(Members(vec!["ann"], 0))));
        assert_eq!(store.calls(), "r");
    }

    #[test]
    fn a_write_that_may_have_been_applied_is_not_made_twice() {
        for (fate, calls, reason) in [
            (Lost(Failure::Reset), "rrw", Some(StopReason::MaybeApplied)),
            (
                Lost(Failure::Status(503)),
                "rrw",
                Some(StopReason::MaybeApplied),
            ),
            (Fails(Failure::Refused), "rrwrw", None),
            (Overtaken, "rrwrw", None),
        ] {
            // The failed read before says nothing about the write.
            let store = Store::with(&[Fails(Failure::Reset)], std::slice::from_ref(&fate));
            let outcome = POLICY
                .idempotent(false)
                .blocking_update(
                    || now(store.get()),
                    |Members(members, _)| members.push("one more"),
                    |m| now(store.set(m)),
                )
                .runtime(Scripted::default())
                .reported();
            assert_eq!(store.calls(), calls, "{fate:?}");
            assert_eq!(outcome.err().map(|error| error.reason), reason, "{fate:?}");
            assert_eq!(store.has("one more"), 1, "{fate:?}");
        }
    }

    #[test]
    fn no_read_is_begun_when_the_timer_wakes_after_the_deadline() {
        let store = Store::with(&[], &[Overtaken]);
        let runtime = Scripted::late(60 * SECOND);
        let mut told = Vec::new();
        let gave_up = POLICY
            .deadline(5 * SECOND)
            .blocking_update(|| now(store.get()), add, |m| now(store.set(m)))
            .notify(|event: &Event<'_, Failure>| told.push(matches!(event, Event::GaveUp { .. })))
            .runtime(runtime.clone())
            .reported()
            .unwrap_err();
        // A blocking call can make no error of its own: the last one is handed back.
        assert_eq!(
            (gave_up.error, gave_up.reason),
            (Failure::Aborted, StopReason::Deadline)
        );
        let report = gave_up.report;
        assert_eq!(store.calls(), "rw");
        assert_eq!(
            (report.attempts, report.writes, report.conflicts),
            (1, 1, 1)
        );
        assert_eq!((report.slept, report.elapsed), (SECOND, 61 * SECOND));
        assert_eq!(told, [false, true]);
        assert_eq!(runtime.waits.take(), [SECOND]);
    }

    #[test]
    fn a_conflict_for_ever_ends_with_the_attempts() {
        let store = Store::with(&[], &vec![Overtaken; 9]);
        let gave_up = POLICY
            .max_attempts(3)
            .blocking_update(|| now(store.get()), add, |m| now(store.set(m)))
            .runtime(Scripted::default())
            .reported()
            .unwrap_err();
        assert_eq!(
            (gave_up.error, gave_up.reason),
            (Failure::Aborted, StopReason::Attempts)
        );
        assert_eq!(
            gave_up.report.to_string(),
            "3 attempts (3 reads, 3 writes, 3 conflicts) in 3.0s, of which 3.0s waiting"
        );
        assert_eq!(store.calls(), "rwrwrw");
    }

    #[test]
    fn a_reply_can_be_a_conflict() {
        let update = |replies: &[bool], attempts| {
            let mut replies: VecDeque<_> = replies.to_vec().into();
            let mut reads = 0;
            let outcome = POLICY
                .idempotent(false)
                .max_attempts(attempts)
                .blocking_update(
                    || {
                        reads += 1;
                        Ok::<_, Failure>(reads)
                    },
                    |_| {},
                    |_| Ok(replies.pop_front().unwrap()),
                )
                .conflict_if(|succeeded| !succeeded)
                .runtime(Scripted::default())
                .reported();
            (outcome, reads)
        };
        let (outcome, reads) = update(&[false, false, true], 3);
        let (updated, report) = outcome.unwrap();
        assert_eq!((updated, report.conflicts), (Updated::Written(true), 2));
        assert_eq!((reads, report.reads, report.writes), (3, 3, 3));
        let (outcome, reads) = update(&[false, false], 2);
        let gave_up = outcome.unwrap_err();
        assert_eq!(
            (gave_up.error, gave_up.reason, reads),
            (Failure::Conflict, StopReason::Attempts, 2)
        );
        assert_eq!(gave_up.report.conflicts, 2);
    }
}

mod whatever_happens {
    use super::*;
    use proptest::prelude::*;

    fn failure() -> impl Strategy<Value = Failure> {
        prop_oneof![
            Just(Failure::Status(503)),
            Just(Failure::Status(429)),
            Just(Failure::Status(404)),
            Just(Failure::Reset),
            Just(Failure::Refused),
        ]
    }

    fn fate() -> impl Strategy<Value = Fate> {
        prop_oneof![
            Just(Well),
            Just(Overtaken),
            Just(Hangs),
            failure().prop_map(Fails),
            // Only what leaves it open can be said of a write that was made.
            prop_oneof![Just(Failure::Reset), Just(Failure::Status(503))].prop_map(Lost),
        ]
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
            .block_on(future)
    }

    proptest! {
        #[test]
        fn no_update_is_lost_and_none_made_twice(
            reads in prop::collection::vec(fate(), 0..12),
            writes in prop::collection::vec(fate(), 0..12),
        ) {
            let store = Store::with(&reads, &writes);
            let outcome = run(POLICY
                .update(|| store.get(), add, |members| store.set(members))
                .attempt_timeout(SECOND)
                .reported());
            // Each write comes right after a read, and nobody else's write is gone.
            prop_assert!(!store.calls().contains("ww") && !store.calls().starts_with('w'));
            let consumed = writes.len() - store.writes.borrow().len();
            let overtaken = writes[..consumed].iter().filter(|fate| matches!(fate, Overtaken)).count();
            prop_assert_eq!(store.has("somebody"), overtaken);
            prop_assert!(store.has("ann") <= 1);
            let (report, is_done) = match &outcome {
                Ok((_, report)) => (*report, true),
                Err(gave_up) => (gave_up.report, false),
            };
            if is_done {
                prop_assert_eq!(store.has("ann"), 1);
            }
            prop_assert!(report.attempts <= 8 && report.attempts == report.reads);
            prop_assert!(report.writes <= report.reads);
            let calls = (report.reads + report.writes) as usize;
            prop_assert_eq!(store.calls().len(), calls);
        }

        #[test]
        fn what_must_not_be_made_twice_is_made_once_where_it_succeeds(
            reads in prop::collection::vec(fate(), 0..12),
            writes in prop::collection::vec(fate(), 0..12),
        ) {
            let store = Store::with(&reads, &writes);
            let outcome = run(POLICY
                .idempotent(false)
                .update(
                    || store.get(),
                    |Members(members, _)| members.push("one more"),
                    |members| store.set(members),
                )
                .attempt_timeout(SECOND)
                .reported());
            prop_assert!(store.has("one more") <= 1);
            match outcome {
                Ok(_) => prop_assert_eq!(store.has("one more"), 1),
                Err(gave_up) if store.has("one more") == 1 => {
                    prop_assert_eq!(gave_up.reason, StopReason::MaybeApplied);
                }
                Err(_) => {}
            }
        }
    }
}
