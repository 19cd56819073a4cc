//! Bugs that other retry libraries have or had. Each test shows that this library does not have the bug.
//!
//! The name of a test names the bug. The comment above a test names the libraries in which we saw the bug; they
//! may have fixed it since.

use crate::common::{Scripted, at_once, error::TestError};
use backoff_core::{Jitter, Policy, StopReason, delay::Delay};
use std::{future::ready, time::Duration};

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
fn waits(policy: Policy, runtime: &Scripted) -> (Vec<Duration>, StopReason) {
    let begin = (runtime.now.get(), runtime.random.get());
    let blocking = policy
        .blocking(|| Err::<(), _>(BUSY))
        .runtime(runtime.clone());
    let blocking = blocking.reported().call().unwrap_err();
    let waited = runtime.waits.take();
    runtime.now.set(begin.0);
    runtime.random.set(begin.1);
    let future = policy.retry(|| ready(Err::<(), _>(BUSY)));
    let future = at_once(future.runtime(runtime.clone()).reported()).unwrap_err();
    assert_eq!(waited, runtime.waits.take());
    assert_eq!(blocking.reason, future.reason);
    (waited, blocking.reason)
}

/// backon reached twice its maximum, backoff and tokio-retry2 half as much again.
#[test]
fn jitter_after_the_cap() {
    let cap = 10 * SECOND;
    for jitter in JITTERS {
        let policy = PLAIN.jitter(jitter).max_backoff(cap).max_attempts(40);
        for random in [0, 1, 1 << 63, MOST] {
            let (waits, _) = waits(policy, &Scripted::drawing(random));
            assert_eq!(waits.len(), 39);
            let longest = waits.iter().max().copied().unwrap();
            assert!(longest <= cap, "{jitter:?}: {longest:?}");
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

/// backon: a first delay above the maximum was waited for as it was.
#[test]
fn a_first_delay_above_the_maximum() {
    let cap = 3 * SECOND;
    for jitter in JITTERS {
        for policy in [
            Policy::exponential().base(60 * SECOND),
            Policy::constant(60 * SECOND),
            Policy::linear(60 * SECOND, SECOND),
            Policy::fibonacci(60 * SECOND),
            Policy::slots(60 * SECOND),
            Policy::celery(60),
            Policy::custom(|_| 60 * SECOND),
        ] {
            let policy = policy.jitter(jitter).max_backoff(cap);
            for random in [0, MOST] {
                let wait = policy.backoff(0, Duration::ZERO, random);
                assert!(wait <= cap, "{wait:?} by {policy:?}");
            }
        }
    }
}

/// tokio-retry2, `jitter_range`: the number was drawn when the strategy was made.
#[test]
fn chance_is_drawn_once_for_all_retries() {
    for jitter in JITTERS {
        let runtime = Scripted {
            step: MOST / 7,
            ..Scripted::default()
        };
        let policy = Policy::constant(9 * SECOND)
            .base(2 * SECOND)
            .max_backoff(60 * SECOND)
            .jitter(jitter)
            .max_attempts(8);
        let (mut different, _) = waits(policy, &runtime);
        different.sort_unstable();
        different.dedup();
        if jitter == Jitter::None {
            assert_eq!((different.len(), runtime.random.get()), (1, 0));
        } else {
            assert!(different.len() > 1, "{jitter:?}: {different:?}");
            let drawn = (MOST / 7).wrapping_mul(7);
            assert_eq!(runtime.random.get(), drawn, "once for each wait");
        }
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
    let runtime = Scripted::default();
    let with_delays = PLAIN.max_attempts(2);
    let with_delays = with_delays.blocking(|| Err::<(), _>(BUSY.after(17 * SECOND)));
    let _ = with_delays.delays([SECOND]).runtime(runtime.clone()).call();
    assert_eq!(runtime.waits.take(), [17 * SECOND]);
}

fn refused<T>(make: impl FnOnce() -> T + std::panic::UnwindSafe) -> bool {
    std::panic::catch_unwind(make).is_err()
}

/// google-cloud-gax: a factor that is no number panics in the middle of a retry. Here it is refused
/// where it is written, in a constant by the compiler, and no policy can hold one.
#[test]
fn a_factor_that_is_no_number() {
    use backoff_core::delay::Exponential;
    for factor in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -2.0] {
        assert!(refused(move || PLAIN.factor(factor)), "{factor}");
        let alone = move || Exponential::new(SECOND).factor(factor);
        assert!(refused(alone), "{factor}");
    }
    for factor in [1.0, 1.0 + f64::EPSILON, 1e300, f64::MAX] {
        let policy = PLAIN.factor(factor).max_attempts(2_000);
        let (waits, _) = waits(policy, &Scripted::default());
        assert_eq!(waits[0], SECOND);
        assert!(waits.iter().all(|wait| *wait <= 64 * SECOND), "{factor}");
    }
}

/// Several: a factor of 0 or NaN makes waits of 0 ns, and so a loop without a pause.
#[test]
fn nonsense_makes_a_hot_loop() {
    assert!(refused(|| PLAIN.scaled(0.0)) && refused(|| PLAIN.scaled(f64::NAN)));
    for share in [f64::NAN, -1.0, 2.0] {
        let jitter = Jitter::Proportional(share);
        assert!(refused(move || PLAIN.jitter(jitter)), "{share}");
    }
    // Whoever asks for no wait gets none, and the attempts end it as ever.
    let none = waits(PLAIN.base(Duration::ZERO), &Scripted::default());
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
        let fails = policy.blocking(|| Err::<(), _>(BUSY));
        let fails = fails.delays(|_: u32| Duration::MAX);
        assert!(fails.runtime(Scripted::default()).call().is_err());
        let fails = policy.retry(|| ready(Err::<(), _>(BUSY)));
        let fails = fails.delays(|_: u32| Duration::MAX);
        assert!(at_once(fails.runtime(Scripted::default())).is_err());
    }
    let centuries = Duration::from_secs(400 * 365 * 86_400);
    for (jitter, long) in JITTERS
        .map(|jitter| (jitter, Duration::MAX))
        .into_iter()
        .chain([(Jitter::None, centuries)])
    {
        let endless = Policy::custom(|_| Duration::MAX)
            .base(long)
            .max_backoff(long)
            .jitter(jitter)
            .max_attempts(4);
        for random in [0, MOST] {
            let (waits, reason) = waits(endless, &Scripted::drawing(random));
            assert_eq!(
                (waits.len(), reason),
                (3, StopReason::Attempts),
                "{jitter:?}"
            );
        }
        // A deadline counts as a year at most.
        for deadline in [Duration::MAX, centuries] {
            if jitter == Jitter::None {
                let ended = waits(endless.deadline(deadline), &Scripted::default());
                assert_eq!(ended, (vec![], StopReason::Deadline));
            }
        }
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

/// One crate: each retry called the next one, so that a million without a wait were too deep.
#[test]
fn a_million_zero_delays_overflow_the_stack() {
    let deep = || {
        let policy = PLAIN.base(Duration::ZERO).max_attempts(1_000_001);
        assert_eq!(waits(policy, &Scripted::default()).0.len(), 1_000_000);
    };
    let small = std::thread::Builder::new().stack_size(256 << 10);
    small.spawn(deep).unwrap().join().unwrap();
}

#[cfg(feature = "tokio")]
mod in_tokio {
    use super::{BUSY, PLAIN, SECOND, StopReason};
    use tokio::time::Instant;

    /// retry-policies and tokio-retry2: the limit was measured by the standard library's clock,
    /// which stands still beside tokio's paused one, so that it never came.
    #[tokio::test(start_paused = true)]
    async fn paused_time_does_not_move_the_clock() {
        let paused = Instant::now();
        let policy = PLAIN.deadline(3_600 * SECOND).max_attempts(200);
        let attempts = policy.retry(async || {
            tokio::time::sleep(60 * SECOND).await;
            Err::<(), _>(BUSY)
        });
        let error = attempts.reported().await.unwrap_err();
        let elapsed = paused.elapsed();
        assert_eq!(
            (error.reason, error.report.elapsed),
            (StopReason::Deadline, elapsed)
        );
        let nearly_all = 3_400 * SECOND..=3_600 * SECOND;
        assert!(nearly_all.contains(&elapsed), "{elapsed:?}");
    }
}

#[cfg(all(feature = "tokio", feature = "macros"))]
mod macros {
    use backoff_core::{retry, retry_block};
    use std::cell::Cell;

    type Boxed = Box<dyn std::error::Error>;
    type Calls = Cell<u32>;

    /// Leaves the function it is used in, as the macros of that name do.
    macro_rules! bail {
        ($reason:literal) => {
            return Err($reason.into())
        };
    }

    /// How an attempt ends.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Way {
        Question,
        Return,
        Bail,
        Tail,
    }

    fn counted(calls: &Calls) -> u32 {
        calls.set(calls.get() + 1);
        calls.get()
    }

    /// The third call succeeds; until then it fails in the given way.
    macro_rules! body {
        ($way:expr, $calls:expr) => {{
            let call = counted($calls);
            if call < 3 {
                match $way {
                    Way::Question => {
                        "three".parse::<u32>()?;
                    }
                    Way::Return => return Err("returned".into()),
                    Way::Bail => bail!("bailed"),
                    Way::Tail => {}
                }
            }
            if call < 3 {
                Err("at the end".into())
            } else {
                Ok(call)
            }
        }};
    }

    #[retry(jitter = none)]
    async fn annotated(way: Way, calls: &Calls) -> Result<u32, Boxed> {
        body!(way, calls)
    }

    #[retry(jitter = none, base = "1ns")]
    fn annotated_sync(way: Way, calls: &Calls) -> Result<u32, Boxed> {
        body!(way, calls)
    }

    /// retrying and retryable: `?` and `return` left the whole function, and not the attempt.
    /// retry-if: so did `bail!`, also with an error that boxes, as `anyhow` and `eyre` do.
    #[tokio::test(start_paused = true)]
    async fn errors_of_question_marks_and_returns_and_bails_skip_the_retry() {
        for way in [Way::Question, Way::Return, Way::Bail, Way::Tail] {
            let calls = [(); 3].map(|()| Cell::new(0));
            let block = retry_block!(jitter = none, async { body!(way, &calls[0]) });
            let block: Result<u32, Boxed> = block.await;
            for (form, outcome) in [
                ("block", block),
                ("attribute", annotated(way, &calls[1]).await),
                ("blocking attribute", annotated_sync(way, &calls[2])),
            ] {
                assert_eq!(outcome.unwrap(), 3, "{form}: {way:?}");
            }
            assert_eq!(calls.map(Cell::into_inner), [3; 3], "{way:?}");
        }
    }
}
