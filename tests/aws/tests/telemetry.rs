//! Compares the log and the metrics of a client's own loop with those of this library's loop.

use aws_sdk_dynamodb::{Client, config::timeout::TimeoutConfig};
use aws_smithy_runtime_api_1::{
    box_error::BoxError,
    client::{
        interceptors::{Intercept, context::BeforeTransmitInterceptorContextMut},
        runtime_components::RuntimeComponents,
    },
};
use aws_smithy_types_1::{body::SdkBody, config_bag::ConfigBag};
use aws_tests::{
    Form, UntilStuck, busy, config, config_of_nobody, conflict, nobody, once, put, served,
    throttled, with,
};
use backoff_cloud::{Budget, Policy, aws, codes};
use backoff_core::testing::VirtualTime;
use http_body_util::Full;
use recorded::{Recorded, recorded_while};
use std::time::Duration;
use support::{Act, CLOSE, RESET, STALL, Server, broken, reply};
use tracing::Level;

#[path = "../../../backoff-cloud/tests/common/recorded.rs"]
mod recorded;

const POLICY: Policy = aws_tests::POLICY.name("accounts");

fn telemetry_of(work: impl Future) -> Recorded {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    recorded_while(|| drop(runtime.block_on(work)))
}

fn telemetry_of_form(form: Form, url: &str, policy: Policy) -> Recorded {
    telemetry_of(form.put(url, policy, &VirtualTime::new()))
}

fn telemetry_of_script(form: Form, answers: &[Act], policy: Policy) -> Recorded {
    let server = Server::start(answers.to_vec());
    telemetry_of_form(form, &server.url(""), policy)
}

#[test]
fn the_same_is_told_as_of_a_loop_around_the_client() {
    let scripts = [
        vec![],
        vec![busy()],
        vec![throttled(), busy()],
        vec![reply(503, "retry-after: 2\r\n", "")],
        vec![busy(); 9],
        vec![conflict()],
        vec![busy(), conflict()],
        vec![CLOSE],
        vec![broken(), RESET],
    ];
    // In virtual time a deadline cuts every attempt at once: the client's timer does not wait for sockets.
    let impatient = POLICY.max_retry_after(Duration::from_secs(1));
    for policy in [POLICY, impatient, POLICY.idempotent(false)] {
        for answers in &scripts {
            let [ours, theirs] =
                [Form::Around, Form::Inside].map(|form| telemetry_of_script(form, answers, policy));
            assert_eq!(theirs, ours, "{answers:?}");
            assert!(!theirs.metrics.is_empty());
        }
    }
}

#[test]
fn what_fails_before_anything_is_sent_is_told_too() {
    let url = nobody();
    let client = once(config_of_nobody(&url));
    let ours = telemetry_of(async { POLICY.retry(|| put(&client)).await });
    let theirs = telemetry_of(put(&with(config_of_nobody(&url), aws::inside(POLICY))));
    assert_eq!(theirs.levels(), [Level::DEBUG]);
    assert_eq!(theirs.levels(), ours.levels(), "{theirs:?} {ours:?}");
}

#[test]
fn the_operation_is_the_services() {
    let (_, _server, client) = served(vec![busy()], POLICY);
    let told = telemetry_of(put(&client));
    assert_eq!(Vec::from_iter(told.operations), ["DynamoDB.PutItem"]);
}

/// The call fails after one request: one wait is told, and the end for this reason.
fn assert_given_up<T, E>(call: impl Future<Output = Result<T, E>>, server: &Server, reason: &str) {
    let told = telemetry_of(async { assert!(call.await.is_err(), "{reason}") });
    assert_eq!(server.requests(), 1, "{reason}");
    assert_eq!(told.levels(), [Level::INFO, Level::WARN], "{told:?}");
    let end = &told.events[1].1;
    assert!(end.contains(&format!("reason=\"{reason}\"")), "{end}");
    assert_eq!(told.values("retry.call.duration").len(), 1, "{told:?}");
}

/// Makes a stream of the body, which the client cannot copy.
#[derive(Debug)]
struct Streamed;

impl Intercept for Streamed {
    fn name(&self) -> &'static str {
        "streamed"
    }

    fn modify_before_retry_loop(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let body = context.request_mut().body_mut();
        let bytes = body.bytes().expect("a body in memory").to_vec();
        *body = SdkBody::from_body_1_x(Full::from(bytes));
        Ok(())
    }
}

#[test]
fn a_body_that_cannot_be_sent_again_gives_the_call_up() {
    static BUDGET: Budget = Budget::costs(20, 10, 5);
    let (_, server, client) = served(vec![busy()], POLICY.budget(&BUDGET));
    let put = client.put_item().table_name("accounts").customize();
    let put = put.interceptor(Streamed);
    assert_given_up(put.send(), &server, "unrepeatable");
    assert_eq!(BUDGET.tokens(), 20.0);
}

#[test]
fn an_operation_timeout_gives_the_call_up_in_a_wait_and_in_an_attempt() {
    // Neither ends by itself before the client's limit.
    let hour = Duration::from_secs(3600);
    let slow = POLICY.base(hour).max_backoff(hour);
    for answer in [busy(), STALL] {
        static BUDGET: Budget = Budget::costs(20, 10, 5);
        let server = Server::start([answer]);
        let limit = TimeoutConfig::builder().operation_timeout(Duration::from_millis(300));
        // The limit is over when the client waits for an hour or the server stalls.
        let timer = UntilStuck::of(&server, &VirtualTime::new());
        let config = config(&server.url("")).sleep_impl(timer);
        let config = config.timeout_config(limit.build());
        let client = with(config, aws::inside(slow.budget(&BUDGET)));
        assert_given_up(put(&client), &server, "deadline");
        assert_eq!(BUDGET.tokens(), 20.0);
    }
}

#[test]
fn a_client_without_the_classifier_gives_up_what_it_would_not_repeat_itself() {
    // A status that the client takes for permanent, and the policy does not.
    let server = Server::start([reply(418, "", "")]);
    let retry = aws::inside(POLICY.on(codes![418])).runtime(VirtualTime::new());
    let client = Client::from_conf(config(&server.url("")).interceptor(retry).build());
    assert_given_up(put(&client), &server, "permanent");
}
