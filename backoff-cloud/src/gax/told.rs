//! What logs and metrics are told of gax's own loop, beside what they are told of ours.

use super::{Adapted, adapt};
use backoff_core::{Budget, Jitter, LogLevel, Policy};
use google_cloud_gax_1::{
    backoff_policy::BackoffPolicy,
    error::{
        Error,
        rpc::{Code, Status},
    },
    retry_loop_internal::retry_loop,
    retry_policy::{RetryPolicy, RetryPolicyExt as _},
    retry_result::RetryResult,
    retry_state::RetryState as Loop,
    retry_throttler::{RetryThrottler, SharedRetryThrottler},
};
use recorded::{Told, told_while};
use std::{
    cell::Cell,
    sync::{Arc, Mutex},
    time::Duration,
};
use tracing::Level;

#[path = "../../tests/common/told.rs"]
mod recorded;

const SECOND: Duration = Duration::from_secs(1);
const PLAIN: Policy = Policy::exponential()
    .jitter(Jitter::None)
    .max_attempts(3)
    .name("plain");

/// What an attempt gives, after a second.
#[derive(Clone, Copy)]
enum Reply {
    Done,
    Status(u16),
    Hint(u16, &'static str),
    Code(Code),
    Refused,
}

use Reply::{Done, Hint, Refused};

impl Reply {
    async fn come(self) -> Result<(), Error> {
        tokio::time::sleep(SECOND).await;
        match self {
            Done => Ok(()),
            Reply::Status(status) => Err(Error::http(status, Default::default(), "".into())),
            Hint(status, seconds) => {
                let mut headers = http_1::HeaderMap::new();
                headers.insert("retry-after", http_1::HeaderValue::from_static(seconds));
                Err(Error::http(status, headers, "".into()))
            }
            Reply::Code(code) => Err(Error::service(Status::default().set_code(code))),
            Refused => Err(Error::connect("refused")),
        }
    }
}

/// A call of a client whose policy this is: gax's own loop.
async fn call(adapted: &Adapted, replies: &[Reply]) -> Result<(), Error> {
    let throttler: SharedRetryThrottler = Arc::new(Mutex::new(adapted.clone()));
    let mut replies = replies.iter();
    let attempt = async move |_| replies.next().expect("one more reply").come().await;
    retry_loop(
        attempt,
        tokio::time::sleep,
        true,
        throttler,
        Arc::new(adapted.clone()),
        Arc::new(adapted.clone()),
    )
    .await
}

/// The same by the loop of this library.
async fn ours(policy: Policy, replies: &[Reply]) -> Result<(), Error> {
    let made = Cell::new(0);
    let attempt = || replies[made.replace(made.get() + 1)].come();
    policy.retry(attempt).await
}

/// What is told while this works, in virtual time.
fn told(work: impl Future) -> Told {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    told_while(|| drop(runtime.block_on(work)))
}

#[test]
fn the_same_is_told_as_of_a_loop_of_ours() {
    use Reply::Status;
    let waits = PLAIN.deadline(30 * SECOND).max_attempts(9);
    let quiet = PLAIN.log_waits(LogLevel::Off);
    let decorrelated = PLAIN.jitter(Jitter::Decorrelated).max_backoff(SECOND);
    let scripts: [(Policy, &[Reply]); 12] = [
        (PLAIN, &[Done]),
        (PLAIN, &[Status(503), Done]),
        (PLAIN, &[Status(503), Refused, Done]),
        (PLAIN, &[Status(503), Status(502), Status(503)]),
        (PLAIN, &[Status(404)]),
        (PLAIN, &[Status(503), Status(404)]),
        (PLAIN, &[Reply::Code(Code::Unavailable), Done]),
        (PLAIN, &[Hint(503, "7"), Hint(429, "20"), Done]),
        (waits, &[Status(503), Hint(503, "60")]),
        (waits, &[Status(503), Hint(503, "24"), Status(503)]),
        (quiet, &[Status(503), Done]),
        (decorrelated, &[Status(503), Status(503), Done]),
    ];
    for (n, (policy, replies)) in scripts.into_iter().enumerate() {
        let theirs = told(call(&adapt(policy), replies));
        assert_eq!(theirs, told(ours(policy, replies)), "script {n}");
        assert!(!theirs.metrics.is_empty());
    }
}

#[test]
fn each_end_has_its_level() {
    use Reply::Status;
    let levels = |replies: &[Reply]| told(call(&adapt(PLAIN), replies)).levels();
    let busy = Status(503);
    assert!(levels(&[Done]).is_empty());
    assert_eq!(levels(&[Status(404)]), [Level::DEBUG]);
    assert_eq!(levels(&[busy, Done]), [Level::INFO; 2]);
    assert_eq!(levels(&[busy; 3]), [Level::INFO, Level::INFO, Level::WARN]);
}

#[test]
fn a_budget_gets_back_what_it_gets_from_a_loop_of_ours() {
    use Reply::Status;
    let after = |work: &dyn Fn(Policy) -> Told, budget: &'static Budget| {
        let told = work(PLAIN.budget(budget));
        (told, budget.tokens())
    };
    let busy = Status(503);
    let scripts: [&[Reply]; 5] = [
        &[Done],
        &[busy, Done],
        &[busy, Status(429), Done],
        &[busy, Status(404)],
        &[busy; 3],
    ];
    for replies in scripts {
        let theirs: &'static Budget =
            Box::leak(Box::new(Budget::aws().name("b").starting_with(100)));
        let own: &'static Budget = Box::leak(Box::new(Budget::aws().name("b").starting_with(100)));
        assert_eq!(
            after(&|policy| told(call(&adapt(policy), replies)), theirs),
            after(&|policy| told(ours(policy, replies)), own),
        );
    }
}

/// How many events say that a call succeeded after retries.
fn successes(told: &Told) -> usize {
    let of_success = |line: &str| line.contains("succeeded after retries");
    told.events.iter().filter(|(_, it)| of_success(it)).count()
}

#[test]
fn calls_of_several_tasks_are_told_apart() {
    use Reply::Status;
    let adapted = adapt(PLAIN);
    let told = told(tokio::task::LocalSet::new().run_until(async move {
        let scripts: [&[Reply]; 3] = [&[Done], &[Status(503), Done], &[Status(503); 3]];
        let tasks = scripts.map(|replies| {
            let adapted = adapted.clone();
            tokio::task::spawn_local(async move { call(&adapted, replies).await })
        });
        for task in tasks {
            drop(task.await);
        }
        assert!(adapted.calls().is_empty());
    }));
    assert_eq!(
        told.values("retry.call.duration"),
        ["[6.0]", "[3.0]", "[1.0]"]
    );
    assert_eq!(successes(&told), 1);
}

#[test]
fn a_success_of_one_of_several_calls_of_a_task_is_not_told() {
    use Reply::Status;
    static BUDGET: Budget = Budget::costs(20, 10, 5).starting_with(10);
    let adapted = adapt(PLAIN.budget(&BUDGET));
    let told = told(async {
        let one = call(&adapted, &[Status(503), Done]);
        let later = async {
            tokio::time::sleep(2 * SECOND + SECOND / 2).await;
            call(&adapted, &[Done]).await
        };
        let (one, later) = tokio::join!(one, later);
        assert!(one.is_ok() && later.is_ok());
        // Both are over, and the next one is alone.
        assert!(adapted.calls().is_empty());
        call(&adapted, &[Done]).await
    });
    // Neither of the two; the one after them.
    assert_eq!(told.values("retry.call.duration"), ["[1.0]"]);
    assert_eq!(told.levels(), [Level::INFO]);
    // Three times what a first success gives.
    assert_eq!(BUDGET.tokens(), 3.0);
}

#[test]
fn a_call_that_waits_is_not_taken_for_the_one_that_succeeded() {
    use Reply::Status;
    let adapted = adapt(PLAIN.base(10 * SECOND));
    let told = told(async {
        let one = call(&adapted, &[Status(503), Done]);
        let later = async {
            tokio::time::sleep(2 * SECOND).await;
            call(&adapted, &[Done]).await
        };
        tokio::join!(one, later)
    });
    assert_eq!(told.values("retry.call.duration"), ["[12.0]", "[1.0]"]);
}

#[test]
fn what_fails_is_told_whatever_else_the_task_does() {
    use Reply::Status;
    let adapted = adapt(PLAIN);
    let told = told(async {
        let fails = [Status(503); 3];
        let (a, b) = (call(&adapted, &fails), call(&adapted, &fails[..]));
        drop(tokio::join!(a, call(&adapted, &[Done]), b));
        assert!(adapted.calls().is_empty());
        drop(call(&adapted, &[Status(503), Done]).await);
    });
    let warnings = told.levels().into_iter();
    assert_eq!(warnings.filter(|it| *it == Level::WARN).count(), 2);
    assert_eq!(successes(&told), 1);
}

#[test]
fn after_a_dropped_call_successes_are_told_again_in_twenty_minutes() {
    use Reply::Status;
    let adapted = adapt(PLAIN);
    let retried = [Status(503), Done];
    let told = told(async {
        let cut = tokio::time::timeout(SECOND / 2, call(&adapted, &[Done])).await;
        assert!(cut.is_err());
        for _ in 0..3 {
            assert!(call(&adapted, &retried).await.is_ok());
        }
        for _ in 0..2 {
            tokio::time::advance(600 * SECOND).await;
            assert!(call(&adapted, &retried).await.is_ok());
        }
        assert!(adapted.calls().is_empty());
    });
    assert_eq!(successes(&told), 1);
    assert_eq!(told.levels().len(), 6);
}

#[test]
fn a_dropped_call_in_another_task_does_not_matter() {
    use Reply::Status;
    let adapted = adapt(PLAIN);
    let told = told(tokio::task::LocalSet::new().run_until(async {
        for _ in 0..1_000 {
            let adapted = adapted.clone();
            let task = tokio::task::spawn_local(async move { call(&adapted, &[Done]).await });
            tokio::time::sleep(SECOND / 2).await;
            task.abort();
        }
        assert!(call(&adapted, &[Status(503), Done]).await.is_ok());
        // Twice as many as there were in ten minutes, not all.
        assert!(adapted.calls().len() <= 1_300);
        tokio::time::advance(1_300 * SECOND).await;
        for _ in 0..1_300 {
            let adapted = adapted.clone();
            let begin = async move {
                let state = Loop::default().set_start(tokio::time::Instant::now().into_std());
                assert_eq!(adapted.remaining_time(&state), None);
            };
            tokio::task::spawn_local(begin).await.unwrap();
        }
        assert!(adapted.calls().len() <= 1_300);
    }));
    assert_eq!(successes(&told), 1);
}

#[test]
fn a_request_that_is_dropped_while_it_waits_gives_back_what_the_wait_has_paid() {
    use Reply::Status;
    static BUDGET: Budget = Budget::costs(20, 10, 5);
    told(async {
        for (seconds, left) in [(1.5, 20.0), (2.5, 10.0)] {
            let adapted = adapt(PLAIN.budget(&BUDGET));
            let limit = Duration::from_secs_f64(seconds);
            let cut = tokio::time::timeout(limit, call(&adapted, &[Status(503), Done])).await;
            assert!(cut.is_err());
            assert_eq!(BUDGET.tokens(), 10.0);
            drop(adapted);
            assert_eq!(BUDGET.tokens(), left, "after {seconds} s");
        }
    });
}

#[test]
fn the_throttler_of_somebody_else_gives_the_call_up() {
    #[derive(Debug)]
    struct Refuses;
    impl RetryThrottler for Refuses {
        fn throttle_retry_attempt(&self) -> bool {
            true
        }
        fn on_retry_failure(&mut self, _: &RetryResult) {}
        fn on_success(&mut self) {}
    }
    static BUDGET: Budget = Budget::costs(20, 10, 5);
    let adapted = adapt(PLAIN.budget(&BUDGET));
    let told = told(async {
        let throttler: SharedRetryThrottler = Arc::new(Mutex::new(Refuses));
        let policy = Arc::new(adapted.clone());
        let attempt = async |_| Reply::Status(503).come().await;
        let sleep = tokio::time::sleep;
        retry_loop(attempt, sleep, true, throttler, policy.clone(), policy).await
    });
    // As of any call that made one attempt alone.
    assert_eq!(told.levels(), [Level::INFO, Level::DEBUG]);
    assert!(told.events[1].1.contains("reason=\"budget\""), "{told:?}");
    assert_eq!(told.values("retry.attempt.duration"), ["[1.0]"]);
    assert_eq!(told.values("retry.call.duration"), ["[2.0]"]);
    assert_eq!(BUDGET.tokens(), 20.0);
}

/// A call of a client whose retry policy has something of gax's around it.
async fn decorated(
    adapted: &Adapted,
    policy: impl RetryPolicy + 'static,
    replies: &[Reply],
) -> Result<(), Error> {
    let throttler: SharedRetryThrottler = Arc::new(Mutex::new(adapted.clone()));
    let mut replies = replies.iter();
    let attempt = async move |_| replies.next().expect("one more reply").come().await;
    let (policy, backoff) = (Arc::new(policy), Arc::new(adapted.clone()));
    retry_loop(
        attempt,
        tokio::time::sleep,
        true,
        throttler,
        policy,
        backoff,
    )
    .await
}

#[test]
fn a_limit_around_the_policy_ends_the_call_for_whoever_listens() {
    use Reply::Status;
    static BUDGET: Budget = Budget::costs(40, 10, 5);
    let adapted = adapt(PLAIN.max_attempts(9).budget(&BUDGET));
    let told = told(async {
        let limited = adapted.clone().with_attempt_limit(2);
        let result = decorated(&adapted, limited, &[Status(503); 2]).await;
        assert!(result.is_err());
        assert!(adapted.calls().is_empty());
    });
    // The one retry has cost 10.
    assert_eq!(BUDGET.tokens(), 30.0);
    assert_eq!(told.levels(), [Level::INFO, Level::INFO, Level::WARN]);
    assert!(told.events[2].1.contains("reason=\"attempts\""), "{told:?}");
    assert_eq!(told.values("retry.attempt.duration"), ["[1.0, 1.0]"]);
    assert_eq!(told.values("retry.call.duration"), ["[3.0]"]);
}

#[test]
fn beside_another_backoff_policy_no_other_call_is_taken_for_the_one_that_succeeded() {
    use Reply::Status;
    #[derive(Debug)]
    struct Short;
    impl BackoffPolicy for Short {
        fn on_failure(&self, _: &Loop) -> Duration {
            SECOND
        }
    }
    let adapted = adapt(PLAIN.base(60 * SECOND));
    let told = told(async {
        let throttler: SharedRetryThrottler = Arc::new(Mutex::new(adapted.clone()));
        let (mut replies, policy) = ([Status(503), Done].into_iter(), Arc::new(adapted.clone()));
        let attempt = async move |_| replies.next().expect("one more reply").come().await;
        let sleep = tokio::time::sleep;
        let one = retry_loop(attempt, sleep, true, throttler, policy, Arc::new(Short));
        let later = async {
            sleep(2 * SECOND + SECOND / 2).await;
            call(&adapted, &[Done]).await
        };
        let (one, later) = tokio::join!(one, later);
        assert!(one.is_ok() && later.is_ok());
        assert!(adapted.calls().is_empty());
    });
    assert_eq!(successes(&told), 0);
    assert_eq!(told.values("retry.call.duration"), [""; 0]);
}

#[test]
fn a_subscriber_that_panics_does_not_break_the_client() {
    use Reply::Status;
    struct Panics;
    impl tracing::Subscriber for Panics {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            metadata.target() == "backoff"
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            let fields: Vec<_> = event.fields().map(|field| field.name()).collect();
            assert!(fields.contains(&"delay"), "only events of waits pass");
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }
    let adapted = adapt(PLAIN);
    let throttler: SharedRetryThrottler = Arc::new(Mutex::new(adapted.clone()));
    drop(told(async {
        let _panics = tracing::subscriber::set_default(Panics);
        for _ in 0..2 {
            let (mut replies, policy) =
                ([Status(503), Done].into_iter(), Arc::new(adapted.clone()));
            let attempt = async move |_| replies.next().expect("one more reply").come().await;
            let (throttler, sleep) = (Arc::clone(&throttler), tokio::time::sleep);
            let result = retry_loop(attempt, sleep, true, throttler, policy.clone(), policy).await;
            assert!(result.is_ok());
        }
    }));
    assert!(!throttler.is_poisoned());
}

#[test]
fn the_operation_has_a_name() {
    let names = |adapted: Adapted| Vec::from_iter(told(call(&adapted, &[Done])).operations);
    assert_eq!(names(adapt(PLAIN)), ["google_cloud_gax"]);
    assert_eq!(names(adapt(PLAIN).named("a::Builder")), ["a::Builder"]);
    let named = adapt(PLAIN).operation("secrets");
    assert_eq!(names(named.named("a::Builder")), ["secrets"]);
}
