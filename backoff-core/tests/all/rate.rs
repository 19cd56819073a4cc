//! Calls that share a rate, against services that allow so many calls a second, in virtual time.

use backoff_core::{Fault, Policy, Rate, TimedOut};
use std::{cell::Cell, rc::Rc, time::Duration};
use tokio::{
    task::LocalSet,
    time::{Instant, sleep},
};

/// The error of a service.
#[derive(Debug, PartialEq)]
enum Refused {
    Throttled(Option<Duration>),
    Late(TimedOut),
}

impl Fault for Refused {
    fn inner(&self) -> Option<&dyn Fault> {
        match self {
            Refused::Late(late) => Some(late),
            Refused::Throttled(_) => None,
        }
    }
    fn status(&self) -> Option<u16> {
        matches!(self, Refused::Throttled(_)).then_some(429)
    }
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Refused::Throttled(hint) => *hint,
            Refused::Late(_) => None,
        }
    }
}

impl From<TimedOut> for Refused {
    fn from(late: TimedOut) -> Self {
        Refused::Late(late)
    }
}

/// A bucket that holds one second's worth of calls.
struct Bucket {
    per_second: f64,
    tokens: Cell<f64>,
    filled: Cell<Instant>,
    calls: Cell<u32>,
}

impl Bucket {
    fn new(per_second: f64) -> Rc<Self> {
        Rc::new(Bucket {
            per_second,
            tokens: Cell::new(per_second),
            filled: Cell::new(Instant::now()),
            calls: Cell::new(0),
        })
    }

    async fn call(&self, caller: u32) -> Result<u32, Refused> {
        sleep(Duration::from_millis(10)).await;
        self.calls.set(self.calls.get() + 1);
        let now = Instant::now();
        let since = now.duration_since(self.filled.replace(now)).as_secs_f64();
        let tokens = (self.tokens.get() + since * self.per_second).min(self.per_second);
        let admitted = tokens >= 1.0;
        self.tokens
            .set(if admitted { tokens - 1.0 } else { tokens });
        sleep(Duration::from_millis(10)).await;
        admitted.then_some(caller).ok_or(Refused::Throttled(None))
    }
}

const POLICY: Policy = Policy::exponential().deadline(Duration::from_secs(3_600));

#[tokio::test(start_paused = true)]
async fn a_batch_goes_at_the_rate_that_the_service_allows() {
    // A short batch makes more calls for a job: half of the refused calls are those of the first burst.
    for (limit, jobs, most_calls) in [(50, 3_000, 1.06), (200, 1_000, 1.2), (200, 3_000, 1.08)] {
        let rate: &'static Rate = Box::leak(Box::default());
        let (bucket, left) = (Bucket::new(f64::from(limit)), Rc::new(Cell::new(0..jobs)));
        let start = Instant::now();
        let workers = LocalSet::new();
        for _ in 0..100 {
            let (bucket, jobs) = (bucket.clone(), left.clone());
            workers.spawn_local(async move {
                let policy = POLICY.rate(rate);
                loop {
                    let mut left = jobs.take();
                    let next = left.next();
                    jobs.set(left);
                    let Some(job) = next else { break };
                    policy.retry(|| bucket.call(job)).await.unwrap();
                }
            });
        }
        workers.await;
        let calls = f64::from(bucket.calls.get()) / f64::from(jobs);
        let time = start.elapsed().as_secs_f64() / f64::from(jobs - limit) * f64::from(limit);
        assert!(
            calls <= most_calls && time <= 1.10,
            "{limit} a second, {jobs} jobs: {calls} calls a job, {time} of the time"
        );
        assert_eq!(rate.waiting(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_refusal_tells_of_no_rate() {
    static RATE: Rate = Rate::new();
    let policy = POLICY.rate(&RATE);
    let bucket = Bucket::new(10.0);
    // The first reply of all, and the first one after an hour in which only a few calls were made.
    for _ in 0..2 {
        bucket.tokens.set(0.0);
        bucket.filled.set(Instant::now());
        let start = Instant::now();
        policy.retry(|| bucket.call(0)).await.unwrap();
        let took = start.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
        sleep(Duration::from_secs(120)).await;
        policy.retry(|| bucket.call(0)).await.unwrap();
        assert_eq!(RATE.per_second(), None);
        policy.retry(|| bucket.call(0)).await.unwrap();
        sleep(Duration::from_secs(3_600)).await;
    }
}

#[cfg(feature = "macros")]
mod annotated {
    use super::*;
    use backoff_core::retry;

    static SHARED: Rate = Rate::new();
    const RATED: Policy = POLICY.rate(&SHARED);

    #[retry(deadline = "1h", rate = SHARED)]
    async fn by_key(bucket: &Bucket, job: u32) -> Result<u32, Refused> {
        bucket.call(job).await
    }

    #[retry(policy = RATED, timeout = "1h", max_wait = "1h")]
    async fn with_limits(bucket: &Bucket, job: u32) -> Result<u32, Refused> {
        bucket.call(job).await
    }

    #[retry(policy = RATED, stop_on = std::future::pending::<()>())]
    async fn with_a_signal(bucket: &Bucket, job: u32) -> Result<u32, Refused> {
        bucket.call(job).await
    }

    #[retry(policy = RATED, cut_on = std::future::pending::<()>(), attempt_timeout = "1m", attempt = n)]
    async fn cut_by_a_signal(bucket: &Bucket, job: u32) -> Result<u32, Refused> {
        assert!(n.number() > 0);
        bucket.call(job).await
    }

    impl From<backoff_core::Stopped> for Refused {
        fn from(_: backoff_core::Stopped) -> Self {
            Refused::Throttled(None)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn annotated_functions_share_the_queue() {
        let bucket = Bucket::new(50.0);
        let start = Instant::now();
        let workers = LocalSet::new();
        for job in 0..400 {
            let bucket = bucket.clone();
            workers.spawn_local(async move {
                match job % 4 {
                    0 => by_key(&bucket, job).await.unwrap(),
                    1 => with_limits(&bucket, job).await.unwrap(),
                    2 => with_a_signal(&bucket, job).await.unwrap(),
                    _ => cut_by_a_signal(&bucket, job).await.unwrap(),
                }
            });
        }
        workers.await;
        let time = start.elapsed().as_secs_f64() / 7.0;
        assert!(
            bucket.calls.get() <= 850 && time <= 1.2,
            "{} calls, {time}",
            bucket.calls.get()
        );
        assert_eq!(SHARED.waiting(), 0);
    }
}
