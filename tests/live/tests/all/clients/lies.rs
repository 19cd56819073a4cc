//! Servers that lie: whatever they say, the deadline holds, and nothing panics.

use crate::{
    clients::tonic::{answer, retry_info_of},
    http::{retry_info, said},
    server::{POLICY, reply},
};
use backoff_core::{Fault, Policy, StopReason};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const THOUSAND_YEARS: i64 = 1_000 * 365 * 86_400;

/// Far below what the server asks for, far above what the test takes.
const BOUNDED: Policy = POLICY.deadline(Duration::from_secs(600));

/// Gives up at once, and says why.
async fn assert_stops(error: impl Fault + Clone + std::fmt::Debug) {
    let started = Instant::now();
    let retried = BOUNDED.retry(async || Err::<(), _>(error.clone()));
    let given_up = retried.reported().await.expect_err("an error every time");
    assert_eq!(given_up.reason, StopReason::RetryAfter, "{error:?}");
    assert_eq!(given_up.report.attempts, 1, "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn who_asks_for_too_much_time_ends_it_at_once() {
    for huge in [
        "999999999",
        "18446744073709551616",
        "8760h",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ] {
        let busy = reply(503, &format!("retry-after: {huge}\r\n"), "");
        assert_stops(Arc::new(said(busy).await)).await;
    }
    let error = said(retry_info(&format!("{THOUSAND_YEARS}s"), "")).await;
    let asked = Duration::from_secs(THOUSAND_YEARS as u64);
    assert_eq!(error.retry_after(), Some(asked));
    assert_stops(Arc::new(error)).await;
    // What the type can hold at most, which is more than the specification allows.
    for seconds in [THOUSAND_YEARS, i64::MAX] {
        assert_stops(answer(retry_info_of(seconds)).await).await;
    }
    let ignored = answer(retry_info_of(i64::MIN)).await;
    assert_eq!(ignored.retry_after(), None);
}
