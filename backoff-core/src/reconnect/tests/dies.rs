//! Connections that break soon after they were opened.

use super::*;

/// In the pause there is no error of opening to fail with, so calls wait.
#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_end_of_the_pause_after_a_connection_that_broke_at_once() {
    let source = source(0, |_| Opens).opening_backoff(DOUBLED);
    let began = Instant::now();
    for (opened, waited) in (1..).zip([0, 100, 300, 700]) {
        assert_eq!(call(&source, Err(RESET)).await, Err(RESET));
        assert_eq!((source.opened(), began.elapsed()), (opened, millis(waited)));
    }
    // The pause is 800 ms, and begins with the opening.
    sleep(millis(500)).await;
    let both = tokio::join!(call(&source, Ok(())), call(&source, Ok(())));
    assert_eq!((both, began.elapsed()), ((Ok(4), Ok(4)), millis(1_500)));
}

#[tokio::test(start_paused = true)]
async fn a_reset_ends_the_pause_of_calls_that_wait() {
    let hour = Policy::constant(SECOND * 3_600).jitter(Jitter::None);
    let source = source(0, |_| Opens).opening_backoff(hour);
    let began = Instant::now();
    assert_eq!(call(&source, Err(RESET)).await, Err(RESET));
    let reset = async {
        sleep(SECOND).await;
        source.reset();
    };
    let (waited, ()) = tokio::join!(call(&source, Ok(())), reset);
    assert_eq!((waited, began.elapsed()), (Ok(1), SECOND));
}

/// Rows: what the server answers first, how long the connection lives then, and the pause after its opening.
#[tokio::test(start_paused = true)]
async fn a_connection_that_has_served_a_call_is_opened_again_after_a_second() {
    let no_pauses = Policy::constant(Duration::ZERO);
    for (pauses, served, lives, pause) in [
        (PAUSES, Ok(()), 50, 1_000),
        (PAUSES, Err(BUSY), 999, 1_000),
        (PAUSES, Ok(()), 1_000, 1_000),
        (PAUSES, Ok(()), 9_000, 9_000),
        // A server that sends its clients to another server has answered, and the connection is not broken.
        (PAUSES, Err(READ_ONLY), 0, 0),
        (no_pauses, Ok(()), 50, 50),
    ] {
        let source = source(0, |_| Opens).least_age(Duration::ZERO);
        let source = source.opening_backoff(pauses);
        let (began, mut opened) = (Instant::now(), 1);
        for _ in 0..10 {
            let answer = call(&source, served.clone()).await;
            assert_eq!(
                (answer.map(drop), source.opened()),
                (served.clone(), opened)
            );
            assert_eq!(
                began.elapsed().as_millis(),
                u128::from((opened - 1) * pause)
            );
            opened += 1;
            if served != Err(READ_ONLY) {
                sleep(millis(lives)).await;
                assert_eq!(call(&source, Err(RESET)).await, Err(RESET));
            }
        }
    }
}

/// Each connection answers for 50 ms and then breaks.
#[tokio::test(start_paused = true)]
async fn connections_that_soon_break_are_opened_once_a_second_by_a_hundred_tasks() {
    let source = Arc::new(source(0, |_| Opens));
    let ends = Arc::new(std::sync::Mutex::new(Vec::<Instant>::new()));
    for _ in 0..100 {
        let (source, ends) = (source.clone(), ends.clone());
        tokio::spawn(async move {
            loop {
                let attempt = source.with(|number| {
                    let mut ends = ends.lock().unwrap();
                    if ends.len() == number as usize {
                        ends.push(Instant::now() + millis(50));
                    }
                    let end = ends[number as usize];
                    async move {
                        sleep(millis(1)).await;
                        if Instant::now() < end {
                            Ok(())
                        } else {
                            Err(RESET)
                        }
                    }
                });
                let _ = attempt.await;
            }
        });
    }
    sleep(SECOND * 60 - millis(1)).await;
    assert_eq!(source.opened(), 60);
}

/// For example a connection with one long call.
#[tokio::test(start_paused = true)]
async fn a_connection_that_has_lived_for_a_second_is_opened_again_at_once() {
    let pauses = DOUBLED.base(SECOND * 3_600).max_backoff(SECOND * 3_600);
    let source = source(0, |_| Opens).opening_backoff(pauses);
    for opened in 1..=3 {
        let long = source.with(|_| async {
            sleep(SECOND).await;
            Err::<(), _>(RESET)
        });
        assert_eq!((long.await, source.opened()), (Err(RESET), opened));
    }
}
