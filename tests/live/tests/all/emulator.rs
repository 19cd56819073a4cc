//! The emulator over real sockets: what it promises to its users, and no other test needs.

use crate::server::{client, scaled};
use backoff_cloud::{
    Fault as _, FaultKind, GrpcCode, StopReason,
    http::{self, ApiError},
    memorystore,
};
use emulator::{Call, Emulator, Reply};
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

const PARENT: &str = "/v1/projects/p/locations/l/instances";
const CACHE: &str = "projects/p/locations/l/instances/cache";
const CREATE: &str = "/v1/projects/p/locations/l/instances?instanceId=cache";
const INSTANCE: &str = r#"{"shardCount": 3}"#;

fn sent(emulator: &Emulator, method: &str, path: &str, body: &str) -> TcpStream {
    let address = emulator.url().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// The status, the head and the body of a reply, read by hand.
fn ask(emulator: &Emulator, method: &str, path: &str, body: &str) -> (u16, String, Value) {
    let mut text = String::new();
    let mut stream = sent(emulator, method, path, body);
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect(&text);
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = serde_json::from_str(body).unwrap_or_else(|_| json!(body));
    (status, head.to_owned(), body)
}

/// The status of an error, and Google's name for it in a body that agrees with it.
fn error((status, head, body): (u16, String, Value)) -> (u16, String) {
    let json = "content-type: application/json; charset=UTF-8";
    assert!(head.contains(json), "{head}");
    assert_eq!(body["error"]["code"], status);
    assert_ne!(body["error"]["message"].as_str().unwrap_or_default(), "");
    let name = body["error"]["status"].as_str().unwrap();
    (status, name.to_owned())
}

#[test]
fn an_instance_comes_and_goes_and_a_lost_create_is_recognised() {
    let at_once = || Emulator::builder().operations_take(Duration::ZERO);
    let emulator = at_once().start().unwrap();
    let lost = [Reply::reset().applied(), Reply::status(503)];
    emulator.script(Call::CreateInstance, lost);
    let missing = (404, "NOT_FOUND".to_owned());
    let name = format!("/v1/{CACHE}");
    assert_eq!(error(ask(&emulator, "GET", &name, "")), missing);
    let create = format!("{CREATE}&requestId=6ba7b810-9dad-11d1-80b4-00c04fd430c8");
    let mut lost = sent(&emulator, "POST", &create, INSTANCE);
    assert!(lost.read(&mut [0]).is_err());
    assert_eq!(error(ask(&emulator, "POST", &create, INSTANCE)).0, 503);
    let made = ask(&emulator, "POST", &create, INSTANCE).2;
    assert_eq!(made["response"]["state"], "ACTIVE");
    let (_, _, instance) = ask(&emulator, "GET", &name, "");
    let said = (&instance["name"], &instance["shardCount"]);
    assert_eq!(said, (&json!(CACHE), &json!(3)));
    let listed = ask(&emulator, "GET", PARENT, "").2;
    assert_eq!(listed, json!({"instances": [instance]}));
    let again = error(ask(&emulator, "POST", CREATE, INSTANCE));
    assert_eq!(again, (409, "ALREADY_EXISTS".to_owned()));
    assert_eq!(ask(&emulator, "DELETE", &name, "").2["done"], true);
    assert_eq!(error(ask(&emulator, "DELETE", &name, "")), missing);
    let stats = emulator.stats();
    let counts = (
        stats.writes,
        stats.lost_replies,
        stats.recognised,
        stats.already_exists,
    );
    assert_eq!(counts, (2, 1, 1, 1));

    let full = Reply::failed_operation(GrpcCode::ResourceExhausted, "The zone is full.");
    emulator.script(Call::CreateInstance, [full]);
    let failed = ask(&emulator, "POST", CREATE, INSTANCE).2;
    let expected = json!({"code": 8, "message": "The zone is full."});
    assert_eq!(failed["error"], expected);
    let late = at_once().appears_after(Duration::MAX).start().unwrap();
    assert_eq!(ask(&late, "POST", CREATE, INSTANCE).2["done"], true);
    assert_eq!(ask(&late, "GET", &name, "").0, 404);
}

#[tokio::test]
async fn an_operation_is_polled_by_policy() {
    let takes = Duration::from_millis(150);
    let emulator = Emulator::builder().operations_take(takes).start().unwrap();
    let operation = ask(&emulator, "POST", CREATE, INSTANCE).2;
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
#[test]
fn a_policy_is_read_written_and_read_back() {
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
        let read = |query: &str, body: &str| {
            let by_get = ask(&emulator, "GET", &format!("{get}{query}"), "").2;
            [by_get, ask(&emulator, "POST", &get, body).2]
        };
        let write = |policy: &Value| {
            let set = format!("{path}:setIamPolicy?%24alt=json%3Benum-encoding%3Dint");
            ask(
                &emulator,
                "POST",
                &set,
                &json!({ "policy": policy }).to_string(),
            )
        };
        let query = "?options.requestedPolicyVersion=3&%24alt=json%3Benum-encoding%3Dint";
        let options = r#"{"options": {"requestedPolicyVersion": 3}}"#;
        let fresh = json!({"etag": "ACAB"});
        assert_eq!(read(query, options), [fresh.clone(), fresh], "{path}");
        let condition = json!({"title": "t", "expression": "true", "new": [1, {"a": null}]});
        let policy = json!({
            "version": 3, "etag": "ACAB", "auditConfigs": [{"service": "allServices"}],
            "bindings": [{"role": "roles/r", "members": ["allUsers"], "condition": condition}],
        });
        let (status, _, written) = write(&policy);
        assert_eq!((status, &written["bindings"]), (200, &policy["bindings"]));
        assert_ne!(written["etag"], policy["etag"]);
        // Not named in a mask, so not written.
        assert_eq!(written.get("auditConfigs"), None);
        assert_eq!(read(query, options), [written.clone(), written.clone()]);
        // Who does not ask for conditions sees hashes, and cannot write them.
        for seen in read("", "") {
            let role = seen["bindings"][0]["role"].as_str().unwrap();
            assert!(role.starts_with("roles/r_withcond_"), "{role}");
            assert_eq!(error(write(&seen)), (400, "INVALID_ARGUMENT".to_owned()));
        }
        assert_eq!(error(write(&policy)), (409, "ABORTED".to_owned()), "{path}");
        assert_eq!(emulator.policy(resource), written);
        // Without an etag, a write is never stale.
        assert_eq!(write(&json!({"bindings": []})).0, 200, "{path}");
        let stats = emulator.stats();
        let counts = (
            stats.reads,
            stats.writes,
            stats.blind_writes,
            stats.conflicts,
        );
        assert_eq!(counts, (6, 2, 1, 1));
    }
    let test = r#"{"permissions": ["a.b.get"]}"#;
    let granted = ask(&emulator, "POST", "/v3/folders/1:testIamPermissions", test).2;
    assert_eq!(granted, json!({"permissions": ["a.b.get"]}));
}
