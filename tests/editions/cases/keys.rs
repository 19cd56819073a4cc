//! Keys whose values are the same in every form.

use super::*;
use backoff_core::LogLevel;
use std::sync::LazyLock;

pub(super) const MILLI: Duration = Duration::from_millis(1);
pub(super) const LONG: Duration = Duration::from_secs(64);
const FEW: u32 = 2;
pub(super) const QUICK: Policy = Policy::exponential().base(MILLI);
const LOUD: Policy = QUICK.log_waits(LogLevel::Warn);
const QUIET: LogLevel = LogLevel::Debug;

#[test]
fn durations_numbers_and_levels() {
    rows! {
        [base = "1ms", max_backoff = "1m 4s", deadline = "5min", jitter = "1ms"] => 3;
        [base = 1ms, max_backoff = 1.5s, deadline = 1h, jitter = 1us] => 3;
        [base = Duration::from_millis(1), max_backoff = LONG, jitter = slots] => 3;
        [base = MILLI, factor = 1.5, jitter = none, max_attempts = FEW] => 2;
        [base = "1ms", jitter = decorrelated, max_attempts = 1 + FEW] => 3;
        [base = "1ms", jitter = equal, max_attempts = 2] => 2;
        [base = "1ms", on = [503], log_waits = debug] => 3;
        [policy = LOUD, on = [503], log_waits = QUIET] => 3;
        [base = "1ms", attempt_spans, log_waits = trace] => 3;
        [base = "1ms", on = [503], log_waits = level] level: LogLevel = LogLevel::Trace => 3;
    }
    async_rows! {
        [base = "1ms", attempt_timeout = "20ms"] => 3;
        [base = "1ms", timeout = "1m", attempt_timeout = LONG, deadline = "5m"] => 3;
        [base = "1ms", stop_on = std::future::pending::<()>()] => 3;
        [base = "1ms", cut_on = std::future::pending::<()>()] => 3;
        [base = "1ms", stop_on = std::future::ready(())] => 1;
        [base = "1ms", runtime = backoff_core::Tokio] => 3;
    }
}

fn is_fourth(call: &u32) -> bool {
    *call == 4
}

#[test]
fn the_awaited_value() {
    rows! {
        [base = "1ms", until = |_| true] => 3;
        [base = "1ms", until = |call| *call >= least] least: u32 = 5 => 5;
        [base = "1ms", on = [503], until = is_fourth] => 4;
        [base = "1ms", until = |_| true, consecutive = 1 + FEW] => 5;
        // The third call is the first in a row, and the fifth begins another.
        [base = "1ms", max_attempts = 9, until = |call| *call != 4, consecutive = values + 1] values: u32 = 1 => 6;
    }
    async_rows! {
        [base = "1s", timeout = "5m", attempt_timeout = "10s", on = [503], until = is_fourth] => 4;
    }
}

#[derive(Debug, PartialEq, Fault)]
#[fault(status = self.0)]
struct Response(u16);

fn reply(flaky: &Flaky) -> Result<Response, Error> {
    Ok(Response(flaky.call().map_or_else(|error| error.0, |_| 200)))
}

/// The last response of an attribute and of a block, and how often they call.
macro_rules! replies {
    ($([$($keys:tt)*] => $last:expr, $calls:expr;)*) => {$({
        #[retry($($keys)*)]
        async fn of_function(flaky: &Flaky) -> Result<Response, Error> {
            reply(flaky)
        }
        let of_function = asked(|flaky| run(of_function(flaky)).map(|last| last.0));
        let of_block = asked(|flaky| retry_block!($($keys)*, { reply(flaky) }).map(|last| last.0));
        let last: [u16; 2] = $last;
        assert_eq!((of_function.1, of_block.1), (Ok(last[0]), Ok(last[1])));
        assert_eq!([of_function.0, of_block.0], $calls);
    })*};
}

/// A response is judged in an attribute with codes, where the key does not say otherwise, and not in a block.
#[test]
fn responses() {
    replies! {
        [base = "1ms", on = [503]] => [200, 503], [3, 1];
        [base = "1ms", on = [503], max_attempts = 2] => [503; 2], [2, 1];
        [base = "1ms", on = [503], responses] => [200; 2], [3; 2];
        [base = "1ms", on = [503], responses = false] => [503; 2], [1; 2];
        [base = "1ms"] => [503; 2], [1; 2];
    }
}

/// The hint of a response is obeyed: this one asks for more than is waited for.
#[test]
fn a_hint_of_a_response() {
    #[derive(Debug, PartialEq, Fault)]
    #[fault(status = 503, retry_after = LONG)]
    struct Hinted;
    #[retry(base = "1ms", on = [503], max_retry_after = "5s")]
    fn f(flaky: &Flaky) -> Result<Hinted, Error> {
        let _ = flaky.call();
        Ok(Hinted)
    }
    assert_eq!(asked(f), (1, Ok(Hinted)));
}

/// A policy does not retry it, whatever it is made from.
#[derive(Debug, PartialEq, Fault)]
#[fault(permanent)]
struct Lost;

impl From<TimedOut> for Lost {
    fn from(_: TimedOut) -> Self {
        Lost
    }
}

/// Limits that are an argument and a value at the call. A cut attempt is judged as cut, whatever it is put into.
#[tokio::test(start_paused = true)]
async fn calls_that_hang() {
    use tokio::time::Instant;
    #[retry(timeout = end - Instant::now(), attempt_timeout = limit, jitter = none, on = [503])]
    async fn hang(flaky: &Flaky, end: Instant, limit: Duration) -> Result<(), Lost> {
        let _ = flaky.call();
        std::future::pending().await
    }
    let (flaky, start) = (Flaky::failing(9), Instant::now());
    let [end, limit] = [60, 10].map(Duration::from_secs);
    assert_eq!(hang(&flaky, start + end, limit).await, Err(Lost));
    // 10 + 1 + 10 + 2 + 10 + 4 + 10 + 8: 5 s remain for the fifth.
    assert_eq!((start.elapsed(), flaky.calls()), (end, 5));
}

const MINE: Codes = codes![500..=504];
/// Constants may have the names of gRPC codes, and a letter alone is a constant.
const ABORTED: Codes = codes![409, 503];
const C: Codes = codes![503];

fn is<const CODE: u16, T>(error: &Error) -> bool {
    error.status() == Some(CODE)
}

#[test]
fn who_decides() {
    const UNAVAILABLE: Codes = codes![503];
    rows! {
        [base = "1ms"] => 3;
        [base = "1ms", on = [429, 500..=502]] => 1;
        [base = "1ms", on = [429, 500..=504]] => 3;
        [on = [408], also_on = [503], base = "1ms"] => 3;
        [base = "1ms", on = [429, MINE, C]] => 3;
        [base = "1ms", on = [self::ABORTED]] => 3;
        [base = "1ms", on = [codes![UNAVAILABLE]]] => 3;
        [base = "1ms", on = [429, Error::Api(ApiError(500..=503))]] => 3;
        [base = "1ms", on = [Error::Api(error) if error.0 == 500]] => 1;
        [base = "1ms", when = |error| *error == BUSY] => 3;
        [when = is::<503, ()>, base = "1ms"] => 3;
        [when = is::<500, ()>, base = "1ms"] => 1;
        [base = "1ms", on = [503], faults(ApiError)] => 3;
        [base = "1ms", when = |error| error.status() == Some(code)] code: u16 = 503 => 3;
        [base = "1ms", when = |error| error.status() == Some(code)] code: u16 = 500 => 1;
        [base = "1ms", when = judge] judge: Box<dyn Fn(&Error) -> bool + Send + Sync> = Box::new(is::<503, ()>) => 3;
    }
}

static NONE_LEFT: Budget = Budget::ratio(0.1, 10).starting_with(0);
static PLENTY: Budget = Budget::ratio(0.1, 100);
/// Nothing is refused, so it stays off.
static OFF: backoff_core::Rate = backoff_core::Rate::new();
static CLOSED: backoff_core::Breaker = backoff_core::Breaker::new().opens_at(24, 24);
const POOR: Policy = QUICK.budget(&NONE_LEFT);
static RULES: Policy = QUICK;
static LAZY: LazyLock<Policy> = LazyLock::new(|| QUICK.max_attempts(3));

fn made(attempts: u32) -> Policy {
    QUICK.max_attempts(attempts)
}

#[test]
fn policies_and_budgets() {
    rows! {
        [policy = *LAZY] => 3;
        [policy = RULES] => 3;
        [policy = made(2)] => 2;
        [policy = made(2), max_attempts = 3] => 3;
        [policy = rules, base = wait] rules: Policy = made(3), wait: Duration = Duration::ZERO => 3;
        [policy = rules, base = wait] rules: Policy = made(2), wait: Duration = Duration::ZERO => 2;
        [base = "1ms", max_attempts = r#use] r#use: u32 = 2 => 2;
        [base = "1ms", budget = budget] budget: &'static Budget = &NONE_LEFT => 1;
        [policy = POOR] => 1;
        [policy = POOR, budget = PLENTY] => 3;
        [base = "1ms", budget = NONE_LEFT] => 1;
        [base = "1ms", rate = OFF] => 3;
        [base = "1ms", breaker = CLOSED] => 3;
        [policy = POOR, rate = OFF, breaker = CLOSED, budget = PLENTY] => 3;
        [policy = POOR, rate = OFF, budget = PLENTY, max_queue_time = "1m"] => 3;
        [policy = POOR, rate = OFF, budget = PLENTY, tokens = 500] => 3;
        [base = "1ms", rate = OFF, tokens = text.len() as u32] text: &'static str = "text" => 3;
        [base = "1ms", operation = "a.name", on = [503], idempotent] => 3;
        [policy = backoff_cloud::iam::REQUEST, base = "1ms", jitter = full, on = [503]] => 3;
    }
}

#[test]
fn hooks_and_timers_that_use_arguments() {
    #[retry(base = "1ms", max_attempts = 2, notify = |event| log.push(event.to_string()))]
    async fn logged(flaky: &Flaky, log: &mut Vec<String>) -> Result<u32, ApiError> {
        log.push("called".to_owned());
        flaky.call()
    }
    let mut log = Vec::new();
    let got = run(sent(logged(&Flaky::failing(2), &mut log)));
    assert_eq!((got, log.len()), (Err(ApiError(503)), 4));
    assert!(
        log[1].starts_with("attempt 1 of 2 failed, next in"),
        "{:?}",
        log
    );
    assert_eq!(log[3], "gave up after 2 attempts (attempts): status 503");
    // The key borrows the value for the whole call, and no runtime is needed.
    #[retry(base = "3s", jitter = none, sleep = |wait| std::future::ready(slept.set(slept.get() + wait)))]
    async fn waited(flaky: &Flaky, slept: Cell<Duration>) -> Result<u64, ApiError> {
        flaky.call().map(|_| slept.get().as_secs())
    }
    #[retry(base = "3s", jitter = none, sleep = |wait| slept.set(slept.get() + wait))]
    fn blocked(flaky: &Flaky, slept: Cell<Duration>) -> Result<u64, ApiError> {
        flaky.call().map(|_| slept.get().as_secs())
    }
    let flaky = Flaky::failing(2);
    let future = std::pin::pin!(waited(&flaky, Cell::default()));
    let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert_eq!(future.poll(context), std::task::Poll::Ready(Ok(9)));
    assert_eq!(blocked(&Flaky::failing(2), Cell::default()), Ok(9));
}

#[test]
fn the_number_and_the_time_of_an_attempt() {
    #[retry(base = "1s", jitter = none, deadline = "10s", attempt = n)]
    async fn get(flaky: &Flaky) -> Result<u32, ApiError> {
        assert_eq!(n.number(), flaky.calls() + 1);
        // The waits are 1 and 2 s.
        let elapsed = [0, 1, 3].map(Duration::from_secs)[flaky.calls() as usize];
        let remaining = Duration::from_secs(10) - elapsed;
        assert_eq!((n.elapsed(), n.remaining()), (elapsed, remaining));
        flaky.call()
    }
    assert_eq!(run(get(&Flaky::failing(2))), Ok(3));
}
