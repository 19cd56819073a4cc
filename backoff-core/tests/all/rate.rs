//! Calls that share a rate, in virtual time. Their exact times are in `src/rate/control/schedules.rs`.

use crate::common::error::TestError;
use backoff_core::{Codes, Fault, Jitter, Policy, Rate};
use std::{
    cell::{Cell, RefCell},
    future::ready,
    pin::Pin,
    rc::Rc,
    task::{Context, Waker},
    time::Duration,
};
use tokio::{
    task::LocalSet,
    time::{Instant, sleep},
};

type Reply = Result<u32, TestError>;

const REFUSED: TestError = TestError::status(429);

fn new_rate() -> &'static Rate {
    Box::leak(Box::default())
}

/// A service that allows 50 calls a second, from a bucket that holds a second's worth of calls.
struct Bucket {
    tokens: Cell<f64>,
    filled: Cell<Instant>,
}

impl Bucket {
    async fn call(&self) -> Reply {
        sleep(Duration::from_millis(10)).await;
        let now = Instant::now();
        let since = now.duration_since(self.filled.replace(now)).as_secs_f64();
        let tokens = (self.tokens.get() + since * 50.0).min(50.0);
        let taken = f64::from(u8::from(tokens >= 1.0));
        self.tokens.set(tokens - taken);
        sleep(Duration::from_millis(10)).await;
        if taken > 0.0 { Ok(1) } else { Err(REFUSED) }
    }
}

/// A hint that no call would wait for closes the queue for nobody else; an earlier one does for at most 64 s.
#[tokio::test(start_paused = true)]
async fn one_odd_hint_closes_the_queue_for_64_seconds_at_most() {
    let [hour, never] = [Duration::from_secs(3_600), Duration::MAX];
    for (hint, deadline, most) in [
        (86_400, never, 1),
        (1_746_136_938, never, 1),
        (600, hour, 65),
        (300, never, 65),
        (60, never, 61),
    ] {
        let rate = new_rate();
        let policy = Policy::exponential().max_attempts(1_000).rate(rate);
        let policy = policy.deadline(deadline);
        let hint = Duration::from_secs(hint);
        let odd = || ready(Reply::Err(REFUSED.after(hint)));
        // Also where the policy does not repeat the call.
        let once = policy.max_attempts(1);
        for _ in 0..6 {
            once.retry(odd).await.unwrap_err();
        }
        let start = Instant::now();
        policy.retry(|| ready(Reply::Ok(1))).await.unwrap();
        assert!(
            start.elapsed() < Duration::from_secs(most),
            "{hint:?}: {:?}",
            start.elapsed()
        );
    }
}

/// The hint of a refusal that is not retried reaches the rate.
#[tokio::test(start_paused = true)]
async fn a_rate_hears_refusals_that_are_not_retried() {
    static RATE: Rate = Rate::new().pause_after_refusal(Duration::from_secs(9));
    let hint = Duration::from_secs(20);
    let refused = || ready(Reply::Err(REFUSED.after(hint)));
    let policy = Policy::exponential().on(Codes::NONE).rate(&RATE);
    policy.retry(refused).await.unwrap_err();
    let start = Instant::now();
    policy.retry(async || Reply::Ok(1)).await.unwrap();
    assert_eq!(start.elapsed(), hint);
}

/// 1,000 calls that can make no error, with one deadline, under 50 a second.
#[tokio::test(start_paused = true)]
async fn calls_without_an_error_begin_within_the_last_second() {
    static RATE: Rate = Rate::new();
    #[derive(Debug)]
    struct NoError(TestError);
    impl Fault for NoError {
        fn inner(&self) -> Option<&dyn Fault> {
            Some(&self.0)
        }
    }
    let deadline = Duration::from_secs(10);
    let policy = Policy::exponential().jitter(Jitter::None).rate(&RATE);
    let policy = policy.deadline(deadline);
    let (start, begun) = (Instant::now(), Rc::new(RefCell::new(Vec::new())));
    let bucket = Rc::new(Bucket {
        tokens: Cell::new(50.0),
        filled: Cell::new(start),
    });
    let calls = LocalSet::new();
    for _ in 0..1_000 {
        let (bucket, begun) = (bucket.clone(), begun.clone());
        calls.spawn_local(async move {
            let get = async || {
                begun.borrow_mut().push(start.elapsed());
                bucket.call().await.map_err(NoError)
            };
            let _ = policy.retry(get).await;
            assert!(start.elapsed() <= deadline + Duration::from_millis(20));
        });
    }
    calls.await;
    let begun = begun.borrow();
    let last = begun
        .iter()
        .filter(|at| **at >= deadline - Duration::from_secs(1));
    let of_tenth = |tenth| {
        begun
            .iter()
            .filter(move |at| at.as_millis().div_ceil(100) == tenth)
    };
    let most = (1..=100).map(|tenth| of_tenth(tenth).count()).max();
    // As the page of `Rate` says.
    assert_eq!((begun.len(), last.count(), most), (1_950, 501, Some(54)));
}

/// A call that succeeds with its waits succeeds with the tool of tests too, and takes no real time.
#[cfg(feature = "testing")]
#[tokio::test]
async fn instant_retries_leave_out_the_queue() {
    use backoff_core::testing;
    const LIMITED: Policy = Policy::exponential().max_attempts(8).jitter(Jitter::None);
    let _instant = testing::instant();
    let start = std::time::Instant::now();
    for deadline in [60, 300] {
        let rate = new_rate();
        let policy = LIMITED.deadline(Duration::from_secs(deadline)).rate(rate);
        let refused = Cell::new(0);
        let get = || {
            refused.set(refused.get() + 1);
            match refused.get() {
                ..8 => Err(REFUSED),
                _ => Ok(1),
            }
        };
        // The waits are 1, 2, 4 … 64 s, and the queue.
        let ended = policy.retry(async || get()).await;
        refused.set(0);
        let blocking = policy.retry_blocking(get);
        let succeeds = deadline == 300;
        assert_eq!([ended.is_ok(), blocking.is_ok()], [succeeds; 2]);
    }
    assert!(start.elapsed() < Duration::from_secs(60));
}

/// The values of a thread are dropped in any order when the thread ends.
#[test]
fn a_call_in_a_thread_local_ends_with_its_thread() {
    type Call = Pin<Box<dyn Future<Output = Result<(), TestError>>>>;
    thread_local!(static KEPT: RefCell<Option<Call>> = const { RefCell::new(None) });
    static RATE: Rate = Rate::new();

    let thread = std::thread::spawn(|| {
        KEPT.set(None);
        let call = || std::future::pending::<Result<(), TestError>>();
        let policy = Policy::exponential().rate(&RATE);
        let call = policy.retry(call).owned();
        let mut call: Call = Box::pin(call.runtime(backoff_core::testing::VirtualTime::new()));
        assert!(
            call.as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        KEPT.set(Some(call));
    });
    thread.join().expect("the process goes on");
}
