//! Callers whose waiting ends by a signal.

use super::*;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const SECOND: Duration = Duration::from_secs(1);
const EACH_SECOND: Policy = Policy::constant(SECOND)
    .jitter(crate::Jitter::None)
    .max_attempts(5);
const BUSY: Fate = Fate::Fail(Failure::Status(503));

/// A token that is cancelled after this many milliseconds.
fn after(ms: u64) -> CancellationToken {
    let token = CancellationToken::new();
    let later = token.clone();
    tokio::spawn(async move {
        pass(ms).await;
        later.cancel();
    });
    token
}

/// Whether the change was stopped, and whether it may have been applied.
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

/// Holds for both drivers of the write: the caller with the signal and another caller.
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

/// The names in each write.
type Writes = Arc<Mutex<Vec<Vec<u32>>>>;

/// The first read takes a millisecond, so that a second caller joins the group, and every later read is
/// ready at once. A write takes 5 ms; whether it is refused, its number and its names say.
fn quick(
    policy: Policy,
    refused: impl Fn(usize, &[u32]) -> Option<u16> + Copy + Send + Sync + 'static,
) -> (Combined, Writes) {
    let (reads, writes) = (Arc::new(AtomicU32::new(0)), Writes::default());
    let written = Arc::clone(&writes);
    let combined = policy.combine(
        move |_| {
            let is_first = reads.fetch_add(1, Relaxed) == 0;
            async move {
                if is_first {
                    pass(1).await;
                }
                Ok(Members::default())
            }
        },
        move |_, members: Members| {
            let number = {
                let mut writes = written.lock().unwrap();
                writes.push(members.names.clone());
                writes.len()
            };
            async move {
                pass(5).await;
                refused(number, &members.names).map_or(Ok(1), |status| Err(Failure::Status(status)))
            }
        },
    );
    (combined, writes)
}

/// One change is stopped after so many milliseconds and another one is not: what they are told, when the
/// first one is, and what was written. The caller that is polled first drives.
async fn stopped_beside(
    (combined, writes): (Combined, Writes),
    ms: u64,
    is_first: bool,
) -> (Told, Duration, Told, Vec<Vec<u32>>) {
    let start = Instant::now();
    let stops = combined.update(0, add(1)).stop_on(pass(ms));
    let stops = async { (stops.await, start.elapsed()) };
    let other = combined.update(0, add(2));
    let ((told, took), other) = if is_first {
        tokio::join!(stops, other)
    } else {
        let (other, stops) = tokio::join!(other, stops);
        (stops, other)
    };
    let writes = writes.lock().unwrap().clone();
    (told, took, other, writes)
}

#[tokio::test(start_paused = true)]
async fn after_a_group_is_halved_no_write_of_a_stopped_change_begins() {
    // The signal comes during the write, and when the write ends.
    for (ms, is_first) in [(3, true), (3, false), (6, true), (6, false)] {
        let quick = quick(AT_ONCE, |_, names| (names.len() > 1).then_some(422));
        let (told, took, other, writes) = stopped_beside(quick, ms, is_first).await;
        assert!(!stopped(&told), "what was refused was not applied");
        assert_eq!(took, Duration::from_millis(6));
        assert!(written(&other));
        let both = if is_first { vec![1, 2] } else { vec![2, 1] };
        assert_eq!(writes, [both, vec![2]], "{ms} {is_first}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_write_that_fails_without_a_wait_no_write_of_a_stopped_change_begins() {
    for (ms, is_first) in [(3, true), (3, false), (6, true), (6, false)] {
        let quick = quick(AT_ONCE, |number, _| (number == 1).then_some(503));
        let (told, took, other, writes) = stopped_beside(quick, ms, is_first).await;
        assert!(stopped(&told), "a 503 may have been applied");
        assert_eq!(took, Duration::from_millis(6));
        assert!(written(&other));
        let both = if is_first { vec![1, 2] } else { vec![2, 1] };
        assert_eq!(writes, [both, vec![2]], "{ms} {is_first}");
    }
}

/// The timer of the wait and the signal are ready at the same time.
#[tokio::test(start_paused = true)]
async fn a_signal_that_comes_with_the_end_of_a_wait_ends_the_waiting() {
    for is_first in [true, false] {
        let quick = quick(EACH_SECOND, |number, _| (number == 1).then_some(503));
        let (told, took, other, writes) = stopped_beside(quick, 1_006, is_first).await;
        assert!(stopped(&told), "a 503 may have been applied");
        assert_eq!(took, Duration::from_millis(1_006));
        assert!(written(&other));
        let both = if is_first { vec![1, 2] } else { vec![2, 1] };
        assert_eq!(writes, [both, vec![2]], "{is_first}");
    }
    let (combined, writes) = quick(EACH_SECOND, |_, _| Some(503));
    let alone = combined.update(0, add(1)).stop_on(pass(1_006)).await;
    assert!(stopped(&alone));
    assert_eq!(*writes.lock().unwrap(), [[1]]);
}

/// Each caller is a task of its own.
#[tokio::test(start_paused = true)]
async fn a_task_whose_change_is_stopped_is_asked_before_the_others_write() {
    for is_first in [true, false] {
        let (combined, writes) = quick(AT_ONCE, |_, names| (names.len() > 1).then_some(422));
        let stops = combined.update(0, add(1)).stop_on(pass(6));
        let other = combined.update(0, add(2));
        let (stops, other) = if is_first {
            (tokio::spawn(stops), tokio::spawn(other))
        } else {
            let other = tokio::spawn(other);
            (tokio::spawn(stops), other)
        };
        assert!(!stopped(&stops.await.unwrap()), "{is_first}");
        assert!(written(&other.await.unwrap()));
        assert_eq!(writes.lock().unwrap().len(), 2);
    }
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
