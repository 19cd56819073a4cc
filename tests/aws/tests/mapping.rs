//! The facts in a client's failures, and how often a policy retries them: around a client whose own retries
//! are off, inside the client, and both.

use aws_tests::{
    Answer::{self, Closed, Cut, Reply, Reset},
    BUSY, FAILED, Form, POLICY, PutError, Server, THROTTLED, Timer, config, config_of_nobody,
    inside, ms, nobody, once, outside, put, with,
};
use backoff_cloud::{
    Delivery::{self, MaybeSent, NotSent},
    Fault,
    FaultKind::{self, Conflict, Permanent, Throttled, Transient},
    Policy, aws, codes,
};
use backoff_core::testing::VirtualTime;

type Said = (
    Option<FaultKind>,
    Option<Delivery>,
    Option<u16>,
    Option<u64>,
);

fn says(error: &PutError) -> Said {
    (
        Fault::kind(error),
        error.delivery(),
        error.status(),
        error.retry_after().map(|hint| hint.as_millis() as u64),
    )
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
#[derive(Clone, Copy)]
struct Row {
    answer: Answer,
    kind: Option<FaultKind>,
    hint: Option<u64>,
    waits: &'static [u64],
    /// Whether it is also repeated where nothing must be made twice.
    is_safe: bool,
}

fn failed(answer: Answer) -> Row {
    Row {
        answer,
        kind: None,
        hint: None,
        waits: &[25, 50],
        is_safe: false,
    }
}

fn throttled(answer: Answer) -> Row {
    Row {
        kind: Some(Throttled),
        waits: &[1_000, 2_000],
        is_safe: true,
        ..failed(answer)
    }
}

fn wrong(answer: Answer) -> Row {
    Row {
        waits: &[],
        ..failed(answer)
    }
}

impl Row {
    fn of_kind(self, kind: impl Into<Option<FaultKind>>) -> Self {
        let kind = kind.into();
        Row { kind, ..self }
    }

    fn hinted(self, hint: u64, waits: &'static [u64]) -> Self {
        let hint = Some(hint);
        Row {
            hint,
            waits,
            ..self
        }
    }

    fn said(self) -> Said {
        match self.answer {
            Reply(status, ..) => (self.kind, None, Some(status), self.hint),
            _ => (self.kind, Some(MaybeSent), None, self.hint),
        }
    }

    /// Holds in each form for so many answers.
    async fn holds(self, policy: Policy, answers: usize, waits: &[u64], end: End) {
        for form in Form::ALL {
            let time = VirtualTime::new();
            let server = Server::answering(&vec![self.answer; answers]);
            let outcome = form.put(&server.url(), policy, &time).await;
            let row = format!("{form:?}, {policy:?}, {:?}: {outcome:?}", self.answer);
            let made = (server.seen(), time.waits());
            assert_eq!(made, (waits.len() + 1, ms(waits)), "{row}");
            let (kind, delivery, status, hint) = self.said();
            let kind = match end {
                End::GivenUp if form != Form::Around => Some(Permanent),
                _ => kind,
            };
            let expected = (end != End::Served).then_some((kind, delivery, status, hint));
            assert_eq!(outcome.err().map(|error| says(&error)), expected, "{row}");
        }
    }
}

/// The body names this error.
fn typed(status: u16, name: &str) -> Answer {
    Reply(status, "", format!(r#"{{"__type":"{name}"}}"#).leak())
}

/// The operation's model knows this error.
fn modeled(status: u16, name: &str) -> Answer {
    typed(status, &format!("com.amazonaws.dynamodb.v20120810#{name}"))
}

#[tokio::test]
async fn what_the_service_says() {
    let after = |headers| Reply(503, headers, "");
    let slowly = "x-amz-retry-after: 9000\r\nretry-after: 3\r\n";
    let slowly = Reply(400, slowly, r#"{"__type":"ThrottlingException"}"#);
    for row in [
        throttled(modeled(400, "ThrottlingException")),
        throttled(modeled(400, "ProvisionedThroughputExceededException")),
        throttled(typed(400, "com.amazon.coral.availability#SlowDown")),
        throttled(typed(503, "SlowDown")),
        // Without a code the status says it.
        throttled(Reply(429, "", "")).of_kind(None),
        wrong(typed(400, "com.amazon.coral.validate#ValidationException")),
        wrong(modeled(400, "ResourceNotFoundException")),
        wrong(Reply(403, "", "<html>no</html>")),
        wrong(Reply(200, "", "<html>hello</html>")),
        wrong(FAILED).of_kind(Conflict),
        failed(BUSY),
        failed(modeled(500, "InternalServerError")),
        failed(Reply(502, "", "<html>Bad Gateway</html>")),
        failed(typed(400, "RequestTimeout")).of_kind(Transient),
        // Modeled as retryable, and among no codes.
        failed(modeled(400, "ReplicatedWriteConflictException")).of_kind(Transient),
        // Up to five seconds beyond the backoff, as the preset has it.
        failed(after("retry-after: 2\r\n")).hinted(2_000, &[2_000, 2_000]),
        failed(after("x-amz-retry-after: 300\r\n")).hinted(300, &[300, 300]),
        throttled(slowly).hinted(9_000, &[6_000, 7_000]),
        failed(Reset),
        failed(Closed),
        failed(Cut),
    ] {
        let server = Server::answering(&[row.answer]);
        let error = put(&outside(&server.url())).await.unwrap_err();
        assert_eq!(says(&error), row.said(), "{:?}: {error:?}", row.answer);

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
    }
}

#[tokio::test]
async fn what_the_policy_says() {
    let teapot = Reply(418, "", "");
    let on_teapots = POLICY.on(codes![418]);
    let (busy, slow, end) = (failed(BUSY), throttled(THROTTLED), End::GivenUp);
    let at_most = |attempts| POLICY.max_attempts(attempts);
    let all = &[25, 50, 100][..];
    for (row, policy, waits, end) in [
        (busy, at_most(1), &[][..], end),
        (busy, at_most(2), &[25], end),
        (busy, at_most(6), &[25, 50, 100, 200, 400], end),
        (busy, POLICY, all, end),
        (failed(Closed), POLICY, all, end),
        (failed(Cut), POLICY, all, end),
        (failed(teapot), on_teapots, all, end),
        (busy, on_teapots, &[], End::Refused),
        (slow, on_teapots, &[1_000, 2_000, 4_000], end),
    ] {
        row.holds(policy, 9, waits, end).await;
    }
}

#[tokio::test]
async fn a_connection_that_was_refused_was_not_sent() {
    let url = nobody();
    let not_sent = (None, Some(NotSent), None, None);
    for url in [&*url, "http://nobody.invalid"] {
        let error = put(&outside(url)).await.unwrap_err();
        assert_eq!(says(&error), not_sent, "{error:?}");
    }
    for form in Form::ALL {
        let time = VirtualTime::new();
        let outcome = form.put(&url, POLICY.idempotent(false), &time).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.delivery(), Some(NotSent), "{form:?}: {error:?}");
        assert_eq!(time.waits(), ms(&[25, 50, 100]), "{form:?}");
    }
}

#[tokio::test]
async fn a_conflict_leads_back_to_the_read_and_is_not_repeated_inside() {
    let server = Server::answering(&[FAILED, FAILED]);
    let (time, client) = (VirtualTime::new(), outside(&server.url()));
    let read = async || Ok::<_, PutError>(1);
    let mut reads = 0;
    let change = |value: &mut i32| {
        reads += 1;
        *value += 1;
    };
    let write = async |_| put(&client).await;
    let policy = POLICY.retry_conflicts(true);
    let update = policy.update(read, change, write);
    update.runtime(time.clone()).await.unwrap();
    assert_eq!((server.seen(), reads), (3, 3));
    assert_eq!(time.waits(), ms(&[25, 50]));

    let server = Server::answering(&[FAILED]);
    let outcome = put(&inside(&server.url(), policy, &VirtualTime::new())).await;
    assert_eq!((outcome.is_err(), server.seen()), (true, 1));
}

#[tokio::test]
async fn what_cannot_be_sent_is_permanent() {
    let server = Server::answering(&[]);
    for config in [config_of_nobody(&server.url()), config("no address")] {
        let error = put(&once(config.clone())).await.unwrap_err();
        let permanent = (Some(Permanent), None, None, None);
        assert_eq!(says(&error), permanent, "{error:?}");

        let time = VirtualTime::new();
        let config = config.sleep_impl(Timer(time.clone()));
        let client = with(config, aws::inside(POLICY).runtime(time.clone()));
        put(&client).await.unwrap_err();
        assert_eq!(time.waits(), ms(&[]));
    }
    assert_eq!(server.seen(), 0);
}
