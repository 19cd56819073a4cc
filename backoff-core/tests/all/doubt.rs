//! Writes that may have been applied, of changes that cannot recognise their own effect. Several writers
//! increase a counter over a connection that loses requests, loses replies, and delivers some requests late.
use backoff_core::{
    Conflict, Delivery, Fault, FaultKind, Jitter, NotYet, Policy, StopReason, TimedOut, Updated,
    Verdict,
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::{Future, pending},
    time::Duration,
};

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(8);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    /// The number of the write whose reply was lost.
    Lost(u32),
    Status(u16),
    Stale,
    Refused,
    TimedOut,
}

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        match self {
            Failure::Status(status) => Some(*status),
            _ => None,
        }
    }
    fn kind(&self) -> Option<FaultKind> {
        match self {
            Failure::Stale => Some(FaultKind::Conflict),
            _ => None,
        }
    }
    fn delivery(&self) -> Option<Delivery> {
        match self {
            Failure::Lost(_) | Failure::TimedOut => Some(Delivery::MaybeSent),
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

impl From<NotYet> for Failure {
    fn from(_: NotYet) -> Self {
        Failure::Status(202)
    }
}

impl From<Conflict> for Failure {
    fn from(_: Conflict) -> Self {
        Failure::Stale
    }
}

/// What befalls the next write.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Well,
    /// Not applied, and the server or the client says so.
    Fails(Failure),
    /// The request is lost.
    Gone,
    /// Applied, but the reply is lost.
    Lost,
    /// The reply does not come, and the request arrives after the next read.
    Straggles,
    /// Somebody else writes just before.
    Overtaken,
    /// The request arrives, and no reply ever comes.
    Hangs,
}
use Fate::{Fails, Gone, Hangs, Lost, Overtaken, Straggles, Well};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Counter {
    number: u32,
    version: u32,
}

#[derive(Default)]
struct Store {
    counter: Cell<(u32, u32)>,
    writes: RefCell<VecDeque<Fate>>,
    reads: RefCell<VecDeque<Option<Failure>>>,
    /// A request that is still on its way.
    straggler: Cell<Option<Counter>>,
    calls: RefCell<String>,
    /// How often the caller's change was applied.
    applied: Cell<u32>,
    sent: Cell<u32>,
}

impl Store {
    fn with(reads: &[Option<Failure>], writes: &[Fate]) -> Self {
        Store {
            reads: RefCell::new(reads.to_vec().into()),
            writes: RefCell::new(writes.to_vec().into()),
            ..Store::default()
        }
    }

    async fn get(&self) -> Result<Counter, Failure> {
        self.calls.borrow_mut().push('r');
        if let Some(failure) = self.reads.borrow_mut().pop_front().flatten() {
            return Err(failure);
        }
        let (number, version) = self.counter.get();
        if let Some(straggler) = self.straggler.take() {
            let _ = self.apply(straggler);
        }
        Ok(Counter { number, version })
    }

    async fn set(&self, counter: Counter) -> Result<(), Failure> {
        self.calls.borrow_mut().push('w');
        self.sent.set(self.sent.get() + 1);
        let lost = Failure::Lost(self.sent.get());
        let next = self.writes.borrow_mut().pop_front();
        match next.unwrap_or(Well) {
            Well => self.apply(counter),
            Fails(failure) => Err(failure),
            Gone => Err(lost),
            Lost => {
                let _ = self.apply(counter);
                Err(lost)
            }
            Straggles => {
                self.straggler.set(Some(counter));
                Err(lost)
            }
            Overtaken => {
                self.others();
                self.apply(counter)
            }
            Hangs => {
                let _ = self.apply(counter);
                pending().await
            }
        }
    }

    /// The server gets a request.
    fn apply(&self, counter: Counter) -> Result<(), Failure> {
        let (_, version) = self.counter.get();
        if counter.version != version {
            return Err(Failure::Stale);
        }
        self.counter.set((counter.number, version + 1));
        self.applied.set(self.applied.get() + 1);
        Ok(())
    }

    fn others(&self) {
        let (number, version) = self.counter.get();
        self.counter.set((number + 1, version + 1));
    }
}

fn increase(counter: &mut Counter) {
    counter.number += 1;
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

type Ended = Result<Updated<Counter, ()>, (Failure, StopReason)>;

fn without_versions(store: &Store) -> Ended {
    run(POLICY
        .update(|| store.get(), increase, |counter| store.set(counter))
        .attempt_timeout(SECOND)
        .reported())
    .map(|(updated, _)| updated)
    .map_err(|gave_up| (gave_up.error, gave_up.reason))
}

fn with_versions(store: &Store) -> Ended {
    run(POLICY
        .update(|| store.get(), increase, |counter| store.set(counter))
        .version(|counter| counter.version)
        .attempt_timeout(SECOND)
        .reported())
    .map(|(updated, _)| updated)
    .map_err(|gave_up| (gave_up.error, gave_up.reason))
}

const WRITTEN: Ended = Ok(Updated::Written(()));

fn maybe(failure: Failure) -> Ended {
    Err((failure, StopReason::MaybeApplied))
}

#[test]
fn a_change_without_a_result_is_not_repeated_after_a_write_that_may_have_been_applied() {
    for (fate, calls, ended, applied) in [
        (Gone, "rw", maybe(Failure::Lost(1)), 0),
        (Lost, "rw", maybe(Failure::Lost(1)), 1),
        (Hangs, "rw", maybe(Failure::TimedOut), 1),
        (
            Fails(Failure::Status(503)),
            "rw",
            maybe(Failure::Status(503)),
            0,
        ),
        // Surely not applied.
        (Fails(Failure::Status(429)), "rwrw", WRITTEN, 1),
        (Fails(Failure::Refused), "rwrw", WRITTEN, 1),
        (Overtaken, "rwrw", WRITTEN, 1),
    ] {
        let store = Store::with(&[], &[fate]);
        assert_eq!(without_versions(&store), ended, "{fate:?}");
        assert_eq!(*store.calls.borrow(), calls, "{fate:?}");
        assert_eq!(store.applied.get(), applied, "{fate:?}");
    }
}

#[test]
fn a_result_without_a_bool_is_no_better() {
    let store = Store::with(&[], &[Lost]);
    let change = |counter: &mut Counter| {
        increase(counter);
        Ok::<(), Failure>(())
    };
    let outcome = run(POLICY
        .update(|| store.get(), change, |counter| store.set(counter))
        .reported());
    let gave_up = outcome.unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::Lost(1), StopReason::MaybeApplied)
    );
}

#[test]
fn versions_tell_whether_a_write_has_arrived() {
    for (fates, calls, ended, applied) in [
        // The request was lost: the same version is read again, and written.
        (&[Gone][..], "rwrw", WRITTEN, 1),
        (&[Gone, Gone, Gone], "rwrwrwrw", WRITTEN, 1),
        (&[Fails(Failure::Status(503))], "rwrw", WRITTEN, 1),
        // Somebody has written since: perhaps this caller.
        (&[Lost], "rwr", maybe(Failure::Lost(1)), 1),
        (&[Hangs], "rwr", maybe(Failure::TimedOut), 1),
        (&[Gone, Lost], "rwrwr", maybe(Failure::Lost(1)), 1),
        // The first write arrives between the read and the second write, which meets a conflict.
        (&[Straggles], "rwrw", maybe(Failure::Lost(1)), 1),
        // Somebody else does: nobody can tell the difference.
        (&[Gone, Overtaken], "rwrw", maybe(Failure::Lost(1)), 0),
        // A refusal says nothing of the first write.
        (&[Gone, Fails(Failure::Status(429))], "rwrwrw", WRITTEN, 1),
        // A conflict before any doubt is an ordinary one.
        (&[Overtaken, Gone], "rwrwrw", WRITTEN, 1),
        // What is refused for good was not applied.
        (
            &[Fails(Failure::Status(403))],
            "rw",
            Err((Failure::Status(403), StopReason::Permanent)),
            0,
        ),
        // But an earlier write may have been.
        (
            &[Gone, Fails(Failure::Status(403))],
            "rwrw",
            maybe(Failure::Lost(1)),
            0,
        ),
    ] {
        let store = Store::with(&[], fates);
        assert_eq!(with_versions(&store), ended, "{fates:?}");
        assert_eq!(*store.calls.borrow(), calls, "{fates:?}");
        assert_eq!(store.applied.get(), applied, "{fates:?}");
    }
}

#[test]
fn what_ends_in_doubt_says_so() {
    // All attempts are used up by writes that may have been applied, or by reads after one.
    let store = Store::with(&[], &[Gone; 8]);
    assert_eq!(with_versions(&store), maybe(Failure::Lost(1)));
    assert_eq!(*store.calls.borrow(), "rwrwrwrwrwrwrwrw");
    let mut reads = vec![None];
    reads.extend([Some(Failure::Status(503)); 7]);
    let store = Store::with(&reads, &[Gone]);
    assert_eq!(with_versions(&store), maybe(Failure::Lost(1)));
    assert_eq!(*store.calls.borrow(), "rwrrrrrrr");
    // Without a doubt, the reason is another one.
    let store = Store::with(&[Some(Failure::Status(503)); 8], &[]);
    let attempts = Err((Failure::Status(503), StopReason::Attempts));
    assert_eq!(with_versions(&store), attempts);
    // A read that is refused for good after a write that may have been applied.
    let store = Store::with(&[None, Some(Failure::Status(403))], &[Gone]);
    assert_eq!(with_versions(&store), maybe(Failure::Lost(1)));
}

#[test]
fn a_value_without_a_version_is_never_written_again() {
    let store = Store::with(&[], &[Gone]);
    let outcome = run(POLICY
        .update(|| store.get(), increase, |counter| store.set(counter))
        .version(|_| None::<u32>)
        .reported());
    let gave_up = outcome.unwrap_err();
    assert_eq!(
        (gave_up.error, gave_up.reason),
        (Failure::Lost(1), StopReason::MaybeApplied)
    );
    assert_eq!(*store.calls.borrow(), "rwr");
}

/// Many services say by an empty etag that there is none.
#[test]
fn an_empty_version_is_none() {
    let is_written_again = |version: fn(&Counter) -> Option<String>| {
        let store = Store::with(&[], &[Gone]);
        let update = POLICY.update(|| store.get(), increase, |counter| store.set(counter));
        run(update.version(version)).is_ok()
    };
    assert!(is_written_again(|_| Some("etag".into())));
    assert!(!is_written_again(|_| Some(String::new())));
    assert!(!is_written_again(|_| None));
    let store = Store::with(&[], &[Gone]);
    let update = POLICY.update(|| store.get(), increase, |counter| store.set(counter));
    assert!(run(update.version(|_| Vec::<u8>::new())).is_err());
}

/// What `until` waits for after a write that succeeded is no doubt about the write.
#[test]
fn a_write_that_succeeded_leaves_no_doubt() {
    let store = Store::with(&[], &[Gone]);
    let outcome = run(POLICY
        .update(|| store.get(), increase, |counter| store.set(counter))
        .version(|counter| counter.version)
        .until(|_| store.applied.get() == 2)
        .reported());
    let (updated, report) = outcome.unwrap();
    assert_eq!((updated, report.writes), (Updated::Written(()), 3));
}

#[test]
fn a_change_that_recognises_its_effect_goes_on_whatever_the_version_is() {
    let store = Store::with(&[], &[Lost]);
    let change = |counter: &mut Counter| {
        let is_missing = counter.number == 0;
        counter.number = 1;
        is_missing
    };
    let updated = run(POLICY
        .update(|| store.get(), change, |counter| store.set(counter))
        .version(|counter| counter.version));
    let (number, version) = (1, 1);
    assert_eq!(updated, Ok(Updated::Unchanged(Counter { number, version })));
}

#[test]
fn a_conflict_in_a_reply_counts_as_well() {
    let update = |fates: &[Fate]| {
        let store = Store::with(&[], fates);
        let outcome = run(POLICY
            .update(
                || store.get(),
                increase,
                async |counter| match store.set(counter).await {
                    Err(Failure::Stale) => Ok(false),
                    written => written.map(|()| true),
                },
            )
            .version(|counter| counter.version)
            .conflict_if(|succeeded| !succeeded)
            .reported());
        let ended = outcome
            .map(|(updated, _)| updated.is_written())
            .map_err(|gave_up| (gave_up.error, gave_up.reason));
        (ended, store.applied.get())
    };
    let maybe = Err((Failure::Lost(1), StopReason::MaybeApplied));
    assert_eq!(update(&[Overtaken]), (Ok(true), 1));
    assert_eq!(update(&[Straggles]), (maybe, 1));
    assert_eq!(update(&[Gone]), (Ok(true), 1));
}

#[test]
fn a_judge_without_facts_has_to_say_that_nothing_was_done() {
    let ended = |verdict: Verdict| {
        let mut writes = 0;
        let outcome = run(POLICY
            .when_any(|_: &&str| verdict)
            .update(
                async || Ok(1),
                increase_number,
                |_| {
                    writes += 1;
                    std::future::ready(if writes == 1 { Err("busy") } else { Ok(()) })
                },
            )
            .reported());
        outcome.map(drop).map_err(|gave_up| gave_up.reason)
    };
    fn increase_number(number: &mut u32) {
        *number += 1;
    }
    assert_eq!(ended(true.into()), Err(StopReason::MaybeApplied));
    let retry = |kind| Verdict::Retry {
        kind,
        retry_after: None,
    };
    assert_eq!(ended(retry(FaultKind::Conflict)), Ok(()));
    assert_eq!(ended(retry(FaultKind::Throttled)), Ok(()));
}

#[test]
fn blocking_updates_do_the_same() {
    let update = |fates: &[Fate], versioned: bool| {
        let store = Store::with(&[], fates);
        let read = || run(store.get());
        let write = |counter| run(store.set(counter));
        let policy = POLICY.scaled(1e-6);
        let update = policy.blocking_update(read, increase, write);
        let outcome = if versioned {
            update.version(|counter| counter.version).reported()
        } else {
            update.reported()
        };
        let ended = outcome
            .map(|(updated, _)| updated)
            .map_err(|gave_up| (gave_up.error, gave_up.reason));
        let calls = store.calls.borrow().clone();
        (ended, calls, store.applied.get())
    };
    let lost = maybe(Failure::Lost(1));
    assert_eq!(update(&[Lost], false), (lost, "rw".into(), 1));
    assert_eq!(update(&[Lost], true), (lost, "rwr".into(), 1));
    assert_eq!(update(&[Gone], true), (WRITTEN, "rwrw".into(), 1));
    assert_eq!(update(&[Straggles], true), (lost, "rwrw".into(), 1));
}

mod whatever_happens {
    use super::*;
    use proptest::prelude::*;

    fn fate() -> impl Strategy<Value = Fate> {
        prop_oneof![
            Just(Well),
            Just(Gone),
            Just(Lost),
            Just(Straggles),
            Just(Overtaken),
            Just(Hangs),
            Just(Fails(Failure::Status(503))),
            Just(Fails(Failure::Status(429))),
            Just(Fails(Failure::Status(403))),
            Just(Fails(Failure::Refused)),
        ]
    }

    fn read() -> impl Strategy<Value = Option<Failure>> {
        prop_oneof![
            4 => Just(None),
            1 => Just(Some(Failure::Status(503))),
            1 => Just(Some(Failure::Status(403))),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn a_success_is_applied_once_and_what_is_applied_is_no_plain_failure(
            reads in prop::collection::vec(read(), 0..10),
            writes in prop::collection::vec(fate(), 0..10),
            with in any::<bool>(),
        ) {
            let store = Store::with(&reads, &writes);
            let ended = if with { with_versions(&store) } else { without_versions(&store) };
            // A request may be on its way still.
            if let Some(straggler) = store.straggler.take() {
                let _ = store.apply(straggler);
            }
            prop_assert!(store.applied.get() <= 1, "{:?}", ended);
            match ended {
                Ok(_) => prop_assert_eq!(store.applied.get(), 1),
                Err((_, StopReason::MaybeApplied)) => {}
                Err(other) => prop_assert_eq!(store.applied.get(), 0, "{:?}", other),
            }
        }
    }
}

/// 50,000 increments of one counter, of whose writes one in ten loses its reply, and half of those
/// its request.
#[tokio::test(start_paused = true)]
async fn fifty_thousand_increments_are_applied_as_often_as_they_say() {
    for with_versions in [false, true] {
        let (store, mut chance) = (Store::default(), SmallRng::seed_from_u64(7));
        let (mut done, mut doubtful) = (0, 0);
        for _ in 0..50_000 {
            let fate = match chance.next_u64() % 20 {
                0 => Lost,
                1 => Gone,
                _ => Well,
            };
            store.writes.borrow_mut().push_back(fate);
            let update = POLICY.update(|| store.get(), increase, |counter| store.set(counter));
            let outcome = if with_versions {
                let update = update.version(|counter| counter.version);
                update.reported().await.map(drop)
            } else {
                update.reported().await.map(drop)
            };
            store.writes.borrow_mut().clear();
            match outcome {
                Ok(()) => done += 1,
                Err(gave_up) => {
                    assert_eq!(gave_up.reason, StopReason::MaybeApplied);
                    doubtful += 1;
                }
            }
        }
        let (number, _) = store.counter.get();
        println!("versions: {with_versions}: {done} done, {doubtful} doubtful, {number} applied");
        assert_eq!(store.applied.get(), number);
        assert_eq!(done + doubtful, 50_000);
        // Of what is doubtful, some is applied; of what is done, all is, once.
        assert!((done..=50_000).contains(&number));
        // Versions tell that a request was lost, and so half of the doubts are settled.
        let expected = if with_versions { 2_500 } else { 5_000 };
        assert!(
            (expected - 300..expected + 300).contains(&doubtful),
            "{doubtful}"
        );
    }
}
