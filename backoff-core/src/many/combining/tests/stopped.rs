//! Callers whose waiting a signal ends.

use super::*;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const SECOND: Duration = Duration::from_secs(1);
const EACH_SECOND: Policy = Policy::constant(SECOND)
    .jitter(crate::Jitter::None)
    .max_attempts(5);
const BUSY: Fate = Fate::Fail(Failure::Status(503));

/// A token that is cancelled after so many milliseconds.
fn after(ms: u64) -> CancellationToken {
    let token = CancellationToken::new();
    let later = token.clone();
    tokio::spawn(async move {
        pass(ms).await;
        later.cancel();
    });
    token
}

/// Whether it was stopped, and whether it may have been applied.
#[track_caller]
fn stopped(told: &Told) -> bool {
    match told {
        Err(error @ CombineError::Stopped { may_be_applied }) => {
            assert_eq!(error.reason(), StopReason::Stopped);
            assert_eq!(error.may_be_applied(), *may_be_applied);
            *may_be_applied
        }
        other => panic!("it was not stopped: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_signal_ends_the_wait_of_its_caller_alone() {
    let server = Server::new(5);
    server.on_read([BUSY]);
    let combined = combine(EACH_SECOND, &server);
    let start = Instant::now();
    let stops = combined.update(0, append(1));
    let stops = stops.stop_on(after(100).cancelled_owned()).reported();
    let stops = async { (stops.await.unwrap_err(), start.elapsed()) };
    let ((ended, took), other) = tokio::join!(stops, combined.update(0, append(2)));
    assert_eq!(took, Duration::from_millis(100));
    assert_eq!(
        (ended.reason, ended.report.attempts),
        (StopReason::Stopped, 1)
    );
    assert!(!stopped(&Err(ended.error)));
    assert!(written(&other));
    assert_eq!(server.get(0).names, [2]);
    assert_eq!(start.elapsed(), Duration::from_millis(1_015));
}

#[tokio::test(start_paused = true)]
async fn a_signal_ends_the_waiting_for_a_read_that_hangs() {
    let server = Server::new(5);
    server.on_read([Fate::Hang]);
    let combined = combine(AT_ONCE, &server);
    let stops = combined.update(0, append(1));
    assert!(!stopped(&stops.stop_on(after(100).cancelled_owned()).await));
    assert_eq!((combined.busy(), server.steps.load(Relaxed)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_under_way_is_finished() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let stops = combined.update(0, append(1));
    let told = stops.stop_on(after(7).cancelled_owned()).await;
    assert!(written(&told));
    assert_eq!(server.get(0).names, [1]);

    // Its deadline ends the waiting nevertheless.
    server.on_write([Fate::Hang]);
    let stops = combined.update(0, append(2)).deadline(SECOND);
    let told = stops.stop_on(after(7).cancelled_owned()).await;
    assert!(matches!(
        told,
        Err(CombineError::OutOfTime {
            may_be_applied: true
        })
    ));
}

/// Whoever drives the write, the caller with the signal or another one.
#[tokio::test(start_paused = true)]
async fn after_a_write_that_fails_no_wait_follows() {
    for is_first in [true, false] {
        let server = Server::new(5);
        server.on_write([BUSY]);
        let combined = combine(EACH_SECOND, &server);
        let start = Instant::now();
        let stops = combined.update(0, add(1));
        let stops = stops.stop_on(after(7).cancelled_owned());
        let stops = async { (stops.await, start.elapsed()) };
        let other = combined.update(0, add(2));
        let ((told, took), other) = if is_first {
            tokio::join!(stops, other)
        } else {
            let (other, stops) = tokio::join!(other, stops);
            (stops, other)
        };
        assert!(stopped(&told), "a 503 may have been applied");
        assert_eq!(took, Duration::from_millis(10));
        assert!(written(&other));
        assert_eq!(server.get(0).names, [2]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_stopped_before_it_begins_is_not_made() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let token = CancellationToken::new();
    token.cancel();
    pass(100).await;
    let stops = combined.update(0, append(1));
    let stops = stops.stop_on(token.cancelled_owned()).reported();
    let ended = stops.await.unwrap_err();
    assert_eq!(
        (ended.report.attempts, ended.report.elapsed),
        (0, Duration::ZERO)
    );
    assert!(!stopped(&Err(ended.error)));
    assert_eq!((server.calls(), combined.busy()), ((0, 0), 0));
}

/// In a group that is halved the caller leaves between two writes.
#[tokio::test(start_paused = true)]
async fn a_caller_of_a_refused_group_leaves_before_the_next_write() {
    let server = Server::new(5);
    server.refuse([2], 400);
    let combined = combine(AT_ONCE, &server);
    let stops = combined.update(0, append(1));
    let stops = stops.stop_on(after(7).cancelled_owned());
    let (told, bad) = tokio::join!(stops, combined.update(0, append(2)));
    assert!(!stopped(&told), "what was refused was not applied");
    assert_eq!(shared(&bad).0, Failure::Status(400));
    assert_eq!(server.get(0).names, [0; 0]);
}

/// Counts how often it was woken.
#[derive(Default)]
struct Bell(AtomicU32);

impl std::task::Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// As if both were polled by threads of their own.
#[tokio::test(start_paused = true)]
async fn a_caller_that_was_polled_during_the_write_is_woken_when_it_fails() {
    type Kept = Arc<Mutex<Option<Updating<u32, Members, u64, Failure>>>>;
    let (kept, token, bell) = (Kept::default(), CancellationToken::new(), Arc::default());
    let poll_kept = {
        let (kept, bell) = (Arc::clone(&kept), Arc::clone(&bell));
        move || {
            let waker = Waker::from(Arc::<Bell>::clone(&bell));
            let mut kept = kept.lock().unwrap();
            let mut kept = pin!(kept.as_mut().expect("it is kept"));
            let polled = kept.as_mut().poll(&mut Context::from_waker(&waker));
            bell.0.store(0, Relaxed);
            polled
        }
    };
    let in_write = {
        let (token, poll_kept) = (token.clone(), poll_kept.clone());
        move || {
            token.cancel();
            assert!(poll_kept().is_pending(), "the write is finished");
        }
    };
    let combined = EACH_SECOND.combine(
        |_: u32| core::future::ready(Ok(Members::default())),
        move |_, _| {
            let in_write = in_write.clone();
            async move {
                pass(5).await;
                in_write();
                Err(Failure::Status(503))
            }
        },
    );
    let stops = combined.update(0, add(1));
    *kept.lock().unwrap() = Some(stops.stop_on(token.cancelled_owned()));
    assert!(poll_kept().is_pending());
    let mut other = combined.update(0, add(2));
    pass(6).await;
    assert!(poll(&mut other).is_pending(), "it waits for a second");
    assert_eq!(bell.0.load(Relaxed), 1);
    let Poll::Ready(told) = poll_kept() else {
        panic!("the wait is ended")
    };
    assert!(stopped(&told), "a 503 may have been applied");
}
