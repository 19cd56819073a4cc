//! The metrics that an exporter gets, in every form of a call.

use backoff_core::{
    __private::ForeignCall,
    BlockingSleep, Budget, Clock, Decision, Fault, Jitter, Policy, Random, Resuming, Sleep,
    StopReason, Stopped, TimedOut, Tokio, drive,
    many::{self, CombineError},
    retry, testing,
};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::{
    collections::{BTreeMap, BTreeSet},
    future::{Ready, ready},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;

const POLICY: Policy = Policy::exponential()
    .jitter(Jitter::None)
    .max_attempts(3)
    .name("storage");

#[derive(Debug, PartialEq)]
struct Status(u16);

impl Fault for Status {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
    fn message(&self) -> Option<&dyn std::fmt::Display> {
        Some(&"a text that is nobody's label")
    }
}

impl From<Stopped> for Status {
    fn from(_: Stopped) -> Self {
        Status(499)
    }
}

impl From<TimedOut> for Status {
    fn from(_: TimedOut) -> Self {
        Status(504)
    }
}

/// Each metric by its name and labels, without the operation.
type Recorded = BTreeMap<String, Vec<f64>>;

/// What `work` records, in virtual time.
fn recorded<T>(work: impl Future<Output = T>) -> (T, Recorded) {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let value = metrics::with_local_recorder(&recorder, || runtime.block_on(work));
    (value, shown(&seen))
}

fn shown(seen: &metrics_util::debugging::Snapshotter) -> Recorded {
    let rows = seen.snapshot().into_vec().into_iter();
    rows.map(|(key, _, _, value)| {
        let labels: Vec<String> = (key.key().labels())
            .filter(|label| label.key() != "retry.operation")
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        let values = match value {
            DebugValue::Histogram(values) => values.into_iter().map(f64::from).collect(),
            DebugValue::Gauge(level) => vec![level.into()],
            DebugValue::Counter(_) => unreachable!("there are no counters"),
        };
        (format!("{} {}", key.key().name(), labels.join(" ")), values)
    })
    .collect()
}

/// What is expected, in the order of the names.
fn metrics<const N: usize>(rows: [(&str, &[f64]); N]) -> Recorded {
    let rows = rows.into_iter();
    rows.map(|(name, values)| (name.to_owned(), values.to_vec()))
        .collect()
}

/// Fails so often, and then succeeds; each attempt takes a second.
async fn attempt(left: &std::cell::Cell<u32>) -> Result<(), Status> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    if left.get() == 0 {
        return Ok(());
    }
    left.set(left.get() - 1);
    Err(Status(503))
}

/// What two failures and a success record.
fn recovered() -> Recorded {
    let labels = "retry.policy=storage retry.outcome=successful_with_retry";
    metrics([
        ("retry.attempt.duration retry.policy=storage", &[1.0]),
        (
            "retry.attempt.duration retry.policy=storage error.type=503",
            &[1.0, 1.0],
        ),
        (&format!("retry.call.delay {labels}"), &[3.0]),
        (&format!("retry.call.duration {labels}"), &[6.0]),
        (&format!("retry.call.retries {labels}"), &[2.0]),
    ])
}

#[test]
fn a_call_that_succeeds_after_retries() {
    let left = std::cell::Cell::new(2);
    let (outcome, recorded) = recorded(async { POLICY.retry(|| attempt(&left)).await });
    assert_eq!(outcome, Ok(()));
    assert_eq!(recorded, recovered());
}

#[test]
fn an_annotated_function_and_a_mutable_closure_record_the_same() {
    #[retry(policy = POLICY)]
    async fn get(left: &std::cell::Cell<u32>) -> Result<(), Status> {
        attempt(left).await
    }
    let left = std::cell::Cell::new(2);
    assert_eq!(recorded(get(&left)), (Ok(()), recovered()));
    left.set(2);
    let call = POLICY.retry_mut(async || attempt(&left).await);
    assert_eq!(recorded(call), (Ok(()), recovered()));
}

#[test]
fn a_call_that_succeeds_at_once_reports_no_retries() {
    let left = std::cell::Cell::new(0);
    let (_, recorded) = recorded(async { POLICY.retry(|| attempt(&left)).await });
    let expected = metrics([
        ("retry.attempt.duration retry.policy=storage", &[1.0]),
        (
            "retry.call.duration retry.policy=storage retry.outcome=successful_without_retry",
            &[1.0],
        ),
    ]);
    assert_eq!(recorded, expected);
}

#[test]
fn a_call_that_is_given_up_says_why() {
    let busy = |status| move || -> Ready<Result<(), _>> { ready(Err(Status(status))) };
    let (_, given_up) = recorded(async { POLICY.retry(busy(503)).await });
    let labels = "retry.policy=storage retry.outcome=failed_with_retry";
    let expected = metrics([
        (
            "retry.attempt.duration retry.policy=storage error.type=503",
            &[0.0, 0.0, 0.0],
        ),
        (&format!("retry.call.delay {labels}"), &[3.0]),
        (
            &format!("retry.call.duration {labels} retry.stop_reason=attempts error.type=503"),
            &[3.0],
        ),
        (&format!("retry.call.retries {labels}"), &[2.0]),
    ]);
    assert_eq!(given_up, expected);
    let (_, permanent) = recorded(async { POLICY.retry(busy(404)).await });
    let expected = metrics([
        (
            "retry.attempt.duration retry.policy=storage error.type=404",
            &[0.0],
        ),
        (
            "retry.call.duration retry.policy=storage retry.outcome=failed_without_retry \
             retry.stop_reason=permanent error.type=404",
            &[0.0],
        ),
    ]);
    assert_eq!(permanent, expected);
}

#[test]
fn an_attempt_that_is_cut_is_a_timeout() {
    let (_, recorded) = recorded(async {
        Policy::exponential()
            .max_attempts(1)
            .retry(std::future::pending::<Result<(), Status>>)
            .attempt_timeout(Duration::from_secs(5))
            .await
    });
    let expected = metrics([
        ("retry.attempt.duration error.type=timeout", &[5.0]),
        (
            "retry.call.duration retry.outcome=failed_without_retry retry.stop_reason=attempts \
             error.type=timeout",
            &[5.0],
        ),
    ]);
    assert_eq!(recorded, expected);
}

#[test]
fn an_attempt_that_is_cut_when_the_call_is_over_is_a_timeout() {
    let (_, recorded) = recorded(async {
        POLICY
            .retry(std::future::pending::<Result<(), Status>>)
            .timeout(Duration::from_secs(5))
            .await
    });
    let expected = metrics([
        (
            "retry.attempt.duration retry.policy=storage error.type=timeout",
            &[5.0],
        ),
        (
            "retry.call.duration retry.policy=storage retry.outcome=failed_without_retry \
             retry.stop_reason=deadline error.type=timeout",
            &[5.0],
        ),
    ]);
    assert_eq!(recorded, expected);
}

#[test]
fn an_attempt_that_a_signal_cuts_is_no_timeout() {
    let policy = POLICY.idempotent(false);
    let stop = CancellationToken::new();
    let hangs = || {
        stop.cancel();
        std::future::pending::<Result<(), Status>>()
    };
    let (_, recorded) = recorded(async { policy.retry(hangs).cut_on(stop.cancelled()).await });
    let expected = metrics([
        (
            "retry.attempt.duration retry.policy=storage error.type=499",
            &[0.0],
        ),
        (
            "retry.call.duration retry.policy=storage retry.outcome=failed_without_retry \
             retry.stop_reason=maybe_applied error.type=499",
            &[0.0],
        ),
    ]);
    assert_eq!(recorded, expected);
}

#[test]
fn a_budget_with_a_name_shows_its_level() {
    let budget = Budget::ratio(0.5, 10).name("storage");
    let unnamed = Budget::ratio(0.5, 10);
    let left = std::cell::Cell::new(1);
    let (_, of_named) = recorded(async { POLICY.retry(|| attempt(&left)).budget(&budget).await });
    let level = "retry.budget.level retry.budget=storage";
    assert_eq!(of_named.get(level), Some(&vec![9.5]));
    left.set(1);
    let (_, of_other) = recorded(async { POLICY.retry(|| attempt(&left)).budget(&unnamed).await });
    assert!(
        !of_other.keys().any(|key| key.contains("budget")),
        "{of_other:?}"
    );
}

/// A wait that leads to no attempt costs nothing, and nobody else need ask the budget to show that.
#[test]
fn a_budget_shows_the_tokens_that_a_stopped_or_dropped_call_gives_back() {
    static BUDGET: Budget = Budget::aws().name("storage");
    const PAID: Policy = POLICY.budget(&BUDGET);
    let level = "retry.budget.level retry.budget=storage";
    let busy = || ready(Err::<(), _>(Status(503)));
    let soon = || tokio::time::sleep(Duration::from_millis(1));
    let (_, of_async) = recorded(async { PAID.retry(busy).stop_on(soon()).await });
    assert_eq!(of_async[level], [500.0]);
    let (_, of_owned) = recorded(async { PAID.retry(busy).owned().stop_on(soon()).await });
    assert_eq!(of_owned[level], [500.0]);
    let (_, of_call) = recorded(async {
        let call = POLICY.retry(busy).budget(&BUDGET);
        call.stop_on(soon()).await
    });
    assert_eq!(of_call[level], [500.0]);
    let (_, of_block) = recorded(async {
        let busy =
            backoff_core::retry_block!(policy = PAID, stop_on = soon(), async { busy().await });
        busy.await
    });
    assert_eq!(of_block[level], [500.0]);
    let (_, of_resuming) = recorded(async {
        let mut resuming = PAID.resuming().stop_on(Box::pin(soon()));
        resuming.failed(Status(503)).await
    });
    assert_eq!(of_resuming[level], [500.0]);
    let (_, of_dropped) = recorded(async {
        let call = tokio::time::timeout(Duration::from_millis(1), PAID.retry(busy));
        call.await
    });
    assert_eq!(of_dropped[level], [500.0]);
}

#[test]
fn a_blocking_call_records_the_same() {
    let time = testing::VirtualTime::default();
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let mut left = 2;
    let outcome = metrics::with_local_recorder(&recorder, || {
        let call = POLICY.blocking(|| {
            time.advance(Duration::from_secs(1));
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            Err(Status(503))
        });
        call.runtime(time.clone()).call()
    });
    assert_eq!(outcome, Ok(()));
    assert_eq!(time.elapsed(), Duration::from_secs(6));
    assert_eq!(shown(&seen), recovered());
}

#[test]
fn combined_changes_are_one_call() {
    let stored = Arc::new(Mutex::new((0, 2)));
    let (read, write) = (stored.clone(), stored.clone());
    let combined = POLICY.combine(
        move |_: u8| {
            let value = read.lock().unwrap().0;
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(value)
            }
        },
        move |_, value: u32| {
            let mut stored = write.lock().unwrap();
            let outcome = if stored.1 == 0 {
                stored.0 = value;
                Ok(())
            } else {
                stored.1 -= 1;
                Err(Status(503))
            };
            ready(outcome)
        },
    );
    let add = || {
        combined.update(0, |value| {
            *value += 1;
            true
        })
    };
    let (outcomes, recorded) = recorded(async { tokio::join!(add(), add(), add()) });
    assert!(outcomes.0.is_ok() && outcomes.1.is_ok() && outcomes.2.is_ok());
    assert_eq!(stored.lock().unwrap().0, 3);
    assert_eq!(recorded, recovered());
}

/// Combined changes of a number; each read takes a second, and these fail.
fn combine<R>(
    policy: Policy,
    runtime: R,
    failing: &'static [u32],
) -> many::Combining<u8, u32, (), Status, R> {
    let reads = AtomicU32::new(0);
    let read = move |_| {
        let fails = failing.contains(&reads.fetch_add(1, Relaxed));
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if fails { Err(Status(503)) } else { Ok(0) }
        }
    };
    policy.combine(read, |_, _| ready(Ok(()))).runtime(runtime)
}

/// A call that nobody waits for any more, and the call of somebody who came later.
fn abandoned(retries: f64, waited: f64, took: f64) -> Recorded {
    let outcome = if retries > 0.0 {
        "failed_with_retry"
    } else {
        "failed_without_retry"
    };
    let labels = format!("retry.policy=storage retry.outcome={outcome}");
    let of_others = "retry.policy=storage retry.outcome=successful_without_retry";
    let attempts = vec![1.0; retries as usize + 1];
    let mut expected = metrics([
        ("retry.attempt.duration retry.policy=storage", &[1.0]),
        (
            "retry.attempt.duration retry.policy=storage error.type=503",
            &attempts,
        ),
        (
            &format!("retry.call.duration {labels} retry.stop_reason=stopped error.type=503"),
            &[took],
        ),
        (&format!("retry.call.duration {of_others}"), &[1.0]),
    ]);
    if retries > 0.0 {
        expected.insert(format!("retry.call.delay {labels}"), vec![waited]);
        expected.insert(format!("retry.call.retries {labels}"), vec![retries]);
    }
    expected
}

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
    assert_eq!(recorded, abandoned(1.0, 1.0, 3.0));
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

#[test]
fn combined_changes_whose_callers_leave_while_it_is_decided_are_a_call_that_failed() {
    let drops = Drops::default();
    // Only a wait with a jitter asks for a random number.
    let policy = POLICY.jitter(Jitter::Full);
    let combined = combine(policy, (Tokio, drops.clone()), &[0]);
    let (outcome, recorded) = recorded(async {
        let mut leaves = Box::pin(combined.update(0, |_| true));
        let half = Duration::from_millis(500);
        tokio::time::timeout(half, &mut leaves).await.unwrap_err();
        *drops.0.lock().unwrap() = Some(Box::new(leaves));
        combined.update(0, |_| true).await
    });
    assert!(outcome.is_ok());
    assert_eq!(recorded, abandoned(0.0, 0.0, 1.0));
}

#[test]
fn a_wait_that_nobody_waits_for_any_more_is_no_delay() {
    let drops = Drops::default();
    let policy = POLICY.jitter(Jitter::Full);
    let combined = combine(policy, (Tokio, drops.clone()), &[0, 1]);
    let (outcome, recorded) = recorded(async {
        let mut leaves = Box::pin(combined.update(0, |_| true));
        let second_read = Duration::from_millis(2_500);
        let until_then = tokio::time::timeout(second_read, &mut leaves);
        until_then.await.unwrap_err();
        *drops.0.lock().unwrap() = Some(Box::new(leaves));
        combined.update(0, |_| true).await
    });
    assert!(outcome.is_ok());
    assert_eq!(recorded, abandoned(1.0, 1.0, 3.0));
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
        let combined = policy.combine(|_| ready(Ok::<_, Status>(0)), write);
        let combined = combined.attempt_timeout(Duration::from_secs(10));
        let (outcomes, recorded) = recorded(async {
            let leaves = combined.update(0, |_| true);
            let leaves = tokio::time::timeout(Duration::from_secs(5), leaves);
            let comes = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                combined.update(0, |_| true).await
            };
            tokio::join!(leaves, comes)
        });
        assert!(outcomes.0.is_err() && outcomes.1.is_ok(), "{outcomes:?}");
        let of_others = "retry.policy=storage retry.outcome=successful_without_retry";
        let labels = "retry.policy=storage retry.outcome=failed_without_retry";
        let call =
            format!("retry.call.duration {labels} retry.stop_reason={reason} error.type=timeout");
        let expected = metrics([
            ("retry.attempt.duration retry.policy=storage", &[0.0]),
            (
                "retry.attempt.duration retry.policy=storage error.type=timeout",
                &[10.0],
            ),
            (&call, &[10.0]),
            (&format!("retry.call.duration {of_others}"), &[0.0]),
        ]);
        assert_eq!(recorded, expected);
    }
}

/// An attempt of a read that is resumed: it takes a second, and fails.
async fn fails<R>(resuming: &mut Resuming<'_, drive::Settings, R>) -> Result<(), Status>
where
    R: Clock + Sleep + Random,
{
    tokio::time::sleep(Duration::from_secs(1)).await;
    resuming.failed(Status(503)).await
}

#[test]
fn a_read_that_is_resumed_is_a_call_from_its_first_failure_to_its_progress() {
    let (_, recorded) = recorded(async {
        let mut resuming = POLICY.resuming();
        for _ in 0..2 {
            // Nobody knows when this attempt began, and what follows is no retry.
            tokio::time::sleep(Duration::from_secs(100)).await;
            resuming.progress();
        }
        fails(&mut resuming).await.unwrap();
        fails(&mut resuming).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        resuming.progress();
        resuming.progress();
    });
    let labels = "retry.policy=storage retry.outcome=successful_with_retry";
    let expected = metrics([
        ("retry.attempt.duration retry.policy=storage", &[1.0]),
        (
            "retry.attempt.duration retry.policy=storage error.type=503",
            &[1.0],
        ),
        (&format!("retry.call.delay {labels}"), &[3.0]),
        (&format!("retry.call.duration {labels}"), &[5.0]),
        (&format!("retry.call.retries {labels}"), &[2.0]),
    ]);
    assert_eq!(recorded, expected);
}

#[test]
fn a_read_that_is_resumed_and_given_up_says_why() {
    let (_, recorded) = recorded(async {
        let mut resuming = POLICY.resuming();
        fails(&mut resuming).await.unwrap();
        fails(&mut resuming).await.unwrap();
        fails(&mut resuming).await.unwrap_err();
        // What fails after that is told to its caller alone.
        fails(&mut resuming).await.unwrap_err();
        // Progress after that is no success of the call that was given up.
        resuming.progress();
    });
    let labels = "retry.policy=storage retry.outcome=failed_with_retry";
    let expected = metrics([
        (
            "retry.attempt.duration retry.policy=storage error.type=503",
            &[1.0, 1.0],
        ),
        (&format!("retry.call.delay {labels}"), &[3.0]),
        (
            &format!("retry.call.duration {labels} retry.stop_reason=attempts error.type=503"),
            &[5.0],
        ),
        (&format!("retry.call.retries {labels}"), &[2.0]),
    ]);
    assert_eq!(recorded, expected);
}

#[test]
fn an_attempt_that_is_resumed_before_its_wait_is_over_has_no_duration() {
    let (_, recorded) = recorded(async {
        let mut resuming = POLICY.resuming();
        let half = Duration::from_millis(500);
        let wait = tokio::time::timeout(half, resuming.failed(Status(503)));
        wait.await.unwrap_err();
        tokio::time::sleep(half).await;
        resuming.progress();
    });
    let attempts = recorded.keys().filter(|name| name.contains("attempt"));
    assert_eq!(attempts.count(), 0, "{recorded:?}");
}

/// A timer that wakes a minute too late.
struct Late(testing::VirtualTime);

impl Clock for Late {
    fn now(&self) -> Duration {
        self.0.now()
    }
}

impl Sleep for Late {
    type Sleep = Ready<()>;

    fn sleep(&self, wait: Duration) -> Self::Sleep {
        self.sleep_blocking(wait);
        ready(())
    }
}

impl BlockingSleep for Late {
    fn sleep_blocking(&self, wait: Duration) {
        self.0.advance(wait + Duration::from_secs(60));
    }
}

impl Random for Late {
    fn random(&self) -> u64 {
        0
    }
}

#[test]
fn a_blocking_response_that_is_given_up_in_its_wait_is_a_call_that_failed() {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let policy = POLICY.deadline(Duration::from_secs(30));
    let outcome = metrics::with_local_recorder(&recorder, || {
        let call = policy.blocking(|| Ok::<_, TimedOut>(Status(503)));
        call.responses().runtime(Late(Default::default())).call()
    });
    assert_eq!(outcome, Ok(Status(503)));
    let expected = metrics([
        (
            "retry.attempt.duration retry.policy=storage error.type=503",
            &[0.0],
        ),
        (
            "retry.call.duration retry.policy=storage retry.outcome=failed_without_retry \
             retry.stop_reason=deadline error.type=503",
            &[61.0],
        ),
    ]);
    assert_eq!(shown(&seen), expected);
}

#[test]
fn a_call_that_is_too_late_for_an_attempt_is_a_timeout_where_its_error_says_so() {
    fn busy() -> Result<(), Status> {
        Err(Status(503))
    }
    #[retry(policy = POLICY, timeout = "30s", runtime = Late(Default::default()))]
    async fn annotated() -> Result<(), Status> {
        busy()
    }
    let expected = |error_type: &str| {
        let labels = "retry.policy=storage retry.outcome=failed_without_retry";
        let call = format!(
            "retry.call.duration {labels} retry.stop_reason=deadline error.type={error_type}"
        );
        metrics([
            (
                "retry.attempt.duration retry.policy=storage error.type=503",
                &[0.0],
            ),
            (&call, &[61.0]),
        ])
    };
    let limit = Duration::from_secs(30);
    let call = POLICY.retry(async || busy()).timeout(limit);
    let call = call.runtime(Late(Default::default()));
    assert_eq!(recorded(call), (Err(Status(504)), expected("timeout")));
    assert_eq!(
        recorded(annotated()),
        (Err(Status(504)), expected("timeout"))
    );

    // It hands back what failed last.
    let policy = POLICY.deadline(limit);
    let call = policy.blocking(busy).runtime(Late(Default::default()));
    let (outcome, recorded) = recorded(async { call.call() });
    assert_eq!((outcome, recorded), (busy(), expected("503")));
}

#[test]
fn the_part_of_a_wait_that_a_signal_cuts_off_is_no_delay() {
    let second = Duration::from_secs(1);
    let delay = "retry.call.delay retry.policy=storage retry.outcome=failed_with_retry";
    let stop = || tokio::time::sleep(2 * second);
    let (_, retried) = recorded(async {
        let call = POLICY.retry(|| ready(Err::<(), _>(Status(503))));
        let call = call.delays([second, 3_600 * second]).stop_on(stop());
        call.await.unwrap_err();
    });
    assert_eq!(retried.get(delay), Some(&vec![2.0]), "{retried:?}");

    let (_, resumed) = recorded(async {
        let mut resuming = POLICY.resuming().stop_on(Box::pin(stop()));
        resuming.failed(Status(503)).await.unwrap();
        resuming.failed(Status(503)).await.unwrap_err();
    });
    assert_eq!(resumed.get(delay), Some(&vec![2.0]), "{resumed:?}");
}

#[test]
fn a_call_that_a_client_has_begun_unseen_has_no_delay_and_no_first_attempt() {
    let (time, recorder) = (testing::VirtualTime::new(), DebuggingRecorder::new());
    let seen = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let policy = POLICY.max_attempts(4);
        let mut call = ForeignCall::resumed(Duration::ZERO, 2);
        time.advance(Duration::from_secs(100));
        let decision = call.failed(&policy, &time, "get", &Status(503));
        assert!(matches!(decision, Decision::Wait(_)), "{decision:?}");
        call.begins(&time);
        time.advance(Duration::from_secs(1));
        let decision = call.failed(&policy, &time, "get", &Status(503));
        assert_eq!(decision, Decision::Stop(StopReason::Attempts));
    });
    let labels = "retry.policy=storage retry.outcome=failed_with_retry";
    let expected = metrics([
        (
            "retry.attempt.duration retry.policy=storage error.type=503",
            &[1.0],
        ),
        (
            &format!("retry.call.duration {labels} retry.stop_reason=attempts error.type=503"),
            &[101.0],
        ),
        (&format!("retry.call.retries {labels}"), &[3.0]),
    ]);
    assert_eq!(shown(&seen), expected);
}

/// What the operations are called of which a recorder has seen something.
fn operations(work: impl Future<Output = ()>) -> BTreeSet<String> {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    metrics::with_local_recorder(&recorder, || runtime.unwrap().block_on(work));
    let rows = seen.snapshot().into_vec().into_iter();
    rows.flat_map(|(key, ..)| key.key().labels().cloned().collect::<Vec<_>>())
        .filter(|label| label.key() == "retry.operation")
        .map(|label| label.value().to_owned())
        .collect()
}

#[test]
fn an_operation_is_called_by_its_closure_or_by_its_name_and_not_by_its_error() {
    let fails = || Err::<(), _>(Status(404));
    let closure = operations(async {
        POLICY.retry_mut(async || fails()).await.unwrap_err();
    });
    assert_eq!(closure.len(), 1);
    let name = closure.first().unwrap();
    assert!(name.contains("an_operation_is_called_by"), "{name}");

    let resumed = operations(async {
        let mut pages = POLICY.resuming().name("pages");
        pages.failed(Status(404)).await.unwrap_err();
        let mut unnamed = POLICY.resuming();
        unnamed.failed(Status(404)).await.unwrap_err();
        let mut blocking = POLICY.blocking_resuming().name("rows");
        blocking.failed_blocking(Status(404)).unwrap_err();
    });
    let expected = ["pages", "resuming", "rows"].map(str::to_owned);
    assert_eq!(resumed, expected.into());
}
