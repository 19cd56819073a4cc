//! Updates whose values have a version wait at the pace of the resource. The clock is virtual and every draw
//! gives the longest wait, so each wait is exact.
use backoff_core::{
    Conflict, Fault, FaultKind, Policy, RetryError, Updated, Verdict, delay::Constant,
    many::Combining, testing::VirtualTime,
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

#[derive(Debug, PartialEq)]
struct Failure(u16);

impl Fault for Failure {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
}

impl From<Conflict> for Failure {
    fn from(_: Conflict) -> Self {
        Failure(412)
    }
}

/// What befalls a write. Before it, so many others write.
#[derive(Clone, Copy)]
enum Fate {
    After(u64),
    Fails(u16),
    /// The write is refused, and the next read does not show why.
    StaleRead,
}
use Fate::{After, Fails, StaleRead};

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

fn read(store: &Shared) -> u64 {
    let store = store.lock().unwrap();
    store.time.advance(CALL);
    store.shown
}

fn write(store: &Shared, version: u64) -> Result<(), Failure> {
    let mut store = store.lock().unwrap();
    store.time.advance(CALL);
    let fate = store.fates.pop_front().unwrap_or(After(0));
    match fate {
        After(writes) => {
            store.version += writes;
            store.shown = store.version;
        }
        StaleRead => store.version += 1,
        Fails(status) => return Err(Failure(status)),
    }
    if version == store.version {
        Ok(())
    } else {
        Err(Failure(412))
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

/// The waits of an update, in milliseconds, where versions count or are texts.
fn waits(policy: Policy, fates: &[Fate], counts: bool) -> Vec<f64> {
    let (store, time) = store(fates);
    let update = policy.update(
        async || Ok(read(&store)),
        |_| true,
        async |version| write(&store, version),
    );
    let updated = if counts {
        run(update.version(|version| *version).runtime(time.clone()))
    } else {
        run(update
            .version(|version| version.to_string())
            .runtime(time.clone()))
    };
    assert_eq!(updated, Ok(Updated::Written(())));
    millis(&time)
}

fn millis(time: &VirtualTime) -> Vec<f64> {
    let waits = time.waits().into_iter();
    waits.map(|wait| wait.as_secs_f64() * 1e3).collect()
}

#[track_caller]
fn assert_near(waits: &[f64], expected: &[f64]) {
    let same = |(wait, expected): (&f64, &f64)| (wait - expected).abs() < 1e-3;
    assert!(
        waits.len() == expected.len() && waits.iter().zip(expected).all(same),
        "{waits:?} and not {expected:?}"
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
fn the_wait_after_a_conflict_follows_from_the_window() {
    // 1 s by the policy.
    assert_near(&waits(POLICY, &[After(1)], true), &[70.0]);
    assert_near(&waits(POLICY, &[After(1)], false), &[23.0]);
    assert_near(&waits(POLICY.base(5 * MS), &[After(1)], true), &[17.5]);
}

#[test]
fn the_next_wait_follows_from_the_writes_of_others() {
    for writes in [1, 4, 9] {
        let waits = waits(POLICY, &[After(1), After(1), After(writes)], true);
        assert_near(
            &waits[..2],
            &[70.0, second(70.0, Some(1.0)).max(20.0 * 0.2)],
        );
    }
    let busy = waits(POLICY, &[After(5), After(1)], true);
    assert_near(&busy, &[70.0, second(70.0, Some(5.0))]);
    let texts = waits(POLICY, &[After(5), After(1)], false);
    assert_near(&texts, &[23.0, second(23.0, None)]);
}

#[test]
fn the_cap_holds() {
    let policy = POLICY.max_backoff(15 * MS).base(15 * MS);
    assert_near(&waits(policy, &[After(1), After(9)], true), &[15.0, 15.0]);
}

#[test]
fn waits_after_other_failures_stay_the_policys_and_are_not_lengthened_by_conflicts() {
    let waits = waits(POLICY, &[After(1), Fails(503), After(1), Fails(503)], false);
    assert_eq!(waits.len(), 4);
    assert_near(&[waits[0], waits[1], waits[3]], &[23.0, 1000.0, 2000.0]);
    assert!(waits[2] < 200.0, "{waits:?}");
}

/// A conflict that no read explains comes from stale reads, or is none: to try again at once would
/// hammer the service.
#[test]
fn conflicts_upon_the_same_version_are_waited_after_as_the_policy_says() {
    for counts in [true, false] {
        let waits = waits(
            POLICY,
            &[StaleRead, Fails(412), Fails(412), After(0)],
            counts,
        );
        let first = if counts { 70.0 } else { 23.0 };
        assert_near(&waits, &[first, 1000.0, 2000.0, 4000.0]);
    }
}

#[test]
fn a_blocking_update_and_a_conflict_in_a_reply_keep_the_same_pace() {
    let fates = [After(5), After(3), After(1)];
    let expected = waits(POLICY, &fates, true);
    assert_eq!(expected.len(), 3);

    let (shared, time) = store(&fates);
    let blocking = POLICY
        .blocking_update(
            || Ok(read(&shared)),
            |_| true,
            |version| write(&shared, version),
        )
        .version(|version| *version)
        .runtime(time.clone());
    assert_eq!(blocking.call(), Ok(Updated::Written(())));
    assert_near(&millis(&time), &expected);

    let (shared, time) = store(&fates);
    let replying = POLICY
        .update(
            async || Ok::<_, Failure>(read(&shared)),
            |_| true,
            async |version| Ok(write(&shared, version).is_ok()),
        )
        .version(|version| *version)
        .conflict_if(|succeeded| !succeeded)
        .runtime(time.clone());
    assert_eq!(run(replying), Ok(Updated::Written(true)));
    assert_near(&millis(&time), &expected);
}

/// The waits of an update whose failures are judged as this, and of the same one that blocks; and how
/// often the judge was asked.
fn waits_judged(kind: FaultKind, fates: &[Fate]) -> (Vec<f64>, u32) {
    let asked = Cell::new(0);
    let judge = |_: &Failure| {
        asked.set(asked.get() + 1);
        Verdict::Retry {
            kind,
            retry_after: None,
        }
    };
    let (shared, time) = store(fates);
    let update = POLICY.when(judge).update(
        async || Ok(read(&shared)),
        |_| true,
        async |version| write(&shared, version),
    );
    let updated = run(update.version(|version| *version).runtime(time.clone()));
    assert_eq!(updated, Ok(Updated::Written(())));
    let (waits, asked) = (millis(&time), asked.take());

    let (shared, time) = store(fates);
    let read = || Ok(read(&shared));
    let judged = POLICY.when(judge);
    let blocking = judged.blocking_update(read, |_| true, |version| write(&shared, version));
    let blocking = blocking.version(|version| *version).runtime(time.clone());
    assert_eq!(blocking.call(), Ok(Updated::Written(())));
    assert_near(&millis(&time), &waits);
    (waits, asked)
}

#[test]
fn what_the_judge_calls_a_conflict_is_one_to_the_pace_and_nothing_else_is() {
    // 412 by its status.
    let (waits, asked) = waits_judged(FaultKind::Throttled, &[After(1); 3]);
    assert_near(&waits, &[1000.0, 2000.0, 4000.0]);
    assert_eq!(asked, 3, "the judge is asked once about each failure");
    let (waits, asked) = waits_judged(FaultKind::Conflict, &[Fails(503)]);
    assert_near(&waits, &[70.0]);
    assert_eq!(asked, 1);
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

type Combined = Combining<(), u64, (), Failure, VirtualTime>;

fn combining(shared: Shared, time: VirtualTime) -> Combined {
    combining_by(POLICY, shared, time)
}

fn combining_by(policy: Policy, shared: Shared, time: VirtualTime) -> Combined {
    let (reads, writes) = (Arc::clone(&shared), shared);
    policy
        .combine(
            move |()| {
                let shared = Arc::clone(&reads);
                async move {
                    others_come().await;
                    Ok(read(&shared))
                }
            },
            move |(), version| {
                let shared = Arc::clone(&writes);
                async move { write(&shared, version) }
            },
        )
        .version(|version| *version)
        .runtime(time)
}

#[test]
fn combined_changes_keep_the_same_pace() {
    let fates = [After(5), After(3), Fails(503), After(1)];
    let expected = waits(POLICY, &fates, true);

    let (shared, time) = store(&fates);
    let combining = combining(shared, time.clone());
    let updated = run(combining.update((), |_| true));
    assert!(matches!(updated, Ok(Updated::Written(()))), "{updated:?}");
    assert_near(&millis(&time), &expected);

    // The next change begins as if nobody had been there.
    let again = run(combining.update((), |_| true));
    assert!(again.is_ok());
    assert_eq!(time.waits().len(), expected.len());
}

#[test]
fn a_group_of_four_changes_waits_twice_as_long_at_first() {
    let (shared, time) = store(&[After(1)]);
    let combining = combining(shared, time.clone());
    let mut changes: Vec<_> = (0..4)
        .map(|_| Box::pin(combining.update((), |_| true)))
        .collect();
    run(poll_fn(|cx| {
        changes.retain_mut(|change| change.as_mut().poll(cx).is_pending());
        if changes.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    assert_near(&millis(&time), &[140.0]);
}

#[test]
fn waits_of_the_callers_own_have_the_last_word() {
    let (shared, time) = store(&[After(1), After(1)]);
    let update = POLICY
        .update(
            async || Ok(read(&shared)),
            |_| true,
            async |version| write(&shared, version),
        )
        .version(|version| *version)
        .delays(Constant::new(3 * MS))
        .runtime(time.clone());
    assert_eq!(run(update), Ok(Updated::Written(())));
    assert_near(&millis(&time), &[3.0, 3.0]);
}

#[test]
fn lists_of_waits_go_on_and_end() {
    let (shared, time) = store(&[After(1); 9]);
    let update = POLICY
        .update(
            async || Ok(read(&shared)),
            |_| true,
            async |version| write(&shared, version),
        )
        .version(|version| *version)
        .delays([3 * MS, 5 * MS])
        .runtime(time.clone());
    assert_eq!(run(update), Err(Failure(412)));
    assert_near(&millis(&time), &[3.0, 5.0]);
}

#[test]
fn policies_that_do_not_grow_by_a_factor_keep_their_waits() {
    let linear = Policy::linear(7 * MS, 2 * MS).max_attempts(20);
    let waits = waits(linear, &[After(1); 4], true);
    assert_near(&waits, &[7.0, 9.0, 11.0, 13.0]);
}

/// The waits are short, so five attempts would be over before a crowd is.
#[test]
fn the_default_number_of_attempts_does_not_count_conflicts_at_the_pace() {
    let default = Policy::exponential().base(Duration::from_secs(1));
    assert_eq!(waits(default, &[After(1); 30], true).len(), 30);

    let ends = |fates: &[Fate]| {
        let (shared, time) = store(fates);
        let update = default
            .update(
                async || Ok(read(&shared)),
                |_| true,
                async |version| write(&shared, version),
            )
            .version(|version| *version)
            .runtime(time.clone());
        assert!(run(update).is_err());
        let (shared, combined) = store(fates);
        let policy = combining_by(default, shared, combined.clone());
        assert!(run(policy.update((), |_| true)).is_err());
        assert_eq!(millis(&time), millis(&combined));
        time.waits().len()
    };
    assert_eq!(ends(&[After(1); 200]), 99);
    let mut mixed = vec![After(1); 10];
    mixed.extend([Fails(503); 5]);
    assert_eq!(ends(&mixed), 14);
}

/// Replicas that answer in turn show versions that go to and fro. Nobody has written.
#[test]
fn an_older_version_is_a_stale_read() {
    let time = VirtualTime::new();
    let shown = std::cell::Cell::new(0);
    let update = POLICY
        .max_attempts(9)
        .blocking_update(
            || {
                time.advance(CALL);
                shown.set(shown.get() + 1);
                Ok::<_, Failure>(5 + shown.get() % 2)
            },
            |_| true,
            |_| {
                time.advance(CALL);
                Err::<(), _>(Failure(412))
            },
        )
        .version(|version: &u64| *version)
        .runtime(time.clone())
        .call();
    assert!(update.is_err());
    assert!(
        time.elapsed() > Duration::from_secs(15),
        "{:?}",
        time.waits()
    );
}

#[test]
fn a_version_that_is_not_known_leaves_the_wait_to_the_policy() {
    let (shared, time) = store(&[Fails(412), Fails(412), Fails(412)]);
    let update = POLICY
        .update(
            async || Ok(read(&shared)),
            |_| true,
            async |version| write(&shared, version),
        )
        .version(|_| None::<u64>)
        .runtime(time.clone());
    assert_eq!(run(update), Ok(Updated::Written(())));
    assert_near(&millis(&time), &[23.0, 1000.0, 2000.0]);
}

#[test]
fn limits_hold() {
    let (shared, time) = store(&[After(1); 9]);
    let policy = POLICY.max_attempts(3);
    let update = policy
        .update(
            async || Ok(read(&shared)),
            |_| true,
            async |version| write(&shared, version),
        )
        .version(|version| *version)
        .runtime(time.clone())
        .reported();
    let ended: Result<_, RetryError<Failure, _>> = run(update);
    let report = ended.unwrap_err();
    assert_eq!((report.report.writes, report.error), (3, Failure(412)));
    assert_eq!(time.waits().len(), 2);
}
