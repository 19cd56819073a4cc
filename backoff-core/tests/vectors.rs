//! Published series and examples, as data: each row names where it was published.

use backoff_core::{
    Budget, Class, Decision, Fault, Jitter, Policy, Random, Retry, StopReason, Transport,
    WaitSource, codes,
    delay::{
        Celery, ConnectRetry, Constant, Decorrelated, Delay, Exponential, Fibonacci, Linear, Slots,
    },
};
use std::{cell::Cell, time::Duration};

const SECOND: Duration = Duration::from_secs(1);

/// Random numbers for a draw of 0, of a half and of 1.
const LEAST: u64 = 0;
const HALF: u64 = 1 << 63;
const MOST: u64 = u64::MAX;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What came back from a server, or did not.
#[derive(Clone, Copy, Debug, Default)]
struct Failed {
    status: Option<u16>,
    class: Option<Class>,
    transport: Option<Transport>,
    hint: Option<Duration>,
    stop: bool,
}

impl Fault for Failed {
    fn status(&self) -> Option<u16> {
        self.status
    }
    fn class(&self) -> Option<Class> {
        self.class
    }
    fn transport(&self) -> Option<Transport> {
        self.transport
    }
    fn retry_after(&self) -> Option<Duration> {
        self.hint
    }
    fn must_stop(&self) -> bool {
        self.stop
    }
}

fn status(status: u16) -> Failed {
    Failed {
        status: Some(status),
        ..Failed::default()
    }
}

const TIMEOUT: Failed = Failed {
    status: None,
    class: None,
    transport: Some(Transport::MaybeSent),
    hint: None,
    stop: false,
};

fn leak(budget: Budget) -> &'static Budget {
    Box::leak(Box::new(budget))
}

/// One attempt of a row: what it gave, what is to be decided, and how many tokens are left then.
struct Step {
    outcome: Result<(), Failed>,
    then: Then,
    tokens: f64,
}

#[derive(Debug, PartialEq)]
enum Then {
    Waits(Duration),
    Stops(StopReason),
    Done,
}

fn waits(failed: Failed, seconds: f64, tokens: f64) -> Step {
    Step {
        outcome: Err(failed),
        then: Then::Waits(Duration::from_secs_f64(seconds)),
        tokens,
    }
}

fn stops(failed: Failed, reason: StopReason, tokens: f64) -> Step {
    Step {
        outcome: Err(failed),
        then: Then::Stops(reason),
        tokens,
    }
}

fn succeeds(tokens: f64) -> Step {
    Step {
        outcome: Ok(()),
        then: Then::Done,
        tokens,
    }
}

/// Plays operations, one after the other, on one budget.
fn play(source: &str, policy: Policy, budget: Budget, random: u64, operations: &[&[Step]]) {
    let budget = leak(budget);
    let policy = policy.budget(budget);
    for (o, operation) in operations.iter().enumerate() {
        let now = Cell::new(SECOND);
        let mut retry = Retry::start(&policy, || now.get());
        for (s, step) in operation.iter().enumerate() {
            let then = match &step.outcome {
                Ok(()) => {
                    retry.succeeded(&policy);
                    Then::Done
                }
                Err(failed) => {
                    let verdict = policy.judge(failed);
                    match retry.failed(&policy, verdict, || now.get(), || random) {
                        Decision::Wait(wait) => {
                            now.set(now.get() + wait.delay);
                            Then::Waits(wait.delay)
                        }
                        Decision::Stop(reason) => Then::Stops(reason),
                    }
                }
            };
            let place = format!("{source}: operation {o}, attempt {s}");
            assert_eq!(then, step.then, "{place}");
            assert_eq!(budget.tokens(), step.tokens, "{place}");
        }
    }
}

/// The AWS SDKs' "standard" mode, revision 2.1.
const AWS_2_1: Policy = Policy::exponential()
    .base(Duration::from_millis(50))
    .throttled_base(SECOND)
    .max_backoff(Duration::from_secs(20))
    .jitter(Jitter::Full)
    .max_attempts(3)
    .retry_after_slack(Duration::from_secs(5));

#[test]
fn aws_standard_mode_2_1() {
    use StopReason::{Attempts, Budget as Spent, Permanent};
    let aws = Budget::aws;
    let play = |what, policy, budget, operations: &[&[Step]]| {
        let source = format!("AWS SDKs, retry behaviour 2.1, {what}");
        play(&source, policy, budget, MOST, operations);
    };
    play(
        "success after retries",
        AWS_2_1,
        aws(),
        &[&[
            waits(status(500), 0.05, 486.0),
            waits(status(500), 0.1, 472.0),
            succeeds(486.0),
        ]],
    );
    play(
        "all attempts fail",
        AWS_2_1,
        aws(),
        &[&[
            waits(status(502), 0.05, 486.0),
            waits(status(502), 0.1, 472.0),
            stops(status(502), Attempts, 472.0),
        ]],
    );
    play(
        "20 tokens pay for one retry",
        AWS_2_1,
        aws().starting_with(20),
        &[&[
            waits(status(500), 0.05, 6.0),
            stops(status(500), Spent, 6.0),
        ]],
    );
    play(
        "no tokens, no retry",
        AWS_2_1,
        aws().starting_with(0),
        &[&[stops(status(500), Spent, 0.0)]],
    );
    play(
        "throttling",
        AWS_2_1,
        aws(),
        &[&[waits(status(429), 1.0, 495.0), succeeds(500.0)]],
    );
    play(
        "only the last cost is given back",
        AWS_2_1,
        aws(),
        &[&[
            waits(status(500), 0.05, 486.0),
            waits(status(429), 2.0, 481.0),
            succeeds(486.0),
        ]],
    );
    play(
        "a timeout is transient",
        AWS_2_1,
        aws(),
        &[&[waits(TIMEOUT, 0.05, 486.0), succeeds(500.0)]],
    );
    play(
        "a success without a retry gives 1, and nothing when full",
        AWS_2_1,
        aws().starting_with(498),
        &[&[succeeds(499.0)], &[succeeds(500.0)], &[succeeds(500.0)]],
    );
    play(
        "what is not retried costs nothing and gives nothing",
        AWS_2_1,
        aws().starting_with(100),
        &[
            &[stops(status(404), Permanent, 100.0)],
            &[
                waits(status(500), 0.05, 86.0),
                stops(status(403), Permanent, 86.0),
            ],
        ],
    );
    play(
        "the longest backoff",
        AWS_2_1.max_backoff(ms(200)).max_attempts(5),
        aws(),
        &[&[
            waits(status(500), 0.05, 486.0),
            waits(status(500), 0.1, 472.0),
            waits(status(500), 0.2, 458.0),
            waits(status(500), 0.2, 444.0),
            stops(status(500), Attempts, 444.0),
        ]],
    );
    play(
        "DynamoDB",
        AWS_2_1.base(ms(25)).max_attempts(4),
        aws(),
        &[&[
            waits(status(500), 0.025, 486.0),
            waits(status(500), 0.05, 472.0),
            waits(status(500), 0.1, 458.0),
            stops(status(500), Attempts, 458.0),
        ]],
    );
}

#[cfg(feature = "hint")]
#[test]
fn aws_standard_mode_2_1_obeys_x_amz_retry_after_within_5_s() {
    // The header's text, then the wait in seconds, where the own wait is 50 ms.
    for (header, seconds) in [
        ("1500", 1.5),
        ("0", 0.05),
        ("10000", 5.05),
        ("invalid", 0.05),
        ("-100", 0.05),
    ] {
        let failed = Failed {
            hint: backoff_core::hint::retry_after_ms(header),
            ..status(500)
        };
        play(
            &format!("AWS SDKs, retry behaviour 2.1, x-amz-retry-after: {header}"),
            AWS_2_1,
            Budget::aws(),
            MOST,
            &[&[waits(failed, seconds, 486.0), succeeds(500.0)]],
        );
    }
}

#[test]
fn aws_standard_mode_2_0() {
    use StopReason::{Attempts, Budget as Spent};
    const POLICY: Policy = Policy::exponential()
        .max_backoff(Duration::from_secs(20))
        .jitter(Jitter::Full)
        .max_attempts(3);
    let bucket = || Budget::costs(500, 5, 5);
    let play = |what, policy, tokens, operations: &[&[Step]]| {
        let source = format!("AWS SDKs, retry behaviour 2.0, test cases of standard mode: {what}");
        let budget = bucket().starting_with(tokens);
        play(&source, policy, budget, MOST, operations);
    };
    play(
        "success after retries",
        POLICY,
        500,
        &[&[
            waits(status(500), 1.0, 495.0),
            waits(status(500), 2.0, 490.0),
            succeeds(495.0),
        ]],
    );
    play(
        "failure by the number of attempts",
        POLICY,
        500,
        &[&[
            waits(status(502), 1.0, 495.0),
            waits(status(502), 2.0, 490.0),
            stops(status(502), Attempts, 490.0),
        ]],
    );
    play(
        "the quota is reached after a single retry",
        POLICY,
        5,
        &[&[waits(status(500), 1.0, 0.0), stops(status(502), Spent, 0.0)]],
    );
    play(
        "no retry when the quota is 0",
        POLICY,
        0,
        &[&[stops(status(500), Spent, 0.0)]],
    );
    play(
        "exponential timing",
        POLICY.max_attempts(5),
        500,
        &[&[
            waits(status(500), 1.0, 495.0),
            waits(status(500), 2.0, 490.0),
            waits(status(500), 4.0, 485.0),
            waits(status(500), 8.0, 480.0),
            stops(status(500), Attempts, 480.0),
        ]],
    );
    play(
        "the longest backoff",
        POLICY.max_attempts(5).max_backoff(3 * SECOND),
        500,
        &[&[
            waits(status(500), 1.0, 495.0),
            waits(status(500), 2.0, 490.0),
            waits(status(500), 3.0, 485.0),
            waits(status(500), 3.0, 480.0),
            stops(status(500), Attempts, 480.0),
        ]],
    );
    play(
        "the quota is exhausted",
        POLICY.max_attempts(5),
        10,
        &[&[
            waits(status(500), 1.0, 5.0),
            waits(status(502), 2.0, 0.0),
            stops(status(503), Spent, 0.0),
        ]],
    );
    play(
        "the quota recovers",
        POLICY.max_attempts(5),
        15,
        &[
            &[
                waits(status(500), 1.0, 10.0),
                waits(status(502), 2.0, 5.0),
                succeeds(10.0),
            ],
            &[waits(status(500), 1.0, 5.0), succeeds(10.0)],
        ],
    );
}

#[test]
fn grpc_throttling_counts_every_failure_and_success() {
    const SOURCE: &str = "gRPC A6, throttling; the table of the clients' throttle tests";
    let budget = leak(Budget::grpc(4, 0.8));
    let policy = Policy::exponential().max_attempts(1).budget(budget);
    for tokens in [3.0, 2.0, 1.0, 0.0, 0.0] {
        let mut retry = Retry::start(&policy, || Duration::ZERO);
        let _ = retry.failed(&policy, true, || Duration::ZERO, || MOST);
        assert_eq!(budget.tokens(), tokens, "{SOURCE}");
    }
    for tokens in [0.8, 1.6, 2.4, 3.2, 4.0, 4.0] {
        Retry::start(&policy, || Duration::ZERO).succeeded(&policy);
        assert_eq!(budget.tokens(), tokens, "{SOURCE}");
    }
}

/// The throttling that gRPC A6 shows as its example: 10 tokens, a tenth back for a success.
#[test]
fn grpc_throttling_refuses_at_exactly_half() {
    use StopReason::{Attempts, Budget as Spent, Permanent, Refused};
    const POLICY: Policy = Policy::exponential().max_attempts(10).jitter(Jitter::None);
    let source = "gRPC A6, throttling with 10 tokens and a ratio of 0.1";
    let grpc = || Budget::grpc(10, 0.1);
    let five_fail = [
        waits(status(503), 1.0, 9.0),
        waits(status(503), 2.0, 8.0),
        waits(status(503), 4.0, 7.0),
        waits(status(503), 8.0, 6.0),
        stops(status(503), Spent, 5.0),
    ];
    // After a success there are 5.1, a failure makes it 4.1: still refused.
    let still = [stops(status(503), Spent, 4.1)];
    play(
        source,
        POLICY,
        grpc(),
        LEAST,
        &[&five_fail, &[succeeds(5.1)], &still],
    );
    // What is not to be retried is not counted; a refusal is, and so is the last attempt.
    let refusal = Failed {
        stop: true,
        ..status(503)
    };
    play(
        source,
        POLICY.max_attempts(2),
        grpc(),
        LEAST,
        &[
            &[stops(status(400), Permanent, 10.0)],
            &[stops(refusal, Refused, 9.0)],
            &[
                waits(status(503), 1.0, 8.0),
                stops(status(503), Attempts, 7.0),
            ],
        ],
    );
}

/// gRPC A6, "Pushback".
#[test]
fn grpc_pushback() {
    const POLICY: Policy = Policy::exponential()
        .base(Duration::from_millis(100))
        .max_backoff(SECOND)
        .jitter(Jitter::None)
        .max_attempts(4);
    let pushback = |hint| Failed {
        hint: Some(ms(hint)),
        ..status(503)
    };
    let budget = || Budget::costs(500, 1, 1);
    // gRPC waits exactly as long as the pushback says and then begins anew with the first backoff.
    // Here the wait is the longer one of the pushback and the own backoff, and the backoff goes on.
    play(
        "gRPC A6, pushback: a pushback longer than the backoff is waited for as it is",
        POLICY,
        budget(),
        MOST,
        &[&[
            waits(pushback(250), 0.25, 499.0),
            waits(status(503), 0.2, 498.0),
            waits(pushback(0), 0.4, 497.0),
            // A pushback does not override the number of attempts.
            stops(pushback(1), StopReason::Attempts, 497.0),
        ]],
    );
    // Negative, unparsable or repeated: the server asks not to be called again.
    let stop = Failed {
        stop: true,
        hint: Some(ms(1)),
        ..status(503)
    };
    play(
        "gRPC A6, pushback: a pushback that says no",
        POLICY,
        budget(),
        MOST,
        &[&[stops(stop, StopReason::Refused, 500.0)]],
    );
    // A pushback does not make a permanent failure one to be retried.
    let permanent = Failed {
        hint: Some(ms(1)),
        ..status(400)
    };
    play(
        "gRPC A6, pushback: a pushback with a permanent code",
        POLICY,
        budget(),
        MOST,
        &[&[stops(permanent, StopReason::Permanent, 500.0)]],
    );
}

/// A success gives back a share of a retry, to three decimals: Finagle, `RetryBudget`, with its
/// percentage of 20 and a reserve of 2.
#[test]
fn finagle_share_of_successes() {
    use StopReason::Budget as Spent;
    let dry = || stops(status(503), Spent, 0.0);
    play(
        "Finagle, RetryBudget, 20 percent",
        Policy::exponential().jitter(Jitter::None),
        Budget::ratio(0.2, 2),
        LEAST,
        &[
            &[
                waits(status(503), 1.0, 1.0),
                waits(status(503), 2.0, 0.0),
                dry(),
            ],
            &[succeeds(0.2)],
            &[stops(status(503), Spent, 0.2)],
            &[succeeds(0.4)],
            &[succeeds(0.6)],
            &[succeeds(0.8)],
            &[succeeds(1.0)],
            &[waits(status(503), 1.0, 0.0), dry()],
        ],
    );
}

/// A series: the source, the policy, the number that is drawn each time, the waits in seconds of an
/// operation that always fails, and why there is no further one, or `None` where the source's series
/// goes on.
type Series = (
    &'static str,
    Policy,
    u64,
    &'static [f64],
    Option<StopReason>,
);

const EXPONENTIAL: Policy = Policy::exponential()
    .jitter(Jitter::None)
    .max_attempts(1_000);

const IAM: Policy = Policy::exponential()
    .max_backoff(Duration::from_secs(64))
    .jitter(Jitter::Additive(SECOND))
    .deadline(Duration::from_secs(300))
    .on(codes![500, 502, 503, 504]);

const MEMORYSTORE: Policy = Policy::exponential()
    .max_backoff(Duration::from_secs(32))
    .jitter(Jitter::Additive(SECOND))
    .max_attempts(8)
    .on(codes![429, 500..=599]);

const GRPC_CONFIG: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .max_backoff(SECOND)
    .max_attempts(4);

const AWS_BLOG: Policy = Policy::exponential()
    .base(Duration::from_millis(10))
    .max_backoff(Duration::from_millis(100))
    .max_attempts(1_000);

const ETHERNET: Policy = Policy::slots(Duration::from_nanos(51_200));

const DHCP: Policy = Policy::custom(dhcp)
    .jitter(Jitter::Additive(Duration::from_secs(2)))
    .max_backoff(Duration::from_secs(65))
    .max_attempts(1_000);

/// The least wait that DHCP's "plus or minus a second" leaves.
fn dhcp(retry: u32) -> Duration {
    4 * SECOND * 2u32.saturating_pow(retry).min(16) - SECOND
}

/// Doubles three times, then grows by eight times the first.
fn cloud_tasks(retry: u32) -> Duration {
    let first = 10 * SECOND;
    match retry {
        0..=3 => first * 2u32.pow(retry),
        _ => first * 8 * (retry - 2),
    }
}

/// The retry's number squared, times 3 s.
fn graph(retry: u32) -> Duration {
    3 * SECOND * (retry + 1).pow(2)
}

/// Nothing before the first retry.
fn urllib3(retry: u32) -> Duration {
    match retry {
        0 => Duration::ZERO,
        _ => ms(100) * 2u32.pow(retry),
    }
}

use StopReason::{Attempts, Deadline};

#[rustfmt::skip]
const SERIES: &[Series] = &[
    ("Google api-core for Python, test_exponential_sleep_generator_base_2",
        Policy::exponential().max_backoff(Duration::from_secs(60)).max_attempts(1_000), MOST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0], None),
    // 15 + 16 would pass it, so the wait of 16 s is not begun.
    ("Google api-core for Python, test___call___and_execute_retry_hitting_deadline",
        Policy::exponential().max_backoff(Duration::from_secs(1_024))
            .deadline(Duration::from_millis(30_900)), MOST,
        &[1.0, 2.0, 4.0, 8.0], Some(Deadline)),
    ("Google Cloud IAM, retry strategy: least random fraction",
        IAM, LEAST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0], Some(Deadline)),
    ("Google Cloud IAM, retry strategy: a random fraction of a half",
        IAM, HALF,
        &[1.5, 2.5, 4.5, 8.5, 16.5, 32.5, 64.0, 64.0, 64.0], Some(Deadline)),
    ("Google Cloud IAM, retry strategy: greatest random fraction",
        IAM, MOST,
        &[2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 64.0, 64.0, 64.0], Some(Deadline)),
    ("Memorystore for Redis, exponential backoff: 0 ms drawn",
        MEMORYSTORE, LEAST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0], Some(Attempts)),
    ("Memorystore for Redis, exponential backoff: 500 ms drawn",
        MEMORYSTORE, HALF,
        &[1.5, 2.5, 4.5, 8.5, 16.5, 32.0, 32.0], Some(Attempts)),
    ("Memorystore for Redis, exponential backoff: 1000 ms drawn",
        MEMORYSTORE, MOST,
        &[2.0, 3.0, 5.0, 9.0, 17.0, 32.0, 32.0], Some(Attempts)),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: no jitter",
        AWS_BLOG.jitter(Jitter::None), HALF,
        &[0.01, 0.02, 0.04, 0.08, 0.1, 0.1], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: no backoff",
        AWS_BLOG.jitter(Jitter::None).base(Duration::ZERO), HALF,
        &[0.0, 0.0, 0.0], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: full jitter",
        AWS_BLOG.jitter(Jitter::Full), HALF,
        &[0.005, 0.01, 0.02, 0.04, 0.05, 0.05], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: full jitter at its least",
        AWS_BLOG.jitter(Jitter::Full), LEAST,
        &[0.0, 0.0, 0.0], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: equal jitter",
        AWS_BLOG.jitter(Jitter::Equal), HALF,
        &[0.0075, 0.015, 0.03, 0.06, 0.075, 0.075], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: equal jitter at its least",
        AWS_BLOG.jitter(Jitter::Equal), LEAST,
        &[0.005, 0.01, 0.02, 0.04, 0.05, 0.05], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: equal jitter at its most",
        AWS_BLOG.jitter(Jitter::Equal), MOST,
        &[0.01, 0.02, 0.04, 0.08, 0.1, 0.1], None),
    // Half of the way from 10 ms to three times the last wait.
    ("AWS Architecture Blog, Exponential Backoff And Jitter: decorrelated jitter",
        AWS_BLOG.jitter(Jitter::Decorrelated), HALF,
        &[0.02, 0.035, 0.0575, 0.09125, 0.1, 0.1], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: decorrelated at its least",
        AWS_BLOG.jitter(Jitter::Decorrelated), LEAST,
        &[0.01, 0.01, 0.01, 0.01], None),
    ("AWS Architecture Blog, Exponential Backoff And Jitter: decorrelated at its most",
        AWS_BLOG.jitter(Jitter::Decorrelated), MOST,
        &[0.03, 0.09, 0.1, 0.1], None),
    ("gRPC A6, the retry policy of its example, as drawn in 2017: from zero",
        GRPC_CONFIG.jitter(Jitter::Full), MOST,
        &[0.1, 0.2, 0.4], Some(Attempts)),
    ("gRPC A6, the retry policy of its example, as drawn since 2024: 20 % less",
        GRPC_CONFIG.jitter(Jitter::Proportional(0.2)), LEAST,
        &[0.08, 0.16, 0.32], Some(Attempts)),
    ("gRPC A6, the retry policy of its example, as drawn since 2024: the middle",
        GRPC_CONFIG.jitter(Jitter::Proportional(0.2)), HALF,
        &[0.1, 0.2, 0.4], Some(Attempts)),
    ("gRPC A6, the retry policy of its example, as drawn since 2024: 20 % more",
        GRPC_CONFIG.jitter(Jitter::Proportional(0.2)), MOST,
        &[0.12, 0.24, 0.48], Some(Attempts)),
    // gRPC multiplies after the cap and so waits up to 1.2 s; here the cap leaves room.
    ("gRPC A6, the retry policy of its example with six attempts, at the cap",
        GRPC_CONFIG.max_attempts(6).jitter(Jitter::Proportional(0.2)), MOST,
        &[0.12, 0.24, 0.48, 0.96, 1.0], Some(Attempts)),
    ("gRPC, connection backoff protocol: 1 s, a multiplier of 1.6, 120 s; no jitter",
        EXPONENTIAL.factor(1.6).max_backoff(Duration::from_secs(120)), LEAST,
        &[1.0, 1.6, 2.56, 4.096, 6.5536, 10.48576, 16.777216, 26.8435456, 42.94967296,
            68.719476736, 109.951162778, 120.0, 120.0], None),
    ("IEEE 802.3: the longest waits of a frame on 10 Mbit/s; 51.2 µs times 2^c − 1",
        ETHERNET, MOST,
        &[0.0000512, 0.0001536, 0.0003584, 0.000768, 0.0015872, 0.0032256, 0.0065024, 0.013056,
            0.0261632, 0.0523776, 0.0523776, 0.0523776, 0.0523776, 0.0523776, 0.0523776], Some(Attempts)),
    ("IEEE 802.3: the shortest waits of a frame, and its 16 attempts",
        ETHERNET, LEAST,
        &[0.0; 15], Some(Attempts)),
    ("Stevens and Rago, Advanced Programming in the UNIX Environment, connect_retry",
        Policy::connect_retry(), HALF,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], Some(Attempts)),
    ("Celery, retry_backoff with its defaults: factor 1, full jitter, 3 retries",
        Policy::celery(1), MOST,
        &[1.0, 2.0, 4.0], Some(Attempts)),
    ("Celery, retry_backoff_max of 600 s",
        Policy::celery(1).max_attempts(13), MOST,
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 600.0, 600.0], Some(Attempts)),
    ("AWS Step Functions, Retry: IntervalSeconds 3, BackoffRate 1.5, two retries",
        EXPONENTIAL.base(Duration::from_secs(3)).factor(1.5).max_attempts(3), LEAST,
        &[3.0, 4.5], Some(Attempts)),
    ("Google Cloud Tasks, max_doublings: 10 s, 300 s, 3 doublings",
        Policy::custom(cloud_tasks).max_backoff(Duration::from_secs(300)).jitter(Jitter::None)
            .max_attempts(1_000), LEAST,
        &[10.0, 20.0, 40.0, 80.0, 160.0, 240.0, 300.0, 300.0], None),
    ("Kubernetes, CrashLoopBackOff: 10 s, doubling, capped at five minutes",
        EXPONENTIAL.base(Duration::from_secs(10)).max_backoff(Duration::from_secs(300)), LEAST,
        &[10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0], None),
    ("Microsoft Graph, retry handler: 3 s times n², at most 180 s, 10 retries",
        Policy::custom(graph).max_backoff(Duration::from_secs(180)).jitter(Jitter::None)
            .max_attempts(11), LEAST,
        &[3.0, 12.0, 27.0, 48.0, 75.0, 108.0, 147.0, 180.0, 180.0, 180.0], Some(Attempts)),
    // Stripe waits at least 0.5 s, so that only at the upper end the two agree from the start.
    ("Stripe for Ruby, sleep_time: 0.5 s to 5 s, half of it drawn",
        Policy::exponential().base(Duration::from_millis(500))
            .max_backoff(Duration::from_secs(5)).jitter(Jitter::Equal).max_attempts(1_000), MOST,
        &[0.5, 1.0, 2.0, 4.0, 5.0, 5.0], None),
    ("Polly, wait and retry: 2 to the power of the retry's number",
        EXPONENTIAL.base(Duration::from_secs(2)).max_attempts(6), LEAST,
        &[2.0, 4.0, 8.0, 16.0, 32.0], Some(Attempts)),
    ("urllib3 1.26, Retry: a backoff_factor of 0.1",
        Policy::custom(urllib3).max_backoff(Duration::from_secs(120)).jitter(Jitter::None)
            .max_attempts(6), LEAST,
        &[0.0, 0.2, 0.4, 0.8, 1.6], Some(Attempts)),
    // Envoy draws below 25, 75 and 175 ms; here the ends belong to the range.
    ("Envoy, retry back-off: 25 ms times 2^n − 1, at most 250 ms, fully jittered",
        Policy::slots(Duration::from_millis(25)).max_backoff(Duration::from_millis(250))
            .jitter(Jitter::Full), MOST,
        &[0.025, 0.075, 0.175, 0.25, 0.25], None),
    // RFC 3261 sends no more once 32 s have passed.
    ("RFC 3261, 17.1.2.2, timer E with T1 = 0.5 s and T2 = 4 s; timer F",
        EXPONENTIAL.base(Duration::from_millis(500)).max_backoff(Duration::from_secs(4))
            .deadline(Duration::from_secs(32)), LEAST,
        &[0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0], Some(Deadline)),
    ("RFC 2131, 4.1, retransmission: a second less",
        DHCP, LEAST,
        &[3.0, 7.0, 15.0, 31.0, 63.0, 63.0], None),
    ("RFC 2131, 4.1, retransmission: the middle",
        DHCP, HALF,
        &[4.0, 8.0, 16.0, 32.0, 64.0, 64.0], None),
    ("RFC 2131, 4.1, retransmission: a second more",
        DHCP, MOST,
        &[5.0, 9.0, 17.0, 33.0, 65.0, 65.0], None),
    // They add up to 45 s, the RFC's MAX_TRANSMIT_SPAN.
    ("RFC 7252, 4.8, the longest timeouts of a CoAP message: 2 s times 1.5, doubled",
        EXPONENTIAL.base(Duration::from_secs(3)).max_attempts(5), LEAST,
        &[3.0, 6.0, 12.0, 24.0], Some(Attempts)),
    ("Leonardo of Pisa, Liber Abaci: the months of the rabbits, as seconds",
        Policy::fibonacci(SECOND).jitter(Jitter::None).max_attempts(1_000), LEAST,
        &[1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0, 64.0, 64.0], None),
];

#[test]
fn published_series() {
    for (source, policy, random, seconds, end) in SERIES {
        let now = Cell::new(Duration::from_secs(77));
        let mut retry = Retry::start(policy, || now.get());
        let mut fail = || {
            let decision = retry.failed(policy, true, || now.get(), || *random);
            if let Decision::Wait(wait) = decision {
                now.set(now.get() + wait.delay);
                assert_eq!(wait.source, WaitSource::Backoff);
            }
            decision
        };
        for (n, seconds) in seconds.iter().enumerate() {
            match fail() {
                Decision::Wait(wait) => {
                    let expected = Duration::from_secs_f64(*seconds);
                    assert!(
                        wait.delay.abs_diff(expected) <= Duration::from_nanos(1),
                        "{}: retry {n}: {:?}, not {expected:?}",
                        source,
                        wait.delay
                    );
                }
                Decision::Stop(reason) => panic!("{}: retry {n}: {reason}", source),
            }
        }
        if let Some(reason) = *end {
            assert_eq!(fail(), Decision::Stop(reason), "{}: the end", source);
        } else {
            assert!(matches!(fail(), Decision::Wait(_)), "{}", source);
        }
    }
}

/// Google HTTP Client Library for Java, `ExponentialBackOff`: the table of its documentation, with
/// the ends that it cuts to milliseconds.
#[test]
fn google_http_client_table() {
    const POLICY: Policy = Policy::exponential()
        .base(Duration::from_millis(500))
        .factor(1.5)
        .max_backoff(Duration::from_secs(60))
        .jitter(Jitter::Proportional(0.5));
    let table = [
        (500, 250, 750),
        (750, 375, 1_125),
        (1_125, 562, 1_687),
        (1_687, 843, 2_531),
        (2_531, 1_265, 3_796),
        (3_796, 1_898, 5_695),
        (5_695, 2_847, 8_542),
        (8_542, 4_271, 12_814),
        (12_814, 6_407, 19_221),
    ];
    for (retry, (middle, least, most)) in (0u32..).zip(table) {
        for (random, expected) in [(LEAST, least), (HALF, middle), (MOST, most)] {
            let wait = POLICY.backoff(retry, Duration::ZERO, random).as_nanos();
            let expected = u128::from(expected as u64) * 1_000_000;
            assert!(
                wait.abs_diff(expected) <= 1_000_000,
                "retry {retry}: {wait} ns, not {expected}"
            );
        }
    }
}

/// Seconds before a retry of a Celery task, with or without full jitter.
struct CeleryRow {
    source: &'static str,
    factor: i64,
    retry: u32,
    maximum: i64,
    /// The number drawn, with full jitter.
    random: Option<u64>,
    seconds: u64,
}

const fn celery(
    source: &'static str,
    (factor, retry, maximum): (i64, u32, i64),
    random: Option<u64>,
    seconds: u64,
) -> CeleryRow {
    CeleryRow {
        source,
        factor,
        retry,
        maximum,
        random,
        seconds,
    }
}

const CELERY: &[CeleryRow] = &[
    celery("Celery, test_without_jitter", (4, 3, 100), None, 32),
    // The test draws the last but one of 0..=32.
    celery(
        "Celery, test_with_jitter",
        (4, 3, 100),
        Some(u64::MAX / 33 * 32 - 33),
        31,
    ),
    celery("Celery, test_bound_by_maximum", (40, 3, 100), None, 100),
    celery("Celery, test_negative_values", (-40, 3, 100), None, 0),
    celery(
        "Celery, test_negative_values, drawn",
        (-40, 3, 100),
        Some(MOST),
        0,
    ),
    celery("Celery, a factor of 0", (0, 10, 600), Some(MOST), 0),
    celery("Celery, a maximum below 0", (7, 3, -1), None, 0),
    celery("Celery, a maximum of 0", (7, 3, 0), None, 0),
    // Drawn from 0..=64, then held to 10: half of 65 is above the maximum.
    celery(
        "Celery, drawn before the maximum",
        (1, 6, 10),
        Some(HALF),
        10,
    ),
    celery(
        "Celery, drawn before the maximum",
        (1, 6, 10),
        Some(LEAST),
        0,
    ),
    celery(
        "Celery, the last retry there is",
        (1, u32::MAX, 600),
        None,
        600,
    ),
];

/// Celery, `get_exponential_backoff_interval`, as it stood when it drew before the maximum.
#[test]
fn celery_intervals() {
    for row in CELERY {
        let celery = Celery::new(row.factor, row.maximum).full_jitter(row.random.is_some());
        let wait = celery.delay(row.retry, Duration::ZERO, row.random.unwrap_or(LEAST));
        let expected = Duration::from_secs(row.seconds);
        assert_eq!(wait, Some(expected), "{}", row.source);
    }
    // factor · 2ⁿ, at most the maximum of Celery's own default.
    for factor in 1..=7u32 {
        for retry in 0..12 {
            let seconds = (u64::from(factor) << retry).min(600);
            let wait = Celery::new(factor.into(), 600).delay(retry, Duration::ZERO, MOST);
            assert_eq!(wait, Some(Duration::from_secs(seconds)), "{factor} {retry}");
            let policy = Policy::celery(factor).backoff(retry, Duration::ZERO, MOST);
            assert_eq!(Some(policy), wait, "{factor} {retry}");
        }
    }
}

/// Binary exponential backoff: the number of slots expected after a collision, `(2^c − 1) / 2`,
/// with the range ending at the 10th collision (IEEE 802.3).
#[test]
fn ethernet_expectations() {
    for (collision, expected) in [
        (1, 0.5),
        (2, 1.5),
        (3, 3.5),
        (4, 7.5),
        (9, 255.5),
        (10, 511.5),
        (11, 511.5),
        (15, 511.5),
    ] {
        assert_eq!(Slots::expected(collision), expected, "E({collision})");
        // The middle of the ends, from the algorithm and from the policy.
        let slots = Slots::new(2 * SECOND);
        let policy = Policy::slots(2 * SECOND).max_backoff(Duration::MAX);
        for delay in [&slots as &dyn Both, &policy] {
            let [least, most] = [LEAST, MOST].map(|random| delay.wait(collision - 1, random));
            assert_eq!(least, Some(Duration::ZERO));
            let most = most.map(|most| most.as_secs_f64() / 2.0);
            assert_eq!(
                most.map(|most| most / 2.0),
                Some(expected),
                "E({collision})"
            );
        }
    }
}

/// `Delay` as a trait object.
trait Both {
    fn wait(&self, retry: u32, random: u64) -> Option<Duration>;
}

impl<D: Delay> Both for D {
    fn wait(&self, retry: u32, random: u64) -> Option<Duration> {
        self.delay(retry, Duration::ZERO, random)
    }
}

/// Always the same number.
#[derive(Clone, Copy)]
struct Always(u64);

impl Random for Always {
    fn random(&self) -> u64 {
        self.0
    }
}

fn first<D: Delay>(delay: D, random: u64) -> Vec<Duration> {
    delay.waits_with(Always(random)).take(100).collect()
}

#[test]
fn algorithms_and_policies_agree() {
    let endless = |policy: Policy| policy.max_backoff(Duration::MAX).max_attempts(101);
    let plain = |policy: Policy| endless(policy.jitter(Jitter::None));
    let first_wait = ms(70);
    let slot = Duration::from_nanos(51_200);
    for random in [LEAST, 1, MOST / 3, HALF, MOST - 1, MOST] {
        let same = |a: Vec<Duration>, b: Policy| {
            assert!(!a.is_empty());
            assert_eq!(a, first(b, random), "{b:?}");
        };
        same(first(ConnectRetry, random), Policy::connect_retry());
        same(first(Slots::new(slot), random), Policy::slots(slot));
        same(
            first(Celery::new(3, 600).full_jitter(true), random)[..3].to_vec(),
            Policy::celery(3),
        );
        same(
            first(Constant::new(first_wait), random),
            plain(Policy::constant(first_wait)),
        );
        same(
            first(Linear::new(first_wait, ms(30)), random),
            plain(Policy::linear(first_wait, ms(30))),
        );
        same(
            first(Fibonacci::new(first_wait), random),
            plain(Policy::fibonacci(first_wait)),
        );
        for factor in [1.0, 1.6, 2.0, 3.0] {
            same(
                first(Exponential::new(first_wait).factor(factor), random),
                plain(Policy::exponential().base(first_wait).factor(factor)),
            );
        }
        same(
            first(Decorrelated::new(first_wait, 9 * SECOND), random),
            endless(Policy::exponential().base(first_wait))
                .jitter(Jitter::Decorrelated)
                .max_backoff(9 * SECOND),
        );
    }
}

/// RFC 9110, 10.2.3 (`Retry-After`) and 5.6.7 (dates).
#[cfg(feature = "hint")]
mod retry_after {
    use super::{Duration, Failed, Jitter, Policy, Retry, SECOND, WaitSource, status};
    use backoff_core::{Decision, hint};
    use std::time::SystemTime;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the instant of the RFC's three examples.
    const EXAMPLE: u64 = 784_111_777;
    /// Fri, 31 Dec 1999 23:59:59 GMT, the example of `Retry-After`.
    const RETRY_AFTER: u64 = 946_684_799;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// Source, value, and the instant it names.
    #[rustfmt::skip]
    const DATES: &[(&str, &str, u64)] = &[
        ("RFC 9110, 5.6.7, IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", EXAMPLE),
        ("RFC 9110, 5.6.7, RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", EXAMPLE),
        ("RFC 9110, 5.6.7, asctime", "Sun Nov  6 08:49:37 1994", EXAMPLE),
        ("RFC 9110, 10.2.3, example", "Fri, 31 Dec 1999 23:59:59 GMT", RETRY_AFTER),
        ("RFC 9110, 10.2.3, in RFC 850's form", "Friday, 31-Dec-99 23:59:59 GMT", RETRY_AFTER),
        ("RFC 9110, 10.2.3, in asctime's form", "Fri Dec 31 23:59:59 1999", RETRY_AFTER),
    ];

    /// What stands before a date and after it, and makes it none.
    #[rustfmt::skip]
    const RUBBISH: &[(&str, &str)] = &[
        ("\"", "\""), ("Retry-After: ", ""), ("x", ""), ("", "x"), ("", ", 120"), ("120, ", ""),
        ("", " +0000"), ("(", ")"), ("\0", ""), ("", "\u{a0}"),
    ];

    #[rustfmt::skip]
    const SECONDS: &[(&str, Option<u64>)] = &[
        ("120", Some(120)), ("0", Some(0)), (" 120\t", Some(120)), ("0120", Some(120)),
        ("-1", None), ("+1", None), ("1.5", None), ("1,5", None), ("1e3", None), ("120s", None),
        ("120;", None), ("\"120\"", None), ("120, 120", None), ("99999999999999999999", None),
        ("", None), ("\t", None), ("06 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 08:49:37", None), ("Sun, 06 Nov 1994 08:49:37 UTC", None),
        ("1994-11-06T08:49:37Z", None),
    ];

    #[test]
    fn dates_and_seconds() {
        for (source, value, instant) in DATES {
            // Blanks around a field's value do not belong to it (RFC 9110, 5.5).
            for value in [
                (*value).into(),
                format!(" {value}"),
                format!("\t{value} \t "),
            ] {
                for (now, seconds) in [
                    (instant - 120, 120),
                    (instant - 1, 1),
                    (*instant, 0),
                    (instant + 1, 0),
                    (instant + 1_000_000_000, 0),
                ] {
                    let wait = hint::retry_after(&value, at(now));
                    let expected = Some(Duration::from_secs(seconds));
                    assert_eq!(wait, expected, "{source}: {value:?}");
                }
            }
            for (before, after) in RUBBISH {
                let rubbish = format!("{before}{value}{after}");
                let wait = hint::retry_after(&rubbish, at(instant - 120));
                assert_eq!(wait, None, "{source}: {rubbish:?}");
            }
        }
        for (value, seconds) in SECONDS {
            let wait = hint::retry_after(value, at(EXAMPLE - 120));
            assert_eq!(wait, seconds.map(Duration::from_secs), "{value:?}");
        }
    }

    #[test]
    fn the_longer_one_of_header_and_backoff_is_waited_for() {
        const POLICY: Policy = Policy::exponential().jitter(Jitter::None).base(SECOND);
        use WaitSource::{Backoff, RetryAfter};
        for (header, seconds, source) in [
            ("120", 120, RetryAfter),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 30, RetryAfter),
            ("Sun, 06 Nov 1994 08:40:00 GMT", 1, Backoff),
            ("1", 1, Backoff),
            ("0", 1, Backoff),
            ("soon", 1, Backoff),
        ] {
            let failed = Failed {
                hint: hint::retry_after(header, at(EXAMPLE - 30)),
                ..status(503)
            };
            let mut retry = Retry::start(&POLICY, || SECOND);
            match retry.failed(&POLICY, POLICY.judge(&failed), || SECOND, || 0) {
                Decision::Wait(wait) => {
                    assert_eq!(
                        (wait.delay.as_secs(), wait.source),
                        (seconds, source),
                        "{header}"
                    );
                }
                Decision::Stop(reason) => panic!("{header}: {reason}"),
            }
        }
    }

    /// `google.protobuf.Duration` as JSON: the examples of its definition.
    #[test]
    fn retry_delay_of_google_rpc() {
        for (value, nanos) in [
            ("3s", 3_000_000_000),
            ("3.000000001s", 3_000_000_001),
            ("3.000001s", 3_000_001_000),
            ("3.5s", 3_500_000_000),
        ] {
            let wait = hint::retry_delay(value);
            assert_eq!(wait, Some(Duration::from_nanos(nanos)), "{value}");
        }
    }
}
