//! Bugs that other retry libraries have or had. Each test shows that this library does not have the bug.
//!
//! The name of a test names the bug. The comment above a test names the libraries in which we saw the bug; they
//! may have fixed it since.

use crate::common::{error::TestError, time::Time};
use backoff_core::{Jitter, Policy, Random as _, StopReason, delay::Delay};
use std::{future::ready, panic::catch_unwind, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
const PLAIN: Policy = Policy::exponential().jitter(Jitter::None);
const MOST: u64 = u64::MAX;

/// Every jitter, each with a part that is long for the policies below.
const JITTERS: [Jitter; 9] = [
    Jitter::None,
    Jitter::Full,
    Jitter::Equal,
    Jitter::Decorrelated,
    Jitter::Additive(Duration::from_secs(7)),
    Jitter::AdditiveWithin(Duration::from_secs(7)),
    Jitter::Proportional(0.5),
    Jitter::Slots,
    Jitter::WholeSeconds,
];

const BUSY: TestError = TestError::status(503);

/// The waits of an operation that always fails so, and why it was given up: by the blocking loop and by the
/// async one, which have to agree.
fn waits(policy: Policy, random: u64) -> (Vec<Duration>, StopReason) {
    let [blocked, time] = [(); 2].map(|()| Time::default().drawing(random));
    let blocking = policy
        .blocking(|| Err::<(), _>(BUSY))
        .runtime(blocked.clone());
    let blocking = blocking.reported().call().unwrap_err();
    let future = policy
        .retry(|| ready(Err::<(), _>(BUSY)))
        .runtime(time.clone());
    let future = time.run(future.reported()).unwrap_err();
    assert_eq!(
        (blocked.waits(), blocking.reason),
        (time.waits(), future.reason)
    );
    (time.waits(), future.reason)
}

/// backon reached twice its maximum, backoff and tokio-retry2 half as much again. backon: a first delay above the
/// maximum was waited for as it was.
#[test]
fn a_wait_above_the_maximum() {
    let cap = 3 * SECOND;
    for jitter in JITTERS {
        for policy in [
            PLAIN,
            Policy::exponential().base(60 * SECOND),
            Policy::constant(60 * SECOND),
            Policy::linear(60 * SECOND, SECOND),
            Policy::fibonacci(60 * SECOND),
            Policy::slots(60 * SECOND),
            Policy::celery(60),
            Policy::custom(|_| 60 * SECOND),
        ] {
            let policy = policy.jitter(jitter).max_backoff(cap);
            for (retry, random) in [0, 1, 2, 39]
                .into_iter()
                .flat_map(|retry| [0, 1, 1 << 63, MOST].map(|random| (retry, random)))
            {
                let wait = policy.backoff(retry, cap, random);
                assert!(wait <= cap, "{wait:?} by {policy:?}");
            }
        }
    }
}

/// tower: what is drawn is cut at the maximum, where all clients then wait alike.
///
/// So it is in the formulas that Google and Celery document, which are offered as
/// [`Jitter::Additive`] and [`Jitter::WholeSeconds`]; every other jitter leaves room for chance.
#[test]
fn no_jitter_left_at_the_cap() {
    for jitter in JITTERS {
        let policy = PLAIN
            .base(SECOND / 10)
            .jitter(jitter)
            .max_backoff(10 * SECOND);
        // Not only the ends of the range.
        let waits = [MOST / 8, MOST / 6, MOST / 4].map(|r| policy.backoff(30, 10 * SECOND, r));
        match jitter {
            Jitter::None | Jitter::Additive(_) | Jitter::WholeSeconds => {
                assert_eq!(waits, [10 * SECOND; 3], "{jitter:?}");
            }
            _ => assert!(waits.is_sorted_by(|a, b| a < b), "{jitter:?}: {waits:?}"),
        }
    }
}

/// tokio-retry2, `jitter_range`: the number was drawn when the strategy was made.
#[test]
fn chance_is_drawn_once_for_all_retries() {
    for jitter in JITTERS {
        let time = Time::default().stepping(MOST / 7);
        let policy = Policy::constant(9 * SECOND)
            .base(2 * SECOND)
            .max_backoff(60 * SECOND)
            .jitter(jitter)
            .max_attempts(8);
        let call = policy.blocking(|| Err::<(), _>(BUSY)).runtime(time.clone());
        call.call().unwrap_err();
        let mut different = time.waits();
        different.sort_unstable();
        different.dedup();
        let draws = if jitter == Jitter::None { 0 } else { 7 };
        assert_eq!(different.len() > 1, draws > 0, "{jitter:?}: {different:?}");
        assert_eq!(time.random(), (MOST / 7).wrapping_mul(draws), "{jitter:?}");
    }
}

/// backoff and backon: a server that asked for an hour got it, whatever the limit was. tokio-retry2: the server's wish
/// was carried along and never looked at.
///
/// Without a deadline there is a limit for hints all the same: 5 minutes, or what the policy says. Nor does a hint get
/// past the attempts, or a budget without tokens.
#[cfg(all(feature = "tokio", feature = "macros"))]
#[test]
fn a_hint_bypasses_the_total_limit() {
    use crate::common::forms::{call, check};
    let table = "
        over a minute | deadline 60 | error 503 after 61   | 0; at 0 retry_after: error 503
        an hour       | deadline 60 | error 503 after 3600 | 0; at 0 retry_after: error 503
        for ever      | deadline 60 | error 503 after 1e19 | 0; at 0 retry_after: error 503
        it fits       | deadline 60 | error 503 after 25   | 0 25 50; at 50 retry_after: error 503
        five minutes  | max_attempts 2 | error 503 after 300 | 0 300; at 300 attempts: error 503
        a tick more   | | error 503 after 300.000000001 | 0; at 0 retry_after: error 503
        the attempts  | max_attempts 1 | error 503 after 1 | 0; at 0 attempts: error 503
        no tokens     | budget costs 0 | error 503 after 1 | 0; at 0 budget: error 503 [0 0]
    ";
    check(call(PLAIN), table);
    let most = "
        the policy's | max_attempts 2 | error 503 after 30 | 0 30; at 30 attempts: error 503
        a tick more  | | error 503 after 30.000000001 | 0; at 0 retry_after: error 503
    ";
    check(call(PLAIN.max_retry_after(30 * SECOND)), most);
    let time = Time::default();
    let with_delays = PLAIN.max_attempts(2);
    let with_delays = with_delays.blocking(|| Err::<(), _>(BUSY.after(17 * SECOND)));
    let _ = with_delays.delays([SECOND]).runtime(time.clone()).call();
    assert_eq!(time.waits(), [17 * SECOND]);
}

/// google-cloud-gax: a factor that is no number panics in the middle of a retry. Here it is refused
/// where it is written, in a constant by the compiler, and no policy can hold one.
#[test]
fn a_factor_that_is_no_number() {
    use backoff_core::delay::Exponential;
    for factor in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -2.0] {
        let refused = catch_unwind(|| Exponential::new(SECOND).factor(factor));
        assert!(refused.is_err(), "{factor}");
    }
    for factor in [1.0, 1.0 + f64::EPSILON, 1e300, f64::MAX] {
        let (waits, _) = waits(PLAIN.factor(factor).max_attempts(2_000), 0);
        assert_eq!(waits[0], SECOND);
        assert!(waits.iter().all(|wait| *wait <= 64 * SECOND), "{factor}");
    }
}

/// Several: a factor of 0 or NaN makes waits of 0 ns, and so a loop without a pause.
#[test]
fn nonsense_makes_a_hot_loop() {
    assert!(catch_unwind(|| PLAIN.jitter(Jitter::Proportional(f64::NAN))).is_err());
    // Whoever asks for no wait gets none, and the attempts end it as ever.
    let none = waits(PLAIN.base(Duration::ZERO), 0);
    assert_eq!(none, (vec![Duration::ZERO; 4], StopReason::Attempts));
    // No other policy waits for nothing again and again, whatever its retry.
    for policy in [
        PLAIN,
        PLAIN.factor(1.0),
        PLAIN.factor(f64::MAX),
        PLAIN.base(Duration::from_nanos(1)),
        Policy::linear(SECOND, Duration::ZERO).jitter(Jitter::None),
        Policy::fibonacci(SECOND).jitter(Jitter::None),
    ] {
        for retry in [0, 1, 31, 32, 63, 64, 65, 1_023, 1_024, u32::MAX] {
            let wait = policy.backoff(retry, Duration::ZERO, 0);
            assert!(!wait.is_zero(), "retry {retry} of {policy:?}");
        }
    }
}

/// Two crates: `Duration::MAX` from a strategy overflowed when it was added to the time. backon: so did a limit
/// or a sum of waits at the end of what a duration holds.
#[test]
fn the_longest_duration_of_a_strategy_panics() {
    let plain = PLAIN.max_attempts(4);
    for policy in [plain, plain.deadline(Duration::MAX), plain.deadline(SECOND)] {
        let time = Time::default();
        let fails = policy.blocking(|| Err::<(), _>(BUSY)).runtime(time.clone());
        assert!(fails.delays(|_: u32| Duration::MAX).call().is_err());
        let fails = policy
            .retry(|| ready(Err::<(), _>(BUSY)))
            .runtime(time.clone());
        assert!(time.run(fails.delays(|_: u32| Duration::MAX)).is_err());
    }
    for long in [Duration::MAX, Duration::from_secs(400 * 365 * 86_400)] {
        let endless = Policy::custom(|_| Duration::MAX)
            .base(long)
            .max_backoff(long)
            .max_attempts(4);
        for jitter in JITTERS {
            for random in [0, MOST] {
                let (waits, reason) = waits(endless.jitter(jitter), random);
                assert_eq!(
                    (waits.len(), reason),
                    (3, StopReason::Attempts),
                    "{jitter:?}"
                );
            }
        }
        // A deadline counts as a year at most.
        let ended = waits(endless.jitter(Jitter::None).deadline(long), 0);
        assert_eq!(ended, (vec![], StopReason::Deadline));
    }
}

/// And with a real timer: tokio's.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn the_longest_duration_of_a_strategy_panics_in_tokio() {
    let fails = || ready(Err::<(), _>(BUSY));
    let endless = PLAIN.retry(fails).delays(|_: u32| Duration::MAX);
    let year = Duration::from_secs(365 * 86_400);
    assert!(tokio::time::timeout(year, endless).await.is_err());
}

/// One crate: `2u64.pow(n)` overflows at the 64th retry.
#[test]
fn a_power_overflows() {
    use backoff_core::delay::{Celery, Exponential, Fibonacci, Linear, Slots};
    let by_policy = [
        PLAIN,
        PLAIN.factor(3.0),
        Policy::linear(SECOND, Duration::MAX).jitter(Jitter::None),
        Policy::fibonacci(SECOND).jitter(Jitter::None),
        Policy::slots(SECOND).jitter(Jitter::None),
        Policy::celery(1).jitter(Jitter::None),
    ];
    // Without a cap.
    type Wait = fn(u32) -> Option<Duration>;
    let alone: [Wait; 6] = [
        |n| Exponential::new(SECOND).delay(n, SECOND, MOST),
        |n| Exponential::new(SECOND).factor(3.0).delay(n, SECOND, MOST),
        |n| Fibonacci::new(SECOND).delay(n, SECOND, MOST),
        |n| Linear::new(SECOND, Duration::MAX).delay(n, SECOND, MOST),
        |n| Slots::new(Duration::MAX).delay(n, SECOND, MOST),
        |n| Celery::new(i64::MAX, i64::MAX).delay(n, SECOND, MOST),
    ];
    for retry in (0..200).chain([u32::MAX - 1, u32::MAX]) {
        let both = [retry.saturating_sub(1), retry];
        for policy in by_policy {
            let [earlier, wait] = both.map(|n| policy.backoff(n, Duration::ZERO, MOST));
            let is_fine = wait <= 600 * SECOND && wait >= earlier;
            assert!(is_fine, "retry {retry}: {wait:?} of {policy:?}");
        }
        for (n, delay) in alone.iter().enumerate() {
            let [earlier, wait] = both.map(delay);
            assert!(wait.is_none() || wait >= earlier, "retry {retry} of {n}");
        }
    }
}

#[cfg(all(feature = "tokio", feature = "macros"))]
mod macros {
    use backoff_core::{retry, retry_block};

    type Outcome = Result<u32, Box<dyn std::error::Error>>;

    /// Leaves the function it is used in, as the macros of that name do.
    macro_rules! bail {
        ($reason:literal) => {
            return Err($reason.into())
        };
    }

    /// The third call succeeds; until then it fails in the given way.
    macro_rules! body {
        ($way:expr, $calls:expr) => {{
            *$calls += 1;
            match (*$calls, $way) {
                (3, _) => Ok(3),
                (_, "?") => Ok("three".parse::<u32>()?),
                (_, "return") => return Err("returned".into()),
                _ => bail!("bailed"),
            }
        }};
    }

    #[retry(jitter = none)]
    async fn annotated(way: &str, calls: &mut u32) -> Outcome {
        body!(way, calls)
    }

    #[retry(jitter = none, base = "1ns")]
    fn annotated_sync(way: &str, calls: &mut u32) -> Outcome {
        body!(way, calls)
    }

    /// retrying and retryable: `?` and `return` left the whole function, and not the attempt.
    /// retry-if: so did `bail!`, also with an error that boxes, as `anyhow` and `eyre` do.
    #[tokio::test(start_paused = true)]
    async fn errors_of_question_marks_and_returns_and_bails_skip_the_retry() {
        for way in ["?", "return", "bail!"] {
            let [mut a, mut b, mut c] = [0; 3];
            let block: Outcome = retry_block!(jitter = none, async { body!(way, &mut a) }).await;
            let annotated = annotated(way, &mut b).await;
            for outcome in [block, annotated, annotated_sync(way, &mut c)] {
                assert_eq!(outcome.unwrap(), 3, "{way}");
            }
        }
    }
}
