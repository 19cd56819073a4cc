//! The metrics of calls that no row can tell: what calls share, combined changes, reads that are resumed.

use crate::common::{
    error::TestError,
    forms::{BUSY, SECOND, assert_is_name, call, each_row},
};
use crate::spans::recorder::listening;
use crate::stories::{
    POLICY,
    story::{Recorded, Story},
};
use backoff_core::{
    __private::ForeignCall,
    Decision, StopReason,
    combine::{Combining, Group},
    testing,
};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

/// What this records, and the names of its operations.
pub(crate) fn recorded_with_operations<T>(work: impl FnOnce() -> T) -> (T, Recorded, Vec<String>) {
    let recorder = DebuggingRecorder::new();
    let value = metrics::with_local_recorder(&recorder, work);
    let (mut recorded, mut operations) = (Recorded::new(), Vec::new());
    for (key, _, _, value) in recorder.snapshotter().snapshot().into_vec() {
        let mut name = key.key().name().to_owned();
        for label in key.key().labels() {
            match label.key() {
                "retry.operation" => {
                    assert_is_name(label.value());
                    operations.push(label.value().to_owned());
                }
                other => name += &format!(" {other}={}", label.value()),
            }
        }
        let values = match value {
            DebugValue::Histogram(values) => values.into_iter().map(f64::from).collect(),
            DebugValue::Gauge(level) => vec![level.into()],
            DebugValue::Counter(count) => vec![count as f64],
        };
        recorded.insert(name, values);
    }
    operations.sort_unstable();
    operations.dedup();
    (value, recorded, operations)
}

/// What this records, in tokio's virtual time.
fn recorded<T>(work: impl Future<Output = T>) -> (T, Recorded) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let (value, recorded, _) = recorded_with_operations(|| runtime.block_on(work));
    (value, recorded)
}

/// What is told of one call.
fn told(story: &str) -> Recorded {
    Story::new(story).metrics
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
        let (_, mut recorded, _) = recorded_with_operations(|| trial.run(form));
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
    let (_, mut recorded) = recorded(async { tokio::join!(call(), call()) });
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

/// The second requests that were sent and that won. Each has a line in the log, and every span closes.
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
            let (trial, mut recorded) = (form.trial(setting, script), Recorded::new());
            let state = listening(|| recorded = recorded_with_operations(|| trial.run(form)).1);
            let count = |what| {
                let values = recorded.get(&format!("retry.hedge.{what} retry.policy=storage"));
                values.map_or(0.0, |values| values[0])
            };
            let counted = format!("{} {}", count("sent"), count("won"));
            assert_eq!(counted, counts, "{name}: {recorded:?}");
            let lines = |text: &'static str, lines: &[String]| {
                lines.iter().filter(|line| line.contains(text)).count()
            };
            let logged = lines(
                "DEBUG slow attempt, sending a second request",
                &state.logged,
            );
            assert_eq!(logged as f64, count("sent"), "{name}: {:?}", state.logged);
            let [opened, closed] = [" opens", " closes"].map(|text| lines(text, &state.lines));
            let attempts = form.name.contains("in spans").then_some(opened > 0);
            assert_eq!(
                (opened, attempts != Some(false)),
                (closed, true),
                "{name}: {:?}",
                state.lines
            );
        },
    );
}

/// Combined changes of a number; each read takes a second, and these fail.
fn combine(failing: &'static [u32]) -> Combining<u8, u32, (), TestError> {
    let reads = AtomicU32::new(0);
    let read = move |_| {
        let fails = failing.contains(&reads.fetch_add(1, Relaxed));
        async move {
            tokio::time::sleep(SECOND).await;
            if fails { Err(BUSY) } else { Ok(0) }
        }
    };
    POLICY.combine(read, |_, _| ready(Ok(())))
}

#[test]
fn combined_changes_are_one_call() {
    let story = "failed 503 in 1, waits 1, failed 503 in 1, waits 2, succeeded in 1";
    let combined = combine(&[0, 1]);
    let add = || combined.update(0, |_| true);
    let (outcomes, one) = recorded(async { tokio::join!(add(), add(), add()) });
    assert!(outcomes.0.is_ok() && outcomes.1.is_ok() && outcomes.2.is_ok());
    assert_eq!(one, told(story));

    // The first caller leaves during the second read, when the other one has come, and joins the call.
    let combined = combine(&[0, 1]);
    let (outcomes, one) = recorded(async {
        let leaves =
            tokio::time::timeout(Duration::from_millis(2_800), combined.update(0, |_| true));
        let comes = async {
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            combined.update(0, |_| true).await
        };
        tokio::join!(leaves, comes)
    });
    assert!(outcomes.0.is_err() && outcomes.1.is_ok(), "{outcomes:?}");
    assert_eq!(one, told(story));
}

#[test]
fn a_combined_write_that_is_cut_after_its_callers_have_left_is_a_timeout() {
    for (is_idempotent, stories) in [
        (true, &["failed timeout in 10, waits 1, succeeded"][..]),
        (
            false,
            &["failed timeout in 10, gave up maybe_applied", "succeeded"],
        ),
    ] {
        let policy = POLICY.idempotent(is_idempotent);
        let writes = Arc::new(AtomicU32::new(0));
        let combined = Combining::new(move |_: u8, group: Group<u32, (), TestError>| {
            let writes = Arc::clone(&writes);
            async move {
                let write = || async {
                    if writes.fetch_add(1, Relaxed) == 0 {
                        std::future::pending::<()>().await;
                    }
                    Ok(())
                };
                policy
                    .update(
                        || group.read(ready(Ok(0))),
                        |_| group.has_changed(),
                        |_| group.write(write()),
                    )
                    .attempt_timeout(10 * SECOND)
                    .reported()
                    .await
            }
        });
        let (outcomes, recorded) = recorded(async {
            let leaves = combined.update(0, |_| true);
            let leaves = tokio::time::timeout(5 * SECOND, leaves);
            let comes = async {
                tokio::time::sleep(SECOND).await;
                combined.update(0, |_| true).await
            };
            tokio::join!(leaves, comes)
        });
        assert!(outcomes.0.is_err() && outcomes.1.is_ok(), "{outcomes:?}");
        let mut expected = Recorded::new();
        stories
            .iter()
            .for_each(|story| expected.extend(told(story)));
        assert_eq!(recorded, expected);
    }
}

// Nobody knows when its first attempt began: the story has that attempt without its duration.
#[test]
fn a_read_that_is_resumed_is_a_call_from_its_first_failure_to_its_end() {
    for (succeeds, end) in [
        (true, "succeeded in 1"),
        (false, "failed 503 in 1, gave up attempts"),
    ] {
        let mut story = told(&format!(
            "failed 503, waits 1, failed 503 in 1, waits 2, {end}"
        ));
        let failed = "retry.attempt.duration retry.policy=storage error.type=503";
        story.get_mut(failed).unwrap().remove(0);
        let (_, recorded) = recorded(async {
            let mut resuming = POLICY.resuming();
            for _ in 0..2 {
                // Nobody knows when this attempt began, and what follows is no retry.
                tokio::time::sleep(100 * SECOND).await;
                resuming.progress();
            }
            for _ in 0..2 {
                tokio::time::sleep(SECOND).await;
                resuming.failed(BUSY).await.unwrap();
            }
            tokio::time::sleep(SECOND).await;
            if !succeeds {
                resuming.failed(BUSY).await.unwrap_err();
                // What fails after that is told to its caller alone.
                resuming.failed(BUSY).await.unwrap_err();
            }
            // A second time, or after it was given up, it is no success of that call.
            resuming.progress();
            resuming.progress();
        });
        assert_eq!(recorded, story);
    }
}

#[test]
fn an_attempt_that_is_resumed_before_its_wait_is_over_has_no_duration() {
    let (_, recorded) = recorded(async {
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
    let (_, recorded, _) = recorded_with_operations(|| {
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

#[test]
fn an_operation_is_called_by_its_closure_or_by_its_name_and_not_by_its_error() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let gone = || Err::<(), _>(TestError::status(404));
    let here = concat!(
        module_path!(),
        "::an_operation_is_called_by_its_closure_or_by_its_name_and_not_by_its_error"
    );
    let (_, _, operations) = recorded_with_operations(|| {
        POLICY.blocking(gone).call().unwrap_err();
        let error = gone().unwrap_err();
        let mut pages = POLICY.resuming().operation("pages");
        runtime.block_on(pages.failed(error)).unwrap_err();
        let mut unnamed = POLICY.resuming();
        runtime.block_on(unnamed.failed(error)).unwrap_err();
        let mut rows = POLICY.blocking_resuming().operation("rows");
        rows.failed_blocking(error).unwrap_err();
        let read = move |_: u8| ready(gone());
        let combined = POLICY.combine(read, |_, ()| ready(Ok(())));
        runtime.block_on(combined.update(0, |()| true)).unwrap_err();
    });
    let expected = [here, "pages", "resuming", "rows"];
    assert_eq!(operations, expected);
}
