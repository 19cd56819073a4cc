//! What must hold on each runtime. No call names the runtime.
#![cfg(any(feature = "smol", feature = "wasm"))]

use backoff_cloud::{
    Fault as _, Policy, Rate, RequestId, Sleep as _, Std, TimedOut, Updated, retry,
};
use http_1::Response;
use std::{
    future::{pending, ready},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

const POLICY: Policy = Policy::exponential()
    .base(Duration::from_millis(2))
    .max_attempts(3);

fn late() -> TimedOut {
    TimedOut::new(Duration::ZERO)
}

/// The attribute waits, and reads the clock.
pub async fn the_attribute_waits() {
    #[retry(policy = POLICY, jitter = none, deadline = "1m", attempt = n)]
    async fn third() -> Result<(u32, Duration), TimedOut> {
        let number = n.number();
        if number < 3 {
            Err(late())
        } else {
            Ok((number, n.elapsed()))
        }
    }
    fn sent<F: Send>(future: F) -> F {
        future
    }
    let (number, elapsed) = sent(third()).await.unwrap();
    assert!(
        number == 3 && elapsed >= Duration::from_millis(2 + 4),
        "{elapsed:?}"
    );
}

/// The timer cuts attempts that hang.
pub async fn a_call_is_cut() {
    let limit = Duration::from_millis(3);
    let hangs = POLICY.retry(pending::<Result<(), TimedOut>>);
    let cut = hangs.attempt_timeout(limit).reported().await.unwrap_err();
    assert_eq!((cut.error, cut.report.attempts), (TimedOut::new(limit), 3));
}

/// A wait of 50 days is not over at once. Its milliseconds do not fit into 31 bits.
pub async fn a_long_wait_is_long() {
    let slow = POLICY.retry(|| async {
        Std.sleep(Duration::from_millis(5)).await;
        Ok::<_, TimedOut>(())
    });
    let day = Duration::from_secs(86_400);
    assert_eq!(slow.attempt_timeout(50 * day).await, Ok(()));
}

/// A change runs in a task, which waits too.
pub async fn a_change_is_combined() {
    static READS: AtomicU32 = AtomicU32::new(0);
    let read = |_| {
        ready(if READS.fetch_add(1, Relaxed) < 2 {
            Err(late())
        } else {
            Ok(4)
        })
    };
    let counts = POLICY.combine(read, |_, count: u32| ready(Ok(count)));
    let updated = counts.update("counter", |count| *count += 1).await;
    assert!(matches!(updated, Ok(Updated::Written(5))), "{updated:?}");
}

/// A date and a quota in headers are compared with the clock. The call after the first look asks the clock too.
pub async fn headers_are_read() {
    static SHARED: Rate = Rate::new();
    const LIMITED: Policy = POLICY.rate(&SHARED);
    let reply = Response::builder()
        .status(503)
        .header("retry-after", "Fri, 01 Jan 2100 00:00:00 GMT")
        .header("x-ratelimit-limit-requests", "500")
        .header("x-ratelimit-remaining-requests", "499")
        .header("x-ratelimit-reset-requests", "120ms")
        .body(())
        .unwrap();
    assert!(reply.retry_after().unwrap() > Duration::from_secs(86_400));
    SHARED.observe(reply.headers());
    let call = LIMITED.retry(|| ready(Ok::<_, TimedOut>(7)));
    assert_eq!(call.await, Ok(7));
}

/// The ids of two calls.
#[must_use]
pub fn ids() -> [String; 2] {
    [(); 2].map(|()| RequestId::random(&Std).to_string())
}
