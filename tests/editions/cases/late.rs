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

const NAME: &str = "billing.charge";
const BLOCKING: [&str; 2] = ["1 waits: status 503", "1 gave up: status 503"];
/// The error of an attempt that is not begun is made from `TimedOut`.
const CUT: [&str; 2] = [
    "1 waits: status 503",
    "1 gave up: the attempt was cut after 0ns",
];

/// Counts its copies.
struct Copied<'a>(&'a Cell<u32>);

impl Clone for Copied<'_> {
    fn clone(&self) -> Self {
        self.0.set(self.0.get() + 1);
        Self(self.0)
    }
}

/// Who decides is in the keys.
macro_rules! judged {
    ($([$($keys:tt)*];)*) => {$({
        #[retry(base = "5s", deadline = "60s", runtime = Late, operation = NAME, notify = |event| hear(heard, event), $($keys)*)]
        fn blocking(flaky: &Flaky, heard: &Heard) -> Result<u32, Error> {
            Ok(flaky.call()?)
        }
        #[retry(
            base = "5s", deadline = "60s", runtime = Late, operation = NAME, notify = |event| hear(heard, event),
            attempt_timeout = "10s", attempt = n, clone(copied), $($keys)*
        )]
        async fn awaited(flaky: &Flaky, heard: &Heard, copied: Copied<'_>) -> Result<u32, Error> {
            drop(copied);
            assert_eq!(n.number(), 1);
            Ok(flaky.call()?)
        }
        let heard = Heard::default();
        assert_eq!(asked(|flaky| blocking(flaky, &heard)), (1, Err(BUSY)));
        assert_eq!(heard.take(), BLOCKING);
        let copies = Cell::new(0);
        let got = asked(|flaky| run(awaited(flaky, &heard, Copied(&copies))));
        assert!(matches!(got, (1, Err(Error::Late(_)))));
        assert_eq!((heard.take(), copies.get()), (CUT.map(str::to_owned).to_vec(), 1));
    })*};
}

#[test]
fn whoever_decides() {
    let recorder = spans::recorder();
    judged! {
        [when = |error| { assert_eq!(*error, BUSY); true }];
        [on = [503]];
        [on = [429, Error::Api(_)]];
    }
    assert_eq!(recorder.events().len(), 3 * 4);
    #[retry(base = "5s", deadline = "60s", on = [503], runtime = Late, operation = NAME, faults(Error))]
    fn found(flaky: &Flaky) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
        Ok(flaky.call().map_err(Error::Api)?)
    }
    assert_eq!(asked(|flaky| found(flaky).is_err()), (1, true));
    let logged = recorder.events();
    assert_eq!(logged.len(), 2);
    for line in &logged {
        let both = line.contains(NAME) && line.contains("status 503");
        assert!(both, "{}", line);
    }
}
