//! Allow policies over HTTP: reads, writes, etags, versions.

use emulator::{Call, Emulator, Reply, Stats};
use serde_json::{Value, json};

use crate::emulator::client::*;

/// With the paths of several services.
#[test]
fn a_policy_is_read_written_and_read_back() {
    let emulator = Emulator::start().unwrap();
    for path in [
        "/v1/projects/p/serviceAccounts/a@p.iam.gserviceaccount.com",
        "/v1/projects/p/locations/europe-west1/keyRings/k",
        "/v1/projects/p/locations/europe-west1/instances/cache",
        "/v2/projects/p",
        "/v3/folders/12",
        "/v3/organizations/34",
    ] {
        let (_, resource) = path[1..].split_once('/').unwrap();
        let get = format!("{path}:getIamPolicy");
        let read = |query, body| {
            let by_get = request("GET", &format!("{get}{query}"), "");
            [by_get, request("POST", &get, body)].map(|read| ask(&emulator, &read).json())
        };
        let write = |policy: &Value| {
            let set = format!("{path}:setIamPolicy?%24alt=json%3Benum-encoding%3Dint");
            let body = json!({ "policy": policy }).to_string();
            ask(&emulator, &request("POST", &set, &body))
        };
        let query = "?options.requestedPolicyVersion=3&%24alt=json%3Benum-encoding%3Dint";
        let options = r#"{"options": {"requestedPolicyVersion": 3}}"#;
        let fresh = json!({"etag": "ACAB"});
        assert_eq!(read(query, options), [fresh.clone(), fresh], "{path}");

        let policy = json!({
            "version": 3,
            "etag": "ACAB",
            "bindings": [{"role": "roles/viewer", "members": [format!("principal://{resource}")],
                          "condition": {"title": "t", "expression": "true", "new": [1, {"a": null}]}}],
            "auditConfigs": [{"service": "allServices"}],
        });
        let written = write(&policy);
        assert_eq!(written.status, 200, "{path}");
        let written = written.json();
        assert_ne!(written["etag"], policy["etag"]);
        assert_eq!(written["bindings"], policy["bindings"]);
        // Not named in a mask, so not written.
        assert_eq!(written.get("auditConfigs"), None);
        let both = [written.clone(), written.clone()];
        assert_eq!(read(query, options), both, "{path}");
        // Who does not ask for conditions sees hashes, and cannot write them.
        for seen in read("", "") {
            let role = seen["bindings"][0]["role"].as_str().unwrap();
            assert!(role.starts_with("roles/viewer_withcond_"), "{role}");
            let refused = write(&seen).error();
            assert_eq!(refused, (400, "INVALID_ARGUMENT".to_owned()));
        }
        let stale = write(&policy).error();
        assert_eq!(stale, (409, "ABORTED".to_owned()), "{path}");
        assert_eq!(emulator.policy(resource), written);
        let stats = emulator.stats();
        assert_eq!((stats.calls, stats.reads, stats.conflicts), (10, 6, 1));
        assert_eq!((stats.writes, stats.blind_writes), (1, 0));

        // Without an etag, a write is never stale.
        assert_eq!(write(&json!({"bindings": []})).status, 200, "{path}");
        assert_eq!(emulator.policy(resource)["bindings"], json!([]));
        let stats = emulator.stats();
        assert_eq!((stats.writes, stats.blind_writes), (2, 1));
        emulator.reset_stats();
        assert_eq!(emulator.stats(), Stats::default());
    }
}

#[test]
fn every_permission_that_is_asked_about_is_there() {
    let emulator = Emulator::start().unwrap();
    let busy = [Reply::status(503), Reply::pass()];
    emulator.script(Call::TestIamPermissions, busy);
    let path = "/v3/folders/1:testIamPermissions";
    let test = request("POST", path, r#"{"permissions": ["a.b.get", "a.b.set"]}"#);
    assert_eq!(ask(&emulator, &test).error().0, 503);
    let granted = ask(&emulator, &test).json();
    assert_eq!(granted, json!({"permissions": ["a.b.get", "a.b.set"]}));
    let stats = emulator.stats();
    assert_eq!((stats.calls, stats.reads, stats.faults), (2, 0, 1));
}
