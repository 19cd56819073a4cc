//! What logs and metrics are told of gax's own loop, beside what they are told of ours.

use super::{Adapted, adapt};
use backoff_core::{Budget, Jitter, LogLevel, Policy};
use google_cloud_gax_1::{
    backoff_policy::BackoffPolicy,
    error::{
        Error,
        rpc::{self, Code},
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
use tokio::{
    task::{LocalSet, spawn_local},
    time::{Instant, advance, sleep, timeout},
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
#[derive(Clone, Copy, Debug)]
enum Reply {
    Done,
    Status(u16),
    Hint(u16, &'static str),
    Grpc(Code),
    Refused,
}

use Reply::*;

/// A call that succeeds after a retry.
const RETRIED: [Reply; 2] = [Status(503), Done];

impl Reply {
    async fn come(self) -> Result<(), Error> {
        sleep(SECOND).await;
        match self {
            Done => Ok(()),
            Status(status) => Err(Error::http(status, Default::default(), "".into())),
            Hint(status, seconds) => {
                let mut headers = http_1::HeaderMap::new();
                headers.insert("retry-after", http_1::HeaderValue::from_static(seconds));
                Err(Error::http(status, headers, "".into()))
            }
            Grpc(code) => Err(Error::service(rpc::Status::default().set_code(code))),
            Refused => Err(Error::connect("refused")),
        }
    }
}

/// A client with gax's own loop, and its policies.
struct Client {
    retry: Arc<dyn RetryPolicy>,
    backoff: Arc<dyn BackoffPolicy>,
    throttler: SharedRetryThrottler,
}

impl Client {
    fn of(adapted: &Adapted) -> Self {
        Client {
            retry: Arc::new(adapted.clone()),
            backoff: Arc::new(adapted.clone()),
            throttler: Arc::new(Mutex::new(adapted.clone())),
        }
    }

    async fn call(self, replies: &[Reply]) -> Result<(), Error> {
        let Client {
            retry,
            backoff,
            throttler,
        } = self;
        let mut replies = replies.iter();
        let attempt = async move |_| replies.next().expect("one more reply").come().await;
        retry_loop(attempt, sleep, true, throttler, retry, backoff).await
    }
}

async fn call(adapted: &Adapted, replies: &[Reply]) -> Result<(), Error> {
    Client::of(adapted).call(replies).await
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
    told_while(|| drop(runtime.block_on(LocalSet::new().run_until(work))))
}

/// A row: the policy, the replies, and the levels of the events.
#[test]
fn the_same_is_told_and_paid_as_of_a_loop_of_ours() {
    const INFO: Level = Level::INFO;
    const WARN: Level = Level::WARN;
    const DEBUG: Level = Level::DEBUG;
    let waits = PLAIN.deadline(30 * SECOND).max_attempts(9);
    let quiet = PLAIN.log_waits(LogLevel::Off);
    let decorrelated = PLAIN.jitter(Jitter::Decorrelated).max_backoff(SECOND);
    let unavailable = Grpc(Code::Unavailable);
    let busy = Status(503);
    let scripts: [(Policy, &[Reply], &[Level]); 13] = [
        (PLAIN, &[Done], &[]),
        (PLAIN, &[busy, Done], &[INFO; 2]),
        (PLAIN, &[busy, Refused, Done], &[INFO; 3]),
        (PLAIN, &[busy, Status(429), Done], &[INFO; 3]),
        (PLAIN, &[busy, Status(502), busy], &[INFO, INFO, WARN]),
        (PLAIN, &[Status(404)], &[DEBUG]),
        (PLAIN, &[busy, Status(404)], &[INFO, WARN]),
        (PLAIN, &[unavailable, Done], &[INFO; 2]),
        (PLAIN, &[Hint(503, "7"), Hint(429, "20"), Done], &[INFO; 3]),
        (waits, &[busy, Hint(503, "60")], &[INFO, WARN]),
        (waits, &[busy, Hint(503, "24"), busy], &[INFO, INFO, WARN]),
        (quiet, &[busy, Done], &[INFO]),
        (decorrelated, &[busy, busy, Done], &[INFO; 3]),
    ];
    for (policy, replies, levels) in scripts {
        let theirs = told(call(&adapt(policy), replies));
        assert_eq!(theirs, told(ours(policy, replies)), "{replies:?}");
        assert!(!theirs.metrics.is_empty());
        assert_eq!(theirs.levels(), levels, "{replies:?}");
        // With a budget: of the second one a retry takes more than is left after the first retry.
        for tokens in [100, 20] {
            let budgets = [(); 2].map(|()| {
                let budget = Budget::aws().name("b").starting_with(tokens);
                &*Box::leak(Box::new(budget))
            });
            let [there, here] = budgets.map(|budget| policy.budget(budget));
            let theirs = told(call(&adapt(there), replies));
            assert_eq!(theirs, told(ours(here, replies)), "{tokens} {replies:?}");
            let [there, here] = budgets.map(|budget| budget.tokens());
            assert_eq!(there, here, "{tokens} {replies:?}");
        }
    }
}

/// How many events say that a call succeeded after retries.
fn successes(told: &Told) -> usize {
    let of_success = |line: &str| line.contains("succeeded after retries");
    told.events.iter().filter(|(_, it)| of_success(it)).count()
}

#[test]
fn calls_of_several_tasks_are_told_apart() {
    let adapted = adapt(PLAIN);
    let told = told(async {
        let scripts: [&[Reply]; 3] = [&[Done], &RETRIED, &[Status(503); 3]];
        let client = || Client::of(&adapted);
        let tasks = scripts.map(|replies| spawn_local(client().call(replies)));
        for task in tasks {
            drop(task.await);
        }
        assert!(adapted.calls().is_empty());
    });
    let durations = told.values("retry.call.duration");
    assert_eq!(durations, ["[6.0]", "[3.0]", "[1.0]"]);
    assert_eq!(successes(&told), 1);
}

/// A task has a call that is retried, and another one that begins later and succeeds at once.
async fn two(adapted: &Adapted, client: Client, delay: Duration) {
    let later = async {
        sleep(delay).await;
        call(adapted, &[Done]).await
    };
    let (one, later) = tokio::join!(client.call(&RETRIED), later);
    assert!(one.is_ok() && later.is_ok());
}

#[test]
fn a_success_of_one_of_several_calls_of_a_task_is_not_told() {
    static BUDGET: Budget = Budget::costs(20, 10, 5).starting_with(10);
    let adapted = adapt(PLAIN.budget(&BUDGET));
    let told = told(async {
        two(&adapted, Client::of(&adapted), 2 * SECOND + SECOND / 2).await;
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
    let adapted = adapt(PLAIN.base(10 * SECOND));
    let told = told(two(&adapted, Client::of(&adapted), 2 * SECOND));
    assert_eq!(told.values("retry.call.duration"), ["[12.0]", "[1.0]"]);
}

#[test]
fn what_fails_is_told_whatever_else_the_task_does() {
    let adapted = adapt(PLAIN);
    let told = told(async {
        let fails = [Status(503); 3];
        let (a, b) = (call(&adapted, &fails), call(&adapted, &fails[..]));
        drop(tokio::join!(a, call(&adapted, &[Done]), b));
        assert!(adapted.calls().is_empty());
        drop(call(&adapted, &RETRIED).await);
    });
    let warnings = told.levels().into_iter();
    assert_eq!(warnings.filter(|it| *it == Level::WARN).count(), 2);
    assert_eq!(successes(&told), 1);
}

#[test]
fn after_a_dropped_call_successes_are_told_again_in_twenty_minutes() {
    let adapted = adapt(PLAIN);
    let told = told(async {
        let cut = timeout(SECOND / 2, call(&adapted, &[Done])).await;
        assert!(cut.is_err());
        for _ in 0..3 {
            assert!(call(&adapted, &RETRIED).await.is_ok());
        }
        for _ in 0..2 {
            advance(600 * SECOND).await;
            assert!(call(&adapted, &RETRIED).await.is_ok());
        }
        assert!(adapted.calls().is_empty());
    });
    assert_eq!(successes(&told), 1);
    assert_eq!(told.levels().len(), 6);
}

#[test]
fn a_dropped_call_in_another_task_does_not_matter() {
    let adapted = adapt(PLAIN);
    let told = told(async {
        for _ in 0..1_000 {
            let task = spawn_local(Client::of(&adapted).call(&[Done]));
            sleep(SECOND / 2).await;
            task.abort();
        }
        assert!(call(&adapted, &RETRIED).await.is_ok());
        // Twice as many as there were in ten minutes, not all.
        assert!(adapted.calls().len() <= 1_300);
        advance(1_300 * SECOND).await;
        for _ in 0..1_300 {
            let adapted = adapted.clone();
            let begin = async move {
                let state = Loop::default().set_start(Instant::now().into_std());
                assert_eq!(adapted.remaining_time(&state), None);
            };
            spawn_local(begin).await.unwrap();
        }
        assert!(adapted.calls().len() <= 1_300);
    });
    assert_eq!(successes(&told), 1);
}

#[test]
fn a_request_that_is_dropped_while_it_waits_gives_back_what_the_wait_has_paid() {
    static BUDGET: Budget = Budget::costs(20, 10, 5);
    told(async {
        for (seconds, left) in [(1.5, 20.0), (2.5, 10.0)] {
            let adapted = adapt(PLAIN.budget(&BUDGET));
            let limit = Duration::from_secs_f64(seconds);
            let cut = timeout(limit, call(&adapted, &RETRIED)).await;
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
        let mut client = Client::of(&adapted);
        client.throttler = Arc::new(Mutex::new(Refuses));
        let error = client.call(&[Status(503)]).await.unwrap_err();
        assert_eq!(error.http_status_code(), Some(503));
    });
    // As of any call that made one attempt alone.
    assert_eq!(told.levels(), [Level::INFO, Level::DEBUG]);
    assert!(told.events[1].1.contains("reason=\"budget\""), "{told:?}");
    assert_eq!(told.values("retry.attempt.duration"), ["[1.0]"]);
    assert_eq!(told.values("retry.call.duration"), ["[2.0]"]);
    assert_eq!(BUDGET.tokens(), 20.0);
}

#[test]
fn a_limit_around_the_policy_ends_the_call_for_whoever_listens() {
    static BUDGET: Budget = Budget::costs(40, 10, 5);
    let adapted = adapt(PLAIN.max_attempts(9).budget(&BUDGET));
    let told = told(async {
        let mut limited = Client::of(&adapted);
        limited.retry = Arc::new(adapted.clone().with_attempt_limit(2));
        assert!(limited.call(&[Status(503); 2]).await.is_err());
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
    #[derive(Debug)]
    struct Short;
    impl BackoffPolicy for Short {
        fn on_failure(&self, _: &Loop) -> Duration {
            SECOND
        }
    }
    let adapted = adapt(PLAIN.base(60 * SECOND));
    let told = told(async {
        let mut client = Client::of(&adapted);
        client.backoff = Arc::new(Short);
        two(&adapted, client, 2 * SECOND + SECOND / 2).await;
        assert!(adapted.calls().is_empty());
    });
    assert_eq!(successes(&told), 0);
    assert_eq!(told.values("retry.call.duration"), [""; 0]);
}

#[test]
fn a_subscriber_that_panics_does_not_break_the_client() {
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
    let throttler = Client::of(&adapted).throttler;
    drop(told(async {
        let _panics = tracing::subscriber::set_default(Panics);
        for _ in 0..2 {
            let mut client = Client::of(&adapted);
            client.throttler = Arc::clone(&throttler);
            assert!(client.call(&RETRIED).await.is_ok());
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
