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
    Act, CLOSE, Column, Facts, MAYBE_SENT, NOTHING, RESET, Server, Target, broken,
    fails_on_the_way, reply, status,
};

struct Aws;

impl Column for Aws {
    type Error = PutError;

    /// Of a chunk without a length hyper does not say whether the connection is of use. That a reply is no HTTP only the
    /// error of hyper says, whose feature users of this client need not have. A body that stalls is cut by a limit of
    /// the operation, of which nothing is known in a box.
    const CANNOT: &[&str] = &["a chunk without a length", "no HTTP", "no second half"];

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

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Served,
    /// By the last failure, which another attempt could cure: inside, it is permanent from then on.
    GivenUp,
    /// By a failure that the policy does not repeat.
    Refused,
}

/// What the server says, what is read from it, and what is waited where it says so twice.
#[derive(Clone)]
struct Row {
    act: Act,
    facts: Facts,
    kind: Option<FaultKind>,
    waits: &'static [u64],
    /// Whether it is also repeated where nothing must be made twice.
    is_safe: bool,
}

fn failed(facts: Facts, act: Act) -> Row {
    Row {
        act,
        facts,
        kind: None,
        waits: &[25, 50],
        is_safe: false,
    }
}

fn slow(code: u16, act: Act) -> Row {
    Row {
        kind: Some(Throttled),
        waits: &[1_000, 2_000],
        is_safe: true,
        ..failed(status(code), act)
    }
}

fn wrong(code: u16, act: Act) -> Row {
    Row {
        waits: &[],
        ..failed(status(code), act)
    }
}

impl Row {
    fn of_kind(self, kind: impl Into<Option<FaultKind>>) -> Self {
        let kind = kind.into();
        Row { kind, ..self }
    }

    fn hinted(mut self, hint: u64, waits: &'static [u64]) -> Self {
        self.facts = self.facts.after(hint);
        Row { waits, ..self }
    }

    /// Holds in each form for so many answers.
    async fn holds(&self, policy: Policy, answers: usize, waits: &[u64], end: End) {
        for form in Form::ALL {
            let time = VirtualTime::new();
            let server = Server::start(vec![self.act.clone(); answers]);
            let outcome = form.put(&server.url(""), policy, &time).await;
            let row = format!("{form:?}, {policy:?}, {:?}: {outcome:?}", self.act);
            let made = (server.requests(), time.waits());
            assert_eq!(made, (waits.len() + 1, ms(waits)), "{row}");
            let kind = match end {
                End::GivenUp if form != Form::Around => Some(Permanent),
                _ => self.kind,
            };
            let expected = (end != End::Served).then_some((kind, said(&self.facts)));
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
    let after = |headers| failed(status(503), reply(503, headers, ""));
    let slowly = "x-amz-retry-after: 9000\r\nretry-after: 3\r\n";
    let slowly = reply(400, slowly, r#"{"__type":"ThrottlingException"}"#);
    // The operation's model knows this error as retryable, and no code does.
    let modeled = "com.amazonaws.dynamodb.v20120810#ReplicatedWriteConflictException";
    for row in [
        slow(400, typed(400, "com.amazon.coral.availability#SlowDown")),
        // Without a code the status says it.
        slow(429, reply(429, "", "")).of_kind(None),
        wrong(400, typed(400, "ValidationException")),
        wrong(200, reply(200, "", "<html>hello</html>")),
        wrong(400, conflict()).of_kind(Conflict),
        failed(status(502), reply(502, "", "<html>Bad Gateway</html>")),
        failed(status(400), typed(400, modeled)).of_kind(Transient),
        // Up to five seconds beyond the backoff, as the preset has it.
        after("retry-after: 2\r\n").hinted(2_000, &[2_000, 2_000]),
        slow(400, slowly).hinted(9_000, &[6_000, 7_000]),
        failed(MAYBE_SENT, RESET),
        failed(MAYBE_SENT, broken()),
    ] {
        let end = match row.waits {
            [] => End::Refused,
            _ => End::Served,
        };
        row.holds(POLICY, 2, row.waits, end).await;
        let (waits, end) = match end {
            End::Served if !row.is_safe => (&[][..], End::GivenUp),
            _ => (row.waits, end),
        };
        row.holds(POLICY.idempotent(false), 2, waits, end).await;
        // Around a client, the last failure is as it came.
        let once = POLICY.max_attempts(1);
        let end = if end == End::Refused {
            end
        } else {
            End::GivenUp
        };
        row.holds(once, 1, &[], end).await;
    }
}

#[tokio::test]
async fn what_the_policy_says() {
    let on_teapots = POLICY.on(codes![418]);
    let teapot = failed(status(418), reply(418, "", ""));
    let (busy, slow, end) = (
        failed(status(503), busy()),
        slow(400, throttled()),
        End::GivenUp,
    );
    let all = &[25, 50, 100][..];
    for (row, policy, waits, end) in [
        (&busy, POLICY.max_attempts(2), &[25][..], end),
        (&busy, POLICY.max_attempts(6), &[25, 50, 100, 200, 400], end),
        (&busy, POLICY, all, end),
        (&failed(MAYBE_SENT, CLOSE), POLICY, all, end),
        (&teapot, on_teapots, all, end),
        (&busy, on_teapots, &[], End::Refused),
        (&slow, on_teapots, &[1_000, 2_000, 4_000], end),
    ] {
        row.holds(policy, 9, waits, end).await;
    }
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
