//! The metrics of calls that no row can tell: what calls share, combined changes, reads that are resumed.

use crate::common::{
    error::TestError,
    forms::{BUSY, PLAIN, SECOND, assert_is_name, call, each_row},
    recorder::listening,
    time::Time,
};
use crate::stories::{
    POLICY,
    story::{Recorded, Story},
};
use backoff_core::{
    __private::ForeignCall, Breaker, Budget, Decision, Event, FaultKind, Keyed, Rate, StopReason,
    TimedOut, testing,
};
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

/// A breaker, a budget and a rate with names that are made at run time. Each call that an open breaker ends is `DEBUG`, and
/// a warning counts them.
#[test]
fn what_ends_a_call_has_a_name() {
    let time = Time::default();
    let host = |n: u32| format!("api{n}.example.com");
    let down = Breaker::new().opens_at(1, 1).named(host(1));
    let down = down.probe_every(60 * SECOND);
    let budget = Budget::costs(1, 2, 2).named(host(2));
    let mut texts = Vec::new();
    let mut told = Recorded::new();
    let state = listening(|| {
        let get = |answer: Result<(), TimedOut>| {
            let call = PLAIN.blocking(|| answer).breaker(&down);
            call.runtime(time.clone())
                .reported()
                .call()
                .map_err(Box::new)
        };
        let failed = Err(TimedOut::new(SECOND));
        told = recorded(|| {
            for at in [0, 0, 9, 10, 55, 59] {
                time.pass(at * SECOND - time.elapsed());
                let error = get(failed).unwrap_err();
                assert_eq!(
                    (error.reason, error.by),
                    (StopReason::Breaker, Some("api1.example.com"))
                );
                texts.push(error.to_string());
            }
            down.open_for(SECOND, &time);
            time.pass(SECOND);
            get(Ok(())).unwrap();
            let hook = |event: &Event<'_, TimedOut>| texts.push(event.to_string());
            let call = PLAIN.blocking(|| failed).budget(&budget).notify(hook);
            call.runtime(time.clone()).call().unwrap_err();
        })
        .1;
    });
    let said = "the breaker api1.example.com is open";
    assert!(
        texts[1].contains("(api1.example.com): no attempt was made, because "),
        "{}",
        texts[1]
    );
    assert!(
        texts[1..6].iter().all(|text| text.ends_with(said)),
        "{texts:?}"
    );
    assert!(
        texts[6].starts_with("gave up after 1 attempt (budget api2.example.com): "),
        "{}",
        texts[6]
    );
    let (debug, others): (Vec<_>, Vec<_>) = state
        .logged
        .into_iter()
        .partition(|line| line.starts_with("DEBUG"));
    assert!(
        debug.len() == 6
            && debug
                .iter()
                .all(|line| line.contains("breaker=api1.example.com"))
    );
    let others: Vec<_> = others
        .iter()
        .map(|line| line.split(" elapsed").next().unwrap())
        .collect();
    let open = "WARN the breaker is open, and has refused calls since the last warning breaker=api1.example.com";
    assert_eq!(
        others,
        [
            "WARN the breaker opens: 1 of the last 1 attempts failed breaker=api1.example.com",
            &format!("{open} refused=4"),
            &format!("{open} refused=1"),
            "WARN the breaker opens: by hand, for 1s breaker=api1.example.com",
            "INFO the breaker closes: a probe succeeded breaker=api1.example.com refused=1",
            "WARN gave up attempts=1 reason=budget budget=api2.example.com",
        ]
    );
    for (metric, value) in [("opened", 2.0), ("refused", 6.0), ("state", 0.0)] {
        let metric = format!("retry.breaker.{metric} retry.breaker=api1.example.com");
        assert_eq!(told[&metric], [value], "{metric}");
    }
    assert_eq!(
        told["retry.budget.level retry.budget=api2.example.com"],
        [1.0]
    );

    let rate = Rate::new().named(host(3));
    let once = PLAIN.max_attempts(1);
    let late = time.run(async {
        let refused = once.retry(|| ready(Err::<(), _>(TestError::status(429))));
        let _ = refused.rate(&rate).runtime(time.clone()).await;
        let waits = once.retry(|| ready(Ok::<_, TimedOut>(()))).rate(&rate);
        let limit = Duration::from_millis(1);
        waits.max_queue_time(limit).runtime(time.clone()).await
    });
    let late = late.unwrap_err().to_string();
    assert_eq!(
        late,
        "the call waited 1ms for its turn at the rate api3.example.com"
    );
}

/// The others are one series, so that a label has few values.
#[test]
fn metrics_name_a_thousand_keys() {
    let keyed = Keyed::<u32, Breaker>::new(|| Breaker::new().opens_at(1, 1));
    let now = || Duration::ZERO;
    let (_, told) = recorded(|| {
        for key in 0..1_002 {
            let breaker = keyed.get(&key);
            let attempt = breaker.admit(now).expect("closed");
            breaker.ended(attempt, Some(FaultKind::Transient), now);
        }
    });
    assert_eq!(told.len(), 2 * 1_001);
    assert_eq!(told["retry.breaker.opened retry.breaker=999"], [1.0]);
    assert_eq!(told["retry.breaker.opened retry.breaker=other"], [2.0]);
}
