//! Reports the attempts of gax's own loop to logs, metrics and a budget.

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
    retry_throttler::{RetryThrottler, SharedRetryThrottler},
};
use recorded::{Recorded, recorded_while};
use std::{
    cell::Cell,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{sleep, timeout};
use tracing::Level;

#[path = "../../tests/common/recorded.rs"]
mod recorded;

const SECOND: Duration = Duration::from_secs(1);
const PLAIN: Policy = Policy::exponential()
    .jitter(Jitter::None)
    .max_attempts(3)
    .name("plain");

/// The result of an attempt, after a second.
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

/// The policies of a client with gax's own loop.
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

/// The same call by the loop of this library.
async fn ours(policy: Policy, replies: &[Reply]) -> Result<(), Error> {
    let made = Cell::new(0);
    let attempt = || replies[made.replace(made.get() + 1)].come();
    policy.retry(attempt).await
}

/// What logs and metrics get while this runs, in virtual time.
fn telemetry_of(work: impl Future) -> Recorded {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    recorded_while(|| drop(runtime.block_on(work)))
}

const INFO: Level = Level::INFO;
const WARN: Level = Level::WARN;
const DEBUG: Level = Level::DEBUG;

/// A row: the policy, the replies, and the levels of the events. The stories of `backoff-core/tests/all` say what each line
/// and each metric has.
#[test]
fn what_gax_tells_is_told_and_costs_tokens_as_in_a_loop_of_ours() {
    let waits = PLAIN.deadline(30 * SECOND).max_attempts(9);
    let quiet = PLAIN.log_waits(LogLevel::Off);
    let unavailable = Grpc(Code::Unavailable);
    let busy = Status(503);
    let scripts: [(Policy, &[Reply], &[Level]); 10] = [
        (PLAIN, &[Done], &[]),
        (PLAIN, &[busy, Refused, Done], &[INFO; 2]),
        (PLAIN, &[busy, Status(429), Done], &[INFO; 2]),
        (PLAIN, &[busy, Status(502), busy], &[INFO, INFO, WARN]),
        (PLAIN, &[Status(404)], &[DEBUG]),
        (PLAIN, &[busy, Status(404)], &[INFO, WARN]),
        (PLAIN, &[unavailable, Done], &[INFO]),
        (PLAIN, &[Hint(503, "7"), Hint(429, "20"), Done], &[INFO; 2]),
        (waits, &[busy, Hint(503, "60")], &[INFO, WARN]),
        (quiet, &[busy, Done], &[]),
    ];
    for (policy, replies, levels) in scripts {
        for budget in [
            || Budget::ratio(0.5, 10).starting_with(5),
            || Budget::aws().starting_with(100),
            // Has too few tokens for the second retry.
            || Budget::aws().starting_with(20),
        ] {
            let budgets = [(); 2].map(|()| &*Box::leak(Box::new(budget().name("b"))));
            let [there, here] = budgets.map(|budget| policy.budget(budget));
            let theirs = telemetry_of(call(&adapt(there), replies));
            let ours = telemetry_of(ours(here, replies));
            // gax does not tell of a success, nor whether an earlier attempt may have been applied.
            let told = ours.events.into_iter().filter_map(|(level, line)| {
                let line = line.replace("; an earlier attempt may have been applied", "");
                (!line.contains("succeeded after retries")).then_some((level, line))
            });
            assert_eq!(theirs.events, Vec::from_iter(told), "{replies:?}");
            let is_poor = budgets[0].tokens() < 10.0;
            assert!(is_poor || theirs.levels() == levels, "{replies:?}");
            let [there, here] = budgets.map(|budget| budget.tokens());
            assert_eq!(theirs.values("retry.budget.level"), [there.to_string()]);
            // AWS' budget gets back the cost of a retry only if the retry is known to have succeeded.
            let is_given_back = budget().capacity() > 10.0 && matches!(replies, [_, .., Done]);
            assert!(there == here || is_given_back, "{budgets:?} {replies:?}");
        }
    }
}

#[test]
fn a_success_after_a_retry_gives_the_budget_what_one_at_once_gives() {
    static BUDGET: Budget = Budget::costs(100, 10, 5).starting_with(50);
    let adapted = adapt(PLAIN.budget(&BUDGET));
    let left = |told: Recorded| (told.levels().len(), BUDGET.tokens());
    let at_once = left(telemetry_of(call(&adapted, &[Done])));
    assert_eq!(at_once, (0, 51.0));
    let retried = left(telemetry_of(call(&adapted, &RETRIED)));
    assert_eq!(retried, (1, 42.0));
    // Both calls in one task.
    let both = async { tokio::join!(call(&adapted, &RETRIED), call(&adapted, &[Done])) };
    assert_eq!(left(telemetry_of(both)), (1, 34.0));
    // For a call that is dropped while it waits, the budget gets nothing back.
    let dropped = async { timeout(SECOND * 3 / 2, call(&adapted, &RETRIED)).await };
    assert_eq!(left(telemetry_of(dropped)), (1, 24.0));
}

#[test]
fn what_fails_is_told_whatever_else_the_task_does() {
    let adapted = adapt(PLAIN);
    let told = telemetry_of(async {
        let fails = [Status(503); 3];
        let (a, b) = (call(&adapted, &fails), call(&adapted, &fails[..]));
        drop(tokio::join!(a, call(&adapted, &[Done]), b));
        drop(call(&adapted, &RETRIED).await);
    });
    assert_eq!(told.levels(), [INFO, INFO, INFO, INFO, WARN, WARN, INFO]);
    assert_eq!(told.values("retry.call.duration"), ["[6.0, 6.0]"]);
    // The first attempts of the three calls that had a failure.
    assert_eq!(told.values("retry.attempt.duration"), ["[1.0, 1.0, 1.0]"]);
}

/// A row: the policies of the client, the failures, the levels of the events, the reason, and the seconds of the call.
#[test]
fn the_throttler_and_the_limit_of_somebody_else_end_the_call_for_whoever_listens() {
    #[derive(Debug)]
    struct Refuses;
    impl RetryThrottler for Refuses {
        fn throttle_retry_attempt(&self) -> bool {
            true
        }
        fn on_retry_failure(&mut self, _: &RetryResult) {}
        fn on_success(&mut self) {}
    }
    let throttled = |client: Client, _| Client {
        throttler: Arc::new(Mutex::new(Refuses)),
        ..client
    };
    let limited = |client: Client, adapted: Adapted| Client {
        retry: Arc::new(adapted.with_attempt_limit(2)),
        ..client
    };
    type Changed = fn(Client, Adapted) -> Client;
    let rows: [(Changed, _, &[Level], _, _); 2] = [
        (throttled, 1, &[INFO, WARN], "budget", "[2.0]"),
        (limited, 2, &[INFO, INFO, WARN], "attempts", "[3.0]"),
    ];
    for (client, failures, levels, reason, seconds) in rows {
        let budget: &_ = Box::leak(Box::new(Budget::costs(40, 10, 5)));
        let adapted = adapt(PLAIN.max_attempts(9).budget(budget));
        let told = telemetry_of(async {
            let client = client(Client::of(&adapted), adapted.clone());
            let error = client
                .call(&[Status(503); 2][..failures])
                .await
                .unwrap_err();
            assert_eq!(error.http_status_code(), Some(503));
        });
        assert_eq!(told.levels(), levels);
        let last = &told.events.last().unwrap().1;
        assert!(last.contains(&format!("reason={reason:?}")), "{told:?}");
        assert_eq!(told.values("retry.attempt.duration"), ["[1.0]"]);
        assert_eq!(told.values("retry.call.duration"), [seconds]);
        // The retry cost 10. Of a throttler, gax does not say which tokens its wait has taken.
        assert_eq!(budget.tokens(), 30.0);
    }
}

#[test]
fn a_subscriber_that_panics_does_not_break_the_client() {
    let panics = recorded::hears(|event| {
        let fields: Vec<_> = event.fields().map(|field| field.name()).collect();
        assert!(fields.contains(&"delay"), "only events of waits pass");
    });
    let adapted = adapt(PLAIN);
    let throttler = Client::of(&adapted).throttler;
    drop(telemetry_of(async {
        let _panics = tracing::dispatcher::set_default(&panics);
        for _ in 0..2 {
            let mut client = Client::of(&adapted);
            client.throttler = Arc::clone(&throttler);
            client.retry = Arc::new(adapted.clone().with_attempt_limit(2));
            assert!(client.call(&[Status(503); 2]).await.is_err());
        }
    }));
    assert!(!throttler.is_poisoned());
}

#[test]
fn the_operation_has_a_name() {
    let names =
        |adapted: Adapted| Vec::from_iter(telemetry_of(call(&adapted, &[Status(404)])).operations);
    assert_eq!(names(adapt(PLAIN)), ["google_cloud_gax"]);
    assert_eq!(names(adapt(PLAIN).named("a::Builder")), ["a::Builder"]);
    let named = adapt(PLAIN).operation("secrets");
    assert_eq!(names(named.named("a::Builder")), ["secrets"]);
}
