//! Generators of `rand` as random sources, alone and together with a runtime.
use crate::common::time::Time;
use backoff_core::{Jitter, Policy, Random, TimedOut};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use std::{
    cell::RefCell,
    future::{pending, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    time::Duration,
};

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = Policy::exponential().jitter(Jitter::Full).max_attempts(6);

fn generator() -> SmallRng {
    SmallRng::seed_from_u64(7)
}

/// The first numbers that it draws.
fn drawn<const N: usize>() -> [u64; N] {
    let mut generator = generator();
    [0; N].map(|_| generator.next_u64())
}

/// The policy's waits with the first numbers.
fn waits() -> Vec<Duration> {
    let backoff = |(retry, number)| POLICY.backoff(retry, Duration::ZERO, number);
    (0..).zip(drawn::<5>()).map(backoff).collect()
}

/// What a panic of this says.
#[cfg(not(feature = "smol"))]
fn panic_of(run: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .expect("a message")
}

#[cfg(not(feature = "smol"))]
fn poll_once(future: impl Future) -> bool {
    use std::task::{Context, Waker};
    let polled = std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop()));
    polled.is_ready()
}

#[cfg(not(feature = "smol"))]
#[test]
fn a_call_without_a_runtime_says_what_to_write() {
    let fine = || POLICY.retry(|| ready(Ok::<_, TimedOut>(7)));
    assert!(poll_once(fine().runtime(Time::default())));
    let fails = || POLICY.retry(|| ready(Err::<(), _>(late())));
    let hangs = || POLICY.retry(pending::<Result<(), TimedOut>>);
    let said = [
        // In a release the first wait panics.
        panic_of(|| match cfg!(debug_assertions) {
            true => assert!(poll_once(fine())),
            false => assert!(poll_once(fails())),
        }),
        panic_of(|| assert!(poll_once(fails()))),
        panic_of(|| assert!(poll_once(hangs().attempt_timeout(SECOND)))),
    ];
    for way_out in [
        "no tokio runtime",
        "#[tokio::main]",
        ".runtime(..)",
        "retry_blocking",
    ] {
        assert!(said.iter().all(|said| said.contains(way_out)), "{said:?}");
    }
}

#[cfg(all(feature = "macros", not(feature = "smol")))]
#[test]
fn the_attributes_panic_points_to_the_function() {
    #[backoff_core::retry]
    async fn busy() -> Result<(), TimedOut> {
        Err(late())
    }
    let at = std::sync::Arc::new(Mutex::new(None));
    let seen = at.clone();
    let before = std::panic::take_hook();
    let this = std::thread::current().id();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == this {
            *seen.lock().unwrap() = panic.location().map(|at| at.file().to_owned());
        }
    }));
    let said = panic_of(|| assert!(poll_once(busy())));
    std::panic::set_hook(before);
    assert!(said.contains("no tokio runtime"), "{said}");
    assert_eq!(at.lock().unwrap().as_deref(), Some(file!()));
}

/// With both features, a call waits by the timer of the place where it runs.
#[cfg(all(feature = "combine", feature = "smol"))]
#[test]
fn tokio_and_smol_share_a_program() {
    let minute = Duration::from_secs(60);
    let waits = Policy::constant(minute)
        .jitter(Jitter::None)
        .max_attempts(2);
    let fails = || ready(Err::<(), _>(late()));
    let paused = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let reported = paused.unwrap().block_on(waits.retry(fails).reported());
    assert_eq!(reported.unwrap_err().report.elapsed, minute);

    let short = Duration::from_millis(2);
    let waits = Policy::constant(short).jitter(Jitter::None).max_attempts(2);
    let reported = async_io::block_on(waits.retry(fails).reported());
    assert!(reported.unwrap_err().report.elapsed >= short);
    let combined = waits.combine(|()| ready(Ok::<_, TimedOut>(1)), |(), _| ready(Ok(())));
    assert!(async_io::block_on(combined.update((), |value| *value += 1)).is_ok());
}

fn late() -> TimedOut {
    TimedOut::new(Duration::ZERO)
}

#[test]
fn a_generator_behind_a_lock_still_draws_after_a_panic() {
    let shared = Mutex::new(generator());
    let panics = catch_unwind(AssertUnwindSafe(|| {
        let _guard = shared.lock();
        std::panic::resume_unwind(Box::new("broken"));
    }));
    assert!(panics.is_err() && shared.is_poisoned());
    assert_eq!([(); 3].map(|()| shared.random()), drawn());
}

/// The pair's timer cuts the attempts, by the pair's clock.
#[test]
fn a_pair_cuts_attempts() {
    let runtime = Time::default();
    let retry = POLICY.retry(pending::<Result<(), TimedOut>>);
    let retry = retry.attempt_timeout(3 * SECOND);
    let retry = retry.runtime((runtime.clone(), RefCell::new(generator())));
    let gave_up = runtime.run(retry.reported()).unwrap_err();
    assert_eq!(gave_up.error, TimedOut::new(3 * SECOND));
    let mut expected = vec![3 * SECOND];
    for wait in waits() {
        expected.extend([wait, 3 * SECOND]);
    }
    assert_eq!(runtime.elapsed(), expected.iter().sum::<Duration>());
    assert_eq!(runtime.waits(), expected);
}

/// Tokio's timer would round a wait of zero up to a millisecond.
#[tokio::test(start_paused = true)]
async fn in_a_wait_of_zero_the_other_tasks_run_and_no_time_passes() {
    let policy = Policy::constant(Duration::ZERO).max_attempts(1_000);
    let start = tokio::time::Instant::now();
    let call = policy.retry(|| ready(Err::<(), _>(late())));
    assert_eq!(tokio::spawn(call.owned()).await.unwrap(), Err(late()));
    assert!(start.elapsed().is_zero());
    // A retry that waits for another task.
    let (sender, mut receiver) = tokio::sync::oneshot::channel();
    tokio::spawn(async move { sender.send(7) });
    let few = policy.max_attempts(3);
    let call = few.retry(|| ready(receiver.try_recv().map_err(|_| late())));
    assert_eq!(call.await, Ok(7));
}
