//! The spans of attempts, in every form of a call.

pub(crate) mod recorder;

use self::recorder::listening;
use crate::common::{
    error::{Talkative, TestError},
    forms::{PLAIN, Reply, SECOND, assert_is_name},
};
use backoff_core::{BlockingSleep, Clock, Policy, Random, Sleep, Std, retry, retry_block};
use std::{
    cell::Cell,
    future::{pending, ready},
    pin::Pin,
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use tracing::{info, info_span};

const POLICY: Policy = PLAIN.max_attempts(3);
const ONCE: Policy = PLAIN.max_attempts(1);

/// A runtime whose waits are written down, and take no time. What would cut an attempt after a minute
/// or later never does.
#[derive(Clone, Copy, Debug)]
struct Logged;

impl Clock for Logged {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl Random for Logged {
    fn random(&self) -> u64 {
        Std.random()
    }
}

impl Sleep for Logged {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn sleep(&self, wait: Duration) -> Self::Sleep {
        if wait >= 60 * SECOND {
            return Box::pin(pending());
        }
        Box::pin(async { info!("waits") })
    }
}

impl BlockingSleep for Logged {
    fn sleep_blocking(&self, _: Duration) {
        info!("waits");
    }
}

/// What is written down while `work` runs, in virtual time.
pub(crate) fn recorded<T>(work: impl Future<Output = T>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let state = listening(|| {
        runtime.block_on(async {
            // A call that has ended keeps nothing open, also while its future is kept.
            let mut work = std::pin::pin!(work);
            work.as_mut().await;
            info!("ended");
        });
    });
    state
        .operations
        .iter()
        .for_each(|name| assert_is_name(name));
    state.lines
}

/// All forms have recorded this.
#[track_caller]
fn check<const N: usize>(expected: &[&str], forms: [(&str, Vec<String>); N]) {
    for (form, lines) in forms {
        assert_eq!(lines, expected, "{form}");
    }
}

/// What fails twice, and then succeeds, and so on; each attempt has a span of its own inside.
struct Flaky(Cell<u32>);

impl Flaky {
    fn call(&self) -> Result<u32, TestError> {
        info_span!("inside").in_scope(|| info!("asks"));
        let left = self.0.get();
        self.0.set(left.checked_sub(1).unwrap_or(2));
        match left {
            0 => Ok(42),
            left => Err(TestError::status(502 + left as u16)),
        }
    }

    async fn pending_first(&self) -> Result<u32, TestError> {
        tokio::task::yield_now().await;
        self.call()
    }
}

/// What is written down of [`Flaky`], whatever form the call has.
const FLAKY: [&str; 20] = [
    "/attempt opens",
    "/attempt/inside opens",
    "/attempt/inside: asks",
    "/attempt/inside closes",
    "/attempt error.type=504",
    "/attempt closes",
    ": waits",
    "/attempt opens http.request.resend_count=1",
    "/attempt/inside opens",
    "/attempt/inside: asks",
    "/attempt/inside closes",
    "/attempt error.type=503",
    "/attempt closes",
    ": waits",
    "/attempt opens http.request.resend_count=2",
    "/attempt/inside opens",
    "/attempt/inside: asks",
    "/attempt/inside closes",
    "/attempt closes",
    ": ended",
];

/// Without facts there is not much to say; and the text of an error is in no span.
#[test]
fn the_type_of_an_error_is_its_code_and_not_its_text() {
    let judged = ONCE.when_any(|_: &TestError| true);
    let judged = judged.retry(|| ready(Err::<(), _>(TestError::status(503))));
    let lines = recorded(judged.attempt_spans());
    assert_eq!(lines[1], "/attempt error.type=_OTHER");
    let talkative = ONCE.retry(|| ready(Err::<(), _>(Talkative)));
    check(&FAILED, [("a text", recorded(talkative.attempt_spans()))]);
}

/// One attempt that fails at once.
const FAILED: [&str; 4] = [
    "/attempt opens",
    "/attempt error.type=503",
    "/attempt closes",
    ": ended",
];

#[test]
fn an_attempt_has_a_span_and_a_wait_has_none() {
    type Outcome = Result<u32, TestError>;
    #[retry(policy = POLICY, runtime = Logged, attempt_spans = true)]
    async fn call(flaky: &Flaky) -> Outcome {
        flaky.pending_first().await
    }
    #[retry(policy = POLICY, runtime = Logged, attempt_spans)]
    fn blocking(flaky: &Flaky) -> Outcome {
        let answer = flaky.call()?;
        Ok(answer)
    }
    // The same beside keys that change the loop: attempts that are cut, a signal, a hook, a copy.
    #[retry(
        policy = POLICY,
        runtime = Logged,
        attempt_spans,
        attempt_timeout = "60s",
        stop_on = pending::<()>(),
        notify = |_| (),
        clone(text),
        attempt = n
    )]
    async fn all(flaky: &Flaky, text: String) -> Result<(u32, String), TestError> {
        assert!(n.number() < 4);
        Ok((flaky.pending_first().await?, text))
    }
    #[retry(policy = *policy, runtime = Logged, attempt_spans = true, when = |_| true)]
    async fn of_a_variable(policy: &Policy, flaky: &Flaky) -> Outcome {
        flaky.pending_first().await
    }
    #[retry(policy = POLICY, runtime = Logged, attempt_spans = false)]
    async fn without(flaky: &Flaky) -> Outcome {
        flaky.pending_first().await
    }
    let flaky = &Flaky(Cell::new(2));
    let future = POLICY.retry(|| flaky.pending_first()).attempt_spans();
    let thread = POLICY.blocking(|| flaky.call()).attempt_spans();
    let block = retry_block!(policy = POLICY, runtime = Logged, attempt_spans, async {
        flaky.pending_first().await
    });
    let blocking_block = async {
        retry_block!(policy = POLICY, runtime = Logged, attempt_spans = true, {
            flaky.call()
        })
    };
    check(
        &FLAKY,
        [
            ("a future", recorded(future.runtime(Logged))),
            (
                "a thread",
                recorded(async { thread.runtime(Logged).call() }),
            ),
            ("an async function", recorded(call(flaky))),
            ("a function", recorded(async { blocking(flaky) })),
            ("many keys", recorded(all(flaky, String::new()))),
            ("of a variable", recorded(of_a_variable(&POLICY, flaky))),
            ("a block", recorded(block)),
            ("a block that blocks", recorded(blocking_block)),
        ],
    );
    let lines = recorded(without(flaky)).concat();
    assert!(!lines.contains("/attempt"), "{lines}");
}

#[test]
fn an_update_is_one_span_for_its_read_and_its_write() {
    /// The first write fails, and every second one after it.
    fn step(name: &'static str, fails: &Cell<bool>) -> Result<u32, TestError> {
        info!("{name}s");
        if name == "write" && fails.replace(!fails.get()) {
            return Err(TestError::status(412));
        }
        Ok(1)
    }
    let fails = &Cell::new(true);
    let change = |_: &mut u32| info!("changes");
    let update = POLICY.update(
        async || step("read", fails),
        change,
        async |_| step("write", fails),
    );
    let update = update.version(|number| *number).attempt_spans();
    let blocking = POLICY.blocking_update(|| step("read", fails), change, |_| step("write", fails));
    let blocking = blocking.attempt_spans().runtime(Logged);
    check(
        &[
            "/attempt opens",
            "/attempt: reads",
            "/attempt: changes",
            "/attempt: writes",
            "/attempt error.type=412",
            "/attempt closes",
            ": waits",
            "/attempt opens http.request.resend_count=1",
            "/attempt: reads",
            "/attempt: changes",
            "/attempt: writes",
            "/attempt closes",
            ": ended",
        ],
        [
            ("async", recorded(update.runtime(Logged))),
            ("blocking", recorded(async { blocking.call() })),
        ],
    );
}

/// Says in which span it is dropped.
struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        info!("dropped");
    }
}

async fn hangs() -> Result<u32, TestError> {
    let _dropped = Dropped;
    pending().await
}

#[test]
fn an_attempt_that_is_cut_is_a_timeout_and_is_dropped_in_its_span() {
    #[retry(policy = ONCE, attempt_timeout = "1s", attempt_spans)]
    async fn annotated() -> Result<u32, TestError> {
        hangs().await
    }
    let call = ONCE.retry(hangs).attempt_spans().attempt_timeout(SECOND);
    check(
        &[
            "/attempt opens",
            "/attempt: dropped",
            "/attempt error.type=timeout",
            "/attempt closes",
            ": ended",
        ],
        [
            ("call", recorded(call)),
            ("annotated", recorded(annotated())),
        ],
    );
}

#[test]
fn a_call_that_is_dropped_closes_its_span() {
    let call = POLICY.retry(hangs).attempt_spans();
    let block = retry_block!(policy = POLICY, attempt_spans, async { hangs().await });
    let dropped = async |call: Pin<Box<dyn Future<Output = Result<u32, TestError>>>>| {
        tokio::time::timeout(SECOND, call).await.unwrap_err()
    };
    check(
        &[
            "/attempt opens",
            "/attempt: dropped",
            "/attempt closes",
            ": ended",
        ],
        [
            ("call", recorded(dropped(Box::pin(call)))),
            ("block", recorded(dropped(Box::pin(block)))),
        ],
    );
}

/// It gives the signal, and goes on for ever.
async fn stops(stop: &CancellationToken) -> Result<u32, TestError> {
    stop.cancel();
    hangs().await
}

#[test]
fn a_signal_that_cuts_is_no_timeout_and_comes_before_every_span() {
    #[retry(policy = POLICY, attempt_spans, cut_on = stop.cancelled())]
    async fn annotated(stop: &CancellationToken) -> Result<u32, TestError> {
        stops(stop).await
    }
    let stop = [(); 3].map(|()| CancellationToken::new());
    let [a, b, c] = &stop;
    let call = |stop| POLICY.retry(move || stops(stop)).attempt_spans();
    macro_rules! block {
        ($stop:ident, $($keys:tt)*) => {
            recorded(retry_block!(
                policy = POLICY,
                attempt_spans,
                cut_on = $stop.cancelled(),
                $($keys)*
                async { stops($stop).await }
            ))
        };
    }
    check(
        &[
            "/attempt opens",
            "/attempt: dropped",
            "/attempt error.type=_OTHER",
            "/attempt closes",
            ": ended",
        ],
        [
            ("call", recorded(call(a).cut_on(a.cancelled()))),
            ("block", block!(b,)),
            ("annotated", recorded(annotated(c))),
        ],
    );
    // An attempt that is never made has no span.
    check(
        &[": ended"],
        [
            ("call", recorded(call(a).cut_on(a.cancelled()))),
            ("block", block!(b,)),
            ("limited block", block!(b, attempt_timeout = "1s",)),
        ],
    );
}

/// In the block, it is a value that counts as a failure.
#[test]
fn no_wait_is_in_a_span_where_a_signal_may_end_it() {
    let failing = || ready(Err::<(), _>(TestError::status(503)));
    let stop = [(); 2].map(|()| CancellationToken::new());
    let [a, b] = &stop;
    let soon = async |stop: &CancellationToken| {
        tokio::task::yield_now().await;
        info!("stopped");
        stop.cancel();
    };
    let call = POLICY.retry(failing).attempt_spans();
    let call = call.stop_on(a.cancelled());
    let block = retry_block!(
        policy = POLICY,
        attempt_spans,
        responses,
        stop_on = b.cancelled(),
        async { Ok::<_, TestError>(Reply(503)) }
    );
    check(
        &[FAILED[0], FAILED[1], FAILED[2], ": stopped", ": ended"],
        [
            ("call", recorded(async { tokio::join!(call, soon(a)) })),
            ("block", recorded(async { tokio::join!(block, soon(b)) })),
        ],
    );
}

#[test]
fn an_attempt_that_is_not_begun_has_no_span() {
    // The timer wakes long after the time is over.
    #[retry(
        policy = POLICY, timeout = "5s", attempt_spans,
        sleep = |_| tokio::time::sleep(60 * SECOND)
    )]
    async fn annotated() -> Result<u32, TestError> {
        Err(TestError::status(503))
    }
    check(&FAILED, [("annotated", recorded(annotated()))]);
}
