//! The facts in a client's failures, and how often a policy retries them: around a client whose own retries
//! are off, inside the client, and both.

use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_tests::{
    Form, POLICY, PutError, Timer, busy, config, config_of_nobody, conflict, inside, ms, nobody,
    once, put, throttled, typed, with,
};
use backoff_cloud::{
    Delivery::{self, NotSent},
    Fault,
    FaultKind::{self, Conflict, Permanent, Throttled, Transient},
    Policy, aws, codes,
};
use backoff_core::testing::VirtualTime;
use support::{
    Act, CLOSE, Column, Facts, MAYBE_SENT, NOTHING, RESET,
    Repeated::{self, Always, IfIdempotent, Never},
    Server, Target, broken, fails_on_the_way, reply, status,
};

struct Aws;

impl Column for Aws {
    type Error = PutError;

    /// Of a chunk without a length hyper does not say whether the connection is of use. That a reply is no HTTP only the
    /// error of hyper says, whose feature users of this client need not have. A body that stalls is cut by a limit of
    /// the operation, of which nothing is known in a box.
    const CANNOT: &str = "a chunk without a length|no HTTP|no second half";

    /// The error of a service says nothing in a box.
    const REPLIES: (bool, bool) = (false, false);

    async fn read(target: Target) -> Result<(), PutError> {
        let limits = TimeoutConfig::builder().connect_timeout(target.connect);
        let limits = limits.read_timeout(target.whole).build();
        let config = config(&target.origin).timeout_config(limits);
        put(&once(config)).await.map(drop)
    }
}

#[tokio::test]
async fn on_the_way() {
    fails_on_the_way::<Aws>().await;
    for form in Form::ALL {
        let time = VirtualTime::new();
        let outcome = form.put(&nobody(), POLICY.idempotent(false), &time).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.delivery(), Some(NotSent), "{form:?}: {error:?}");
        assert_eq!(time.waits(), ms(&[25, 50, 100]), "{form:?}");
    }
}

/// What the server says, what is read from it, its kind, and who repeats it.
struct Row(Act, Facts, Option<FaultKind>, Repeated);

impl Row {
    /// In each form, so many such answers lead to these waits. Without a success, the call ends with the last failure,
    /// which is permanent inside if another attempt could cure it: it is given up.
    async fn holds(&self, policy: Policy, answers: usize, waits: &[u64]) {
        let Row(act, facts, kind, repeated) = self;
        for form in Form::ALL {
            let time = VirtualTime::new();
            let server = Server::start(vec![act.clone(); answers]);
            let outcome = form.put(&server.url(""), policy, &time).await;
            let row = format!("{form:?}, {policy:?}, {act:?}: {outcome:?}");
            let made = (server.requests(), time.waits());
            assert_eq!(made, (waits.len() + 1, ms(waits)), "{row}");
            let is_given_up = form != Form::Around && *repeated != Never;
            let kind = if is_given_up { Some(Permanent) } else { *kind };
            let expected = (waits.len() < answers).then(|| (kind, said(facts)));
            let says = |error| (Fault::kind(&error), said(&Facts::of(&error)));
            assert_eq!(outcome.err().map(says), expected, "{row}");
        }
    }
}

/// What a table here looks at.
fn said(facts: &Facts) -> (Option<Delivery>, Option<u16>, Option<std::time::Duration>) {
    (facts.delivery, facts.status, facts.retry_after)
}

/// The kinds of all codes are rows of `backoff-core/src/facts/aws.rs`, those of the errors of `clients/aws_smithy.rs`.
#[tokio::test]
async fn what_the_service_says() {
    let slowly = "x-amz-retry-after: 9000\r\nretry-after: 3\r\n";
    let slowly = reply(400, slowly, r#"{"__type":"ThrottlingException"}"#);
    let after = reply(503, "retry-after: 2\r\n", "");
    let html = |status| reply(status, "", "<html>hello</html>");
    // The operation's model knows this error as retryable, and no code does.
    let modeled = "com.amazonaws.dynamodb.v20120810#ReplicatedWriteConflictException";
    let invalid = typed(400, "ValidationException");
    let (wrong, slow) = (status(400), Some(Throttled));
    for (act, facts, kind, repeated, waits) in [
        (
            typed(400, "a#SlowDown"),
            wrong,
            slow,
            Always,
            [1_000, 2_000],
        ),
        // Without a code the status says it.
        (
            reply(429, "", ""),
            status(429),
            None,
            Always,
            [1_000, 2_000],
        ),
        (invalid, wrong, None, Never, [0; 2]),
        (html(200), status(200), None, Never, [0; 2]),
        (conflict(), wrong, Some(Conflict), Never, [0; 2]),
        (html(502), status(502), None, IfIdempotent, [25, 50]),
        (
            typed(400, modeled),
            wrong,
            Some(Transient),
            IfIdempotent,
            [25, 50],
        ),
        // Up to five seconds beyond the backoff, as the preset has it.
        (
            after,
            status(503).after(2_000),
            None,
            IfIdempotent,
            [2_000; 2],
        ),
        (slowly, wrong.after(9_000), slow, Always, [6_000, 7_000]),
        (RESET, MAYBE_SENT, None, IfIdempotent, [25, 50]),
        (broken(), MAYBE_SENT, None, IfIdempotent, [25, 50]),
    ] {
        let row = Row(act, facts, kind, repeated);
        let waits = |is_repeated| if is_repeated { &waits[..] } else { &[] };
        row.holds(POLICY, 2, waits(repeated != Never)).await;
        row.holds(POLICY.idempotent(false), 2, waits(repeated == Always))
            .await;
        row.holds(POLICY.max_attempts(1), 1, &[]).await;
    }
}

#[tokio::test]
async fn what_the_policy_says() {
    let row = |code, act, repeated| Row(act, status(code), None, repeated);
    let on_teapots = POLICY.on(codes![418]);
    let refused = row(503, busy(), Never);
    refused.holds(on_teapots, 9, &[]).await;
    let teapot = row(418, reply(418, "", ""), IfIdempotent);
    teapot.holds(on_teapots, 9, &[25, 50, 100]).await;
    let closed = Row(CLOSE, MAYBE_SENT, None, IfIdempotent);
    closed.holds(POLICY, 9, &[25, 50, 100]).await;
    let slow = Row(throttled(), status(400), Some(Throttled), Always);
    slow.holds(on_teapots, 9, &[1_000, 2_000, 4_000]).await;
    let busy = row(503, busy(), IfIdempotent);
    let six = &[25, 50, 100, 200, 400];
    busy.holds(POLICY.max_attempts(6), 9, six).await;
}

#[tokio::test]
async fn a_conflict_is_not_repeated_inside() {
    let policy = POLICY.retry_conflicts(true);
    let server = Server::start([conflict()]);
    let outcome = put(&inside(&server.url(""), policy, &VirtualTime::new())).await;
    assert_eq!((outcome.is_err(), server.requests()), (true, 1));
}

#[tokio::test]
async fn what_cannot_be_sent_is_permanent() {
    let server = Server::start([]);
    for config in [config_of_nobody(&server.url("")), config("no address")] {
        let error = put(&once(config.clone())).await.unwrap_err();
        let says = (Fault::kind(&error), said(&Facts::of(&error)));
        assert_eq!(says, (Some(Permanent), said(&NOTHING)), "{error:?}");
        let time = VirtualTime::new();
        let config = config.sleep_impl(Timer(time.clone()));
        let client = with(config, aws::inside(POLICY).runtime(time.clone()));
        put(&client).await.unwrap_err();
        assert_eq!(time.waits(), ms(&[]));
    }
    assert_eq!(server.requests(), 0);
}
