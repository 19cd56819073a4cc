//! The spans of attempts, in every form of a call.

pub(crate) mod recorder;

use self::recorder::recorded;
use backoff_core::{
    BlockingSleep, Clock, Fault, Jitter, NotYet, Policy, Random, Sleep, Std, Stopped, TimedOut,
    retry, retry_block,
};
use std::{
    cell::Cell,
    fmt,
    future::{Ready, pending, ready},
    pin::Pin,
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use tracing::{info, info_span};

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
        if wait >= Duration::from_secs(60) {
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

#[derive(Clone, Copy, Debug, PartialEq)]
struct Status(u16);

impl Fault for Status {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }
    fn message(&self) -> Option<&dyn fmt::Display> {
        Some(&"a text that is in no span")
    }
}

impl From<TimedOut> for Status {
    fn from(_: TimedOut) -> Self {
        Status(504)
    }
}

impl From<NotYet> for Status {
    fn from(_: NotYet) -> Self {
        Status(404)
    }
}

impl From<Stopped> for Status {
    fn from(_: Stopped) -> Self {
        Status(499)
    }
}

const POLICY: Policy = Policy::exponential().jitter(Jitter::None).max_attempts(3);

/// What fails twice, and then succeeds; each attempt has a span of its own inside.
struct Flaky(Cell<u32>);

impl Flaky {
    fn new() -> Self {
        Flaky(Cell::new(2))
    }

    fn call(&self) -> Result<u32, Status> {
        let inside = info_span!("inside");
        inside.in_scope(|| info!("asks"));
        match self.0.replace(self.0.get().saturating_sub(1)) {
            0 => Ok(42),
            left => Err(Status(502 + u16::try_from(left).unwrap())),
        }
    }

    async fn pending_first(&self) -> Result<u32, Status> {
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

#[test]
fn an_async_call() {
    let flaky = Flaky::new();
    let call = POLICY.retry(|| flaky.pending_first()).runtime(Logged);
    assert_eq!(recorded(call.attempt_spans()), FLAKY);
}

#[test]
fn a_closure_runs_in_the_span_as_well_as_its_future() {
    let flaky = Flaky::new();
    let call = POLICY.retry(|| ready(flaky.call())).runtime(Logged);
    assert_eq!(recorded(call.attempt_spans()), FLAKY);
}

#[test]
fn a_call_that_is_told_its_attempts() {
    let flaky = Flaky::new();
    let call = POLICY.retry_with(|_| flaky.pending_first()).attempt_spans();
    assert_eq!(recorded(call.runtime(Logged).owned().reported()), FLAKY);
}

#[test]
fn whoever_judges() {
    let flaky = Flaky::new();
    let judged = POLICY.when(|_: &Status| true);
    let call = judged.retry(|| flaky.pending_first()).attempt_spans();
    assert_eq!(recorded(call.runtime(Logged)), FLAKY);
    // Without facts there is not much to say.
    let flaky = Flaky::new();
    let judged = POLICY.when_any(|_: &Status| true);
    let call = judged.retry(|| flaky.pending_first()).attempt_spans();
    let lines = recorded(call.runtime(Logged));
    assert_eq!(lines[4], "/attempt error.type=_OTHER");
}

#[test]
fn a_blocking_call() {
    let flaky = Flaky::new();
    let call = POLICY.blocking(|| flaky.call()).runtime(Logged);
    assert_eq!(recorded(async { call.attempt_spans().call() }), FLAKY);
    let flaky = Flaky::new();
    let call = POLICY.blocking_with(|_| flaky.call()).attempt_spans();
    assert_eq!(recorded(async { call.runtime(Logged).reported() }), FLAKY);
}

#[test]
fn annotated_functions() {
    #[retry(policy = POLICY, runtime = Logged, attempt_spans = true)]
    async fn call(flaky: &Flaky) -> Result<u32, Status> {
        flaky.pending_first().await
    }
    assert_eq!(recorded(call(&Flaky::new())), FLAKY);

    #[retry(policy = POLICY, runtime = Logged, attempt_spans)]
    fn blocking(flaky: &Flaky) -> Result<u32, Status> {
        let answer = flaky.call()?;
        Ok(answer)
    }
    assert_eq!(recorded(async { blocking(&Flaky::new()) }), FLAKY);

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
    async fn all(flaky: &Flaky, text: String) -> Result<(u32, String), Status> {
        assert!(n.number() < 4);
        Ok((flaky.pending_first().await?, text))
    }
    assert_eq!(recorded(all(&Flaky::new(), String::new())), FLAKY);

    let policy = POLICY;
    #[retry(policy = *policy, runtime = Logged, attempt_spans = true, when = |_| true)]
    async fn of_a_variable(policy: &Policy, flaky: &Flaky) -> Result<u32, Status> {
        flaky.pending_first().await
    }
    assert_eq!(recorded(of_a_variable(&policy, &Flaky::new())), FLAKY);

    #[retry(policy = POLICY, runtime = Logged, attempt_spans = false)]
    async fn without(flaky: &Flaky) -> Result<u32, Status> {
        flaky.pending_first().await
    }
    let lines = recorded(without(&Flaky::new()));
    assert!(
        lines.iter().all(|line| !line.contains("/attempt")),
        "{lines:?}"
    );
}

#[test]
fn blocks() {
    let flaky = Flaky::new();
    let call = retry_block!(policy = POLICY, runtime = Logged, attempt_spans, async {
        flaky.pending_first().await
    });
    assert_eq!(recorded(call), FLAKY);
    let flaky = Flaky::new();
    let call = async {
        retry_block!(policy = POLICY, runtime = Logged, attempt_spans = true, {
            flaky.call()
        })
    };
    assert_eq!(recorded(call), FLAKY);
}

/// Reads and writes in spans of their own; the first write fails.
fn step(name: &'static str, fails: bool) -> Result<u32, Status> {
    info!("{name}s");
    if fails { Err(Status(412)) } else { Ok(1) }
}

#[test]
fn an_update_is_one_span_for_its_read_and_its_write() {
    let expected = [
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
    ];
    let conflicts = Cell::new(true);
    let change = |_: &mut u32| info!("changes");
    let update = POLICY.update(
        || async { step("read", false) },
        change,
        |_| async { step("write", conflicts.replace(false)) },
    );
    let update = update.version(|number| *number).attempt_spans();
    assert_eq!(recorded(update.runtime(Logged)), expected);

    conflicts.set(true);
    let update = POLICY.blocking_update(
        || step("read", false),
        change,
        |_| step("write", conflicts.replace(false)),
    );
    let update = update.attempt_spans().runtime(Logged);
    assert_eq!(recorded(async { update.call() }), expected);
}

/// Says in which span it is dropped.
struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        info!("dropped");
    }
}

async fn hangs() -> Result<u32, Status> {
    let _dropped = Dropped;
    pending().await
}

#[test]
fn an_attempt_that_is_cut_is_a_timeout_and_is_dropped_in_its_span() {
    const ONCE: Policy = POLICY.max_attempts(1);
    const SECOND: Duration = Duration::from_secs(1);
    let expected = [
        "/attempt opens",
        "/attempt: dropped",
        "/attempt error.type=timeout",
        "/attempt closes",
        ": ended",
    ];
    let before = ONCE.retry(hangs).attempt_spans().attempt_timeout(SECOND);
    assert_eq!(recorded(before), expected);
    let after = ONCE.retry(hangs).attempt_timeout(SECOND).attempt_spans();
    assert_eq!(recorded(after), expected);
    assert_eq!(
        recorded(POLICY.retry(hangs).attempt_spans().timeout(SECOND)),
        expected
    );

    #[retry(policy = ONCE, attempt_timeout = "1s", attempt_spans)]
    async fn annotated() -> Result<u32, Status> {
        hangs().await
    }
    assert_eq!(recorded(annotated()), expected);
}

#[test]
fn a_call_that_is_dropped_closes_its_span() {
    let expected = [
        "/attempt opens",
        "/attempt: dropped",
        "/attempt closes",
        ": ended",
    ];
    let second = Duration::from_secs(1);
    let call = async {
        let call = POLICY.retry(hangs).attempt_spans();
        tokio::time::timeout(second, call).await.unwrap_err()
    };
    assert_eq!(recorded(call), expected);
    let call = async {
        let call = retry_block!(policy = POLICY, attempt_spans, async { hangs().await });
        tokio::time::timeout(second, call).await.unwrap_err()
    };
    assert_eq!(recorded(call), expected);
}

#[test]
fn a_signal_that_cuts_is_no_timeout() {
    let stop = CancellationToken::new();
    let call = POLICY.retry(|| {
        stop.cancel();
        hangs()
    });
    let expected = [
        "/attempt opens",
        "/attempt: dropped",
        "/attempt error.type=499",
        "/attempt closes",
        ": ended",
    ];
    assert_eq!(
        recorded(call.attempt_spans().cut_on(stop.cancelled())),
        expected
    );

    let stop = &CancellationToken::new();
    let block = retry_block!(
        policy = POLICY,
        attempt_spans,
        cut_on = stop.cancelled(),
        async {
            stop.cancel();
            hangs().await
        }
    );
    assert_eq!(recorded(block), expected);

    #[retry(policy = POLICY, attempt_spans, cut_on = stop.cancelled())]
    async fn annotated(stop: &CancellationToken) -> Result<u32, Status> {
        stop.cancel();
        hangs().await
    }
    assert_eq!(recorded(annotated(&CancellationToken::new())), expected);
}

#[test]
fn an_attempt_that_is_never_made_has_no_span() {
    let stop = &CancellationToken::new();
    stop.cancel();
    let call = POLICY.retry(hangs).attempt_spans();
    assert_eq!(recorded(call.cut_on(stop.cancelled())), [": ended"]);
    let block = retry_block!(
        policy = POLICY,
        attempt_spans,
        cut_on = stop.cancelled(),
        async { hangs().await }
    );
    assert_eq!(recorded(block), [": ended"]);
    let limited = retry_block!(
        policy = POLICY,
        attempt_spans,
        attempt_timeout = "1s",
        cut_on = stop.cancelled(),
        async { hangs().await }
    );
    assert_eq!(recorded(limited), [": ended"]);
}

/// A value that is a failure by its status, twice.
fn busy() -> impl FnMut() -> Ready<Result<Status, Status>> {
    let mut replies = [503, 503, 200].into_iter();
    move || ready(Ok(Status(replies.next().unwrap())))
}

#[test]
fn a_value_that_counts_as_a_failure_is_one() {
    let expected = |error_type: &str| {
        let failed = format!("/attempt error.type={error_type}");
        vec![
            "/attempt opens".to_owned(),
            failed.clone(),
            "/attempt closes".to_owned(),
            ": waits".to_owned(),
            "/attempt opens http.request.resend_count=1".to_owned(),
            failed,
            "/attempt closes".to_owned(),
            ": waits".to_owned(),
            "/attempt opens http.request.resend_count=2".to_owned(),
            "/attempt closes".to_owned(),
            ": ended".to_owned(),
        ]
    };
    let call = POLICY.retry(busy()).runtime(Logged);
    assert_eq!(recorded(call.responses().attempt_spans()), expected("503"));
    let call = POLICY.retry(busy()).runtime(Logged);
    assert_eq!(recorded(call.attempt_spans().responses()), expected("503"));
    let done = |status: &Status| status.0 == 200;
    let call = POLICY.retry(busy()).runtime(Logged);
    assert_eq!(recorded(call.attempt_spans().until(done)), expected("404"));
    let call = POLICY.retry(busy()).runtime(Logged);
    let call = call.until(done).consecutive(1).attempt_spans();
    assert_eq!(recorded(call), expected("404"));

    let mut replies = busy();
    let blocking = POLICY.blocking(|| replies().into_inner()).runtime(Logged);
    let blocking = blocking.responses().attempt_spans();
    assert_eq!(recorded(async { blocking.call() }), expected("503"));

    let mut replies = busy();
    let call = retry_block!(
        policy = POLICY,
        runtime = Logged,
        responses,
        attempt_spans,
        async { replies().await }
    );
    assert_eq!(recorded(call), expected("503"));
}

#[test]
fn no_wait_is_in_a_span_where_a_signal_may_end_it() {
    let stop = CancellationToken::new();
    let lines = [
        "/attempt opens",
        "/attempt error.type=503",
        "/attempt closes",
        ": stopped",
        ": ended",
    ];
    let soon = || async {
        tokio::task::yield_now().await;
        info!("stopped");
        stop.cancel();
    };
    let call = async {
        let failing = || ready(Err::<(), _>(Status(503)));
        let call = POLICY
            .retry(failing)
            .attempt_spans()
            .stop_on(stop.cancelled());
        tokio::join!(call, soon())
    };
    assert_eq!(recorded(call), lines);

    let stop = CancellationToken::new();
    let soon = || async {
        tokio::task::yield_now().await;
        info!("stopped");
        stop.cancel();
    };
    let call = async {
        let call = retry_block!(
            policy = POLICY,
            attempt_spans,
            stop_on = stop.cancelled(),
            async { Err::<(), _>(Status(503)) }
        );
        tokio::join!(call, soon())
    };
    assert_eq!(recorded(call), lines);
}

#[test]
fn an_attempt_that_is_not_begun_has_no_span() {
    // The timer wakes long after the time is over.
    #[retry(
        policy = POLICY, timeout = "5s", attempt_spans,
        sleep = |_| tokio::time::sleep(Duration::from_secs(60))
    )]
    async fn annotated() -> Result<u32, Status> {
        Err(Status(503))
    }
    let expected = [
        "/attempt opens",
        "/attempt error.type=503",
        "/attempt closes",
        ": ended",
    ];
    assert_eq!(recorded(annotated()), expected);
}
