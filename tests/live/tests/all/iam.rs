//! Many writers change one policy while the service fails. No change may be lost or made twice. The client for
//! plain REST sends nothing that could lead elsewhere.

use crate::server::{Meeting, client, reply, scaled, serve};
use backoff_cloud::{
    Policy, StopReason,
    http::{self, ApiError, Limits},
    iam::{self, Members, PlainPolicy, PolicyStore as _, Rest},
    retry,
};
use emulator::{Call, Emulator, Faults, Reply};
use reqwest::Client;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

const RESOURCE: &str = "projects/p";
const ROLE: &str = "roles/viewer";
const WRITERS: usize = 32;

const READ_MODIFY_WRITE: Policy = scaled(iam::READ_MODIFY_WRITE, 0.01);

/// The IAM policy of a resource, read and written as the README has it.
#[derive(Clone)]
struct Iam {
    client: Client,
    url: String,
    /// Where grants meet when they have read for the first time.
    meeting: Arc<Meeting>,
}

impl Iam {
    fn of(emulator: &Emulator, writers: usize) -> Self {
        Iam {
            client: client(),
            url: format!("{}/v1/{RESOURCE}", emulator.url()),
            meeting: Meeting::of(writers),
        }
    }

    async fn get(&self) -> Result<Value, ApiError> {
        let get = self.client.post(format!("{}:getIamPolicy", self.url));
        http::json(get.send().await?).await
    }

    async fn set(&self, policy: Value) -> Result<Value, ApiError> {
        let body = json!({ "policy": policy }).to_string();
        let url = format!("{}:setIamPolicy", self.url);
        http::json(self.client.post(url).body(body).send().await?).await
    }
}

/// The client of this crate for all policies of the emulator.
fn rest(emulator: &Emulator) -> Rest {
    Rest::new(client(), format!("{}/v3", emulator.url()))
}

fn emulator() -> Emulator {
    Emulator::start().expect("a port on loopback")
}

/// Adds a member, unless it is there: so a write whose reply was lost is not made twice.
/// The time of an attempt is far above what it takes, because only what stalls is to be cut.
#[retry(policy = READ_MODIFY_WRITE, attempt_timeout = "5s")]
async fn grant(iam: &Iam, member: &str) -> Result<(), ApiError> {
    let mut policy = iam.get().await?;
    iam.meeting.has_read().await;
    let mut members = members(&policy);
    if !members.iter().any(|present| present == member) {
        members.push(member.to_owned());
        policy["bindings"] = json!([{ "role": ROLE, "members": members }]);
        iam.set(policy).await?;
    }
    Ok(())
}

fn members(policy: &Value) -> Vec<String> {
    let members = policy["bindings"][0]["members"].as_array();
    let members = members.into_iter().flatten();
    let members = members.filter_map(|member| member.as_str().map(str::to_owned));
    members.collect()
}

fn user(n: usize) -> String {
    format!("user:{n:03}@example.com")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_writers_lose_nothing() {
    let busy = Faults::none().status(503, 0.10).status(429, 0.10);
    let busy = busy.applied_then(503, 0.05);
    let broken = Faults::none()
        .with(Reply::reset(), 0.05)
        .with(Reply::reset().applied(), 0.03)
        .with(Reply::cut(), 0.05)
        .with(Reply::status(502).html(), 0.05);
    // One lost reply for certain, or a few stalls, instead of a rate: each of them costs the time of an attempt.
    let lost = vec![Reply::status(503).applied()];
    let stalls = vec![Reply::stall(), Reply::stall().applied()];
    // Where all have read the same policy before the first one writes, some first writes conflict for certain.
    for (row, faults, writes, meet) in [
        ("a good day", Faults::none(), vec![], WRITERS),
        ("a busy service", busy, lost, WRITERS),
        ("a broken network", broken, stalls, 1),
    ] {
        let latency = Duration::from_millis(1);
        let emulator = Emulator::builder().seed(2).latency(latency).faults(faults);
        let emulator = emulator.start().expect("a port on loopback");
        emulator.script(Call::SetIamPolicy, writes);
        if meet == 1 {
            emulator.script(Call::GetIamPolicy, [Reply::stall()]);
        }
        let iam = Iam::of(&emulator, meet);
        let tasks = (0..WRITERS).map(|n| {
            let iam = iam.clone();
            tokio::spawn(async move { grant(&iam, &user(n)).await })
        });
        for task in tasks.collect::<Vec<_>>() {
            let told = task.await.expect("no panic");
            told.expect("every writer is told that it succeeded");
        }
        let mut arrived = members(&emulator.policy(RESOURCE));
        arrived.sort();
        let names: Vec<_> = (0..WRITERS).map(user).collect();
        assert_eq!(arrived, names, "{row}: all there, each once");
        let stats = emulator.stats();
        let writes = (stats.writes as usize, stats.blind_writes);
        assert_eq!(writes, (WRITERS, 0), "{row}: one write each");
        assert_eq!(stats.lost_replies == 0, row == "a good day", "{stats:?}");
        if meet == WRITERS {
            // All but one of the first writes were stale, or met a fault.
            let refused = stats.conflicts + stats.faults;
            assert!(refused as usize >= WRITERS - 1, "{row}: {stats:?}");
            assert!(stats.conflicts > 0, "{row}: {stats:?}");
        }
    }
}

/// Changes of members, each in a task of its own, are written; four calls at most are made.
#[tokio::test]
async fn a_hundred_tasks_cost_at_most_four_calls() {
    let emulator = emulator();
    let changes = Members::new(rest(&emulator));
    let stored = || BTreeSet::from_iter(members(&emulator.policy(RESOURCE)));
    let add = |n: usize| changes.add(RESOURCE, ROLE, &user(n));
    let remove = |n: usize| changes.remove(RESOURCE, ROLE, &user(n));
    let added: Vec<_> = (0..100).map(add).collect();
    let both = (0..50).flat_map(|n| [remove(n), add(n + 100)]).collect();
    for (changes, expected) in [(added, 0..100), (both, 50..150)] {
        emulator.reset_stats();
        let tasks: Vec<_> = changes.into_iter().map(tokio::spawn).collect();
        for task in tasks {
            assert!(task.await.unwrap().unwrap().is_written());
        }
        assert_eq!(stored(), expected.map(user).collect());
        let stats = emulator.stats();
        assert!(stats.calls <= 4, "{stats:?}");
        assert_eq!((stats.conflicts, stats.blind_writes), (0, 0));
    }
}

/// Rows: a name, and whether it names a resource. Else it could lead to another one, or to another method. All names are
/// rows of `backoff-cloud/src/iam/url.rs` and `resource.rs`.
#[tokio::test]
async fn a_name_leads_to_the_resource_that_it_names_or_nothing_is_sent() {
    let emulator = emulator();
    for (resource, is_name) in [
        ("projects/mine/../victim", false),
        ("projects/victim:getIamPolicy?x=", false),
        ("projects/mine/%2e%2e/victim", true),
        ("projects/victim?x=", true),
    ] {
        emulator.reset_stats();
        let asks = rest(&emulator).token(|| async { panic!("a token is asked for") });
        let store = if is_name { rest(&emulator) } else { asks };
        let change = iam::add(&store, resource, ROLE, &user(1)).await;
        if is_name {
            assert!(change.expect(resource).is_written(), "{resource}");
            assert_eq!(members(&emulator.policy(resource)), [user(1)]);
            continue;
        }
        let refused = change.expect_err(resource);
        let ended = (refused.reason, refused.report.attempts);
        assert_eq!(ended, (StopReason::Permanent, 1), "{resource}");
        let shown = refused.error.to_string();
        assert!(
            shown.contains("nothing was sent: the name of a resource "),
            "{shown}"
        );
        let combined = Members::new(store).add(resource, ROLE, &user(1)).await;
        assert!(!combined.expect_err(resource).may_be_applied());
        assert_eq!(emulator.stats().calls, 0, "{resource}");
    }
    assert_eq!(members(&emulator.policy("projects/victim")), [""; 0]);
}

/// A page of a proxy in place of the reply to a write that was applied: the write is read again.
#[tokio::test]
async fn a_success_without_a_policy_shows_none() {
    let emulator = emulator();
    let page = Reply::status(200).html().applied();
    emulator.script(Call::SetIamPolicy, [page]);
    let rest = rest(&emulator);
    let change = iam::add(&rest, RESOURCE, ROLE, &user(1)).policy(READ_MODIFY_WRITE);
    let (updated, report) = change.reported().await.expect("it is there");
    assert!(!updated.is_written());
    assert_eq!((report.reads, report.writes), (2, 1));
    assert_eq!(emulator.stats().writes, 1);

    let message = "x".repeat(50);
    let busy = format!(r#"{{"x": 1, "error": {{"message": "{message}", "code": 503}}}}"#);
    let long = format!(r#"{{"etag": "a", "x": "{}"}}"#, "x".repeat(200));
    let cut = "HTTP 503, but its body was cut: it is longer than 40 bytes: ";
    for (body, is_written, text) in [
        (busy, false, cut),
        (long, true, "the body of the reply is longer than 200 bytes"),
    ] {
        let server = serve(reply(200, "", &body));
        let limits = Limits::new().body(200).error_body(40);
        let rest = Rest::new(client(), format!("http://{server}")).limits(limits);
        let written = rest.set(RESOURCE, PlainPolicy::default()).await;
        assert_eq!(written.is_ok(), is_written, "{text}");
        // A read that shows no policy failed.
        let shown = rest.get(RESOURCE).await.expect_err("no policy").to_string();
        assert!(
            shown.starts_with(text) && !shown.contains(&message),
            "{shown}"
        );
    }
}
