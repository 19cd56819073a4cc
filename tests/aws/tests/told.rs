//! What logs and metrics are told of a client's own loop, beside what they are told of ours.

use aws_sdk_dynamodb::{Client, config::retry::RetryConfig};
use aws_tests::{
    Answer::{self, Reply},
    Server, config_of_nobody, inside, nobody, outside, put,
};
use backoff_cloud::{Jitter, Policy, aws, dynamodb};
use backoff_core::testing::VirtualTime;
use recorded::{Told, told_while};
use std::time::Duration;
use tracing::Level;

#[path = "../../../backoff-cloud/tests/common/told.rs"]
mod recorded;

const POLICY: Policy = dynamodb::REQUEST
    .without_budget()
    .jitter(Jitter::None)
    .name("accounts");

const BUSY: Answer = Reply(503, "", "");
const HINTED: Answer = Reply(503, "retry-after: 2\r\n", "");
const THROTTLED: Answer = Reply(400, "", r#"{"__type":"ThrottlingException"}"#);
const FAILED: Answer = Reply(
    400,
    "",
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}"#,
);

fn told(work: impl Future) -> Told {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    told_while(|| drop(runtime.block_on(work)))
}

/// Of a client with the policy inside.
fn theirs(url: &str, policy: Policy) -> Told {
    let client = inside(url, policy, &VirtualTime::new());
    told(put(&client))
}

/// Of a loop around a client that tries once.
fn ours(url: &str, policy: Policy) -> Told {
    let client = outside(url);
    told(async {
        policy
            .retry(|| put(&client))
            .runtime(VirtualTime::new())
            .await
    })
}

#[test]
fn the_same_is_told_as_of_a_loop_around_the_client() {
    let scripts: [&[Answer]; 9] = [
        &[],
        &[BUSY],
        &[THROTTLED, BUSY],
        &[HINTED],
        &[BUSY; 9],
        &[FAILED],
        &[BUSY, FAILED],
        &[Answer::Closed],
        &[Answer::Cut, Answer::Reset],
    ];
    // In virtual time a deadline cuts every attempt at once: the client's timer does not wait for sockets.
    let impatient = POLICY.max_retry_after(Duration::from_secs(1));
    for policy in [POLICY, impatient, POLICY.idempotent(false)] {
        for answers in scripts {
            let theirs = theirs(&Server::answering(answers).url(), policy);
            let ours = ours(&Server::answering(answers).url(), policy);
            assert_eq!(theirs, ours, "{answers:?}");
            assert!(!theirs.metrics.is_empty());
        }
    }
}

#[test]
fn nobody_who_listens_is_told_of_too() {
    let url = nobody();
    let told = theirs(&url, POLICY);
    assert_eq!(told, ours(&url, POLICY));
    assert_eq!(told.levels().last(), Some(&Level::WARN));
    assert_eq!(told.values("retry.call.retries"), ["[3.0]"]);
}

#[test]
fn what_fails_before_anything_is_sent_is_told_too() {
    let url = nobody();
    let once = config_of_nobody(&url).retry_config(RetryConfig::disabled());
    let client = Client::from_conf(once.build());
    let ours = told(async { POLICY.retry(|| put(&client)).await });
    let retry = aws::inside(POLICY);
    let config = config_of_nobody(&url).interceptor(retry.clone());
    let client = Client::from_conf(config.retry_classifier(retry).build());
    let theirs = told(put(&client));
    assert_eq!(theirs.levels(), [Level::DEBUG]);
    assert_eq!(theirs.levels(), ours.levels(), "{theirs:?} {ours:?}");
}

#[test]
fn the_operation_is_the_services() {
    let server = Server::answering(&[BUSY]);
    let client = inside(&server.url(), POLICY, &VirtualTime::new());
    let told = told(put(&client));
    assert_eq!(Vec::from_iter(told.operations), ["DynamoDB.PutItem"]);
}
