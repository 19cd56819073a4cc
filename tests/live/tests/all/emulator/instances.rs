//! Instances over HTTP: the calls of Google's clients, and the faults of these calls.

use std::time::{Duration, Instant};

use backoff_cloud::http::{self, ApiError};
use backoff_cloud::{Fault, FaultKind, GrpcCode, StopReason, memorystore};
use emulator::{Builder, Call, Emulator, Faults, Reply};
use serde_json::{Value, json};

use crate::{
    emulator::client::*,
    server::{AMPLE, scaled},
};

const PARENT: &str = "projects/p/locations/europe-west1";
const CACHE: &str = "projects/p/locations/europe-west1/instances/cache";
const ID: &str = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
/// Short, but no call takes no time.
const TAKES: Duration = Duration::from_millis(150);

fn get(name: &str) -> String {
    request("GET", &format!("/v1/{name}"), "")
}

fn create(parameters: &str) -> String {
    let path = format!("/v1/{PARENT}/instances?instanceId={parameters}");
    request("POST", &path, r#"{"shardCount": 3}"#)
}

fn delete(parameters: &str) -> String {
    request("DELETE", &format!("/v1/{CACHE}{parameters}"), "")
}

/// Its operations take no time.
fn quick() -> Builder {
    Emulator::builder().operations_take(Duration::ZERO)
}

/// Polls until the operation is done.
fn awaited(emulator: &Emulator, operation: &Value) -> Value {
    let name = operation["name"].as_str().unwrap();
    let start = Instant::now();
    loop {
        let polled = ask(emulator, &get(name)).json();
        if polled["done"] == true {
            return polled;
        }
        assert!(start.elapsed() < AMPLE, "{polled}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_instance_comes_and_goes() {
    let emulator = Emulator::builder().operations_take(TAKES).start().unwrap();
    let missing = (404, "NOT_FOUND".to_owned());
    assert_eq!(ask(&emulator, &get(CACHE)).error(), missing);
    let start = Instant::now();
    let operation = ask(&emulator, &create("cache")).json();
    assert_eq!(operation["done"], false);
    let made = awaited(&emulator, &operation);
    assert!(start.elapsed() >= TAKES);
    assert_eq!(made["response"]["state"], "ACTIVE");

    let instance = ask(&emulator, &get(CACHE)).json();
    let said = (&instance["name"], &instance["shardCount"]);
    assert_eq!(said, (&json!(CACHE), &json!(3)));
    assert_eq!(emulator.instance(CACHE).unwrap(), instance);
    let list = ask(&emulator, &get(&format!("{PARENT}/instances"))).json();
    assert_eq!(list, json!({"instances": [instance]}));

    let again = ask(&emulator, &create("cache"));
    assert_eq!(again.error(), (409, "ALREADY_EXISTS".to_owned()));
    let operation = ask(&emulator, &delete("")).json();
    awaited(&emulator, &operation);
    assert_eq!(emulator.instance(CACHE), None);
    assert_eq!(ask(&emulator, &delete("")).error(), missing);
    let stats = emulator.stats();
    assert_eq!((stats.writes, stats.already_exists), (2, 1));
}

#[test]
fn a_new_instance_appears_late() {
    let emulator = quick().appears_after(FOREVER).start().unwrap();
    let operation = ask(&emulator, &create("cache")).json();
    assert_eq!(operation["done"], true);
    assert_eq!(ask(&emulator, &get(CACHE)).status, 404);
}

#[test]
fn a_create_whose_reply_was_lost_is_recognised() {
    let emulator = Emulator::start().unwrap();
    let failures = [Reply::reset().applied(), Reply::status(503)];
    emulator.script(Call::CreateInstance, failures);
    let create = create(&format!("cache&requestId={ID}"));
    assert!(exchange(&emulator, &create).is_err());
    assert_eq!(ask(&emulator, &create).error().0, 503);
    let first = ask(&emulator, &create).json();
    let again = ask(&emulator, &create).json();
    assert_eq!((&first["name"], first.get("error")), (&again["name"], None));
    let stats = emulator.stats();
    assert_eq!((stats.calls, stats.writes, stats.lost_replies), (4, 1, 1));
    assert_eq!((stats.recognised, stats.already_exists), (2, 0));
}

#[test]
fn an_operation_fails_as_scripted() {
    let emulator = quick().start().unwrap();
    let full = Reply::failed_operation(GrpcCode::ResourceExhausted, "The zone is full.");
    emulator.script(Call::CreateInstance, [full.clone(), Reply::pass()]);
    emulator.script(Call::GetInstance, [full]);
    let operation = ask(&emulator, &create("cache"));
    assert_eq!(operation.status, 200);
    let error = json!({"code": 8, "message": "The zone is full."});
    assert_eq!(operation.json()["error"], error);
    assert_eq!(ask(&emulator, &get(CACHE)).status, 404);
    let made = ask(&emulator, &create("cache")).json();
    assert_eq!(made["response"]["name"], CACHE);
    assert_eq!(ask(&emulator, &get(CACHE)).status, 200);
    assert_eq!(emulator.stats().faults, 2);
}

#[test]
fn every_call_meets_the_faults() {
    let faults = Faults::none().status(503, 1.0);
    let emulator = Emulator::builder().faults(faults).start().unwrap();
    let operation = format!("{PARENT}/operations/o");
    let calls = [
        (Call::ListInstances, get(&format!("{PARENT}/instances"))),
        (Call::GetInstance, get(CACHE)),
        (Call::CreateInstance, create("cache")),
        (Call::DeleteInstance, delete("")),
        (Call::GetOperation, get(&operation)),
    ];
    for (call, request) in &calls {
        assert_eq!(ask(&emulator, request).error().0, 503);
        // A script is for its own call.
        emulator.script(*call, [Reply::status(429).retry_after("7")]);
        for (other, request) in &calls {
            let status = if other == call { 429 } else { 503 };
            let said = ask(&emulator, request).error().0;
            assert_eq!(said, status, "{call:?} {other:?}");
        }
    }
    assert_eq!(emulator.stats().writes, 0);
}

#[tokio::test]
async fn an_operation_is_polled_by_policy() {
    let emulator = Emulator::builder().operations_take(TAKES).start().unwrap();
    let operation = ask(&emulator, &create("cache")).json();
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
