//! Failed openings and the pauses after them.

use super::*;

/// Waits exactly 100 ms after each failed opening.
const TENTH: Policy = Policy::constant(millis(100)).jitter(Jitter::None);

fn not_opened<T>(pause: u64) -> Result<T, Failure> {
    let (error, pause) = (REFUSED, (pause > 0).then(|| millis(pause)));
    Err(Failure::NotOpened(NotOpened { error, pause }))
}

async fn pass(time: u64) {
    tokio::time::advance(millis(time)).await;
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
    let source = source(0, |_| Fails).opening_backoff(TENTH);
    // The time of a call, the rest of the pause, and the failed openings.
    let mut now = 0;
    for (at, pause, failed) in [
        (0, 100, 1),
        (40, 60, 1),
        (40, 60, 1),
        (99, 1, 1),
        (100, 100, 2),
    ] {
        pass(at - now).await;
        now = at;
        assert_eq!(call(&source, Ok(())).await, not_opened(pause));
        assert_eq!(source.failed(), failed, "at {at} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn the_pause_grows_while_openings_keep_failing_and_begins_anew_after_a_second() {
    let source = source(0, |n| if n == 4 { Opens } else { Fails }).opening_backoff(DOUBLED);
    for pause in [100, 200, 400, 800] {
        assert_eq!(call(&source, Ok(())).await, not_opened(pause));
        pass(pause).await;
    }
    assert_eq!(call(&source, Ok(())).await, Ok(4));
    pass(1_000).await;
    assert_eq!(call(&source, Err(RESET)).await, Err(RESET));
    assert_eq!(call(&source, Ok(())).await, not_opened(100));
    assert_eq!((source.opened(), source.failed()), (1, 5));
}

#[tokio::test(start_paused = true)]
async fn a_reset_ends_the_pause() {
    let source = source(0, |n| if n < 3 { Fails } else { Opens }).opening_backoff(DOUBLED);
    for _ in 0..3 {
        assert_eq!(call(&source, Ok(())).await, not_opened(100));
        source.reset();
    }
    assert_eq!(call(&source, Ok(())).await, Ok(3));
}

#[tokio::test(start_paused = true)]
async fn without_pauses_every_call_opens() {
    let none = Policy::constant(Duration::ZERO);
    let source = source(0, |_| Fails).opening_backoff(none);
    for _ in 0..10 {
        assert_eq!(call(&source, Ok(())).await, not_opened(0));
    }
    assert_eq!(source.failed(), 10);
}

/// An opening takes a second, and the first one fails. Rows: whether a reset comes at 500 ms, when four callers
/// come, what each is told, and when.
#[tokio::test(start_paused = true)]
async fn those_who_wait_for_an_opening_fail_with_it_unless_a_reset_comes() {
    let (late, opened) = ((not_opened(100), 1_000), (Ok(1), 1_500));
    let rows = [
        // The last caller comes later, and opens a connection itself.
        (
            false,
            [0, 1, 500, 1_500],
            [late.clone(), late.clone(), late, (Ok(1), 2_500)],
        ),
        // One of the others opens at the reset, and they wait for it. No pause follows from the first opening.
        (
            true,
            [0, 300, 600, 1_001],
            [
                (not_opened(0), 1_000),
                opened.clone(),
                opened.clone(),
                opened,
            ],
        ),
    ];
    for (has_reset, callers, expected) in rows {
        let source = source(1_000, |n| if n == 0 { Fails } else { Opens });
        let (source, began) = (&source.opening_backoff(TENTH), Instant::now());
        let [one, two, three, four] = callers.map(|after| async move {
            sleep(millis(after)).await;
            let outcome = call(source, Ok(())).await;
            (outcome, began.elapsed().as_millis())
        });
        let reset = async {
            sleep(millis(500)).await;
            has_reset.then(|| source.reset())
        };
        let (one, two, three, four, _) = tokio::join!(one, two, three, four, reset);
        assert_eq!([one, two, three, four], expected);
        assert_eq!((source.opened(), source.failed()), (1, 1));
    }
}

/// From 10, 15, 22.5, … 384 and then 500 ms between two openings, which are 28 in 10 s, to twice as
/// long, which are 18.
#[tokio::test(start_paused = true)]
async fn a_thousand_tasks_open_at_most_28_times_in_10_seconds() {
    const CAREFUL: Policy = EAGER.idempotent(false);
    let began = Instant::now();
    let is_down = move || began.elapsed() <= SECOND * 10;
    let source = Arc::new(source(0, move |_| if is_down() { Fails } else { Opens }));
    let tasks = [(); 1_000].map(|()| {
        let source = Arc::clone(&source);
        tokio::spawn(async move {
            let mut attempts = 0;
            let attempt = || {
                attempts += 1;
                call(&source, Ok(()))
            };
            let answer = CAREFUL.retry(attempt).await;
            (answer.is_ok(), attempts, began.elapsed())
        })
    });
    let mut most = 0;
    for task in tasks {
        let (is_answered, attempts, ended) = task.await.unwrap();
        assert!(is_answered && ended <= millis(11_001), "{ended:?}");
        most = most.max(attempts);
    }
    let failed = source.failed();
    assert!((18..=28).contains(&failed), "{failed} openings");
    assert!(most <= failed + 1, "{most} attempts");
    assert_eq!(source.opened(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_opening_that_is_cut_is_taken_over_by_the_next() {
    let source = source(1_000, |_| Opens);
    let cut = tokio::time::timeout(millis(500), call(&source, Ok(())));
    let (cut, next) = tokio::join!(cut, call(&source, Ok(())));
    assert!(cut.is_err());
    assert_eq!((next, source.opened()), (Ok(1), 1));
}

/// A call makes as many attempts as with its waits, and opens as often.
#[cfg(feature = "testing")]
#[tokio::test(start_paused = true)]
async fn a_wait_that_a_test_leaves_out_counts_for_the_pause() {
    async fn opens() {
        let source = source(0, |n| if n < 3 { Fails } else { Opens }).opening_backoff(DOUBLED);
        assert_eq!(POLICY.retry(|| call(&source, Ok(()))).await, Ok(3));
    }
    opens().await;
    let began = Instant::now();
    let _instant = crate::testing::instant();
    opens().await;
    assert_eq!(began.elapsed(), Duration::ZERO);
}

/// The clock of a thread that left waits out is ahead of the clocks of the other threads.
#[cfg(feature = "testing")]
#[tokio::test(start_paused = true)]
async fn the_clock_of_a_thread_that_is_ahead_holds_up_no_other_thread() {
    let source = source(0, |n| if n == 0 { Fails } else { Opens });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            crate::runtime::leave_out(SECOND * 3_600);
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            assert!(runtime.unwrap().block_on(call(&source, Ok(()))).is_err());
        });
    });
    assert_eq!(call(&source, Ok(())).await, Ok(1));
}
