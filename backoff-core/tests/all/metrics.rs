//! The metrics of calls that no row can tell: what calls share, combined changes, reads that are resumed.

use crate::common::{
    error::TestError,
    forms::{BUSY, SECOND, assert_is_name, call, each_row},
    recorder::listening,
};
use crate::stories::{
    POLICY,
    story::{Recorded, Story},
};
use backoff_core::{__private::ForeignCall, Decision, StopReason, testing};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::{
    future::ready,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

/// What this records. Each operation has a name.
pub(crate) fn recorded<T>(work: impl FnOnce() -> T) -> (T, Recorded) {
    let recorder = DebuggingRecorder::new();
    let value = metrics::with_local_recorder(&recorder, work);
    let mut all = Recorded::new();
    for (key, _, _, value) in recorder.snapshotter().snapshot().into_vec() {
        let mut name = key.key().name().to_owned();
        for label in key.key().labels() {
            match label.key() {
                "retry.operation" => assert_is_name(label.value()),
                other => name += &format!(" {other}={}", label.value()),
            }
        }
        let values = match value {
            DebugValue::Histogram(values) => values.into_iter().map(f64::from).collect(),
            DebugValue::Gauge(level) => vec![level.into()],
            DebugValue::Counter(count) => vec![count as f64],
        };
        all.insert(name, values);
    }
    (value, all)
}

/// What this records, in tokio's virtual time.
fn recorded_in_time<T>(work: impl Future<Output = T>) -> (T, Recorded) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    recorded(|| runtime.block_on(work))
}

/// A wait that leads to no attempt costs nothing, and nobody else need ask the budget to show that.
#[test]
fn a_budget_with_a_name_shows_its_level() {
    let table = "
        recovers    | budget ratio 0.5 10 as storage | error 503, 200 | 9.5
        has no name | budget ratio 0.5 10            | error 503, 200 |
        stopped     | budget aws as storage, stop_on 0.001    | error 503 | 500
        dropped     | budget aws as storage, dropped_at 0.001 | error 503 | 500
    ";
    each_row(call(POLICY), table, |name, form, setting, script, level| {
        let trial = form.trial(setting, script);
        let (_, mut recorded) = recorded(|| trial.run(form));
        let level = level.parse::<f64>().ok().map(|level| vec![level]);
        let shown = recorded.remove("retry.budget.level retry.budget=storage");
        assert_eq!(shown, level, "{name}");
        assert!(!recorded.keys().any(|key| key.contains("budget")), "{name}");
    });
}

/// The gauges show the last value, as of the last call that left the queue. The timers count milliseconds: the gap of
/// 58.8 ms takes 59.
#[test]
fn a_rate_with_a_name_shows_itself() {
    use backoff_core::Rate;
    static RATE: Rate = Rate::new().name("quota");
    let left = AtomicU32::new(2);
    let policy = POLICY.rate(&RATE);
    let call = || {
        policy.retry(|| {
            let fails = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            ready(fails.map_or(Ok(()), |_| Err(TestError::status(429))))
        })
    };
    let (_, mut recorded) = recorded_in_time(async { tokio::join!(call(), call()) });
    recorded.retain(|key, _| key.contains(".rate."));
    recorded.values_mut().for_each(|values| values.truncate(1));
    let shown = [
        ("delay", 0.059),
        ("limit", 0.85),
        ("refused", 2.0),
        ("waiting", 0.0),
    ];
    let shown =
        shown.map(|(metric, value)| (format!("retry.rate.{metric} retry.rate=quota"), vec![value]));
    assert_eq!(recorded, shown.into());
}

/// The second requests that were sent and that won. Each has a line in the log.
#[test]
fn second_requests_are_counted() {
    let table = "
        it wins                | hedge 1               | 200 taking 9, 201               | 1 1
        it comes too late      | hedge 1               | 200 taking 2, 201 taking 9      | 1 0
        it fails               | hedge 1               | 200 taking 9, error 503         | 1 0
        each attempt has one   | hedge 1               | error 503 taking 2, error 503 taking 2, 200 taking 2, 201 | 2 1
        the call is dropped    | hedge 1, dropped_at 5 | hangs                           | 1 0
        the answer is quick    | hedge 1               | 200                             | 0 0
    ";
    each_row(
        call(POLICY),
        table,
        |name, form, setting, script, counts| {
            let (trial, mut all) = (form.trial(setting, script), Recorded::new());
            let state = listening(|| all = recorded(|| trial.run(form)).1);
            let count = |what| {
                let values = all.get(&format!("retry.hedge.{what} retry.policy=storage"));
                values.map_or(0.0, |values| values[0])
            };
            let counted = format!("{} {}", count("sent"), count("won"));
            assert_eq!(counted, counts, "{name}: {all:?}");
            let is_sending =
                |line: &&String| line.contains("DEBUG slow attempt, sending a second request");
            let logged = state.logged.iter().filter(is_sending).count();
            assert_eq!(logged as f64, count("sent"), "{name}: {:?}", state.logged);
        },
    );
}

/// The first two reads fail.
#[test]
fn combined_changes_are_one_call() {
    let reads = AtomicU32::new(0);
    let read = move |_| {
        let fails = reads.fetch_add(1, Relaxed) < 2;
        async move {
            tokio::time::sleep(SECOND).await;
            if fails { Err(BUSY) } else { Ok(0_u32) }
        }
    };
    let combined = POLICY.combine(read, |_: u8, _| ready(Ok(())));
    let add = || combined.update(0, |_| true);
    let (outcomes, one) = recorded_in_time(async { tokio::join!(add(), add(), add()) });
    assert!(outcomes.0.is_ok() && outcomes.1.is_ok() && outcomes.2.is_ok());
    let story = "failed 503 in 1, waits 1, failed 503 in 1, waits 2, succeeded in 1";
    assert_eq!(one, Story::new(story).metrics);
}

#[test]
fn an_attempt_that_is_resumed_before_its_wait_is_over_has_no_duration() {
    let (_, recorded) = recorded_in_time(async {
        let mut resuming = POLICY.resuming();
        let wait = tokio::time::timeout(SECOND / 2, resuming.failed(BUSY));
        wait.await.unwrap_err();
        tokio::time::sleep(SECOND / 2).await;
        resuming.progress();
    });
    let has_attempts = recorded.keys().any(|name| name.contains("attempt"));
    assert!(!has_attempts, "{recorded:?}");
}

#[test]
fn a_call_that_a_client_has_begun_unseen_has_no_delay_and_no_first_attempt() {
    let time = testing::VirtualTime::new();
    let (_, recorded) = recorded(|| {
        let policy = POLICY.max_attempts(4);
        let mut call = ForeignCall::request(policy, "get", Duration::ZERO, 2, &time);
        time.advance(100 * SECOND);
        let decision = call.failed(&time, &BUSY);
        assert!(matches!(decision, Decision::Wait(_)), "{decision:?}");
        call.begins(&time);
        time.advance(SECOND);
        let decision = call.failed(&time, &BUSY);
        assert_eq!(decision, Decision::Stop(StopReason::Attempts));
    });
    let call = "retry.policy=storage retry.outcome=failed_with_retry";
    let expected = [
        (
            "retry.attempt.duration retry.policy=storage error.type=503".to_owned(),
            1.0,
        ),
        (
            format!("retry.call.duration {call} retry.stop_reason=attempts error.type=503"),
            101.0,
        ),
        (format!("retry.call.retries {call}"), 3.0),
    ];
    assert_eq!(
        recorded,
        expected.map(|(name, value)| (name, vec![value])).into()
    );
}
