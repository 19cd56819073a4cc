//! The decisions of a policy inside a client, and the errors that the caller gets.

use aws_sdk_dynamodb::{
    Client,
    config::{
        Builder, interceptors::InterceptorContext, retry::RetryConfig, timeout::TimeoutConfig,
    },
    error::SdkError,
    types::AttributeValue,
};
use aws_smithy_runtime_api_1::client::retries::classifiers::{ClassifyRetry, RetryAction};
use aws_smithy_types_1::retry::RetrySpec;
use aws_tests::{
    POLICY, PutError, UntilStuck, busy, config, conflict, inside, ms, nobody, once, outside, put,
    served, throttled, timed, typed, with,
};
use backoff_cloud::{Budget, Delivery, Fault, FaultKind, Verdict, aws, known_fault, retry};
use backoff_core::testing::{self, VirtualTime};
use std::{error::Error, time::Duration};
use support::{Act, STALL, Server, reply};
use tokio::task::JoinSet;

#[tokio::test]
async fn what_a_test_says_of_retries_holds_inside() {
    let (time, server, client) = served(vec![busy(); 9], POLICY);
    {
        let _off = testing::off();
        put(&client).await.unwrap_err();
        assert_eq!(server.requests(), 1);
    }
    let _instant = testing::instant();
    put(&client).await.unwrap_err();
    assert_eq!((server.requests(), time.waits()), (5, ms(&[0, 0, 0])));
}

#[tokio::test]
async fn what_the_client_is_configured_with_does_not_count() {
    let policy = POLICY.base(Duration::from_secs(10));
    for retries in [
        RetryConfig::disabled(),
        RetryConfig::adaptive(),
        RetryConfig::standard().with_max_attempts(99),
        // Of this revision on, the client waits no longer than 5 s for anybody.
        RetryConfig::standard().with_retry_spec(RetrySpec::v2_1()),
    ] {
        let (time, server) = (VirtualTime::new(), Server::start(vec![busy(); 9]));
        let config = timed(&server.url(""), &time).retry_config(retries.clone());
        let client = with(config, aws::inside(policy).runtime(time.clone()));
        put(&client).await.unwrap_err();
        assert_eq!(server.requests(), 4, "{retries:?}");
        assert_eq!(time.waits(), ms(&[10_000, 20_000, 20_000]), "{retries:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_at_the_same_time_count_for_themselves() {
    let server = Server::start(vec![busy(); 999]);
    let client = with(config(&server.url("")), aws::inside(POLICY.scaled(0.05)));
    let calls: JoinSet<_> = (0..8)
        .map(|_| client.clone())
        .map(|client| async move { put(&client).await })
        .collect();
    for call in calls.join_all().await {
        call.unwrap_err();
    }
    assert_eq!(server.requests(), 8 * 4);
}

/// The idempotency tokens of a write that succeeds at the second attempt.
fn tokens(server: &Server) -> Vec<String> {
    let token = |body: String| {
        let (_, rest) = body.split_once("\"ClientRequestToken\":\"")?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let seen = server.seen();
    seen.iter().filter_map(|seen| token(seen.text())).collect()
}

#[tokio::test]
async fn attempts_around_a_client_have_a_token_each_and_those_inside_share_one() {
    let write = Client::transact_write_items;
    let server = Server::start([busy()]);
    let client = outside(&server.url(""));
    let around = POLICY.retry(|| write(&client).send());
    around.runtime(VirtualTime::new()).await.unwrap();
    let sent = tokens(&server);
    assert!(sent.len() == 2 && sent[0] != sent[1], "{sent:?}");

    let (_, server, client) = served(vec![busy()], POLICY);
    write(&client).send().await.unwrap();
    let sent = tokens(&server);
    assert!(sent.len() == 2 && sent[0] == sent[1], "{sent:?}");
}

#[tokio::test]
async fn the_retries_inside_take_tokens_of_the_budget_and_not_of_the_clients_quota() {
    static BUDGET: Budget = Budget::aws().starting_with(33);
    let policy = POLICY.max_attempts(9).budget(&BUDGET);
    let (_, server, client) = served(vec![busy(), busy(), throttled(), busy()], policy);
    // 14, 14 and 5 for throttling; nothing is left for a fourth.
    let error = put(&client).await.unwrap_err();
    assert_eq!((Fault::status(&error), server.requests()), (Some(503), 4));
    assert_eq!(BUDGET.tokens(), 0.0);
    put(&client).await.unwrap();
    assert_eq!(BUDGET.tokens(), 1.0);
}

#[tokio::test]
async fn a_call_that_is_dropped_gives_back_the_tokens_of_its_wait_and_not_of_an_attempt() {
    static BUDGET: Budget = Budget::aws();
    let a_minute = reply(503, "retry-after: 60\r\n", "");
    for (row, first, seen, left) in [
        ("in its wait", a_minute, 1, 500.0),
        ("in its second attempt", busy(), 2, 486.0),
    ] {
        let server = Server::start([first, STALL]);
        let policy = POLICY.budget(&BUDGET).retry_after_slack(Duration::MAX);
        let client = with(config(&server.url("")), aws::inside(policy));
        {
            let mut call = Box::pin(put(&client));
            while server.requests() < seen || BUDGET.tokens() == 500.0 {
                let moment = tokio::time::timeout(Duration::from_millis(5), &mut call);
                assert!(moment.await.is_err(), "{row}: it does not end");
            }
            assert_eq!(BUDGET.tokens(), 486.0, "{row}");
        }
        assert_eq!(BUDGET.tokens(), left, "{row}");
    }
}

#[tokio::test]
async fn a_stall_is_cut_by_the_clients_limit_and_repeated() {
    let limit = TimeoutConfig::builder().disable_connect_timeout();
    let limit = limit.operation_attempt_timeout(Duration::from_secs(1));
    let quick = POLICY.scaled(0.1);
    let config = |server: &Server| {
        let timer = UntilStuck::of(server, &VirtualTime::new());
        let config = config(&server.url("")).sleep_impl(timer);
        config.timeout_config(limit.clone().build())
    };

    let server = Server::start([STALL, STALL, STALL]);
    let error = put(&once(config(&server))).await.unwrap_err();
    assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
    assert_eq!(error.delivery(), Some(Delivery::MaybeSent));
    let client = with(config(&server), aws::inside(quick));
    put(&client).await.unwrap();
    assert_eq!(server.requests(), 4);
}

#[tokio::test]
async fn the_deadline_counts_from_the_first_attempt_and_cuts_the_last() {
    let deadline = Duration::from_secs(1);
    let (time, server) = (VirtualTime::new(), Server::start([busy(), STALL]));
    let timer = UntilStuck::of(&server, &time);
    let policy = POLICY.max_attempts(9).deadline(deadline);
    let config = config(&server.url("")).sleep_impl(timer.clone());
    let client = with(config, aws::inside(policy).runtime(time.clone()));
    // Without the deadline the stall would never end.
    let call = tokio::time::timeout(60 * deadline, put(&client));
    let error = call.await.expect("it is cut").unwrap_err();
    assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
    assert_eq!(Fault::kind(&error), Some(FaultKind::Permanent), "given up");
    assert_eq!((server.requests(), time.waits()), (2, ms(&[25])));
    assert_eq!(timer.limits(), ms(&[1_000, 975]));
    assert_eq!(time.elapsed(), deadline);
}

#[tokio::test]
async fn one_request_has_a_policy_of_its_own() {
    let (time, server, client) = served(vec![busy(); 9], POLICY);
    let retry = aws::inside(POLICY.max_attempts(2)).runtime(time.clone());
    let own = Builder::new()
        .interceptor(retry.clone())
        .retry_classifier(retry);
    let put = client.put_item().table_name("accounts");
    let put = put.item("id", AttributeValue::S("ann".to_owned()));
    let put = put.customize().config_override(own);
    put.send().await.unwrap_err();
    assert_eq!((server.requests(), time.waits()), (2, ms(&[25])));
}

#[tokio::test]
async fn half_of_it_repeats_nothing_that_the_client_would_not() {
    let mistaken = typed(400, "ValidationException");
    for (answer, by_interceptor, by_classifier) in [(mistaken, 1, 1), (busy(), 4, 3)] {
        let (time, server) = (VirtualTime::new(), Server::start(vec![answer.clone(); 9]));
        let alone = timed(&server.url(""), &time).interceptor(aws::inside(POLICY));
        put(&Client::from_conf(alone.build())).await.unwrap_err();
        assert_eq!(server.requests(), by_interceptor, "{answer:?}");
        // Drawn by the client from zero up to the policy's.
        let waits = time.waits();
        assert_eq!(waits.len(), by_interceptor - 1);
        let longest = ms(&[25, 50, 100]);
        let mut both = waits.iter().zip(&longest);
        assert!(both.all(|(wait, longest)| wait <= longest), "{waits:?}");
        assert!(waits.is_empty() || waits.iter().any(|wait| !wait.is_zero()));

        let (time, server) = (VirtualTime::new(), Server::start(vec![answer.clone(); 9]));
        let alone = timed(&server.url(""), &time).retry_classifier(aws::inside(POLICY));
        put(&Client::from_conf(alone.build())).await.unwrap_err();
        assert_eq!(server.requests(), by_classifier, "{answer:?}");
    }
}

/// A rule of the user's, beside the policy.
#[derive(Debug)]
struct Never;

impl ClassifyRetry for Never {
    fn classify_retry(&self, _context: &InterceptorContext) -> RetryAction {
        RetryAction::RetryForbidden
    }

    fn name(&self) -> &'static str {
        "never"
    }
}

#[tokio::test]
async fn a_classifier_of_the_users_may_forbid() {
    let server = Server::start([busy()]);
    let config = config(&server.url("")).retry_classifier(Never);
    put(&with(config, aws::inside(POLICY))).await.unwrap_err();
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn what_was_given_up_inside_is_permanent_in_a_box() {
    let client = inside(&nobody(), POLICY, &VirtualTime::new());
    let boxed: Box<dyn Error + Send + Sync> = put(&client).await.unwrap_err().into();
    assert_eq!(POLICY.judge(&boxed), Verdict::Permanent);
}

#[retry(policy = POLICY, attempt_timeout = "60s")]
async fn annotated(client: &Client) -> Result<(), PutError> {
    put(client).await?;
    Ok(())
}

#[tokio::test]
async fn an_annotated_function_needs_no_error_of_its_own() {
    let cut = PutError::from(backoff_cloud::TimedOut::new(Duration::ZERO));
    assert_eq!(cut.delivery(), Some(Delivery::MaybeSent));
    let words = cut.message().unwrap().to_string();
    assert_eq!(words, "the attempt was cut after 0ns");
    let outcome = annotated(&outside(&nobody())).await.unwrap_err();
    assert_eq!(outcome.delivery(), Some(Delivery::NotSent));
    assert!(outcome.message().unwrap().to_string().contains("refused"));
}

async fn hidden(answer: Act) -> Box<dyn Error + Send + Sync> {
    let server = Server::start([answer]);
    put(&outside(&server.url(""))).await.unwrap_err().into()
}

#[tokio::test]
async fn what_is_found_in_a_box_without_the_type() {
    let refused = put(&outside(&nobody())).await.unwrap_err();
    let saving = anyhow_1::Error::from(refused).context("saving");
    assert_eq!(saving.delivery(), Some(Delivery::NotSent));
    // A code that the operation does not model.
    let slow = hidden(typed(400, "SlowDown")).await;
    assert_eq!(slow.kind(), Some(FaultKind::Throttled));
    // What it models is a type of its own, and a status is not in the chain.
    for answer in [throttled(), conflict(), busy()] {
        let unknown = hidden(answer.clone()).await;
        assert_eq!(POLICY.judge(&unknown), Verdict::NothingKnown, "{answer:?}");
        assert!(known_fault(&*unknown).and_then(Fault::kind).is_none());
    }
}

#[retry(policy = POLICY, faults(PutError), runtime = time)]
async fn anyhow_named(client: &Client, time: VirtualTime) -> anyhow_1::Result<()> {
    put(client).await?;
    Ok(())
}

#[tokio::test]
async fn the_key_that_names_the_type_finds_everything() {
    let server = Server::start([throttled(), busy()]);
    let (time, client) = (VirtualTime::new(), outside(&server.url("")));
    anyhow_named(&client, time.clone()).await.unwrap();
    assert_eq!((server.requests(), time.waits()), (3, ms(&[1_000, 50])));
}
