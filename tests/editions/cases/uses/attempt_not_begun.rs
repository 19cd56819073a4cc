//! A timer that wakes after the deadline: no attempt is begun, counted or asked about, and the error
//! is made from `TimedOut`, as where a closure is retried.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use backoff_core::{Event, Fault, Policy, StopReason, TimedOut, codes, retry, retry_block};

#[derive(Clone, Debug, PartialEq)]
enum Error {
    Busy,
    Late,
}

impl Fault for Error {
    fn status(&self) -> Option<u16> {
        (*self == Error::Busy).then_some(503)
    }
}

impl From<TimedOut> for Error {
    fn from(_: TimedOut) -> Self {
        Error::Late
    }
}

const POLICY: Policy = Policy::exponential()
    .base(Duration::from_secs(5))
    .jitter(backoff_core::Jitter::None)
    .deadline(Duration::from_secs(60))
    .on(codes![503]);
const LIMIT: Duration = Duration::from_secs(10);

/// What a hook was told: after how many attempts, of which error, and why it was the last.
type Told = RefCell<Vec<(u32, Error, Option<StopReason>)>>;

fn hear(told: &Told, event: &Event<'_, Error>) {
    let error = event.error().unwrap().clone();
    told.borrow_mut().push(match event {
        Event::Waiting { attempt, .. } => (*attempt, error, None),
        Event::GaveUp {
            attempts, reason, ..
        } => (*attempts, error, Some(*reason)),
        other => panic!("{other:?}"),
    });
}

/// Wakes when the deadline is over.
async fn oversleep(_: Duration) {
    tokio::time::sleep(Duration::from_secs(90)).await;
}

async fn work(calls: &Cell<u32>) -> Result<u32, Error> {
    calls.set(calls.get() + 1);
    Err(Error::Busy)
}

#[retry(
    policy = POLICY, attempt_timeout = LIMIT, sleep = oversleep, attempt = n,
    notify = |event| hear(told, event)
)]
async fn by_codes(calls: &Cell<u32>, told: &Told) -> Result<u32, Error> {
    assert_eq!(n.number(), 1);
    work(calls).await
}

#[retry(
    base = "5s", deadline = "60s", attempt_timeout = LIMIT, sleep = oversleep,
    when = |error| { assert_eq!(*error, Error::Busy); true }, notify = |event| hear(told, event)
)]
async fn by_function(calls: &Cell<u32>, told: &Told) -> Result<u32, Error> {
    work(calls).await
}

#[retry(
    base = "5s", deadline = "60s", attempt_timeout = LIMIT, sleep = oversleep,
    on = [429, Error::Busy], notify = |event| hear(told, event), clone(copied)
)]
async fn by_patterns(calls: &Cell<u32>, told: &Told, copied: Copied<'_>) -> Result<u32, Error> {
    drop(copied);
    work(calls).await
}

/// Counts its copies.
struct Copied<'a>(&'a Cell<u32>);

impl Clone for Copied<'_> {
    fn clone(&self) -> Self {
        self.0.set(self.0.get() + 1);
        Self(self.0)
    }
}

async fn in_a_block(calls: &Cell<u32>, told: &Told) -> Result<u32, Error> {
    retry_block!(
        base = "5s",
        deadline = "60s",
        attempt_timeout = LIMIT,
        sleep = oversleep,
        notify = |event| hear(told, event),
        async { work(calls).await }
    )
    .await
}

async fn by_a_closure(calls: &Cell<u32>, told: &Told) -> Result<u32, Error> {
    #[derive(Clone, Default)]
    struct Overslept(backoff_core::Tokio);
    impl backoff_core::Clock for Overslept {
        fn now(&self) -> Duration {
            self.0.now()
        }
    }
    impl backoff_core::Random for Overslept {
        fn random(&self) -> u64 {
            self.0.random()
        }
    }
    impl backoff_core::Sleep for Overslept {
        type Sleep = Pin<Box<dyn Future<Output = ()>>>;
        fn sleep(&self, wait: Duration) -> Self::Sleep {
            Box::pin(oversleep(wait))
        }
    }
    POLICY
        .retry(|| work(calls))
        .attempt_timeout(LIMIT)
        .runtime(Overslept::default())
        .notify(|event| hear(told, event))
        .await
}

#[tokio::test(start_paused = true)]
async fn works() {
    macro_rules! outcome {
        ($function:ident $(, $more:expr)?) => {{
            let (calls, told) = (Cell::new(0), Told::default());
            let error = $function(&calls, &told $(, $more)?).await.unwrap_err();
            (calls.get(), error, told.into_inner())
        }};
    }
    let told = [
        (1, Error::Busy, None),
        (1, Error::Late, Some(StopReason::Deadline)),
    ];
    let expected = (1, Error::Late, told.to_vec());
    assert_eq!(outcome!(by_a_closure), expected);
    assert_eq!(outcome!(by_codes), expected);
    assert_eq!(outcome!(by_function), expected);
    let copies = Cell::new(0);
    assert_eq!(outcome!(by_patterns, Copied(&copies)), expected);
    assert_eq!(copies.get(), 1);
    assert_eq!(outcome!(in_a_block), expected);
}
