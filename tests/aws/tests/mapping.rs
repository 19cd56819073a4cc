//! The facts in a client's failures, and how often a policy retries them: around a client whose own retries
//! are off, and inside the client.

use aws_sdk_dynamodb::{
    Client, config::retry::RetryConfig, error::SdkError, operation::put_item::PutItemError,
};
use aws_tests::{Answer, Server, Timer, config, config_of_nobody, inside, nobody, outside, put};
use backoff_cloud::{
    Delivery::{self, MaybeSent, NotSent},
    Fault,
    FaultKind::{self, Conflict, Permanent, Throttled, Transient},
    Jitter, Policy, aws, dynamodb,
};
use backoff_core::testing::VirtualTime;
use std::time::Duration;

/// DynamoDB's documented waits without chance: 25, 50, 100 ms, and after throttling 1, 2, 4 s.
const POLICY: Policy = dynamodb::REQUEST.without_budget().jitter(Jitter::None);

type Said = (
    Option<FaultKind>,
    Option<Delivery>,
    Option<u16>,
    Option<u64>,
);

fn says(error: &SdkError<PutItemError>) -> Said {
    (
        Fault::kind(error),
        error.delivery(),
        error.status(),
        error.retry_after().map(|hint| hint.as_millis() as u64),
    )
}

fn ms(waits: &[u64]) -> Vec<Duration> {
    waits.iter().copied().map(Duration::from_millis).collect()
}

/// A server that gives this answer twice, and then succeeds: what the first failure says, and what is
/// waited by a policy, outside and inside. It gives up at once where no wait is expected.
async fn maps(answer: Answer, said: Said, waits: &[u64]) {
    let server = Server::answering(&[answer]);
    let error = put(&outside(&server.url())).await.unwrap_err();
    assert_eq!(says(&error), said, "{answer:?}: {error:?}");

    let is_repeated = !waits.is_empty();
    let requests = waits.len() + 1;
    let (time, server) = (VirtualTime::new(), Server::answering(&[answer, answer]));
    let client = outside(&server.url());
    let outcome = POLICY.retry(|| put(&client)).runtime(time.clone()).await;
    assert_eq!(outcome.is_ok(), is_repeated, "{answer:?}: {outcome:?}");
    assert_eq!(
        (server.seen(), time.waits()),
        (requests, ms(waits)),
        "{answer:?}"
    );

    let (time, server) = (VirtualTime::new(), Server::answering(&[answer, answer]));
    let outcome = put(&inside(&server.url(), POLICY, &time)).await;
    assert_eq!(outcome.is_ok(), is_repeated, "{answer:?}: {outcome:?}");
    assert_eq!(
        (server.seen(), time.waits()),
        (requests, ms(waits)),
        "{answer:?}"
    );
}

const fn code(status: u16, body: &'static str) -> Answer {
    Answer::Reply(status, "", body)
}

#[tokio::test]
async fn throttling_is_known_by_its_codes_whatever_the_status() {
    let slow = [1_000, 2_000];
    for answer in [
        // The operation's model knows the first two, and not the third.
        code(
            400,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}"#,
        ),
        code(
            400,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}"#,
        ),
        code(
            400,
            r#"{"__type":"com.amazon.coral.availability#SlowDown"}"#,
        ),
    ] {
        maps(answer, (Some(Throttled), None, Some(400), None), &slow).await;
    }
    let answer = code(503, r#"{"__type":"SlowDown"}"#);
    maps(answer, (Some(Throttled), None, Some(503), None), &slow).await;
    // Without a code the status says it.
    maps(code(429, ""), (None, None, Some(429), None), &slow).await;
}

#[tokio::test]
async fn what_is_wrong_is_not_repeated() {
    let answer = code(
        400,
        r#"{"__type":"com.amazon.coral.validate#ValidationException"}"#,
    );
    maps(answer, (None, None, Some(400), None), &[]).await;
    let answer = code(
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}"#,
    );
    maps(answer, (None, None, Some(400), None), &[]).await;
    maps(
        code(403, "<html>no</html>"),
        (None, None, Some(403), None),
        &[],
    )
    .await;
    maps(
        code(200, "<html>hello</html>"),
        (None, None, Some(200), None),
        &[],
    )
    .await;
}

#[tokio::test]
async fn what_the_service_could_not_do_is_repeated() {
    let quick = [25, 50];
    maps(code(503, ""), (None, None, Some(503), None), &quick).await;
    let answer = code(
        500,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}"#,
    );
    maps(answer, (None, None, Some(500), None), &quick).await;
    maps(
        code(502, "<html>Bad Gateway</html>"),
        (None, None, Some(502), None),
        &quick,
    )
    .await;
    let answer = code(400, r#"{"__type":"RequestTimeout"}"#);
    maps(answer, (Some(Transient), None, Some(400), None), &quick).await;
    // Modeled as retryable, and among no codes.
    let answer = code(
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ReplicatedWriteConflictException"}"#,
    );
    maps(answer, (Some(Transient), None, Some(400), None), &quick).await;
}

#[tokio::test]
async fn hints_are_obeyed() {
    // Up to five seconds beyond the backoff, as the preset has it.
    let answer = Answer::Reply(503, "retry-after: 2\r\n", "");
    maps(
        answer,
        (None, None, Some(503), Some(2_000)),
        &[2_000, 2_000],
    )
    .await;
    let answer = Answer::Reply(503, "x-amz-retry-after: 300\r\n", "");
    maps(answer, (None, None, Some(503), Some(300)), &[300, 300]).await;
    let body = r#"{"__type":"ThrottlingException"}"#;
    let answer = Answer::Reply(400, "x-amz-retry-after: 9000\r\nretry-after: 3\r\n", body);
    let said = (Some(Throttled), None, Some(400), Some(9_000));
    maps(answer, said, &[6_000, 7_000]).await;
}

#[tokio::test]
async fn what_broke_off_may_have_been_applied() {
    for answer in [Answer::Reset, Answer::Closed, Answer::Cut] {
        maps(answer, (None, Some(MaybeSent), None, None), &[25, 50]).await;
    }
}

#[tokio::test]
async fn a_connection_that_was_refused_was_not_sent() {
    let url = nobody();
    let error = put(&outside(&url)).await.unwrap_err();
    assert_eq!(says(&error), (None, Some(NotSent), None, None), "{error:?}");
    let careful = POLICY.idempotent(false);

    let (time, client) = (VirtualTime::new(), outside(&url));
    let outcome = careful.retry(|| put(&client)).runtime(time.clone()).await;
    assert!(outcome.is_err());
    assert_eq!(time.waits(), ms(&[25, 50, 100]));

    let time = VirtualTime::new();
    assert!(put(&inside(&url, careful, &time)).await.is_err());
    assert_eq!(time.waits(), ms(&[25, 50, 100]));
}

#[tokio::test]
async fn a_name_that_is_unknown_was_not_sent() {
    let error = put(&outside("http://nobody.invalid")).await.unwrap_err();
    assert_eq!(says(&error), (None, Some(NotSent), None, None), "{error:?}");
}

#[tokio::test]
async fn a_conflict_leads_back_to_the_read_and_is_not_repeated_inside() {
    let answer = code(
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}"#,
    );
    maps(answer, (Some(Conflict), None, Some(400), None), &[]).await;

    let server = Server::answering(&[answer, answer]);
    let (time, client) = (VirtualTime::new(), outside(&server.url()));
    let read = async || Ok::<_, SdkError<PutItemError>>(1);
    let mut reads = 0;
    let change = |value: &mut i32| {
        reads += 1;
        *value += 1;
    };
    let write = async |_| put(&client).await;
    let policy = POLICY.retry_conflicts(true);
    policy
        .update(read, change, write)
        .runtime(time.clone())
        .await
        .unwrap();
    assert_eq!((server.seen(), reads), (3, 3));
    assert_eq!(time.waits(), ms(&[25, 50]));

    let server = Server::answering(&[answer]);
    let outcome = put(&inside(&server.url(), policy, &VirtualTime::new())).await;
    assert_eq!((outcome.is_err(), server.seen()), (true, 1));
}

#[tokio::test]
async fn what_cannot_be_sent_is_permanent() {
    let server = Server::answering(&[]);
    let once = RetryConfig::disabled();
    for config in [config_of_nobody(&server.url()), config("no address")] {
        let client = Client::from_conf(config.clone().retry_config(once.clone()).build());
        let error = put(&client).await.unwrap_err();
        assert_eq!(
            says(&error),
            (Some(Permanent), None, None, None),
            "{error:?}"
        );

        let time = VirtualTime::new();
        let retry = aws::inside(POLICY).runtime(time.clone());
        let config = config.sleep_impl(Timer(time.clone()));
        let config = config.interceptor(retry.clone()).retry_classifier(retry);
        put(&Client::from_conf(config.build())).await.unwrap_err();
        assert_eq!(time.waits(), ms(&[]));
    }
    assert_eq!(server.seen(), 0);
}
