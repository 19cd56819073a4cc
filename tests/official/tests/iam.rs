//! Members of roles, added and removed over Google's own clients and over plain REST.

use backoff_cloud::{
    Fault, GrpcCode, Policy, StopReason, Updated,
    emulator::{Call, Emulator, Reply},
    http::ApiError,
    iam::{self, Condition, Failure, PlainPolicy, PolicyStore, Rest},
};
use google_cloud_iam_admin_v1::client::Iam;
use google_cloud_iam_v1::client::IAMPolicy;
use google_cloud_resourcemanager_v3::client::Projects;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::{credentials, install_tls, listen, read_request, reply};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::Write,
    sync::{Arc, Mutex},
    time::Duration,
};

const SECRET: &str = "projects/p/secrets/s";
const ACCOUNT: &str = "projects/p/serviceAccounts/sa@p.iam.gserviceaccount.com";
const PROJECT: &str = "projects/p";
const ROLE: &str = "roles/viewer";
const ANN: &str = "user:ann@example.com";
const BOB: &str = "user:bob@example.com";

/// A thousandth of every wait, and time for a slow machine.
const FAST: Policy = iam::READ_MODIFY_WRITE
    .scaled(0.001)
    .deadline(Duration::from_secs(600));

macro_rules! client {
    ($client:ty, $url:expr) => {
        <$client>::builder()
            .with_endpoint($url)
            .with_credentials(credentials())
            .build()
            .await
            .unwrap()
    };
}

fn rest(url: &str, version: &str) -> Rest {
    install_tls();
    // So that nothing but what is tested here repeats anything.
    let client = reqwest::Client::builder().retry(reqwest::retry::never());
    Rest::new(client.build().unwrap(), format!("{url}/{version}/"))
}

fn night() -> Condition {
    Condition::new("night", "request.time.getHours() < 6")
}

/// Who has which role, and under which condition, in no order.
fn bindings(emulator: &Emulator, resource: &str) -> BTreeSet<(String, String, Vec<String>)> {
    let policy = emulator.policy(resource);
    let bindings = policy["bindings"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = bindings.iter().map(|it| {
        let members = it["members"].as_array().unwrap().iter().map(text);
        let condition = text(&it["condition"]["title"]);
        (text(&it["role"]), condition, members.collect())
    });
    all.collect()
}

fn bound(role: &str, condition: &str, members: &[&str]) -> (String, String, Vec<String>) {
    let members = members.iter().map(|&it| it.to_owned()).collect();
    (role.to_owned(), condition.to_owned(), members)
}

/// Everything that can be done to a member, over one client.
async fn works<S>(emulator: &Emulator, store: &S, resource: &str)
where
    S: PolicyStore<Policy: Send, Error: Send + std::fmt::Debug> + Sync,
{
    let audits = json!([{"service": "allServices"}]);
    let owner = json!({"role": "roles/owner", "members": [BOB]});
    emulator.set_policy(
        resource,
        json!({"bindings": [owner], "auditConfigs": audits}),
    );
    emulator.reset_stats();
    let owned = bound("roles/owner", "", &[BOB]);
    let add = |member| iam::add(store, resource, ROLE, member).policy(FAST);
    let remove = |member| iam::remove(store, resource, ROLE, member).policy(FAST);

    assert!(add(ANN).await.unwrap().is_written());
    assert!(!add(ANN).await.unwrap().is_written());
    assert!(add(BOB).await.unwrap().is_written());
    assert!(add(ANN).when(night()).await.unwrap().is_written());
    // Version 3 is asked for, or the condition would not be seen and be added again.
    assert!(!add(ANN).when(night()).await.unwrap().is_written());
    let expected = [
        owned.clone(),
        bound(ROLE, "", &[ANN, BOB]),
        bound(ROLE, "night", &[ANN]),
    ];
    assert_eq!(bindings(emulator, resource), expected.into());

    assert!(remove(ANN).await.unwrap().is_written());
    assert!(!remove(ANN).await.unwrap().is_written());
    let (updated, report) = remove(ANN).when(night()).reported().await.unwrap();
    assert!(updated.is_written());
    assert_eq!((report.reads, report.writes, report.conflicts), (1, 1, 0));
    assert_eq!(
        bindings(emulator, resource),
        [owned.clone(), bound(ROLE, "", &[BOB])].into()
    );
    assert!(remove(BOB).await.unwrap().is_written());
    assert_eq!(bindings(emulator, resource), [owned].into());
    assert_eq!(emulator.policy(resource)["auditConfigs"], audits);

    let stats = emulator.stats();
    assert_eq!((stats.reads, stats.writes, stats.blind_writes), (9, 6, 0));

    // A reply that is lost: the next read tells that the write arrived.
    emulator.reset_stats();
    emulator.script(Call::GetIamPolicy, [Reply::status(502).html()]);
    emulator.script(Call::SetIamPolicy, [Reply::status(503).applied()]);
    let (updated, report) = add(ANN).reported().await.unwrap();
    assert!(!updated.is_written());
    assert_eq!((report.attempts, report.reads, report.writes), (3, 3, 1));
    assert_eq!(emulator.stats().writes, 1);

    // A conflict: read anew.
    emulator.script(Call::SetIamPolicy, [Reply::status(409)]);
    let (updated, report) = remove(ANN).reported().await.unwrap();
    assert!(updated.is_written());
    assert_eq!((report.reads, report.writes, report.conflicts), (2, 2, 1));
}

#[tokio::test]
async fn over_googles_client_for_iam() {
    let emulator = Emulator::start().unwrap();
    let client = client!(IAMPolicy, emulator.url());
    works(&emulator, &client, PROJECT).await;
}

#[tokio::test]
async fn over_googles_client_for_secrets() {
    let emulator = Emulator::start().unwrap();
    let client = client!(SecretManagerService, emulator.url());
    works(&emulator, &client, SECRET).await;
}

#[tokio::test]
async fn over_googles_client_for_projects() {
    let emulator = Emulator::start().unwrap();
    let client = client!(Projects, emulator.url());
    works(&emulator, &client, PROJECT).await;
}

#[tokio::test]
async fn over_googles_client_for_service_accounts() {
    let emulator = Emulator::start().unwrap();
    let client = client!(Iam, emulator.url());
    works(&emulator, &client, ACCOUNT).await;
}

#[tokio::test]
async fn over_plain_rest() {
    let emulator = Emulator::start().unwrap();
    works(&emulator, &rest(emulator.url(), "v3"), PROJECT).await;
    let by_get = rest(emulator.url(), "v1").read_by_get();
    works(&emulator, &by_get, SECRET).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_at_the_same_time_all_arrive() {
    const WRITERS: usize = 8;
    let emulator = Emulator::start().unwrap();
    let client = client!(SecretManagerService, emulator.url());
    let writers = (0..WRITERS).map(|n| {
        let client = client.clone();
        tokio::spawn(async move {
            let member = format!("user:{n}@example.com");
            iam::add(&client, SECRET, ROLE, &member).policy(FAST).await
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        assert!(writer.await.unwrap().unwrap().is_written());
    }
    let members: usize = bindings(&emulator, SECRET)
        .iter()
        .map(|it| it.2.len())
        .sum();
    assert_eq!(
        (members, emulator.stats().writes),
        (WRITERS, WRITERS as u64)
    );
}

/// A service that says what it is told to, whatever it is asked, and what it was asked.
struct Liar {
    url: String,
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

impl Liar {
    fn new(answer: impl Fn(&str) -> (u16, Value) + Clone + Send + 'static) -> Self {
        let asked: Arc<Mutex<Vec<_>>> = Arc::default();
        let told = Arc::clone(&asked);
        let address = listen(move |mut stream| {
            let (first, body) = read_request(&stream);
            let (status, said) = answer(&first);
            told.lock().unwrap().push((first, body));
            let said = reply(
                status,
                "content-type: application/json\r\n",
                &said.to_string(),
            );
            drop(stream.write_all(said.as_bytes()));
        });
        Liar {
            url: format!("http://{address}"),
            asked,
        }
    }

    fn writes(&self) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        let writes = asked
            .iter()
            .filter(|(first, _)| first.contains(":setIamPolicy"));
        writes
            .map(|(_, body)| serde_json::from_str(body).unwrap())
            .collect()
    }
}

fn is_write(request: &str) -> bool {
    request.contains(":setIamPolicy")
}

#[tokio::test]
async fn a_policy_without_an_etag_is_not_written() {
    for policy in [
        json!({}),
        json!({"etag": ""}),
        json!({"version": 1, "bindings": []}),
    ] {
        let liar = Liar::new(move |_| (200, policy.clone()));
        let client = client!(SecretManagerService, &liar.url);
        let error = iam::add(&client, SECRET, ROLE, ANN).await.unwrap_err();
        assert!(matches!(&error.error, Failure::NoEtag { resource } if resource == SECRET));
        assert_eq!(error.reason, StopReason::Permanent);
        assert!(
            error
                .to_string()
                .contains("has no etag, so it was not written"),
            "{error}"
        );

        let rest = rest(&liar.url, "v1");
        let error = iam::add(&rest, SECRET, ROLE, ANN).await.unwrap_err();
        assert!(matches!(error.error, Failure::NoEtag { .. }), "{error}");
        // Nothing to change, nothing to refuse.
        let unchanged = iam::remove(&rest, SECRET, ROLE, ANN).await.unwrap();
        assert!(matches!(unchanged, Updated::Unchanged(_)));
        assert_eq!(
            (liar.writes(), liar.asked.lock().unwrap().len()),
            (vec![], 3)
        );
    }
}

#[tokio::test]
async fn what_nobody_knows_is_written_back() {
    let policy = json!({
        "version": 1,
        "etag": "BwYd",
        "bindings": [{
            "role": "roles/owner",
            "members": [BOB],
            "condition": {"title": "t", "expression": "e", "location": "l"},
            "bindingId": "7",
        }],
        "auditConfigs": [{"service": "allServices"}],
        "new": {"deep": [1, null]},
    });
    let kept = policy.clone();
    let liar = Liar::new(move |_| (200, kept.clone()));
    let client = client!(SecretManagerService, &liar.url);
    iam::add(&client, SECRET, ROLE, ANN).await.unwrap();
    iam::add(&rest(&liar.url, "v1"), SECRET, ROLE, ANN)
        .await
        .unwrap();
    let mut expected = policy;
    expected["version"] = json!(3);
    let bindings = expected["bindings"].as_array_mut().unwrap();
    bindings.push(json!({"role": ROLE, "members": [ANN]}));
    let [official, rest] = &liar.writes()[..] else {
        panic!("two writes")
    };
    assert_eq!(rest["policy"], expected);
    // Google's client writes the etag's bytes anew.
    let mut official = official["policy"].clone();
    official["auditConfigs"][0]
        .as_object_mut()
        .unwrap()
        .remove("auditLogConfigs");
    assert_eq!(official, expected);
}

fn error(status: u16, code: &str) -> (u16, Value) {
    (
        status,
        json!({"error": {"code": status, "status": code, "message": "m"}}),
    )
}

#[tokio::test]
async fn a_409_that_says_already_exists_is_no_conflict() {
    let liar = Liar::new(|request| match is_write(request) {
        true => error(409, "ALREADY_EXISTS"),
        false => (200, json!({"etag": "BwYd"})),
    });
    let client = client!(SecretManagerService, &liar.url);
    let gave_up = iam::add(&client, SECRET, ROLE, ANN).policy(FAST).await;
    let gave_up = gave_up.unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Permanent);
    assert_eq!(gave_up.error.grpc_code(), Some(GrpcCode::AlreadyExists));
    assert_eq!(liar.writes().len(), 1);
}

#[tokio::test]
async fn a_conflict_for_ever_ends_with_the_policy() {
    let liar = Liar::new(|request| match is_write(request) {
        true => error(409, "ABORTED"),
        false => (200, json!({"etag": "BwYd"})),
    });
    let client = client!(SecretManagerService, &liar.url);
    let policy = FAST.max_attempts(6);
    let change = || iam::add(&client, SECRET, ROLE, ANN).policy(policy);
    let gave_up = change().await.unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Attempts);
    assert_eq!((gave_up.report.writes, gave_up.report.conflicts), (6, 6));
    let Failure::Client(client_error) = &gave_up.error else {
        panic!("{gave_up}")
    };
    assert!(client_error.status().is_some());
    // A retry around it does not multiply the attempts.
    let again = policy.retry(|| change().into_future()).await;
    assert!(again.is_err());
    assert_eq!(liar.writes().len(), 12);
    // And the deadline ends it where nothing counts.
    let hurried = FAST.deadline(Duration::from_millis(300));
    let hurried = iam::add(&client, SECRET, ROLE, ANN).policy(hurried).await;
    let hurried = hurried.unwrap_err();
    // A write that the deadline has cut may have been applied.
    let ends = [StopReason::Deadline, StopReason::MaybeApplied];
    assert!(ends.contains(&hurried.reason), "{hurried}");
}

#[tokio::test]
async fn a_success_with_an_error_inside_is_the_error() {
    let replies = Arc::new(Mutex::new(vec![
        (200, json!({"etag": "c", "bindings": []})),
        (200, json!({"etag": "b", "bindings": []})),
        error(503, "UNAVAILABLE"),
        (200, json!({"etag": "a", "bindings": []})),
        error(429, "RESOURCE_EXHAUSTED"),
    ]));
    let liar = Liar::new(move |_| (200, replies.lock().unwrap().pop().unwrap().1));
    let policy = FAST.also_on(backoff_cloud::codes![429]);
    let change = iam::add(&rest(&liar.url, "v1"), SECRET, ROLE, ANN)
        .policy(policy)
        .reported()
        .await;
    let (updated, report) = change.unwrap();
    assert_eq!((report.reads, report.writes), (3, 2));
    let Updated::Written(PlainPolicy { etag, .. }) = updated else {
        panic!("{updated:?}")
    };
    assert_eq!(etag.as_deref(), Some("c"));
}

/// Writes that were answered like this may have been made: only a read tells.
#[tokio::test]
async fn a_write_whose_reply_shows_no_policy_is_no_success() {
    for doubtful in [
        json!({"error": "busy"}),
        json!({"error": "busy", "etag": "x"}),
        json!({"error": {"message": "busy"}}),
        json!({"error": ["busy"], "bindings": []}),
        json!({"error": true}),
        json!({"version": 1, "bindings": []}),
        json!({"etag": ""}),
        json!({}),
    ] {
        let replies = Arc::new(Mutex::new(vec![
            json!({"etag": "b", "bindings": [{"role": ROLE, "members": [ANN]}]}),
            doubtful.clone(),
            json!({"etag": "a", "bindings": []}),
        ]));
        let liar = Liar::new(move |_| (200, replies.lock().unwrap().pop().unwrap()));
        let change = iam::add(&rest(&liar.url, "v1"), SECRET, ROLE, ANN)
            .policy(FAST)
            .reported()
            .await;
        let (updated, report) = change.unwrap();
        assert!(!updated.is_written(), "{doubtful}");
        assert_eq!((report.reads, report.writes), (2, 1), "{doubtful}");

        // Where nobody reads again, it is an error that says so.
        let said = doubtful.clone();
        let liar = Liar::new(move |request| match is_write(request) {
            true => (200, said.clone()),
            false => (200, json!({"etag": "a"})),
        });
        let rest = rest(&liar.url, "v1");
        let change = iam::add(&rest, SECRET, ROLE, ANN).policy(FAST.idempotent(false));
        let gave_up = change.await.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::MaybeApplied, "{gave_up}");
        assert!(
            gave_up
                .to_string()
                .contains("does not show whether the policy was written"),
            "{gave_up}"
        );
    }
}

#[tokio::test]
async fn nor_is_it_over_googles_own_client() {
    let liar = Liar::new(|request| match is_write(request) {
        true => (200, json!({"error": "busy"})),
        false => (200, json!({"etag": "YQ=="})),
    });
    let client = client!(IAMPolicy, &liar.url);
    let change = iam::add(&client, SECRET, ROLE, ANN).policy(FAST.max_attempts(2));
    let gave_up = change.await.unwrap_err();
    let resource = SECRET.to_owned();
    assert!(
        matches!(&gave_up.error, iam::Failure::Doubtful { resource: of } if *of == resource),
        "{gave_up}"
    );
    assert_eq!((gave_up.report.reads, gave_up.report.writes), (2, 2));
}

#[tokio::test]
async fn a_read_that_shows_an_error_is_no_policy() {
    for error in [json!("busy"), json!({"message": "busy"}), json!(["busy"])] {
        let body = json!({"error": error, "etag": "a"});
        let liar = Liar::new(move |_| (200, body.clone()));
        let change = iam::remove(&rest(&liar.url, "v1"), SECRET, ROLE, ANN).await;
        let gave_up = change.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::Permanent);
        assert!(gave_up.to_string().contains("busy"), "{gave_up}");
    }
}

#[tokio::test]
async fn a_member_in_another_spelling_is_found() {
    let stored = json!({"etag": "a", "bindings": [{"role": ROLE, "members": [ANN]}]});
    let liar = Liar::new(move |_| (200, stored.clone()));
    let rest = rest(&liar.url, "v1");
    let shouted = "user:Ann@Example.com";
    assert!(
        !iam::add(&rest, SECRET, ROLE, shouted)
            .await
            .unwrap()
            .is_written()
    );
    assert!(
        iam::remove(&rest, SECRET, ROLE, shouted)
            .await
            .unwrap()
            .is_written()
    );
    assert_eq!(liar.writes()[0]["policy"]["bindings"], json!([]));
}

#[tokio::test]
async fn a_secret_is_not_read_by_post() {
    let emulator = Emulator::start().unwrap();
    let change = iam::add(&rest(emulator.url(), "v1"), SECRET, ROLE, ANN).await;
    assert_eq!(change.unwrap_err().error.status(), Some(404));
    let by_get = rest(emulator.url(), "v1").read_by_get();
    assert!(
        iam::add(&by_get, SECRET, ROLE, ANN)
            .await
            .unwrap()
            .is_written()
    );
}

#[tokio::test]
async fn a_request_that_hangs_is_cut() {
    let emulator = Emulator::start().unwrap();
    let client = client!(SecretManagerService, emulator.url());
    emulator.script(
        Call::GetIamPolicy,
        [Reply::stall(), Reply::pass(), Reply::pass()],
    );
    emulator.script(Call::SetIamPolicy, [Reply::stall().applied()]);
    let change = iam::add(&client, SECRET, ROLE, ANN).policy(FAST);
    let (updated, report) = change
        .attempt_timeout(Duration::from_secs(1))
        .reported()
        .await
        .unwrap();
    assert!(!updated.is_written(), "the write that was cut arrived");
    assert_eq!(emulator.stats().writes, 1);
    // On a slow machine an attempt may be cut that does not hang.
    assert!(report.attempts >= 3 && report.writes >= 1, "{report:?}");

    emulator.script(Call::GetIamPolicy, [Reply::stall()]);
    let change = iam::remove(&client, SECRET, ROLE, ANN).policy(FAST.max_attempts(1));
    let gave_up = change
        .attempt_timeout(Duration::from_millis(50))
        .await
        .unwrap_err();
    assert!(matches!(gave_up.error, Failure::TimedOut(_)), "{gave_up}");
}

#[tokio::test]
async fn a_token_is_asked_for_before_each_request() {
    let emulator = Emulator::start().unwrap();
    let asked = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&asked);
    let store = rest(emulator.url(), "v1").read_by_get().token(move || {
        *counter.lock().unwrap() += 1;
        async { Ok("secret".to_owned()) }
    });
    emulator.script(Call::GetIamPolicy, [Reply::status(503)]);
    iam::add(&store, SECRET, ROLE, ANN)
        .policy(FAST)
        .await
        .unwrap();
    assert_eq!(*asked.lock().unwrap(), 3);
    assert!(!format!("{store:?}").contains("secret"));

    let refuses = store.token(|| async {
        let headers = reqwest::header::HeaderMap::new();
        let now = std::time::SystemTime::now();
        Err(ApiError::new(403, &headers, b"no", now))
    });
    emulator.reset_stats();
    let gave_up = iam::remove(&refuses, SECRET, ROLE, ANN).await.unwrap_err();
    assert_eq!(gave_up.error.status(), Some(403));
    assert_eq!(emulator.stats().calls, 0);
}

#[tokio::test]
async fn a_name_that_could_lead_elsewhere_sends_nothing() {
    let emulator = Emulator::start().unwrap();
    let projects = client!(Projects, emulator.url());
    let secrets = client!(SecretManagerService, emulator.url());
    let accounts = client!(Iam, emulator.url());
    for resource in [
        r"projects/mine\..\victim",
        r"projects/mine\%2e%2E\victim",
        "projects/p:getIamPolicy?x=",
        "projects/..",
        "projects/%2e%2e/secrets/s",
        "projects/../secrets/s",
        "",
    ] {
        let of_project = iam::add(&projects, resource, ROLE, ANN).policy(FAST).await;
        let of_secret = iam::add(&secrets, resource, ROLE, ANN).policy(FAST).await;
        let of_account = iam::add(&accounts, resource, ROLE, ANN).policy(FAST).await;
        for change in [of_project, of_secret, of_account] {
            let refused = change.expect_err(resource);
            assert_eq!(refused.reason, StopReason::Permanent, "{resource}");
            assert_eq!(refused.report.attempts, 1, "{resource}");
            let shown = refused.to_string();
            assert!(shown.contains("nothing was sent"), "{shown}");
        }
    }
    assert_eq!(bindings(&emulator, "projects/victim"), BTreeSet::new());
    assert_eq!(emulator.stats().calls, 0);
}
