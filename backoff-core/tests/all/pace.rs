//! Updates whose values have a version wait at a pace of their own. The clock is virtual and every draw
//! gives the longest wait, so each wait is exact.
#[cfg(feature = "tokio")]
mod crowd;

use crate::common::error::TestError;
use backoff_core::{
    FaultKind, Policy, Updated, Verdict, combine::Combining, delay::Constant, testing::VirtualTime,
};
use std::{
    cell::Cell,
    collections::VecDeque,
    future::{Future, poll_fn},
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const POLICY: Policy = Policy::exponential()
    .base(Duration::from_secs(1))
    .max_attempts(20);
/// How long a call takes.
const CALL: Duration = Duration::from_millis(20);

/// What befalls a write. Before it, so many others write. Or what befalls the read before it.
#[derive(Clone, Copy)]
enum Fate {
    After(u64),
    Fails(u16),
    /// The write is refused, and the next read does not show why.
    StaleRead,
    ReadFails(u16),
}
use Fate::{After, Fails, ReadFails, StaleRead};

struct Store {
    time: VirtualTime,
    version: u64,
    shown: u64,
    fates: VecDeque<Fate>,
}

type Shared = Arc<Mutex<Store>>;

fn store(fates: &[Fate]) -> (Shared, VirtualTime) {
    let time = VirtualTime::new();
    let store = Store {
        time: time.clone(),
        version: 7,
        shown: 7,
        fates: fates.iter().copied().collect(),
    };
    (Arc::new(Mutex::new(store)), time)
}

fn read(store: &Shared) -> Result<u64, TestError> {
    let mut store = store.lock().unwrap();
    store.time.advance(CALL);
    if let Some(&ReadFails(status)) = store.fates.front() {
        store.fates.pop_front();
        return Err(TestError::status(status));
    }
    Ok(store.shown)
}

fn write(store: &Shared, version: u64) -> Result<(), TestError> {
    let mut store = store.lock().unwrap();
    store.time.advance(CALL);
    let fate = store.fates.pop_front().unwrap_or(After(0));
    match fate {
        After(writes) => {
            store.version += writes;
            store.shown = store.version;
        }
        StaleRead => store.version += 1,
        Fails(status) => return Err(TestError::status(status)),
        ReadFails(_) => unreachable!("the read before the write has taken it"),
    }
    if version == store.version {
        Ok(())
    } else {
        Err(TestError::status(412))
    }
}

/// Nothing here waits for anything but virtual time.
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

/// How an update is made, and what it says of versions. The last four know the numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Texts,
    Unknown,
    Numbers,
    Blocking,
    /// A reply tells of a conflict.
    Reply,
    Combined,
}
use Form::{Blocking, Combined, Numbers, Reply, Texts, Unknown};

const ALL: &[Form] = &[Numbers, Blocking, Reply, Combined];

/// An update of this store, which says nothing of versions yet.
macro_rules! update {
    ($policy:expr, $store:expr) => {
        $policy.update(
            async || read(&$store),
            |_| true,
            async |version| write(&$store, version),
        )
    };
}

/// The waits of an update in milliseconds, and whether it succeeds.
fn waits(form: Form, policy: Policy, fates: &[Fate]) -> (Vec<f64>, bool) {
    let (store, time) = store(fates);
    let runtime = time.clone();
    let updated = match form {
        Texts => {
            let update = update!(policy, store).version(|version| version.to_string());
            run(update.runtime(runtime)).map(drop)
        }
        Unknown => {
            let update = update!(policy, store).version(|_| None::<u64>);
            run(update.runtime(runtime)).map(drop)
        }
        Numbers => {
            let update = update!(policy, store).version(|version| *version);
            run(update.runtime(runtime)).map(drop)
        }
        Blocking => {
            let write = |version| write(&store, version);
            let update = policy.blocking_update(|| read(&store), |_| true, write);
            let update = update.version(|version| *version).runtime(runtime);
            update.call().map(drop)
        }
        Reply => {
            let read = async || read(&store);
            let write = async |version| match write(&store, version) {
                Err(error) if error.status != Some(412) => Err(error),
                written => Ok(written.is_ok()),
            };
            let update = policy.update(read, |_| true, write);
            let update = update.version(|version| *version);
            let update = update.conflict_if(|succeeded| !succeeded);
            run(update.runtime(runtime)).map(drop)
        }
        Combined => {
            let combining = combining(policy, store, runtime);
            let updated = run(combining.update((), |_| true));
            updated.map(drop).map_err(|_| TestError::UNKNOWN)
        }
    };
    (millis(&time), updated.is_ok())
}

fn millis(time: &VirtualTime) -> Vec<f64> {
    let waits = time.waits().into_iter();
    waits.map(|wait| wait.as_secs_f64() * 1e3).collect()
}

#[track_caller]
fn assert_near(what: &str, waits: &[f64], expected: &[f64]) {
    let same = |(wait, expected): (&f64, &f64)| (wait - expected).abs() < 1e-2;
    assert!(
        waits.len() == expected.len() && waits.iter().zip(expected).all(same),
        "{what}: {waits:?} and not {expected:?}"
    );
}

/// The ranges after the first conflicts, in a window of 20 ms: 2.5 · 20 · n^1.25.
const RANGES: [f64; 3] = [50.0, 118.921, 197.411];

#[test]
fn the_waits_follow_from_the_window_and_from_the_number_of_conflicts() {
    let short = POLICY.base(5 * MS);
    let capped = POLICY.max_backoff(60 * MS).base(15 * MS);
    let linear = Policy::linear(7 * MS, 2 * MS).max_attempts(20);
    // Nobody explains the later conflicts: they come from stale reads, or are none. To try again at once would
    // hammer the service.
    let unexplained = [StaleRead, Fails(412), Fails(412), After(0)];
    let policys = [50.0, 1000.0, 2000.0, 4000.0];
    type Row<'a> = (&'a str, &'a [Form], Policy, &'a [Fate], &'a [f64]);
    let rows: [Row<'_>; 8] = [
        ("one", ALL, POLICY, &[After(1)], &RANGES[..1]),
        ("a shorter base", ALL, short, &[After(1)], &RANGES[..1]),
        (
            "however many others wrote",
            ALL,
            POLICY,
            &[After(5), After(1), After(9)],
            &RANGES,
        ),
        ("a cap", ALL, capped, &[After(1); 2], &[50.0, 60.0]),
        ("unexplained", ALL, POLICY, &unexplained, &policys),
        ("unexplained", &[Texts], POLICY, &unexplained, &policys),
        // What does not grow by a factor keeps its waits.
        (
            "linear",
            ALL,
            linear,
            &[After(1); 4],
            &[7.0, 9.0, 11.0, 13.0],
        ),
        // Nobody can know whether the read after the conflict is stale.
        (
            "no version is known",
            &[Unknown],
            POLICY,
            &[Fails(412); 3],
            &RANGES,
        ),
    ];
    for (what, forms, policy, fates, expected) in rows {
        for form in forms {
            let (waits, succeeds) = waits(*form, policy, fates);
            assert_near(&format!("{what}, {form:?}"), &waits, expected);
            assert!(succeeds, "{what}, {form:?}");
        }
    }
}

#[test]
fn the_waits_after_other_failures_are_the_policys_and_each_sort_is_counted_by_itself() {
    let wait = |number: i32| 1000.0 * 2_f64.powi(number - 1);
    let conflict = |number: usize| RANGES[number - 1];
    type Row<'a> = (&'a str, &'a [Fate], &'a [f64]);
    let rows: [Row<'_>; 5] = [
        (
            "conflicts lengthen no other wait, and no other failure lengthens theirs",
            &[After(1), Fails(503), After(1), Fails(503)],
            &[conflict(1), wait(1), conflict(2), wait(2)],
        ),
        (
            "an answered read restarts the count of failed reads alone",
            &[
                ReadFails(503),
                ReadFails(503),
                Fails(503),
                ReadFails(503),
                Fails(503),
                After(1),
                ReadFails(503),
                ReadFails(503),
            ],
            &[
                wait(1),
                wait(2),
                wait(1),
                wait(1),
                wait(2),
                conflict(1),
                wait(1),
                wait(2),
            ],
        ),
        (
            "a service that is down gets all waits of the policy",
            &[ReadFails(503); 7],
            &[1, 2, 3, 4, 5, 6, 7].map(wait),
        ),
        (
            "a throttled read and a throttled write count alike, and nothing restarts their count",
            &[
                ReadFails(429),
                Fails(429),
                Fails(503),
                After(1),
                ReadFails(503),
                ReadFails(429),
                Fails(429),
            ],
            &[
                wait(1),
                wait(2),
                wait(1),
                conflict(1),
                wait(1),
                wait(3),
                wait(4),
            ],
        ),
        // Nobody explains the later conflicts.
        (
            "a stale read makes the conflict a failed write",
            &[StaleRead, Fails(412), ReadFails(503), Fails(412)],
            &[conflict(1), wait(1), wait(1), wait(2), wait(3)],
        ),
    ];
    for (what, fates, expected) in rows {
        for form in ALL {
            let (waits, succeeds) = waits(*form, POLICY, fates);
            assert_near(&format!("{what}, {form:?}"), &waits, expected);
            assert!(succeeds, "{what}, {form:?}");
        }
    }
}

#[test]
fn every_form_keeps_the_same_pace() {
    let fates = [After(5), After(3), Fails(503), After(1)];
    let (expected, _) = waits(Numbers, POLICY, &fates);
    assert_eq!(expected.len(), 4);
    for form in ALL {
        assert_near(
            &format!("{form:?}"),
            &waits(*form, POLICY, &fates).0,
            &expected,
        );
    }

    // The next combined change begins as if nobody had been there.
    let (shared, time) = store(&fates);
    let combining = combining(POLICY, shared, time.clone());
    for change in ["first", "second"] {
        assert!(run(combining.update((), |_| true)).is_ok());
        assert_near(change, &millis(&time), &expected);
    }
}

/// The waits of an update whose failures are judged as this, and of the same one that blocks.
fn waits_judged(kind: FaultKind, fates: &[Fate]) -> Vec<f64> {
    let asked = Cell::new(0);
    let judge = |_: &TestError| {
        asked.set(asked.get() + 1);
        Verdict::Retry {
            kind,
            retry_after: None,
        }
    };
    let judged = POLICY.when(judge);
    let (shared, time) = store(fates);
    let update = update!(judged, shared).version(|version| *version);
    let updated = run(update.runtime(time.clone()));
    assert_eq!(updated, Ok(Updated::Written(())));
    let waits = millis(&time);
    assert_eq!(asked.get(), waits.len(), "once about each failure");

    let (shared, time) = store(fates);
    let read = || read(&shared);
    let blocking = judged.blocking_update(read, |_| true, |version| write(&shared, version));
    let blocking = blocking.version(|version| *version).runtime(time.clone());
    assert_eq!(blocking.call(), Ok(Updated::Written(())));
    assert_near("blocking", &millis(&time), &waits);
    waits
}

#[test]
fn what_the_judge_calls_a_conflict_is_one_to_the_pace_and_nothing_else_is() {
    // 412 by its status.
    let throttled = waits_judged(FaultKind::Throttled, &[After(1); 3]);
    assert_near("throttled", &throttled, &[1000.0, 2000.0, 4000.0]);
    let conflict = waits_judged(FaultKind::Conflict, &[Fails(503)]);
    assert_near("conflict", &conflict, &[50.0]);
}

/// Pending a few times: each caller that comes polls it.
async fn others_come() {
    let mut times = 0..4;
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        times.next().map_or(Poll::Ready(()), |_| Poll::Pending)
    })
    .await;
}

fn combining(
    policy: Policy,
    shared: Shared,
    time: VirtualTime,
) -> Combining<(), u64, (), TestError, VirtualTime> {
    let (reads, writes) = (Arc::clone(&shared), shared);
    let read = move |()| {
        let shared = Arc::clone(&reads);
        async move {
            others_come().await;
            read(&shared)
        }
    };
    let write = move |(), version| {
        let shared = Arc::clone(&writes);
        async move { write(&shared, version) }
    };
    let combining = policy.combine(read, write);
    combining.version(|version| *version).runtime(time)
}

#[test]
fn a_group_of_four_changes_waits_twice_as_long() {
    let (shared, time) = store(&[After(1)]);
    let combining = combining(POLICY, shared, time.clone());
    let mut changes = vec![(); 4]
        .into_iter()
        .map(|()| Box::pin(combining.update((), |_| true)))
        .collect::<Vec<_>>();
    run(poll_fn(|cx| {
        changes.retain_mut(|change| change.as_mut().poll(cx).is_pending());
        if changes.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    assert_near("a group", &millis(&time), &[100.0]);
}

#[test]
fn waits_of_the_callers_own_have_the_last_word_and_end() {
    let (shared, time) = store(&[After(1); 2]);
    let update = update!(POLICY, shared).version(|version| *version);
    let update = update.delays(Constant::new(3 * MS)).runtime(time.clone());
    assert_eq!(run(update), Ok(Updated::Written(())));
    assert_near("constant", &millis(&time), &[3.0, 3.0]);

    let (shared, time) = store(&[After(1); 9]);
    let update = update!(POLICY, shared).version(|version| *version);
    let update = update.delays([3 * MS, 5 * MS]).runtime(time.clone());
    assert_eq!(run(update), Err(TestError::status(412)));
    assert_near("a list", &millis(&time), &[3.0, 5.0]);

    let (shared, time) = store(&[ReadFails(503); 9]);
    let update = update!(POLICY, shared).version(|version| *version);
    let update = update.delays([3 * MS; 7]).runtime(time.clone());
    assert_eq!(run(update), Err(TestError::status(503)));
    assert_near("a list for reads", &millis(&time), &[3.0; 7]);
}

/// A pace is for waits that grow by a factor.
#[test]
fn other_waits_grow_with_every_failure() {
    let linear = Policy::linear(Duration::from_secs(1), Duration::from_secs(1)).max_attempts(20);
    let mut fates = [ReadFails(503); 8];
    fates[6] = Fails(503);
    let (waits, _) = waits(Numbers, linear, &fates);
    let expected = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0].map(|seconds| 1000.0 * seconds);
    assert_near("linear", &waits, &expected);
}

/// The waits are short, so five attempts would be over before a crowd is.
#[test]
fn the_default_number_of_attempts_does_not_count_conflicts_at_the_pace() {
    let default = Policy::exponential().base(Duration::from_secs(1));
    let mut mixed = vec![After(1); 10];
    mixed.extend([Fails(503); 5]);
    for (fates, waited, succeeds) in [
        (&[After(1); 30][..], 30, true),
        (&[After(1); 200], 99, false),
        (&mixed, 14, false),
    ] {
        for form in [Numbers, Combined] {
            let (waits, succeeded) = waits(form, default, fates);
            assert_eq!((waits.len(), succeeded), (waited, succeeds), "{form:?}");
        }
    }
}

#[test]
fn limits_hold() {
    let (shared, time) = store(&[After(1); 9]);
    let policy = POLICY.max_attempts(3);
    let update = update!(policy, shared).version(|version| *version);
    let gave_up = run(update.runtime(time.clone()).reported()).unwrap_err();
    let expected = (3, TestError::status(412));
    assert_eq!((gave_up.report.writes, gave_up.error), expected);
    assert_eq!(time.waits().len(), 2);
}
