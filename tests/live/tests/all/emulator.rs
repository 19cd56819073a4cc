//! The emulator over real sockets: what it promises to its users, and no other test needs.

use crate::server::{client, scaled};
use backoff_cloud::{
    Fault as _, FaultKind, StopReason,
    http::{self, ApiError},
    memorystore,
};
use emulator::{Call, Emulator, Reply};
use serde_json::{Value, json};
use std::time::Duration;

const CREATE: &str = "/v1/projects/p/locations/l/instances?instanceId=cache";
const INSTANCE: &str = r#"{"shardCount": 3}"#;

/// The status and the body of a reply.
async fn ask(emulator: &Emulator, method: &str, path: &str, body: &str) -> (u16, Value) {
    let url = format!("{}{path}", emulator.url());
    let request = client().request(method.parse().unwrap(), url);
    let reply = request.body(body.to_owned()).send().await.unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap())
}

/// The status of an error, and Google's name for it in a body that agrees with it.
fn error((status, body): (u16, Value)) -> (u16, String) {
    assert_eq!(body["error"]["code"], status);
    assert_ne!(body["error"]["message"].as_str().unwrap_or_default(), "");
    let name = body["error"]["status"].as_str().unwrap();
    (status, name.to_owned())
}

#[tokio::test]
async fn an_operation_is_polled_by_policy() {
    let takes = Duration::from_millis(150);
    let emulator = Emulator::builder().operations_take(takes).start().unwrap();
    let operation = ask(&emulator, "POST", CREATE, INSTANCE).await.1;
    let name = operation["name"].as_str().unwrap();
    let url = format!("{}/v1/{name}", emulator.url());
    let client = client();
    let poll = async || http::json::<Value>(client.get(&url).send().await?).await;
    let polling = scaled(memorystore::OPERATION, 0.002);
    // Neither a 503 nor a connection that breaks ends the polling.
    let failures = [Reply::status(503), Reply::reset(), Reply::cut()];
    emulator.script(Call::GetOperation, failures);
    let done = polling.retry(poll).until(|it| it["done"] == true);
    let (done, report) = done.reported().await.unwrap();
    assert_eq!(done["response"]["state"], "ACTIVE");
    assert_eq!(u64::from(report.attempts), emulator.stats().calls - 1);
    assert!(report.attempts >= 4, "{report}");

    // What never comes ends with an error that says so.
    let thrice = polling.max_attempts(3);
    let never = thrice.retry(poll).until(|it| it["done"] == 1).owned();
    let error = never.reported().await.unwrap_err();
    assert_eq!(error.reason, StopReason::Attempts);
    let error: ApiError = error.into_error();
    assert_eq!(error.kind(), Some(FaultKind::Pending));
    assert_eq!(error.to_string(), "the awaited value has not come yet");
}

/// With the paths of several services.
#[tokio::test]
async fn a_policy_is_read_written_and_read_back() {
    let emulator = Emulator::start().unwrap();
    for path in [
        "/v1/projects/p/serviceAccounts/a@p.iam.gserviceaccount.com",
        "/v1/projects/p/locations/europe-west1/keyRings/k",
        "/v2/projects/p",
        "/v3/organizations/34",
    ] {
        emulator.reset_stats();
        let (_, resource) = path[1..].split_once('/').unwrap();
        let get = format!("{path}:getIamPolicy");
        let read = async |query: &str, body: &str| {
            let by_get = ask(&emulator, "GET", &format!("{get}{query}"), "").await.1;
            [by_get, ask(&emulator, "POST", &get, body).await.1]
        };
        let write = async |policy: &Value| {
            let set = format!("{path}:setIamPolicy?%24alt=json%3Benum-encoding%3Dint");
            let body = json!({ "policy": policy }).to_string();
            ask(&emulator, "POST", &set, &body).await
        };
        let query = "?options.requestedPolicyVersion=3&%24alt=json%3Benum-encoding%3Dint";
        let options = r#"{"options": {"requestedPolicyVersion": 3}}"#;
        let fresh = json!({"etag": "ACAB"});
        assert_eq!(read(query, options).await, [fresh.clone(), fresh], "{path}");
        let condition = json!({"title": "t", "expression": "true", "new": [1, {"a": null}]});
        let policy = json!({
            "version": 3, "etag": "ACAB", "auditConfigs": [{"service": "allServices"}],
            "bindings": [{"role": "roles/r", "members": ["allUsers"], "condition": condition}],
        });
        let (status, written) = write(&policy).await;
        assert_eq!((status, &written["bindings"]), (200, &policy["bindings"]));
        assert_ne!(written["etag"], policy["etag"]);
        // Not named in a mask, so not written.
        assert_eq!(written.get("auditConfigs"), None);
        let again = read(query, options).await;
        assert_eq!(again, [written.clone(), written.clone()]);
        // Who does not ask for conditions sees hashes, and cannot write them.
        for seen in read("", "").await {
            let role = seen["bindings"][0]["role"].as_str().unwrap();
            assert!(role.starts_with("roles/r_withcond_"), "{role}");
            let refused = error(write(&seen).await);
            assert_eq!(refused, (400, "INVALID_ARGUMENT".to_owned()));
        }
        let stale = error(write(&policy).await);
        assert_eq!(stale, (409, "ABORTED".to_owned()), "{path}");
        assert_eq!(emulator.policy(resource), written);
        // Without an etag, a write is never stale.
        assert_eq!(write(&json!({"bindings": []})).await.0, 200, "{path}");
        let stats = emulator.stats();
        let writes = (stats.writes, stats.blind_writes, stats.conflicts);
        assert_eq!((stats.reads, writes), (6, (2, 1, 1)));
    }
}
