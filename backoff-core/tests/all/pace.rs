//! Updates whose values have a version wait at a pace of their own. The clock is virtual and every draw
//! gives the longest wait, so each wait is exact.

use crate::common::error::TestError;
use backoff_core::{FaultKind, Policy, Updated, Verdict, testing::VirtualTime};
use std::{
    cell::Cell,
    collections::VecDeque,
    future::Future,
    sync::{Arc, Mutex},
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
}
use Form::{Blocking, Numbers, Reply, Texts, Unknown};

const ALL: &[Form] = &[Numbers, Blocking, Reply];

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

/// What befalls writes and reads, in words: `after 1, 503, read 503, stale`.
fn fates(words: &str) -> Vec<Fate> {
    let fate = |word: &str| match word.split_once(' ') {
        Some(("after", writes)) => After(writes.parse().unwrap()),
        Some((_, status)) => ReadFails(status.parse().unwrap()),
        None if word == "stale" => StaleRead,
        None => Fails(word.parse().unwrap()),
    };
    words.split(", ").map(fate).collect()
}

/// A line of a table has the fates, and the waits in milliseconds: `c1` after the first conflict, and so on.
#[track_caller]
fn check(forms: &[Form], policy: Policy, table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (words, expected) = line.split_once(" | ").unwrap();
        let wait = |word: &str| match word {
            "c1" | "c2" | "c3" => RANGES[usize::from(word.as_bytes()[1] - b'1')],
            millis => millis.parse().unwrap(),
        };
        let expected: Vec<_> = expected.split_whitespace().map(wait).collect();
        for form in forms {
            let (waits, succeeds) = waits(*form, policy, &fates(words));
            assert_near(&format!("{line}, {form:?}"), &waits, &expected);
            assert!(succeeds, "{line}, {form:?}");
        }
    }
}

// Nobody explains the later conflicts of an unexplained row: they come from stale reads, or are none. To try again at
// once would hammer the service.
#[test]
fn the_waits_follow_from_the_window_and_from_the_number_of_conflicts() {
    check(ALL, POLICY, "after 5, after 1, after 9 | c1 c2 c3");
    check(ALL, POLICY.base(5 * MS), "after 1 | c1");
    let capped = POLICY.max_backoff(60 * MS).base(15 * MS);
    check(ALL, capped, "after 1, after 1 | 50 60");
    let unexplained = "stale, 412, 412, after 0 | c1 1000 2000 4000";
    check(ALL, POLICY, unexplained);
    check(&[Texts], POLICY, unexplained);
    // What does not grow by a factor keeps its waits, and they grow with every failure.
    let linear = Policy::linear(7 * MS, 2 * MS).max_attempts(20);
    check(
        ALL,
        linear,
        "after 1, after 1, read 503, 503, read 503 | 7 9 11 13 15",
    );
    // Nobody can know whether the read after the conflict is stale.
    check(&[Unknown], POLICY, "412, 412, 412 | c1 c2 c3");
}

// Conflicts lengthen no other wait, and no other failure lengthens theirs. An answered read restarts the count of
// failed reads alone. A service that is down gets all waits of the policy. A throttled read and a throttled write
// count alike, and nothing restarts their count. A stale read makes the conflict a failed write.
#[test]
fn the_waits_after_other_failures_are_the_policys_and_each_sort_is_counted_by_itself() {
    let table = "
        after 1, 503, after 1, 503 | c1 1000 c2 2000
        read 503, read 503, 503, read 503, 503, after 1, read 503, read 503 | 1000 2000 1000 1000 2000 c1 1000 2000
        read 503, read 503, read 503, read 503, read 503, read 503, read 503 | 1000 2000 4000 8000 16000 32000 64000
        read 429, 429, 503, after 1, read 503, read 429, 429 | 1000 2000 1000 c1 1000 4000 8000
        stale, 412, read 503, 412 | c1 1000 1000 2000 4000
    ";
    check(ALL, POLICY, table);
}

/// The waits of an update whose failures are judged as this.
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
    assert_eq!(asked.get(), time.waits().len(), "once about each failure");
    millis(&time)
}

#[test]
fn what_the_judge_calls_a_conflict_is_one_to_the_pace_and_nothing_else_is() {
    // 412 by its status.
    let throttled = waits_judged(FaultKind::Throttled, &[After(1); 3]);
    assert_near("throttled", &throttled, &[1000.0, 2000.0, 4000.0]);
    let conflict = waits_judged(FaultKind::Conflict, &[Fails(503)]);
    assert_near("conflict", &conflict, &[50.0]);
}

#[test]
fn waits_of_the_callers_own_have_the_last_word_and_end() {
    let ends = |fates: &[Fate], delays: &[u32]| {
        let (shared, time) = store(fates);
        let update = update!(POLICY, shared).version(|version| *version);
        let delays: Vec<_> = delays.iter().map(|wait| *wait * MS).collect();
        let ended = run(update.delays(&delays[..]).runtime(time.clone()));
        (ended.is_ok(), millis(&time))
    };
    assert_eq!(ends(&[After(1); 2], &[3, 3]), (true, vec![3.0, 3.0]));
    assert_eq!(ends(&[After(1); 9], &[3, 5]), (false, vec![3.0, 5.0]));
    assert_eq!(ends(&[ReadFails(503); 9], &[3; 7]), (false, vec![3.0; 7]));
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
        for form in [Numbers, Blocking] {
            let (waits, succeeded) = waits(form, default, fates);
            assert_eq!((waits.len(), succeeded), (waited, succeeds), "{form:?}");
        }
    }
}
