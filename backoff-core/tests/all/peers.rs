//! Bugs that other retry libraries have or had. Each test shows that this library does not have the bug.
//!
//! The name of a test names the bug. The comment above a test names the libraries in which we saw the bug; they
//! may have fixed it since.

use crate::common::Scripted;
use backoff_core::{
    Budget, Decision, Event, Fault, FaultKind, Jitter, Policy, RetryState, StopReason, Verdict,
    delay::Delay,
};
use std::{
    cell::Cell,
    future::{Future, ready},
    pin::pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

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

#[derive(Debug, Clone, Copy, PartialEq)]
struct Busy(Option<Duration>);

impl Fault for Busy {
    fn status(&self) -> Option<u16> {
        Some(503)
    }
    fn retry_after(&self) -> Option<Duration> {
        self.0
    }
}

const BUSY: Busy = Busy(None);

fn hinted(hint: Duration) -> Verdict {
    Verdict::Retry {
        kind: FaultKind::Throttled,
        retry_after: Some(hint),
    }
}

/// What a future gives that never waits for anybody.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}

/// The waits of an operation that always fails, and why it was given up: by the blocking loop and
/// by the async one, which have to agree.
fn waits(policy: Policy, runtime: &Scripted) -> (Vec<Duration>, StopReason) {
    let begin = (runtime.now.get(), runtime.random.get());
    let blocking = policy.blocking(|| Err::<(), _>(BUSY));
    let blocking = blocking.runtime(runtime.clone()).reported().unwrap_err();
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
            let runtime = Scripted::drawing(random);
            let (waits, _) = waits(policy, &runtime);
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
        let as_documented = matches!(
            jitter,
            Jitter::None | Jitter::Additive(_) | Jitter::WholeSeconds
        );
        if as_documented {
            assert_eq!(waits, [10 * SECOND; 3], "{jitter:?}");
        } else {
            assert!(waits.is_sorted_by(|a, b| a < b), "{jitter:?}: {waits:?}");
        }
    }
}

/// tower: the generator is part of what is cloned for each request.
#[cfg(feature = "std")]
#[test]
fn every_clone_replays_one_sequence() {
    let policy = Policy::constant(SECOND).max_attempts(9);
    let original = policy.waits();
    let clones: Vec<Vec<_>> = (0..8).map(|_| original.clone().collect()).collect();
    for (i, clone) in clones.iter().enumerate() {
        assert_eq!(clone.len(), 8);
        assert!(!clones[..i].contains(clone), "{clone:?}");
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

/// backon: the limit counted the waits, and not the attempts between them.
#[test]
fn the_total_counts_sleeps_only() {
    let runtime = Scripted::default();
    let mut calls = 0;
    let error = PLAIN
        .deadline(20 * SECOND)
        .blocking(|| {
            calls += 1;
            runtime.pass(9 * SECOND);
            Err::<(), _>(BUSY)
        })
        .runtime(runtime.clone())
        .reported()
        .unwrap_err();
    // 9 + 1 + 9 = 19: a wait of 2 s does not fit, though only 1 s was slept.
    assert_eq!((calls, error.reason), (2, StopReason::Deadline));
    assert_eq!(error.report.slept, SECOND);
    assert_eq!(error.report.elapsed, 19 * SECOND);
}

/// backon: a limit or a sum of waits at the end of what a duration holds.
#[test]
fn a_saturated_total_panics() {
    let centuries = Duration::from_secs(400 * 365 * 86_400);
    for deadline in [None, Some(Duration::MAX), Some(centuries)] {
        let policy = Policy::constant(centuries)
            .jitter(Jitter::None)
            .max_backoff(Duration::MAX)
            .max_attempts(5);
        let policy = deadline.map_or(policy, |deadline| policy.deadline(deadline));
        let runtime = Scripted::default();
        let (waits, reason) = waits(policy, &runtime);
        match deadline {
            None => assert_eq!((waits, reason), (vec![centuries; 4], StopReason::Attempts)),
            // A deadline counts as a year at most.
            Some(_) => assert_eq!((waits, reason), (vec![], StopReason::Deadline)),
        }
    }
}

/// backon without the standard library: the same seed in every process. Here there is a random
/// source of the library's own only where the operating system seeds it.
#[cfg(feature = "std")]
#[test]
fn one_seed_for_a_whole_fleet() {
    use backoff_core::Random;
    // A generator belongs to a thread, so each thread here begins with the first number of one.
    let first = || std::thread::spawn(|| backoff_core::Std.random()).join();
    let mut firsts: Vec<u64> = (0..32).map(|_| first().unwrap()).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts.len(), 32);
}

/// tokio-retry2: the server's wish was carried along and never looked at.
#[test]
fn a_hint_is_ignored() {
    let policy = PLAIN.max_attempts(2);
    let runtime = Scripted::default();
    let fails = || Err::<(), _>(Busy(Some(17 * SECOND)));
    let _ = policy.blocking(fails).runtime(runtime.clone()).call();
    let _ = at_once(policy.retry(|| ready(fails())).runtime(runtime.clone()));
    let judged = policy.when(|_: &Busy| true).blocking(fails);
    let _ = judged.runtime(runtime.clone()).call();
    let with_delays = policy.blocking(fails).delays([SECOND]);
    let _ = with_delays.runtime(runtime.clone()).call();
    assert_eq!(runtime.waits.take(), [17 * SECOND; 4]);
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
        let (waits, _) = waits(policy, &runtime);
        let mut different = waits.clone();
        different.sort_unstable();
        different.dedup();
        if jitter == Jitter::None {
            assert_eq!((different.len(), runtime.random.get()), (1, 0));
        } else {
            assert!(different.len() > 1, "{jitter:?}: {waits:?}");
            let drawn = (MOST / 7).wrapping_mul(7);
            assert_eq!(runtime.random.get(), drawn, "once for each wait");
        }
    }
}

/// tokio-retry: `from_millis(10)` waits 10, 100, 1000 ms, and from 1 ms never grows.
#[test]
fn the_base_is_raised_to_a_power() {
    for base in [1, 2, 10, 500] {
        let base = Duration::from_millis(base);
        let (waits, _) = waits(PLAIN.base(base), &Scripted::default());
        assert_eq!(waits, [base, 2 * base, 4 * base, 8 * base]);
    }
}

/// backoff and backon: a server that asked for an hour got it, whatever the limit was.
#[test]
fn a_hint_bypasses_the_total_limit() {
    let policy = PLAIN.deadline(60 * SECOND).max_attempts(3);
    let runtime = Scripted::default();
    for hint in [61 * SECOND, 3_600 * SECOND, Duration::MAX] {
        let fails = || Err::<(), _>(Busy(Some(hint)));
        let blocking = policy.blocking(fails).runtime(runtime.clone()).reported();
        let future = policy.retry(|| ready(fails())).runtime(runtime.clone());
        for error in [
            blocking.unwrap_err(),
            at_once(future.reported()).unwrap_err(),
        ] {
            assert_eq!(error.reason, StopReason::RetryAfter);
            assert_eq!(error.report.attempts, 1);
        }
    }
    assert!(runtime.waits.take().is_empty());
    // Without a deadline there is a limit for hints all the same: 5 minutes, or what the policy says.
    for (policy, longest) in [
        (PLAIN, 300 * SECOND),
        (PLAIN.max_retry_after(30 * SECOND), 30 * SECOND),
    ] {
        let decide = |hint| {
            let mut retry = RetryState::start(&policy, || SECOND);
            retry.failed(&policy, hinted(hint), || SECOND, || 0)
        };
        assert!(matches!(decide(longest), Decision::Wait(wait) if wait.delay == longest));
        let longer = decide(longest + Duration::from_nanos(1));
        assert_eq!(longer, Decision::Stop(StopReason::RetryAfter));
    }
    // Nor does a hint get past the attempts, or a budget without tokens.
    let mut retry = RetryState::start(&PLAIN, || SECOND);
    let once = PLAIN.max_attempts(1);
    let decision = retry.failed(&once, hinted(SECOND), || SECOND, || 0);
    assert_eq!(decision, Decision::Stop(StopReason::Attempts));
    static EMPTY: Budget = Budget::aws().starting_with(0);
    let poor = PLAIN.budget(&EMPTY);
    let mut retry = RetryState::start(&poor, || SECOND);
    let decision = retry.failed(&poor, hinted(SECOND), || SECOND, || 0);
    assert_eq!(decision, Decision::Stop(StopReason::Budget));
}

/// backoff: the next attempt's future was made, and its work perhaps begun, before the wait.
#[test]
fn the_operation_is_called_before_the_sleep() {
    let runtime = Scripted::default();
    let mut begun = Vec::new();
    let mut call = || {
        begun.push(runtime.now.get());
        Err::<(), _>(BUSY)
    };
    let _ = PLAIN.blocking(&mut call).runtime(runtime.clone()).call();
    runtime.now.set(Duration::ZERO);
    let _ = at_once(PLAIN.retry(|| ready(call())).runtime(runtime.clone()));
    let expected = [0, 1, 3, 7, 15].map(Duration::from_secs);
    assert_eq!(begun, [expected, expected].concat());
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
    assert!(refused(|| PLAIN.factor(0.0)) && refused(|| PLAIN.factor(f64::NAN)));
    assert!(refused(|| PLAIN.scaled(0.0)) && refused(|| PLAIN.scaled(f64::NAN)));
    for share in [f64::NAN, -1.0, 2.0] {
        let jitter = Jitter::Proportional(share);
        assert!(refused(move || PLAIN.jitter(jitter)), "{share}");
    }
    // Whoever asks for no wait gets none, and the attempts end it as ever.
    let (waits, reason) = waits(PLAIN.base(Duration::ZERO), &Scripted::default());
    assert_eq!(waits, [Duration::ZERO; 4]);
    assert_eq!(reason, StopReason::Attempts);
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

/// Two crates: `Duration::MAX` from a strategy overflowed when it was added to the time.
#[test]
fn the_longest_duration_of_a_strategy_panics() {
    let endless = |_: u32| Duration::MAX;
    for policy in [
        PLAIN.max_attempts(4),
        PLAIN.max_attempts(4).deadline(Duration::MAX),
        PLAIN.max_attempts(4).deadline(SECOND),
    ] {
        let runtime = Scripted::default();
        let fails = || Err::<(), _>(BUSY);
        let blocking = policy.blocking(fails).delays(endless);
        assert!(blocking.runtime(runtime.clone()).call().is_err());
        let future = policy.retry(|| ready(fails())).delays(endless);
        assert!(at_once(future.runtime(runtime.clone())).is_err());
    }
    for jitter in JITTERS {
        let policy = Policy::custom(|_| Duration::MAX)
            .base(Duration::MAX)
            .max_backoff(Duration::MAX)
            .jitter(jitter)
            .max_attempts(4);
        for random in [0, MOST] {
            let runtime = Scripted::drawing(random);
            assert_eq!(waits(policy, &runtime).0.len(), 3, "{jitter:?}");
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
    let retries = (0..200).chain([u32::MAX - 1, u32::MAX]);
    for retry in retries {
        for policy in [
            PLAIN,
            PLAIN.factor(3.0),
            Policy::linear(SECOND, Duration::MAX).jitter(Jitter::None),
            Policy::fibonacci(SECOND).jitter(Jitter::None),
            Policy::slots(SECOND).jitter(Jitter::None),
            Policy::celery(1).jitter(Jitter::None),
        ] {
            let wait = policy.backoff(retry, Duration::ZERO, MOST);
            assert!(wait <= 600 * SECOND, "{wait:?} of {policy:?}");
            let earlier = policy.backoff(retry.saturating_sub(1), Duration::ZERO, MOST);
            assert!(wait >= earlier, "retry {retry} of {policy:?}");
        }
        // Without a cap.
        let never_shorter = |delay: &dyn Fn(u32) -> Option<Duration>| {
            let [earlier, now] = [retry.saturating_sub(1), retry].map(delay);
            assert!(now.is_none() || now >= earlier, "retry {retry}");
        };
        never_shorter(&|n| Exponential::new(SECOND).delay(n, SECOND, MOST));
        never_shorter(&|n| Exponential::new(SECOND).factor(3.0).delay(n, SECOND, MOST));
        never_shorter(&|n| Fibonacci::new(SECOND).delay(n, SECOND, MOST));
        never_shorter(&|n| Linear::new(SECOND, Duration::MAX).delay(n, SECOND, MOST));
        never_shorter(&|n| Slots::new(Duration::MAX).delay(n, SECOND, MOST));
        never_shorter(&|n| Celery::new(i64::MAX, i64::MAX).delay(n, SECOND, MOST));
    }
}

/// One crate: each retry called the next one, so that a million without a wait were too deep.
#[test]
fn a_million_zero_delays_overflow_the_stack() {
    const ATTEMPTS: u32 = 1_000_001;
    let deep = || {
        let policy = PLAIN.base(Duration::ZERO).max_attempts(ATTEMPTS);
        let calls = Cell::new(0);
        let fails = || {
            calls.set(calls.get() + 1);
            Err::<(), _>(BUSY)
        };
        assert!(
            policy
                .blocking(fails)
                .runtime(Scripted::default())
                .call()
                .is_err()
        );
        assert_eq!(calls.take(), ATTEMPTS);
        let future = policy.retry(|| ready(fails())).runtime(Scripted::default());
        assert!(at_once(future).is_err());
        assert_eq!(calls.take(), ATTEMPTS);
    };
    let small = std::thread::Builder::new().stack_size(256 << 10);
    small.spawn(deep).unwrap().join().unwrap();
}

/// tryhard: the hook's task ran on after the future was gone.
#[test]
fn the_hook_outlives_a_dropped_future() {
    let events = Rc::new(Cell::new(0));
    let told = Rc::clone(&events);
    let stuck = Scripted {
        stuck: true,
        ..Scripted::default()
    };
    let mut future = Box::pin(
        PLAIN
            .retry(|| ready(Err::<(), _>(BUSY)))
            .notify(move |_: &Event<'_, Busy>| told.set(told.get() + 1))
            .runtime(stuck),
    );
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    assert_eq!((events.get(), Rc::strong_count(&events)), (1, 2));
    drop(future);
    // The hook is gone with it, and was told nothing more.
    assert_eq!((events.get(), Rc::strong_count(&events)), (1, 1));
}

/// tower: a share is kept in whole percents as `1 / percent`, so that 0.75 counts as 1.
#[test]
fn a_share_of_successes_is_cut_to_a_whole_fraction() {
    static BUDGET: Budget = Budget::ratio(0.75, 100).starting_with(0);
    let policy = PLAIN.budget(&BUDGET);
    let mut retries = 0;
    for _ in 0..100 {
        RetryState::start(&policy, || SECOND).succeeded(&policy);
        let mut retry = RetryState::start(&policy, || SECOND);
        let decision = retry.failed(&policy, true, || SECOND, || 0);
        retries += u32::from(matches!(decision, Decision::Wait(_)));
    }
    assert_eq!(retries, 75);
}

#[cfg(feature = "tokio")]
mod in_tokio {
    use super::{BUSY, Busy, Duration, PLAIN, Policy, SECOND, StopReason};
    use backoff_core::TimedOut;
    use tokio::time::Instant;

    impl From<TimedOut> for Busy {
        fn from(_: TimedOut) -> Self {
            BUSY
        }
    }

    /// retry-policies and tokio-retry2: the limit was measured by the standard library's clock,
    /// which stands still beside tokio's paused one, so that it never came.
    #[tokio::test(start_paused = true)]
    async fn paused_time_does_not_move_the_clock() {
        let (paused, real) = (Instant::now(), std::time::Instant::now());
        let policy = PLAIN.deadline(3_600 * SECOND).max_attempts(200);
        let attempts = policy.retry(async || {
            tokio::time::sleep(60 * SECOND).await;
            Err::<(), _>(BUSY)
        });
        let error = attempts.reported().await.unwrap_err();
        assert_eq!(error.reason, StopReason::Deadline);
        let elapsed = paused.elapsed();
        assert!(
            elapsed > 3_400 * SECOND && elapsed <= 3_600 * SECOND,
            "{elapsed:?}"
        );
        assert_eq!(error.report.elapsed, elapsed);
        assert!(real.elapsed() < 60 * SECOND);
    }

    /// google-cloud-gax: with a limit of 10 s for all, one attempt could take its own 3600 s.
    #[tokio::test(start_paused = true)]
    async fn an_attempt_outlives_the_limit() {
        const POLICY: Policy = PLAIN.deadline(Duration::from_secs(10)).max_attempts(9);
        let start = Instant::now();
        let hangs = async || std::future::pending::<Result<(), Busy>>().await;
        let outcome = POLICY.retry(hangs).attempt_timeout(3_600 * SECOND).await;
        assert!(outcome.is_err());
        assert_eq!(start.elapsed(), 10 * SECOND);

        // A later attempt has only what remains.
        let start = Instant::now();
        let mut calls = 0;
        let outcome: Result<(), Busy> = POLICY
            .retry(|| {
                calls += 1;
                let first = calls == 1;
                async move {
                    if first {
                        return Err(BUSY);
                    }
                    std::future::pending().await
                }
            })
            .attempt_timeout(3_600 * SECOND)
            .await;
        assert_eq!((outcome, calls), (Err(BUSY), 2));
        assert_eq!(start.elapsed(), 10 * SECOND);
    }

    /// backoff: the same with tokio's timer, where the operation does something when called.
    #[tokio::test(start_paused = true)]
    async fn the_operation_is_called_before_the_sleep_in_tokio() {
        let start = Instant::now();
        let mut called = Vec::new();
        let _: Result<(), _> = PLAIN
            .max_attempts(3)
            .retry(|| {
                called.push(start.elapsed());
                async { Err(BUSY) }
            })
            .await;
        assert_eq!(called, [Duration::ZERO, SECOND, 3 * SECOND]);
    }
}

#[cfg(all(feature = "tokio", feature = "macros"))]
mod macros {
    use super::Duration;
    use backoff_core::{retry, retry_block};
    use std::cell::Cell;

    #[derive(Debug, PartialEq)]
    struct Error(&'static str);

    impl std::fmt::Display for Error {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Error {}

    impl From<std::num::ParseIntError> for Error {
        fn from(_: std::num::ParseIntError) -> Self {
            Error("no number")
        }
    }

    /// Leaves the function it is used in, as the macros of that name do.
    macro_rules! bail {
        ($reason:literal) => {
            return Err(Error($reason).into())
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

    const WAYS: [Way; 4] = [Way::Question, Way::Return, Way::Bail, Way::Tail];

    fn counted(calls: &Cell<u32>) -> u32 {
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
                    Way::Return => return Err(Error("returned")),
                    Way::Bail => bail!("bailed"),
                    Way::Tail => {}
                }
            }
            if call < 3 {
                Err(Error("at the end"))
            } else {
                Ok(call)
            }
        }};
    }

    #[retry(jitter = none)]
    async fn annotated(way: Way, calls: &Cell<u32>) -> Result<u32, Error> {
        body!(way, calls)
    }

    #[retry(jitter = none, base = "1ns")]
    fn annotated_sync(way: Way, calls: &Cell<u32>) -> Result<u32, Error> {
        body!(way, calls)
    }

    /// retrying and retryable: `?` and `return` left the whole function, and not the attempt.
    /// retry-if: so did `bail!`.
    #[tokio::test(start_paused = true)]
    async fn errors_of_question_marks_and_returns_and_bails_skip_the_retry() {
        for way in WAYS {
            let calls = Cell::new(0);
            assert_eq!(annotated(way, &calls).await, Ok(3), "{way:?}");
            assert_eq!(calls.take(), 3, "{way:?}");
            assert_eq!(annotated_sync(way, &calls), Ok(3), "{way:?}");
            assert_eq!(calls.take(), 3, "{way:?}");
            let outcome: Result<u32, Error> =
                retry_block!(jitter = none, async { body!(way, &calls) }).await;
            assert_eq!((outcome, calls.take()), (Ok(3), 3), "{way:?}");
        }
    }

    /// The same with an error that boxes, as `anyhow` and `eyre` do.
    #[tokio::test(start_paused = true)]
    async fn a_bail_with_a_boxed_error_skips_the_retry() {
        #[retry(jitter = none)]
        async fn boxed(calls: &Cell<u32>) -> Result<u32, Box<dyn std::error::Error>> {
            match counted(calls) {
                1 => bail!("bailed"),
                2 => Ok("two".parse()?),
                call => Ok(call),
            }
        }
        let calls = Cell::new(0);
        assert_eq!(boxed(&calls).await.unwrap(), 3);
    }

    /// backon-macros: a hidden method was put beside the annotated one, which no trait knows of, so
    /// that an implementation of a trait did not compile.
    #[tokio::test(start_paused = true)]
    async fn a_helper_method_breaks_trait_impls() {
        #[allow(async_fn_in_trait, reason = "nobody else uses it")]
        trait Store {
            async fn load(&self, key: &str) -> Result<String, Error>;
            fn save(&mut self, key: &str) -> Result<u32, Error>;
        }

        struct Flaky {
            calls: Cell<u32>,
        }

        impl Store for Flaky {
            #[retry(jitter = none)]
            async fn load(&self, key: &str) -> Result<String, Error> {
                match counted(&self.calls) {
                    3 => Ok(key.to_owned()),
                    _ => Err(Error("busy")),
                }
            }

            #[retry(jitter = none, base = "1ns")]
            fn save(&mut self, key: &str) -> Result<u32, Error> {
                match counted(&self.calls) {
                    3 => Ok(key.len() as u32),
                    _ => bail!("busy"),
                }
            }
        }

        /// Two annotated methods of the same name in one scope: a helper's name would clash.
        struct Other;
        impl Other {
            #[retry]
            async fn load(&self) -> Result<(), Error> {
                Ok(())
            }
        }
        trait Named {
            fn load(&self) -> &'static str;
        }
        impl Named for Other {
            fn load(&self) -> &'static str {
                "another `load`"
            }
        }

        let calls = Cell::new(0);
        let mut store = Flaky { calls };
        assert_eq!(store.load("key").await, Ok("key".to_owned()));
        store.calls.set(0);
        assert_eq!(store.save("key"), Ok(3));
        assert_eq!(Other.load().await, Ok(()));
        assert_eq!(Named::load(&Other), "another `load`");
    }

    /// backon-macros: an argument that is not `Copy` was moved into the first attempt, so that the
    /// function did not compile.
    #[tokio::test(start_paused = true)]
    async fn an_owned_argument_does_not_compile() {
        #[retry(jitter = none)]
        async fn read(name: String, parts: Vec<u32>, calls: &Cell<u32>) -> Result<String, Error> {
            if counted(calls) < 3 {
                return Err(Error("busy"));
            }
            Ok(format!("{name} {}", parts.len()))
        }

        #[retry(jitter = none)]
        async fn cloned(name: String, calls: &Cell<u32>) -> Result<String, Error> {
            let consumed = name.clone();
            if counted(calls) < 3 {
                bail!("busy");
            }
            Ok(consumed)
        }

        #[retry(jitter = none, base = "1ns")]
        fn blocking(name: String, calls: &Cell<u32>) -> Result<usize, Error> {
            if counted(calls) < 3 {
                bail!("busy");
            }
            Ok(name.len())
        }

        struct Request(String);
        impl Request {
            #[retry(jitter = none)]
            async fn send(self, calls: &Cell<u32>) -> Result<String, Error> {
                if counted(calls) < 3 {
                    bail!("busy");
                }
                Ok(self.0.clone())
            }
        }

        let calls = Cell::new(0);
        let name = || String::from("a");
        let read = read(name(), vec![1, 2], &calls).await;
        assert_eq!((read, calls.take()), (Ok("a 2".into()), 3));
        assert_eq!(
            (cloned(name(), &calls).await, calls.take()),
            (Ok(name()), 3)
        );
        assert_eq!((blocking(name(), &calls), calls.take()), (Ok(1), 3));
        let sent = Request(name()).send(&calls).await;
        assert_eq!((sent, calls.take()), (Ok(name()), 3));
    }

    /// tokio-retry2 and backon: the attribute obeys hints and limits as the loops do.
    #[tokio::test(start_paused = true)]
    async fn a_hint_bypasses_the_total_limit_of_an_attribute() {
        use super::{Busy, SECOND};

        #[retry(jitter = none, deadline = "60s", on = [503])]
        async fn hinted(hint: Duration, calls: &Cell<u32>) -> Result<(), Busy> {
            counted(calls);
            Err(Busy(Some(hint)))
        }
        let start = tokio::time::Instant::now();
        let calls = Cell::new(0);
        assert!(hinted(61 * SECOND, &calls).await.is_err());
        assert_eq!((calls.take(), start.elapsed()), (1, Duration::ZERO));
        assert!(hinted(25 * SECOND, &calls).await.is_err());
        assert_eq!((calls.take(), start.elapsed()), (3, 50 * SECOND));
    }
}
