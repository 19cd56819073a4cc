//! Members of roles, added and removed over Google's own clients and over plain REST.

use backoff_cloud::{
    Fault, Policy, StopReason, Updated,
    http::ApiError,
    iam::{self, Condition, Failure, Grant, PolicyStore, Rest},
};
use emulator::{Call, Emulator, Reply};
use google_cloud_iam_admin_v1::client::Iam;
use google_cloud_iam_v1::client::IAMPolicy;
use google_cloud_resourcemanager_v3::client::Projects;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use official::{client, install_tls};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    future::ready,
    slice::from_ref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use support::{Seen, Server, reply};

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
    let policy = json!({"bindings": [owner], "auditConfigs": audits});
    emulator.set_policy(resource, policy);
    emulator.reset_stats();
    let owned = bound("roles/owner", "", &[BOB]);
    let change = |grant| iam::change(store, resource, grant).policy(FAST);
    let add = |member| change(Grant::add(ROLE, member));
    let remove = |member| change(Grant::remove(ROLE, member));
    let at_night = |grant: Grant| change(grant.condition(night()));

    let all_day = |members: &[&str]| bound(ROLE, "", members);
    let (ann, bob, both) = (all_day(&[ANN]), all_day(&[BOB]), all_day(&[ANN, BOB]));
    let ann_at_night = bound(ROLE, "night", &[ANN]);
    for (change, is_written, roles) in [
        (add(ANN), true, &[&ann][..]),
        (add(ANN), false, &[&ann]),
        (add(BOB), true, &[&both]),
        (
            at_night(Grant::add(ROLE, ANN)),
            true,
            &[&both, &ann_at_night],
        ),
        // Version 3 is asked for, or the condition would not be seen and be added again.
        (
            at_night(Grant::add(ROLE, ANN)),
            false,
            &[&both, &ann_at_night],
        ),
        (remove(ANN), true, &[&bob, &ann_at_night]),
        (remove(ANN), false, &[&bob, &ann_at_night]),
        (at_night(Grant::remove(ROLE, ANN)), true, &[&bob]),
        (remove(BOB), true, &[]),
    ] {
        let (updated, report) = change.reported().await.unwrap();
        assert_eq!(updated.is_written(), is_written, "{roles:?}");
        let made = (report.reads, report.writes, report.conflicts);
        assert_eq!(made, (1, is_written.into(), 0), "{roles:?}");
        let expected = roles.iter().copied().chain([&owned]).cloned().collect();
        assert_eq!(bindings(emulator, resource), expected);
    }
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
async fn over_each_client() {
    let emulator = Emulator::start().unwrap();
    let url = emulator.url();
    works(&emulator, &client!(IAMPolicy, url), PROJECT).await;
    works(&emulator, &client!(SecretManagerService, url), SECRET).await;
    works(&emulator, &client!(Projects, url), PROJECT).await;
    works(&emulator, &client!(Iam, url), ACCOUNT).await;
    works(&emulator, &rest(url, "v3"), PROJECT).await;
    works(&emulator, &rest(url, "v1").read_by_get(), SECRET).await;
}

/// A service that says what it is told to, and what it was asked.
struct Liar(Server);

impl Liar {
    /// One that answers its reads by these and its writes by those, in turn. The last one stays.
    fn new(reads: &[Value], (status, writes): (u16, &[Value])) -> Self {
        let said = [(200, reads.to_vec()), (status, writes.to_vec())];
        let turns = [(); 2].map(|()| AtomicUsize::new(0));
        Liar(Server::new(move |seen| {
            let kind = usize::from(is_write(seen));
            let (status, said) = &said[kind];
            let turn = turns[kind].fetch_add(1, Relaxed);
            let said = said.get(turn).or(said.last()).unwrap().to_string();
            ready(reply(*status, "content-type: application/json\r\n", said))
        }))
    }

    fn url(&self) -> String {
        format!("http://{}", self.0.address)
    }

    fn rest(&self) -> Rest {
        rest(&self.url(), "v1")
    }

    fn writes(&self) -> Vec<Value> {
        let seen = self.0.seen();
        let writes = seen.iter().filter(|it| is_write(it));
        let bodies = writes.map(|it| serde_json::from_slice(&it.body).unwrap());
        bodies.collect()
    }
}

fn is_write(seen: &Seen) -> bool {
    seen.line.contains(":setIamPolicy")
}

fn assert_says(error: &impl ToString, words: &str) {
    let said = error.to_string();
    assert!(said.contains(words), "{said}");
}

#[tokio::test]
async fn a_policy_without_an_etag_is_not_written() {
    for policy in [json!({}), json!({"etag": ""})] {
        let liar = Liar::new(&[policy], (200, &[]));
        let client = client!(SecretManagerService, liar.url());
        let official = iam::add(&client, SECRET, ROLE, ANN).await.unwrap_err();
        assert!(matches!(&official.error, Failure::NoEtag { resource } if resource == SECRET));
        assert_eq!(official.reason, StopReason::Permanent);
        assert_says(&official, "has no etag, so it was not written");

        let rest = liar.rest();
        let error = iam::add(&rest, SECRET, ROLE, ANN).await.unwrap_err();
        assert!(matches!(error.error, Failure::NoEtag { .. }), "{error}");
        // Nothing to change, nothing to refuse.
        let unchanged = iam::remove(&rest, SECRET, ROLE, ANN).await.unwrap();
        assert!(matches!(unchanged, Updated::Unchanged(_)));
        let asked = liar.0.requests();
        assert_eq!((liar.writes(), asked), (vec![], 3));
    }
}

#[tokio::test]
async fn what_nobody_knows_is_written_back() {
    let condition = json!({"title": "t", "expression": "e", "location": "l"});
    let owner =
        json!({"role": "roles/owner", "members": [BOB], "condition": condition, "bindingId": "7"});
    let policy = json!({
        "version": 1,
        "etag": "BwYd",
        "bindings": [owner],
        "auditConfigs": [{"service": "allServices"}],
        "new": {"deep": [1, null]},
    });
    let mut expected = policy.clone();
    let liar = Liar::new(from_ref(&policy), (200, from_ref(&policy)));
    let client = client!(SecretManagerService, liar.url());
    iam::add(&client, SECRET, ROLE, ANN).await.unwrap();
    iam::add(&liar.rest(), SECRET, ROLE, ANN).await.unwrap();
    expected["version"] = json!(3);
    let bindings = expected["bindings"].as_array_mut().unwrap();
    bindings.push(json!({"role": ROLE, "members": [ANN]}));
    let [official, rest] = &liar.writes()[..] else {
        panic!("two writes")
    };
    assert_eq!(rest["policy"], expected);
    // Google's client writes the etag's bytes anew.
    let mut official = official["policy"].clone();
    let audits = official["auditConfigs"][0].as_object_mut().unwrap();
    audits.remove("auditLogConfigs");
    assert_eq!(official, expected);
}

#[tokio::test]
async fn a_conflict_for_ever_ends_with_the_policy() {
    let aborted = json!({"error": {"code": 409, "status": "ABORTED", "message": "m"}});
    let liar = Liar::new(&[json!({"etag": "BwYd"})], (409, &[aborted]));
    let client = client!(SecretManagerService, liar.url());
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
}

/// Writes that were answered like this may have been made: only a read tells.
#[tokio::test]
async fn a_write_whose_reply_shows_no_policy_is_no_success() {
    for unclear in [
        json!({"error": "busy"}),
        json!({"error": "busy", "etag": "x"}),
        json!({"error": {"message": "busy"}}),
        json!({"version": 1, "bindings": []}),
        json!({"etag": ""}),
        json!({}),
    ] {
        let before = json!({"etag": "a", "bindings": []});
        let after = json!({"etag": "b", "bindings": [{"role": ROLE, "members": [ANN]}]});
        let liar = Liar::new(&[before, after], (200, from_ref(&unclear)));
        let rest = liar.rest();
        let change = iam::add(&rest, SECRET, ROLE, ANN).policy(FAST);
        let (updated, report) = change.reported().await.unwrap();
        assert!(!updated.is_written(), "{unclear}");
        assert_eq!((report.reads, report.writes), (2, 1), "{unclear}");

        // Where nobody reads again, it is an error that says so.
        let liar = Liar::new(&[json!({"etag": "a"})], (200, &[unclear]));
        let rest = liar.rest();
        let change = iam::add(&rest, SECRET, ROLE, ANN).policy(FAST.idempotent(false));
        let gave_up = change.await.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::MaybeApplied, "{gave_up}");
        assert_says(&gave_up, "does not show whether the policy was written");
    }

    // Nor is it over Google's own client.
    let busy = json!({"error": "busy"});
    let liar = Liar::new(&[json!({"etag": "YQ=="})], (200, &[busy]));
    let client = client!(IAMPolicy, liar.url());
    let change = iam::add(&client, SECRET, ROLE, ANN).policy(FAST.max_attempts(2));
    let gave_up = change.await.unwrap_err();
    let is_maybe_written =
        matches!(&gave_up.error, Failure::MaybeWritten { resource } if resource == SECRET);
    assert!(is_maybe_written, "{gave_up}");
    assert_eq!((gave_up.report.reads, gave_up.report.writes), (2, 2));
}

#[tokio::test]
async fn a_request_that_hangs_is_cut() {
    let emulator = Emulator::start().unwrap();
    let client = client!(SecretManagerService, emulator.url());
    let reads = [Reply::stall(), Reply::pass(), Reply::pass()];
    emulator.script(Call::GetIamPolicy, reads);
    emulator.script(Call::SetIamPolicy, [Reply::stall().applied()]);
    let change = iam::add(&client, SECRET, ROLE, ANN).policy(FAST);
    let change = change.attempt_timeout(Duration::from_secs(1)).reported();
    let (updated, report) = change.await.unwrap();
    assert!(!updated.is_written(), "the write that was cut arrived");
    assert_eq!(emulator.stats().writes, 1);
    // On a slow machine an attempt may be cut that does not hang.
    assert!(report.attempts >= 3 && report.writes >= 1, "{report:?}");

    emulator.script(Call::GetIamPolicy, [Reply::stall()]);
    let change = iam::remove(&client, SECRET, ROLE, ANN).policy(FAST.max_attempts(1));
    let change = change.attempt_timeout(Duration::from_millis(50));
    let gave_up = change.await.unwrap_err();
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
    let change = iam::add(&store, SECRET, ROLE, ANN).policy(FAST);
    change.await.unwrap();
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
    let accounts = client!(Iam, emulator.url());
    for resource in [
        r"projects/mine\..\victim",
        "projects/p:getIamPolicy?x=",
        "projects/..",
        "projects/../secrets/s",
        "",
    ] {
        let of_project = iam::add(&projects, resource, ROLE, ANN).policy(FAST).await;
        let of_account = iam::add(&accounts, resource, ROLE, ANN).policy(FAST).await;
        for change in [of_project, of_account] {
            let refused = change.expect_err(resource);
            let ended = (refused.reason, refused.report.attempts);
            assert_eq!(ended, (StopReason::Permanent, 1), "{resource}");
            assert_says(&refused, "nothing was sent");
        }
    }
    assert_eq!(bindings(&emulator, "projects/victim"), BTreeSet::new());
    assert_eq!(emulator.stats().calls, 0);
}
