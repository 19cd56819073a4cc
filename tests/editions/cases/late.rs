//! A timer that wakes after the deadline: no attempt is begun, counted or asked about, and whoever listens is told.

use super::*;
use backoff_core::{BlockingSleep, Clock, Random, Sleep};

/// A clock that only its timer moves, so that the machine's speed does not matter. The timer wakes late.
#[derive(Clone, Copy)]
pub(crate) struct Late;

thread_local!(static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) });

impl Clock for Late {
    fn now(&self) -> Duration {
        NOW.get()
    }
}

impl Random for Late {
    fn random(&self) -> u64 {
        u64::MAX
    }
}

impl BlockingSleep for Late {
    fn sleep_blocking(&self, wait: Duration) {
        NOW.set(NOW.get() + wait + Duration::from_secs(90));
    }
}

impl Sleep for Late {
    type Sleep = Pin<Box<dyn Future<Output = ()>>>;

    fn sleep(&self, wait: Duration) -> Self::Sleep {
        Box::pin(async move { Late.sleep_blocking(wait) })
    }
}

type Heard = RefCell<Vec<String>>;

fn hear(heard: &Heard, event: &Event<'_, Error>) {
    heard.borrow_mut().push(match event {
        Event::Waiting {
            attempt, failure, ..
        } => format!("{} waits: {}", attempt, failure),
        Event::GaveUp {
            attempts,
            failure,
            reason: StopReason::Deadline,
            ..
        } => format!("{} gave up: {}", attempts, failure),
        other => panic!("{}", other),
    });
}

const POLICY: Policy = Policy::exponential()
    .base(Duration::from_secs(5))
    .deadline(Duration::from_secs(60))
    .on(codes![503]);
const LIMIT: Duration = Duration::from_secs(10);
const NAME: &str = "billing.charge";
const BLOCKING: [&str; 2] = ["1 waits: status 503", "1 gave up: status 503"];
/// The error of an attempt that is not begun is made from `TimedOut`.
const CUT: [&str; 2] = [
    "1 waits: status 503",
    "1 gave up: the attempt was cut after 0ns",
];

fn check(
    expected: [&str; 2],
    call: impl FnOnce(&Flaky, &Heard) -> Result<u32, Error>,
) -> Result<u32, Error> {
    let (flaky, heard) = (Flaky::failing(9), Heard::default());
    let got = call(&flaky, &heard);
    assert_eq!(
        (flaky.calls(), heard.take()),
        (1, expected.map(str::to_owned).to_vec())
    );
    got
}

/// Who decides is in the keys.
macro_rules! judged {
    ($([$($keys:tt)*];)*) => {$({
        #[retry(base = "5s", deadline = "60s", runtime = Late, name = NAME, notify = |event| hear(heard, event), $($keys)*)]
        fn blocking(flaky: &Flaky, heard: &Heard) -> Result<u32, Error> {
            Ok(flaky.call()?)
        }
        #[retry(
            base = "5s", deadline = "60s", runtime = Late, name = NAME, notify = |event| hear(heard, event),
            attempt_timeout = LIMIT, attempt = n, $($keys)*
        )]
        async fn awaited(flaky: &Flaky, heard: &Heard) -> Result<u32, Error> {
            assert_eq!(n.number(), 1);
            Ok(flaky.call()?)
        }
        assert_eq!(check(BLOCKING, blocking), Err(BUSY));
        let got = check(CUT, |flaky, heard| run(awaited(flaky, heard)));
        assert!(matches!(got, Err(Error::Late(_))));
    })*};
}

#[test]
fn whoever_decides() {
    let recorder = spans::recorder();
    judged! {
        [when = |error| { assert_eq!(*error, BUSY); true }];
        [on = [503]];
        [on = [429, Error::Api(_)]];
        [policy = POLICY];
    }
    let logged = recorder.events();
    assert_eq!(logged.len(), 4 * 4, "{:?}", logged);

    #[retry(policy = POLICY, runtime = Late, name = NAME, faults(ApiError))]
    fn found(flaky: &Flaky) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
        Ok(flaky.call()?)
    }
    assert_eq!(asked(|flaky| found(flaky).is_err()), (1, true));
    let logged = recorder.events();
    assert_eq!(logged.len(), 2);
    for line in &logged {
        assert!(
            line.contains(NAME) && line.contains("status 503"),
            "{}",
            line
        );
    }
}

#[test]
fn the_function_form_and_the_block_say_the_same() {
    let blocking = check(BLOCKING, |flaky, heard| {
        let call = POLICY.blocking(|| Ok(flaky.call()?));
        let call = call.notify(|event| hear(heard, event));
        call.runtime(Late).call()
    });
    assert_eq!(blocking, Err(BUSY));
    let closure = check(CUT, |flaky, heard| {
        let call = POLICY.retry(|| async { Ok(flaky.call()?) });
        let call = call.attempt_timeout(LIMIT).runtime(Late);
        run(async { call.notify(|event| hear(heard, event)).await })
    });
    let block = check(CUT, |flaky, heard| {
        run(async {
            retry_block!(
                base = "5s",
                deadline = "60s",
                attempt_timeout = LIMIT,
                runtime = Late,
                notify = |event| hear(heard, event),
                async { Ok(flaky.call()?) }
            )
            .await
        })
    });
    assert!(matches!(closure, Err(Error::Late(_))));
    assert!(matches!(block, Err(Error::Late(_))));
}

/// Counts its copies.
struct Copied<'a>(&'a Cell<u32>);

impl Clone for Copied<'_> {
    fn clone(&self) -> Self {
        self.0.set(self.0.get() + 1);
        Self(self.0)
    }
}

#[test]
fn no_copy_is_made_for_an_attempt_that_is_not_begun() {
    async fn oversleep(_: Duration) {
        tokio::time::sleep(Duration::from_secs(90)).await;
    }
    #[retry(base = "5s", deadline = "60s", attempt_timeout = LIMIT, sleep = oversleep, on = [429, Error::Api(_)], clone(copied))]
    async fn f(flaky: &Flaky, copied: Copied<'_>) -> Result<u32, Error> {
        drop(copied);
        Ok(flaky.call()?)
    }
    let copies = Cell::new(0);
    let got = asked(|flaky| run(f(flaky, Copied(&copies))));
    assert!(matches!(got, (1, Err(Error::Late(_)))));
    assert_eq!(copies.get(), 1);
}
