//! Google's own clients retry by policies of this library, against the emulator.

use backoff_cloud::{
    Fault, GrpcCode, Policy, StopReason, codes, gax::WithPolicy, iam, memorystore,
};
use emulator::{Call, Emulator, Reply};
use google_cloud_gax_1::{
    backoff_policy::BackoffPolicy,
    error::{Error, rpc::Code},
    options::RequestOptionsBuilder,
    retry_policy::{AlwaysRetry, RetryPolicyExt as _},
    retry_state::RetryState,
};
use google_cloud_iam_v1::{client::IAMPolicy, model as iam_policy};
use google_cloud_memorystore_v1::{client::Memorystore, model::Instance};
use google_cloud_redis_v1::client::CloudRedis;
use google_cloud_resourcemanager_v3::client::Projects;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::client;
use std::time::Duration;

const SECRET: &str = "projects/p/secrets/s";
const PROJECT: &str = "projects/p";
const PLACE: &str = "projects/p/locations/l";

/// 429 and every 5xx, ten attempts; all waits a thousandth. Not in virtual time, which a client's
/// pool of connections moves on by itself whenever it waits for the network.
const POLICY: Policy = memorystore::REQUEST.scaled(0.001);

fn busy() -> Reply {
    Reply::status(503)
}

/// A server that answers these calls by these replies.
fn told(call: Call, replies: impl IntoIterator<Item = Reply>) -> Emulator {
    let emulator = Emulator::start().unwrap();
    emulator.script(call, replies);
    emulator
}

/// A request that fails in all the ways that pass, one after the other, and then succeeds.
async fn survives<T>(call: Call, request: impl AsyncFnOnce(&str) -> Result<T, Error>) {
    let replies = [
        busy(),
        Reply::status(429).retry_after("1"),
        Reply::status(502).html(),
        Reply::status(429).retry_info("0.2s"),
        Reply::reset(),
        Reply::cut(),
    ];
    let emulator = told(call, replies);
    let start = std::time::Instant::now();
    request(emulator.url()).await.expect("it passes");
    assert_eq!(emulator.stats().calls, 7, "{call:?}");
    // The two hints; the other waits are shorter than 100 ms all together.
    assert!(start.elapsed() >= Duration::from_millis(1_200), "{call:?}");
}

/// A read that is made by the client's own policy.
async fn read_by(client: &IAMPolicy) -> Result<iam_policy::Policy, Error> {
    client.get_iam_policy().set_resource(PROJECT).send().await
}

#[tokio::test]
async fn every_client_survives() {
    tokio::join!(
        survives(Call::GetIamPolicy, async |url| {
            read_by(&client!(IAMPolicy, url, with_policy(POLICY))).await
        }),
        survives(Call::SetIamPolicy, async |url| {
            let client = client!(IAMPolicy, url, with_policy(POLICY));
            let write = client.set_iam_policy().set_resource(PROJECT);
            write.set_policy(iam_policy::Policy::new()).send().await
        }),
        survives(Call::GetIamPolicy, async |url| {
            let client = client!(Projects, url, with_policy(POLICY));
            client.get_iam_policy().set_resource(PROJECT).send().await
        }),
        // By a policy for one request.
        survives(Call::GetIamPolicy, async |url| {
            let client = client!(SecretManagerService, url);
            let read = client.get_iam_policy().set_resource(SECRET);
            read.with_policy(POLICY).send().await
        }),
        survives(Call::ListInstances, async |url| {
            let client = client!(CloudRedis, url, with_policy(POLICY));
            client.list_instances().set_parent(PLACE).send().await
        }),
        survives(Call::ListInstances, async |url| {
            let client = client!(Memorystore, url, with_policy(POLICY));
            client.list_instances().set_parent(PLACE).send().await
        }),
    );
}

/// A read under a policy: inside the client, or in a loop around one that tries once.
async fn read(emulator: &Emulator, policy: Policy, is_inside: bool) -> Result<(), Error> {
    if is_inside {
        let client = client!(IAMPolicy, emulator.url(), with_policy(policy));
        return read_by(&client).await.map(drop);
    }
    let client = client!(IAMPolicy, emulator.url(), try_once());
    policy.retry(|| read_by(&client)).await.map(drop)
}

#[tokio::test]
async fn a_policy_decides_alike_inside_and_around() {
    let said = |status| vec![busy(), Reply::status(status)];
    let late = || vec![Reply::status(429).retry_after("3600")];
    let hurried = POLICY.deadline(Duration::from_secs(300));
    let twice = POLICY.max_attempts(2);
    for is_inside in [true, false] {
        for (row, policy, replies, calls, status) in [
            ("what passes", POLICY, said(503), 3, None),
            ("the last attempt", twice, vec![busy(); 9], 2, Some(503)),
            ("a hint beyond the end", hurried, late(), 1, Some(429)),
            ("a conflict", POLICY, said(409), 2, Some(409)),
            ("a mistake", POLICY, said(404), 2, Some(404)),
        ] {
            let emulator = told(Call::GetIamPolicy, replies);
            let start = std::time::Instant::now();
            let outcome = read(&emulator, policy, is_inside).await;
            let row = format!("{row}, inside: {is_inside}: {outcome:?}");
            let said = outcome.err().and_then(|error| error.http_status_code());
            assert_eq!((emulator.stats().calls, said), (calls, status), "{row}");
            assert!(start.elapsed() < Duration::from_secs(60), "{row}");
        }
    }
}

/// Repeated inside, the same stale write would conflict until the deadline.
#[tokio::test]
async fn a_policy_for_read_modify_writes_does_not_repeat_the_write_inside() {
    const SERIES: Policy = iam::READ_MODIFY_WRITE
        .scaled(0.001)
        .deadline(Duration::from_secs(600));
    let emulator = Emulator::start().unwrap();
    let client = client!(IAMPolicy, emulator.url(), with_policy(SERIES));
    let read = async || read_by(&client).await;
    let write = async |policy| {
        let write = client.set_iam_policy().set_resource(PROJECT);
        write.set_policy(policy).send().await
    };
    let stale = read().await.unwrap();
    emulator.set_policy(PROJECT, serde_json::json!({"bindings": []}));
    let error = write(stale).await.unwrap_err();
    let code = error.status().map(|status| status.code);
    assert_eq!(code, Some(Code::Aborted));
    assert_eq!((emulator.stats().calls, emulator.stats().conflicts), (2, 1));
    // A 409 that names no code, where the policy does.
    emulator.reset_stats();
    emulator.script(Call::SetIamPolicy, [Reply::status(409).html()]);
    let policy = read().await.unwrap();
    let also = client.set_iam_policy().set_resource(PROJECT);
    let also = also.with_policy(SERIES.also_on(codes![409, 412]));
    let error = also.set_policy(policy).send().await.unwrap_err();
    assert_eq!(error.http_status_code(), Some(409));
    assert_eq!(emulator.stats().calls, 2);
    // A failure that passes is repeated inside as before, and the series around it reads anew.
    emulator.reset_stats();
    let replies = [busy(), Reply::status(409)];
    emulator.script(Call::SetIamPolicy, replies);
    let series = SERIES.update(read, |policy| policy.version = 3, write);
    series.await.unwrap();
    assert_eq!(emulator.stats().calls, 5, "read, write, write, read, write");
}

/// The calls that are made while the server is down.
async fn calls<T>(server: &Emulator, list: impl IntoFuture<Output = Result<T, Error>>) -> u64 {
    server.reset_stats();
    server.script(Call::ListInstances, vec![busy(); 30]);
    let error = list.await.err().expect("it is down");
    assert_eq!(error.http_status_code(), Some(503));
    server.stats().calls
}

/// Turns the client's own retries off, so that only the retry around the client retries.
#[tokio::test]
async fn a_client_or_a_request_can_try_once() {
    let emulator = Emulator::start().unwrap();
    let patient = client!(Memorystore, emulator.url());
    let once = client!(Memorystore, emulator.url(), try_once());
    let list = |client: &Memorystore| client.list_instances().set_parent(PLACE);
    let by_client = async || list(&once).send().await;
    let by_request = async || list(&patient).try_once().send().await;
    let outer = POLICY.max_attempts(3);
    assert_eq!(calls(&emulator, by_client()).await, 1);
    assert_eq!(calls(&emulator, outer.retry(by_client)).await, 3);
    assert_eq!(calls(&emulator, outer.retry(by_request)).await, 3);
    // And a policy for one request of a client that tries once.
    let by_policy = list(&once).with_policy(outer).send();
    assert_eq!(calls(&emulator, by_policy).await, 3);
}

/// Two short waits, and then one that is longer than any limit of time.
#[derive(Debug)]
struct TwoShortWaits;

impl BackoffPolicy for TwoShortWaits {
    fn on_failure(&self, state: &RetryState) -> Duration {
        match state.attempt_count {
            ..=2 => Duration::from_millis(1),
            _ => Duration::from_secs(3600),
        }
    }
}

/// A retry around it does not begin anew what gax's own loop has given up.
#[tokio::test]
async fn what_the_client_gave_up_is_not_multiplied() {
    let emulator = told(Call::GetIamPolicy, vec![busy(); 100]);
    // The third wait is too long, so gax gives up before it.
    let limited = AlwaysRetry.with_time_limit(Duration::from_secs(60));
    let client = client!(
        IAMPolicy,
        emulator.url(),
        with_retry_policy(limited),
        with_backoff_policy(TwoShortWaits)
    );
    let read = POLICY.retry(|| read_by(&client)).reported();
    let gave_up = read.await.unwrap_err();
    assert!(gave_up.error.is_exhausted(), "{gave_up}");
    assert_eq!(gave_up.report.attempts, 1, "{gave_up}");
    assert_eq!(gave_up.reason, StopReason::Permanent);
    assert_eq!(emulator.stats().calls, 3);
    // What is behind it is told all the same.
    assert_eq!(Fault::status(&gave_up.error), Some(503));
    assert_eq!(gave_up.error.grpc_code(), Some(GrpcCode::Unavailable));
}

#[tokio::test]
async fn what_creates_is_not_repeated_where_the_policy_asks_each_request() {
    let emulator = told(Call::CreateInstance, [busy()]);
    let careful = POLICY.idempotent(false);
    let client = client!(Memorystore, emulator.url(), with_policy(careful));
    let create = || {
        let create = client.create_instance().set_parent(PLACE);
        let create = create.set_instance(Instance::new());
        create.set_instance_id("first")
    };
    let error = create().send().await.unwrap_err();
    assert_eq!(error.http_status_code(), Some(503), "{error:?}");
    assert_eq!(emulator.stats().calls, 1);
    // The request says otherwise.
    emulator.script(Call::CreateInstance, [busy()]);
    create().with_idempotency(true).send().await.unwrap();
    assert_eq!(emulator.stats().calls, 3);
    // What was refused before anything was done.
    emulator.script(Call::CreateInstance, [429, 429].map(Reply::status));
    create().set_instance_id("second").send().await.unwrap();
    assert_eq!(emulator.stats().calls, 6);
    // A read.
    emulator.script(Call::ListInstances, [busy(), Reply::reset()]);
    let list = client.list_instances().set_parent(PLACE);
    list.send().await.unwrap();
    assert_eq!(emulator.stats().calls, 9);
}
