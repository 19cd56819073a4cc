//! The metrics that an exporter gets, in every form of a call.

use crate::common::{
    error::TestError,
    forms::{
        BUSY, Form, HANGS, Kind, PLAIN, SECOND, Setting, Step, assert_is_name, call, fails, forms,
        gives,
    },
};
use backoff_core::{
    __private::ForeignCall,
    Budget, Decision, Jitter, Policy, Random, StopReason, Tokio,
    combine::{self, CombineError},
    testing,
};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::{
    collections::BTreeMap,
    future::ready,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

const POLICY: Policy = PLAIN.max_attempts(3).name("storage");

/// Each metric by its name and labels, without the operation.
type Recorded = BTreeMap<String, Vec<f64>>;

/// What this records, and the names of its operations.
fn recorded_with_operations<T>(work: impl FnOnce() -> T) -> (T, Recorded, Vec<String>) {
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

fn recorded_by(form: &Form, setting: &Setting, script: &[Step]) -> Recorded {
    let trial = form.trial(setting, script);
    recorded_with_operations(|| trial.run(form)).1
}

/// What is recorded of one call of the policy.
#[derive(Clone, Copy, Default)]
struct Story<'a> {
    /// How long the attempts took that succeeded, and those that failed in this way.
    succeeded: &'a [f64],
    failed: (&'a str, &'a [f64]),
    /// Retries, and the time that was waited.
    retried: Option<(f64, f64)>,
    took: f64,
    /// Why it was given up, and with what error.
    ended: Option<(&'a str, &'a str)>,
}

impl Story<'_> {
    fn told(&self) -> Recorded {
        let (error, failed) = self.failed;
        let attempt = "retry.attempt.duration retry.policy=storage";
        let outcome = match (self.ended.is_none(), self.retried.is_some()) {
            (true, false) => "successful_without_retry",
            (true, true) => "successful_with_retry",
            (false, false) => "failed_without_retry",
            (false, true) => "failed_with_retry",
        };
        let labels = format!("retry.policy=storage retry.outcome={outcome}");
        let mut call = format!("retry.call.duration {labels}");
        if let Some((reason, error)) = self.ended {
            call += &format!(" retry.stop_reason={reason} error.type={error}");
        }
        let mut told = Recorded::from([
            (attempt.to_owned(), self.succeeded.to_vec()),
            (format!("{attempt} error.type={error}"), failed.to_vec()),
            (call, vec![self.took]),
        ]);
        if let Some((retries, waited)) = self.retried {
            told.insert(format!("retry.call.retries {labels}"), vec![retries]);
            told.insert(format!("retry.call.delay {labels}"), vec![waited]);
        }
        told.retain(|_, values| !values.is_empty());
        told
    }
}

/// Two failures and a success, each after a second.
const RECOVERED: Story<'static> = Story {
    succeeded: &[1.0],
    failed: ("503", &[1.0, 1.0]),
    retried: Some((2.0, 3.0)),
    took: 6.0,
    ended: None,
};

#[test]
fn every_form_tells_the_same_story() {
    let (failure, success) = (fails(BUSY).taking(SECOND), gives(200).taking(SECOND));
    let late = call(POLICY).late(60 * SECOND);
    let without_retry = |failed, took, reason, error| Story {
        failed,
        took,
        ended: Some((reason, error)),
        ..Story::default()
    };
    let rows: &[(&str, Setting, &[Step], Story<'_>)] = &[
        (
            "it succeeds after retries",
            call(POLICY),
            &[failure, failure, success],
            RECOVERED,
        ),
        (
            "it succeeds at once",
            call(POLICY),
            &[success],
            Story {
                succeeded: &[1.0],
                took: 1.0,
                ..Story::default()
            },
        ),
        (
            "it is given up",
            call(POLICY),
            &[fails(BUSY)],
            Story {
                failed: ("503", &[0.0; 3]),
                retried: Some((2.0, 3.0)),
                took: 3.0,
                ended: Some(("attempts", "503")),
                ..Story::default()
            },
        ),
        (
            "it fails for good",
            call(POLICY),
            &[fails(TestError::status(404))],
            without_retry(("404", &[0.0]), 0.0, "permanent", "404"),
        ),
        (
            "its attempt is cut",
            call(POLICY.max_attempts(1)).attempt_timeout(5 * SECOND),
            &[HANGS],
            without_retry(("timeout", &[5.0]), 5.0, "attempts", "timeout"),
        ),
        (
            "it is cut itself",
            call(POLICY).timeout(5 * SECOND),
            &[HANGS],
            without_retry(("timeout", &[5.0]), 5.0, "deadline", "timeout"),
        ),
        (
            "a signal cuts it, which is no timeout",
            call(POLICY).careful().cut_on(5 * SECOND),
            &[HANGS],
            without_retry(("_OTHER", &[5.0]), 5.0, "maybe_applied", "_OTHER"),
        ),
        // What follows the signal is no delay.
        (
            "a signal stops it in its second wait",
            call(POLICY).stop_on(2 * SECOND),
            &[fails(BUSY)],
            Story {
                failed: ("503", &[0.0; 2]),
                retried: Some((1.0, 2.0)),
                took: 2.0,
                ended: Some(("stopped", "503")),
                ..Story::default()
            },
        ),
        #[cfg(feature = "rate")]
        (
            "it stands in the queue of a rate, before the first attempt too",
            call(POLICY).rate(SECOND),
            &[fails(TestError::status(429)), gives(200)],
            Story {
                succeeded: &[0.0],
                failed: ("429", &[0.0]),
                retried: Some((1.0, 2.25)),
                took: 2.25,
                ended: None,
            },
        ),
        // Where its error says so, a call that is too late for an attempt is a timeout.
        (
            "its timer wakes too late",
            late.timeout(30 * SECOND),
            &[fails(BUSY)],
            without_retry(("503", &[0.0]), 61.0, "deadline", "timeout"),
        ),
        (
            "its timer wakes too late for its policy",
            late.deadline(30 * SECOND),
            &[fails(BUSY)],
            without_retry(("503", &[0.0]), 61.0, "deadline", "503"),
        ),
        (
            "its timer wakes too late after a response",
            late.deadline(30 * SECOND).responses(),
            &[gives(503)],
            without_retry(("503", &[0.0]), 61.0, "deadline", "503"),
        ),
    ];
    for &(name, setting, script, story) in rows {
        let can = |form: &&Form| form.cannot(&setting, script).is_none();
        let mut forms = forms().filter(can).peekable();
        assert!(forms.peek().is_some(), "{name}");
        for form in forms {
            // With a deadline alone, no timer of an async call looks at the time again.
            if setting.deadline.is_some() && !form.is_blocking() {
                continue;
            }
            let mut told = story;
            if matches!(form.kind, Kind::Resuming | Kind::BlockingResuming) {
                // It begins with its first failure: nobody knows when that attempt began.
                if script.iter().any(|step| !step.takes.is_zero()) {
                    continue;
                }
                told.failed.1 = &told.failed.1[1..];
            }
            let recorded = recorded_by(form, &setting, script);
            assert_eq!(recorded, told.told(), "{name}, {}", form.name);
        }
    }
}

/// A wait that leads to no attempt costs nothing, and nobody else need ask the budget to show that.
#[test]
fn a_budget_with_a_name_shows_its_level() {
    const LEVEL: &str = "retry.budget.level retry.budget=storage";
    let of = |budget| call(POLICY).budget(budget);
    let full = of(|| Budget::aws().name("storage"));
    let soon = Duration::from_millis(1);
    let recovers: &[Step] = &[fails(BUSY), gives(200)];
    for (name, setting, script, level) in [
        (
            "recovers",
            of(|| Budget::ratio(0.5, 10).name("storage")),
            recovers,
            Some(9.5),
        ),
        ("has no name", of(|| Budget::ratio(0.5, 10)), recovers, None),
        ("stopped", full.stop_on(soon), &[fails(BUSY)], Some(500.0)),
        (
            "dropped",
            full.dropped_at(soon),
            &[fails(BUSY)],
            Some(500.0),
        ),
    ] {
        for form in forms().filter(|form| form.cannot(&setting, script).is_none()) {
            let recorded = recorded_by(form, &setting, script);
            let shown = recorded.iter().find(|(key, _)| key.contains("budget"));
            let expected = level.map(|level| (LEVEL.to_owned(), vec![level]));
            let shown = shown.map(|(key, values)| (key.clone(), values.clone()));
            assert_eq!(shown, expected, "{name}, {}", form.name);
        }
    }
}

/// The gauges show the last value. The timers count milliseconds: the gap of 58.8 ms takes 59.
#[cfg(feature = "rate")]
#[test]
fn a_rate_with_a_name_shows_itself() {
    use backoff_core::Rate;
    static RATE: Rate = Rate::new().name("quota");
    let failures = std::cell::Cell::new(2_u32);
    let policy = POLICY.rate(&RATE);
    let call = || {
        policy.retry(|| {
            let left = failures.get();
            failures.set(left.saturating_sub(1));
            ready(if left == 0 {
                Ok(())
            } else {
                Err(TestError::status(429))
            })
        })
    };
    let (_, recorded) = recorded(async { tokio::join!(call(), call()) });
    let of_the_rate = recorded.iter().filter(|(key, _)| key.contains(".rate."));
    let shown: Vec<_> = of_the_rate
        .map(|(key, values)| (key.as_str(), values[0]))
        .collect();
    let name = |metric: &str| format!("retry.rate.{metric} retry.rate=quota");
    let value = |metric: &str| {
        let found = shown.iter().find(|(key, _)| *key == name(metric));
        found.expect(metric).1
    };
    assert_eq!(shown.len(), 4);
    assert_eq!((value("refused"), value("waiting")), (2.0, 0.0));
    assert_eq!(value("delay"), 0.059);
    // As of the last call that left the queue.
    assert_eq!(value("limit"), 0.85);
}

type Combined<R> = combine::Combining<u8, u32, (), TestError, R>;

/// Combined changes of a number; each read takes a second, and these fail.
fn combine<R>(policy: Policy, runtime: R, failing: &'static [u32]) -> Combined<R> {
    let reads = AtomicU32::new(0);
    let read = move |_| {
        let fails = failing.contains(&reads.fetch_add(1, Relaxed));
        async move {
            tokio::time::sleep(SECOND).await;
            if fails { Err(BUSY) } else { Ok(0) }
        }
    };
    policy.combine(read, |_, _| ready(Ok(()))).runtime(runtime)
}

#[test]
fn combined_changes_are_one_call() {
    let combined = combine(POLICY, Tokio, &[0, 1]);
    let add = || combined.update(0, |_| true);
    let (outcomes, recorded) = recorded(async { tokio::join!(add(), add(), add()) });
    assert!(outcomes.0.is_ok() && outcomes.1.is_ok() && outcomes.2.is_ok());
    assert_eq!(recorded, RECOVERED.told());
}

/// A call that nobody waits for any more, and after it the call of somebody who came later, which takes so long.
fn abandoned(story: Story<'_>, took: f64) -> Recorded {
    let of_others = Story {
        succeeded: &[took],
        took,
        ..Story::default()
    };
    let mut told = story.told();
    told.extend(of_others.told());
    told
}

const ABANDONED: Story<'static> = Story {
    succeeded: &[],
    failed: ("503", &[1.0, 1.0]),
    retried: Some((1.0, 1.0)),
    took: 3.0,
    ended: Some(("stopped", "503")),
};

#[test]
fn combined_changes_whose_callers_have_all_left_are_a_call_that_failed() {
    let combined = combine(POLICY, Tokio, &[0, 1]);
    let (outcomes, recorded) = recorded(async {
        // It leaves during the second read, when somebody else has come.
        let leaves = combined.update(0, |_| true);
        let leaves = leaves.deadline(Duration::from_millis(2_800));
        let comes = async {
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            combined.update(0, |_| true).await
        };
        tokio::join!(leaves, comes)
    });
    let left = outcomes.0.unwrap_err();
    assert!(matches!(left, CombineError::OutOfTime { .. }), "{left:?}");
    assert!(outcomes.1.is_ok());
    assert_eq!(recorded, abandoned(ABANDONED, 1.0));
}

/// Draws the longest waits, and drops what is kept here.
#[derive(Clone, Default)]
struct Drops(Arc<Mutex<Option<Box<dyn Send>>>>);

impl Random for Drops {
    fn random(&self) -> u64 {
        drop(self.0.lock().unwrap().take());
        u64::MAX
    }
}

/// Only a wait with a jitter asks for a random number: it is decided then, and nobody waits for it any more.
#[test]
fn combined_changes_whose_callers_leave_while_it_is_decided_are_a_call_that_failed() {
    let at_first = Story {
        failed: ("503", &[1.0]),
        retried: None,
        took: 1.0,
        ..ABANDONED
    };
    for (failing, during_read, story) in [
        (&[0][..], Duration::from_millis(500), at_first),
        (&[0, 1], Duration::from_millis(2_500), ABANDONED),
    ] {
        let drops = Drops::default();
        let policy = POLICY.jitter(Jitter::Full);
        let combined = combine(policy, (Tokio, drops.clone()), failing);
        let (outcome, recorded) = recorded(async {
            let mut leaves = Box::pin(combined.update(0, |_| true));
            let until_then = tokio::time::timeout(during_read, &mut leaves);
            until_then.await.unwrap_err();
            *drops.0.lock().unwrap() = Some(Box::new(leaves));
            combined.update(0, |_| true).await
        });
        assert!(outcome.is_ok());
        assert_eq!(recorded, abandoned(story, 1.0), "{failing:?}");
    }
}

#[test]
fn combined_changes_that_a_timer_cuts_after_their_callers_have_left_are_a_timeout() {
    for (is_idempotent, reason) in [(true, "stopped"), (false, "maybe_applied")] {
        let writes = Arc::new(AtomicU32::new(0));
        let write = move |_: u8, _: u32| {
            let hangs = writes.fetch_add(1, Relaxed) == 0;
            async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                Ok(())
            }
        };
        let policy = POLICY.idempotent(is_idempotent);
        let combined = policy.combine(|_| ready(Ok::<_, TestError>(0)), write);
        let combined = combined.attempt_timeout(10 * SECOND);
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
        let cut = Story {
            failed: ("timeout", &[10.0]),
            took: 10.0,
            ended: Some((reason, "timeout")),
            ..Story::default()
        };
        assert_eq!(recorded, abandoned(cut, 0.0));
    }
}

#[test]
fn a_read_that_is_resumed_is_a_call_from_its_first_failure_to_its_end() {
    for (succeeds, story) in [
        (
            true,
            Story {
                succeeded: &[1.0],
                failed: ("503", &[1.0]),
                took: 5.0,
                ..RECOVERED
            },
        ),
        (
            false,
            Story {
                failed: ("503", &[1.0, 1.0]),
                retried: RECOVERED.retried,
                took: 5.0,
                ended: Some(("attempts", "503")),
                ..Story::default()
            },
        ),
    ] {
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
        assert_eq!(recorded, story.told());
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
    let (_, mut recorded, _) = recorded_with_operations(|| {
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
    let delay = "retry.call.delay retry.policy=storage retry.outcome=failed_with_retry";
    assert_eq!(recorded.insert(delay.to_owned(), vec![0.0]), None);
    let story = Story {
        failed: ("503", &[1.0]),
        retried: Some((3.0, 0.0)),
        took: 101.0,
        ended: Some(("attempts", "503")),
        ..Story::default()
    };
    assert_eq!(recorded, story.told());
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
        let named = POLICY.blocking(gone).operation("blocking");
        named.call().unwrap_err();
        let named = POLICY.retry(|| ready(gone())).operation("async");
        runtime.block_on(named).unwrap_err();
        let error = gone().unwrap_err();
        let mut pages = POLICY.resuming().operation("pages");
        runtime.block_on(pages.failed(error)).unwrap_err();
        let mut unnamed = POLICY.resuming();
        runtime.block_on(unnamed.failed(error)).unwrap_err();
        let mut rows = POLICY.blocking_resuming().operation("rows");
        rows.failed_blocking(error).unwrap_err();
        let read = move |_: u8| ready(gone());
        let combined = || POLICY.combine(read, |_, ()| ready(Ok(())));
        let add = combined().update(0, |()| true);
        runtime.block_on(add).unwrap_err();
        let add = combined().operation("combined").update(0, |()| true);
        runtime.block_on(add).unwrap_err();
    });
    let expected = [
        here, "async", "blocking", "combined", "pages", "resuming", "rows",
    ];
    assert_eq!(operations, expected);
}
