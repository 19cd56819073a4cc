//! Updates whose values have a version wait at the pace of the resource. The clock is virtual and every draw
//! gives the longest wait, so each wait is exact.
#[cfg(feature = "tokio")]
mod crowd;

use crate::common::error::TestError;
use backoff_core::{
    FaultKind, Policy, Updated, Verdict, delay::Constant, many::Combining, testing::VirtualTime,
};
use std::{
    cell::Cell,
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
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
    ReadFails,
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
    if let Some(ReadFails) = store.fates.front() {
        store.fates.pop_front();
        return Err(TestError::status(503));
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
        ReadFails => unreachable!("the read before the write has taken it"),
    }
    if version == store.version {
        Ok(())
    } else {
        Err(TestError::status(412))
    }
}

/// Nothing here waits for anything but virtual time.
fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1_000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
    panic!("the future hangs");
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
    let same = |(wait, expected): (&f64, &f64)| (wait - expected).abs() < 1e-3;
    assert!(
        waits.len() == expected.len() && waits.iter().zip(expected).all(same),
        "{what}: {waits:?} and not {expected:?}"
    );
}

/// The range after a second conflict, where the first one was drawn from `first` ms, in a window of
/// 20 ms, and the wait was as long as it could be.
fn second(first: f64, writes: Option<f64>) -> f64 {
    let time = (20.0 + first + 20.0) / 20.0;
    match writes {
        Some(writes) => {
            let busy = ((writes + 1.5) / (time + 0.6)).min(1.0);
            first * 1.05 * 2_f64.powf(1.5) * busy.powi(4)
        }
        None => {
            let busy = (9.0 / (time + 0.8)).clamp(0.101, 1.0);
            first * 1.22 * 2_f64.powf(1.5) * busy.sqrt()
        }
    }
}

#[test]
fn the_waits_follow_from_the_window_and_from_the_writes_of_others() {
    let short = POLICY.base(5 * MS);
    let capped = POLICY.max_backoff(15 * MS).base(15 * MS);
    let linear = Policy::linear(7 * MS, 2 * MS).max_attempts(20);
    let after_five = second(70.0, Some(5.0));
    // Nobody explains the later conflicts: they come from stale reads, or are none. To try again at once would
    // hammer the service.
    let unexplained = [StaleRead, Fails(412), Fails(412), After(0)];
    type Row<'a> = (&'a str, &'a [Form], Policy, &'a [Fate], &'a [f64]);
    let rows: [Row<'_>; 10] = [
        ("first, by number", ALL, POLICY, &[After(1)], &[70.0]),
        ("first, by text", &[Texts], POLICY, &[After(1)], &[23.0]),
        ("a shorter base", ALL, short, &[After(1)], &[17.5]),
        (
            "after five writes",
            ALL,
            POLICY,
            &[After(5), After(1)],
            &[70.0, after_five],
        ),
        (
            "after who knows how many",
            &[Texts],
            POLICY,
            &[After(5), After(1)],
            &[23.0, second(23.0, None)],
        ),
        ("a cap", ALL, capped, &[After(1), After(9)], &[15.0, 15.0]),
        (
            "unexplained, by number",
            ALL,
            POLICY,
            &unexplained,
            &[70.0, 1000.0, 2000.0, 4000.0],
        ),
        (
            "unexplained, by text",
            &[Texts],
            POLICY,
            &unexplained,
            &[23.0, 1000.0, 2000.0, 4000.0],
        ),
        // What does not grow by a factor keeps its waits.
        (
            "linear",
            ALL,
            linear,
            &[After(1); 4],
            &[7.0, 9.0, 11.0, 13.0],
        ),
        (
            "no version is known",
            &[Unknown],
            POLICY,
            &[Fails(412); 3],
            &[23.0, 1000.0, 2000.0],
        ),
    ];
    for (what, forms, policy, fates, expected) in rows {
        for form in forms {
            let (waits, succeeds) = waits(*form, policy, fates);
            assert_near(&format!("{what}, {form:?}"), &waits, expected);
            assert!(succeeds, "{what}, {form:?}");
        }
    }
    for writes in [1, 4, 9] {
        let (waits, _) = waits(Numbers, POLICY, &[After(1), After(1), After(writes)]);
        let next = second(70.0, Some(1.0)).max(20.0 * 0.2);
        assert_near(&format!("then {writes}"), &waits[..2], &[70.0, next]);
    }
}

#[test]
fn waits_after_other_failures_stay_the_policys_and_are_not_lengthened_by_conflicts() {
    let (waits, _) = waits(Texts, POLICY, &[After(1), Fails(503), After(1), Fails(503)]);
    assert_eq!(waits.len(), 4);
    let policys = [waits[0], waits[1], waits[3]];
    assert_near("others", &policys, &[23.0, 1000.0, 2000.0]);
    assert!(waits[2] < 200.0, "{waits:?}");
}

#[test]
fn failed_reads_and_failed_writes_do_not_lengthen_the_waits_of_each_other() {
    let fates = [
        [ReadFails, ReadFails, Fails(503)],
        [ReadFails, Fails(503), After(1)],
        [ReadFails, ReadFails, After(0)],
    ];
    let expected = [1000.0, 2000.0, 1000.0, 1000.0, 2000.0, 70.0, 1000.0, 2000.0];
    for form in ALL {
        let (waits, succeeds) = waits(*form, POLICY, fates.as_flattened());
        assert_near(&format!("{form:?}"), &waits, &expected);
        assert!(succeeds);
    }
    let (waits_of_reads, _) = waits(Numbers, POLICY, &[ReadFails; 7]);
    let expected = [1000.0, 2000.0, 4000.0, 8000.0, 16000.0, 16000.0, 16000.0];
    assert_near("failed reads", &waits_of_reads, &expected);
    // Nobody explains the later conflicts, so that the policy's waits follow.
    let fates = [StaleRead, Fails(412), ReadFails, Fails(412)];
    let (waits, _) = waits(Numbers, POLICY, &fates);
    assert_near("stale", &waits, &[70.0, 1000.0, 1000.0, 2000.0, 4000.0]);
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
    assert_near("conflict", &conflict, &[70.0]);
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
fn a_group_of_four_changes_waits_twice_as_long_at_first() {
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
    assert_near("a group", &millis(&time), &[140.0]);
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

    let (shared, time) = store(&[ReadFails; 9]);
    let update = update!(POLICY, shared).version(|version| *version);
    let update = update.delays([3 * MS; 7]).runtime(time.clone());
    assert_eq!(run(update), Err(TestError::status(503)));
    assert_near("a list for reads", &millis(&time), &[3.0; 7]);
}

/// A pace is for waits that grow by a factor.
#[test]
fn other_waits_grow_with_every_failure() {
    let linear = Policy::linear(Duration::from_secs(1), Duration::from_secs(1)).max_attempts(20);
    let mut fates = [ReadFails; 8];
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

/// Replicas that answer in turn show versions that go to and fro. Nobody has written.
#[test]
fn an_older_version_is_a_stale_read() {
    let time = VirtualTime::new();
    let shown = Cell::new(0);
    let read = || {
        time.advance(CALL);
        shown.set(shown.get() + 1);
        Ok(5 + shown.get() % 2)
    };
    let write = |_| {
        time.advance(CALL);
        Err::<(), _>(TestError::status(412))
    };
    let policy = POLICY.max_attempts(9);
    let update = policy.blocking_update(read, |_| true, write);
    let update = update.version(|version: &u64| *version);
    assert!(update.runtime(time.clone()).call().is_err());
    let waits = time.waits();
    assert!(time.elapsed() > Duration::from_secs(15), "{waits:?}");
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
