//! Tests of failed openings and of the pauses after them.

use super::*;
use std::sync::Arc;
use tokio::time::Instant;

/// Waits exactly 100 ms after each failed opening.
const TENTH: Policy = Policy::constant(Duration::from_millis(100)).jitter(Jitter::None);

/// The first pause is 100 ms, the second pause 200 ms, and so on.
const DOUBLED: Policy = Policy::exponential()
    .base(Duration::from_millis(100))
    .jitter(Jitter::None);

fn not_opened(pause: u64) -> Failure {
    Failure::NotOpened(NotOpened {
        error: REFUSED,
        pause: (pause > 0).then(|| Duration::from_millis(pause)),
    })
}

/// Opens a connection unless the server is down, and counts.
#[derive(Default)]
struct Server {
    is_down: std::sync::atomic::AtomicBool,
    tried: AtomicU32,
}

impl Server {
    fn down() -> Self {
        let server = Server::default();
        server.set_down(true);
        server
    }

    fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Relaxed);
    }

    async fn open(&self) -> Result<(), TestError> {
        self.tried.fetch_add(1, Relaxed);
        if self.is_down.load(Relaxed) {
            Err(REFUSED)
        } else {
            Ok(())
        }
    }

    fn tried(&self) -> u32 {
        self.tried.load(Relaxed)
    }
}

async fn pass(millis: u64) {
    tokio::time::advance(Duration::from_millis(millis)).await;
}

#[test]
fn the_first_pauses_are_short_and_the_last_ones_a_second() {
    let pauses = |random| {
        let pause = |n| PAUSES.backoff(n, Duration::ZERO, random).as_millis();
        [0, 1, 2, 3, 9, 10, 1_000].map(pause)
    };
    assert_eq!(pauses(0), [10, 15, 22, 33, 384, 500, 500]);
    assert_eq!(pauses(u64::MAX), [20, 30, 45, 67, 768, 1_000, 1_000]);
}

#[tokio::test(start_paused = true)]
async fn in_the_pause_after_a_failed_opening_a_call_fails_at_once_and_opens_nothing() {
    let server = Server::down();
    let source = Reconnect::new(|| server.open()).opening_backoff(TENTH);
    let call = || source.with(|()| async { Ok::<_, Failure>(42) });
    let began = Instant::now();
    assert_eq!(call().await, Err(not_opened(100)));
    pass(40).await;
    for _ in 0..1_000 {
        assert_eq!(call().await, Err(not_opened(60)));
    }
    assert_eq!((server.tried(), source.failed()), (1, 1));
    pass(59).await;
    assert_eq!(call().await, Err(not_opened(1)));
    assert_eq!(began.elapsed(), Duration::from_millis(99));
    pass(1).await;
    assert_eq!(call().await, Err(not_opened(100)));
    assert_eq!((server.tried(), source.failed()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn the_pause_grows_while_openings_keep_failing_and_begins_anew_after_an_answer() {
    let server = Server::down();
    let source = Reconnect::new(|| server.open()).opening_backoff(DOUBLED);
    let call = |outcome: Result<(), Failure>| source.with(|()| async { outcome });
    for pause in [100, 200, 400, 800] {
        assert_eq!(call(Ok(())).await, Err(not_opened(pause)));
        pass(pause).await;
    }
    server.set_down(false);
    for outcome in [Ok(()), Err(RESET)] {
        assert_eq!(call(outcome.clone()).await, outcome);
    }
    server.set_down(true);
    assert_eq!(call(Ok(())).await, Err(not_opened(100)));
    assert_eq!((source.opened(), source.failed()), (1, 5));
}

#[tokio::test(start_paused = true)]
async fn a_reset_ends_the_pause() {
    let server = Server::down();
    let source = Reconnect::new(|| server.open()).opening_backoff(DOUBLED);
    let call = || source.with(|()| async { Ok::<_, Failure>(42) });
    for _ in 0..3 {
        assert_eq!(call().await, Err(not_opened(100)));
        source.reset();
    }
    assert_eq!(server.tried(), 3);
    server.set_down(false);
    assert_eq!(call().await, Ok(42));
}

type Told = (Result<u32, Failure>, u128);

/// An opening takes a second, and the first one fails. Four callers come after these numbers of milliseconds. Returns
/// the outcome of each and its time, and how many openings succeeded and failed. A reset comes at 500 ms, if at all.
async fn told(pauses: Policy, has_reset: bool, callers: [u64; 4]) -> ([Told; 4], [u64; 2]) {
    let tried = AtomicU32::new(0);
    let source = Reconnect::new(|| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match tried.fetch_add(1, Relaxed) {
            0 => Err(REFUSED),
            _ => Ok(()),
        }
    });
    let source = &source.opening_backoff(pauses);
    let began = Instant::now();
    let [one, two, three, four] = callers.map(|after| async move {
        tokio::time::sleep(Duration::from_millis(after)).await;
        let outcome = source.with(|()| async { Ok::<_, Failure>(42) }).await;
        (outcome, began.elapsed().as_millis())
    });
    let reset = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        if has_reset {
            source.reset();
        }
    };
    let (one, two, three, four, ()) = tokio::join!(one, two, three, four, reset);
    let counts = [source.opened(), source.failed()];
    ([one, two, three, four], counts)
}

/// Callers who wait at the reset, and callers who come after it, do not fail with an opening that began
/// before the reset, and no pause follows from it.
#[tokio::test(start_paused = true)]
async fn after_a_reset_nobody_fails_with_an_opening_that_began_before() {
    let (told, counts) = told(PAUSES, true, [0, 300, 600, 1_001]).await;
    // One of the others opens at the reset, and they wait for it.
    let opened = || (Ok(42), 1_500);
    let failed = (Err(not_opened(0)), 1_000);
    assert_eq!(
        (told, counts),
        ([failed, opened(), opened(), opened()], [1, 1])
    );
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_an_opening_fail_with_it() {
    let (told, counts) = told(TENTH, false, [0, 1, 500, 1_500]).await;
    let failed = || (Err(not_opened(100)), 1_000);
    // The last caller comes later, and opens a connection itself.
    let opened = (Ok(42), 2_500);
    assert_eq!(
        (told, counts),
        ([failed(), failed(), failed(), opened], [1, 1])
    );
}

#[tokio::test(start_paused = true)]
async fn without_pauses_every_call_opens() {
    let server = Server::down();
    let none = Policy::constant(Duration::ZERO);
    let source = Reconnect::new(|| server.open()).opening_backoff(none);
    for _ in 0..10 {
        let outcome = source.with(|()| async { Ok::<_, Failure>(42) }).await;
        assert_eq!(outcome, Err(not_opened(0)));
    }
    assert_eq!(server.tried(), 10);
}

/// From 10, 15, 22.5, … 384 and then 500 ms between two openings, which are 28 in 10 s, to twice as
/// long, which are 18. The own waits of the policy are so short that without the hint a task would
/// make an attempt each millisecond.
#[tokio::test(start_paused = true)]
async fn a_thousand_tasks_open_at_most_28_times_in_10_seconds() {
    const EAGER: Policy = Policy::constant(Duration::from_millis(1))
        .deadline(Duration::from_secs(60))
        .idempotent(false);
    let server = Arc::new(Server::down());
    let opened_by = Arc::clone(&server);
    let source = Arc::new(Reconnect::new(move || {
        let server = Arc::clone(&opened_by);
        async move { server.open().await }
    }));
    let began = Instant::now();
    let tasks: Vec<_> = (0..1_000)
        .map(|_| {
            let source = Arc::clone(&source);
            tokio::spawn(async move {
                let mut attempts = 0;
                let call = || {
                    attempts += 1;
                    source.with(|()| async { Ok::<_, Failure>(42) })
                };
                let answer = EAGER.retry(call).await;
                (answer, attempts, began.elapsed())
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(10)).await;
    server.set_down(false);
    let (failed, at_most) = (source.failed(), Duration::from_millis(11_001));
    assert!((18..=28).contains(&failed), "{failed} openings");
    for task in tasks {
        let (answer, attempts, ended) = task.await.unwrap();
        assert_eq!(answer, Ok(42));
        assert!(attempts <= failed + 1, "{attempts} attempts");
        assert!(ended <= at_most, "{ended:?}");
    }
    assert_eq!((source.opened(), server.tried()), (1, failed as u32 + 1));
}

#[tokio::test(start_paused = true)]
async fn what_was_not_opened_is_repeated_also_where_it_must_not_be_made_twice() {
    const CAREFUL: Policy = POLICY.idempotent(false);
    assert_eq!(CAREFUL.judge(&REFUSED), crate::judge::Verdict::MaybeApplied);
    for policy in [POLICY, CAREFUL] {
        let server = Server::down();
        let source = Reconnect::new(|| server.open());
        let mut attempts = 0;
        let call = || {
            attempts += 1;
            server.set_down(attempts < 3);
            source.with(|()| async { Ok::<_, Failure>(42) })
        };
        assert_eq!(policy.retry(call).await, Ok(42));
        assert_eq!((server.tried(), source.opened()), (3, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_opening_that_is_cut_is_taken_over_by_the_next() {
    let source = Reconnect::new(|| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, TestError>(())
    });
    let use_it = || source.with(|()| async { Ok::<_, Failure>(42) });
    let cut = tokio::time::timeout(Duration::from_millis(500), use_it());
    let (cut, next) = tokio::join!(cut, use_it());
    assert!(cut.is_err());
    assert_eq!((next, source.opened()), (Ok(42), 1));
}

/// A call makes as many attempts as with its waits, and opens as often.
#[cfg(feature = "testing")]
#[tokio::test(start_paused = true)]
async fn a_wait_that_a_test_leaves_out_counts_for_the_pause() {
    async fn call() -> (Result<u32, Failure>, u32) {
        let tried = AtomicU32::new(0);
        let source = Reconnect::new(|| async {
            match tried.fetch_add(1, Relaxed) {
                0..3 => Err(REFUSED),
                _ => Ok(()),
            }
        });
        let source = source.opening_backoff(DOUBLED);
        let call = || source.with(|()| async { Ok::<_, Failure>(42) });
        let answer = POLICY.max_attempts(4).retry(call).await;
        (answer, tried.load(Relaxed))
    }
    assert_eq!(call().await, (Ok(42), 4));
    let began = Instant::now();
    let _instant = crate::testing::instant();
    assert_eq!(call().await, (Ok(42), 4));
    assert_eq!(began.elapsed(), Duration::ZERO);
}

/// The clock of a thread that left waits out is ahead of the clocks of the other threads.
#[cfg(feature = "testing")]
#[tokio::test(start_paused = true)]
async fn the_clock_of_a_thread_that_is_ahead_holds_up_no_other_thread() {
    let server = Server::down();
    let source = Reconnect::new(|| server.open());
    let call = || source.with(|()| async { Ok::<_, Failure>(42) });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            crate::runtime::leave_out(Duration::from_secs(3_600));
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            assert!(runtime.unwrap().block_on(call()).is_err());
        });
    });
    server.set_down(false);
    assert_eq!(call().await, Ok(42));
}
